"""The two loops: plain generation, pipelined, and rounds of drafting; both are generators of events.

A generation is a list of committed tokens and a cache that has seen all of
them but the last. Both loops leave it so when they end by themselves; a pipelined
decode that meets a stop or is left early has one more position in its cache.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, cast

import mlx.core as mx

from .accept import GREEDY_MATCH, AcceptanceRule, greedy_choices
from .cache import arrays_of, new_cache, prefill
from .drafters import Drafter
from .events import Round, Step
from .kv_quantisation import KvQuantisation, quantise_caches
from .limits import checked_draft_length
from .models import Target
from .probe import Probe, SplitProbe
from .rewind import rewind, start_tape
from .sampling import Sampling, Stream, drawn
from .verify_policies import Policy, one_pass


@dataclass(slots=True)
class Generation:
    """One text being generated: `tokens` are committed, `cache` has seen all of them but the last.

    `kv` is how keys and values are quantised once the cache is long enough; None leaves them as computed.
    """

    target: Target
    tokens: list[int]
    cache: list[Any]
    kv: KvQuantisation | None = None

    @property
    def context(self) -> int:
        """Positions in the cache."""
        return len(self.tokens) - 1


def start(
    target: Target,
    prompt: list[int],
    drafter: Drafter | None = None,
    longest: int | None = None,
    sampling: Sampling | None = None,
) -> Generation:
    """Read a prompt (at least one token) into a new cache, and let the drafter see it and how it shall draw."""
    cache = new_cache(target, longest)
    hidden = prefill(target, prompt[:-1], cache, keep_hidden=drafter is not None and drafter.needs_hidden)
    if drafter is not None:
        drafter.sampling = sampling
        drafter.begin(prompt, hidden)
    return Generation(target, list(prompt), cache)


def decode(
    generation: Generation,
    count: int,
    clock: Callable[[], int],
    pipelined: bool = True,
    sampling: Sampling | None = None,
    stop_ids: Collection[int] = (),
) -> Iterator[Step]:
    """Plain generation of `count` tokens, greedy or drawn; fewer when one of `stop_ids` comes, which is the last step.

    Pipelined: step t+1 is submitted before step t is read, as in mlx-lm's
    `generate_step`. The first step of a call has no predecessor to hide
    behind and the last submits no successor: neither is like the others.
    """
    target, cache, tokens = generation.target, generation.cache, generation.tokens
    position = len(tokens)

    def submit(y: mx.array) -> mx.array:
        nonlocal position
        logits = target.logits(y[None], cache)
        if sampling is None:
            choice = greedy_choices(logits)
        else:
            choice, _ = drawn(logits, sampling, position, Stream.TARGET)
        position += 1
        if generation.kv is not None:
            quantise_caches(cache, generation.kv)
        if pipelined:
            mx.async_eval(choice)
        return choice

    if count < 1:
        return
    read_ns = clock()
    y = submit(mx.array(tokens[-1:]))
    for i in range(count):
        ahead = submit(y) if pipelined and i + 1 < count else None
        token = int(cast("int", y.item()))
        now = clock()
        context = generation.context
        tokens.append(token)
        yield Step(i, token, context, now - read_ns, pipelined)
        if token in stop_ids:
            return
        if pipelined:
            read_ns = now
        elif i + 1 < count:
            read_ns = clock()
            ahead = submit(mx.array(tokens[-1:]))
        if ahead is not None:
            y = ahead


def speculate(
    generation: Generation,
    drafter: Drafter,
    k: int,
    count: int,
    probe: Probe,
    rule: AcceptanceRule = GREEDY_MATCH,
    policy: Policy = one_pass,
    stop_ids: Collection[int] = (),
) -> Iterator[Round]:
    """Rounds of drafting until at least `count` tokens are committed, or one of `stop_ids` is among a round's tokens.

    `k` is the longest draft (0: the loop without drafts). With a splitting
    probe the phases are fenced and timed; without, only the round is. What a
    round commits behind a stop is no text: see `accept.cut_at_stop`.
    """
    checked_draft_length(k)
    committed = 0
    i = 0
    while committed < count:
        played = play_round(generation, drafter, k, i, probe, rule, policy)
        committed += len(played.tokens)
        i += 1
        yield played
        if stop_ids and any(token in stop_ids for token in played.tokens):
            return


def play_round(
    generation: Generation,
    drafter: Drafter,
    k: int,
    i: int,
    probe: Probe,
    rule: AcceptanceRule = GREEDY_MATCH,
    policy: Policy = one_pass,
) -> Round:
    """Draft, verify, accept, rewind: one round on a generation and its drafter.

    The verify graph is built before the drafts are waited for, so that a
    device may draft meanwhile; a splitting probe charges that build to verify,
    and with it what the rule computes from the logits, as plain decoding
    charges its own choice to the step. Where keys and values are quantised from
    a later position on, no draft goes beyond it.
    """
    context = generation.context
    if generation.kv is not None:
        k = generation.kv.longest_draft(context, k)
    began = probe.now()
    draft = drafter.draft(generation.tokens, k)
    drafting = probe.now()
    hidden, logits = target_pass(generation, draft.tokens, drafter.needs_hidden, policy)
    answer = rule.ask(logits, draft, context + 1)
    built = probe.now()
    drafts_there = probe.fence(draft.tokens)
    mx.eval(answer)
    verified = probe.fence(answer)
    drafted: list[int] = draft.tokens.tolist()  # type: ignore[assignment]
    accepted, tokens = rule.read(drafted, answer.tolist())  # type: ignore[arg-type]
    rewinding = probe.now()
    again = rewind(generation.cache, len(drafted) + 1, accepted + 1)
    generation.tokens.extend(tokens)
    drafter.settle(tokens, accepted, hidden)
    if generation.kv is not None and quantise_caches(generation.cache, generation.kv):
        again = [*again, *arrays_of(generation.cache)]
    if again:
        mx.async_eval(again)
    settled = probe.fence(again)
    ended = probe.now()
    return Round(
        i=i,
        context=context,
        drafted=tuple(drafted),
        accepted=accepted,
        tokens=tokens,
        round_ns=ended - began,
        catch_up_width=draft.catch_up_width,
        draft_ns=None if drafts_there is None else drafting - began + drafts_there - built,
        verify_ns=None if verified is None or drafts_there is None else built - drafting + verified - drafts_there,
        rest_ns=None if verified is None else ended - verified,
        rewind_ns=None if settled is None else settled - rewinding,
    )


def target_pass(
    generation: Generation, drafts: mx.array, keep_hidden: bool, policy: Policy = one_pass
) -> tuple[mx.array | None, mx.array]:
    """One target pass over the last committed token and the drafts [m], run as the policy has it.

    Returns the hidden states [1, m+1, D] (None unless kept) and the logits
    [1, m+1, vocabulary]; both lazy.
    """
    positions = mx.concatenate([mx.array(generation.tokens[-1:]), drafts.astype(mx.int32)])[None]
    start_tape(generation.cache)
    return policy(generation.target, positions, generation.cache, keep_hidden)


def splitting(clock: Callable[[], int]) -> SplitProbe:
    """A probe that waits for MLX at every phase boundary."""
    return SplitProbe(clock, mx.eval)


def settle_cache(generation: Generation) -> None:
    """Evaluate what the cache still owes, so that the next clock starts on a warm, quiet cache."""
    mx.eval(arrays_of(generation.cache))
