"""Verify policies against one another: the same tokens, a width at a time, taking turns forth and back.

The control runs twice under two names. What those two differ by is what a policy must exceed, as in `experiments`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import mlx.core as mx

from ...engine.cache import arrays_of
from ...engine.decode import Generation
from ...engine.dense_pass import DensePass
from ...engine.errors import SpecviewError
from ...engine.verify_policies import ONE_PASS, Policy, one_pass, policies_for
from .curve import checked_widths
from .restoring import as_before

EXPERIMENT = "verify policy"
CONTROL = ONE_PASS
AGAIN = f"{ONE_PASS}, again"


class PolicyTimingError(SpecviewError):
    """A comparison of verify policies that would measure nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTiming:
    """One visit to a policy at one width: a synchronous pass, build included, after one that does not count.

    The i-th visits of all policies at one width belong together. `greatest_difference` is between any logit and the
    control's, in logits; `same_choices` says whether the target's own tokens are the control's. `peak_bytes` and
    `cache_bytes` are MLX's after the visit, `kept_bytes` what the policy itself holds beside the model.
    """

    t_ns: int
    policy: str
    control: bool
    width: int
    context: int
    samples_ns: tuple[int, ...]
    peak_bytes: int
    cache_bytes: int
    kept_bytes: int
    greatest_difference: float
    same_choices: bool

    @property
    def detail(self) -> str:
        """The sentence that goes with the record."""
        same = "the same tokens" if self.same_choices else "other tokens"
        kept = f", {self.kept_bytes:,} bytes kept" if self.kept_bytes else ""
        return f"{same}, logits within {self.greatest_difference:.2g}{kept}"


def compare_policies(
    generation: Generation,
    tokens: Sequence[int],
    widths: Sequence[int],
    repeats: int,
    clock: Callable[[], int],
    random_source: random.Random,
    *,
    policies: Mapping[str, Policy] | None = None,
    keep_hidden: bool = False,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Iterator[PolicyTiming]:
    """Time every policy at every width over the first of `tokens`, `repeats` times in an order of its own and back.

    `policies` are tried against one pass; None takes all that the target can run. Caches are as before at every visit
    that is yielded. Raises CurveError for widths that the tokens or a cache cannot hold, and PolicyTimingError for no
    repeats, before anything is timed.
    """
    asked = checked_widths([generation], [tokens], widths)
    if repeats < 1:
        raise PolicyTimingError(f"{repeats} repeats of a policy measure nothing: ask for at least one.")
    tried = policies_for(generation.target)[0] if policies is None else policies
    arms = {CONTROL: one_pass, **tried, AGAIN: one_pass}

    def visits() -> Iterator[PolicyTiming]:
        kept = {width: _logits(generation, tokens[:width], one_pass, keep_hidden) for width in asked}
        total, done = repeats * 2 * len(arms) * len(asked), 0
        for _ in range(repeats):
            order = random_source.sample(list(arms), len(arms))
            for name in (*order, *reversed(order)):
                for width in asked:
                    yield _visit(generation, tokens[:width], name, arms[name], keep_hidden, kept[width], clock)
                    done += 1
                    progress(done, total)

    return visits()


def _visit(
    generation: Generation,
    tokens: Sequence[int],
    name: str,
    policy: Policy,
    keep_hidden: bool,
    control_logits: mx.array,
    clock: Callable[[], int],
) -> PolicyTiming:
    logits = _logits(generation, tokens, policy, keep_hidden)
    mx.reset_peak_memory()
    positions = mx.array(list(tokens))[None]
    mx.eval(positions, arrays_of(generation.cache))
    with as_before(generation.cache):
        began = clock()
        hidden, timed = policy(generation.target, positions, generation.cache, keep_hidden)
        mx.eval(timed if hidden is None else (hidden, timed))
        ended = clock()
    # a token that a model rules out is −inf in both, whose difference is no number
    difference = mx.where(logits == control_logits, 0.0, mx.abs(logits - control_logits)).max()
    same = mx.all(mx.argmax(logits, axis=-1) == mx.argmax(control_logits, axis=-1))
    return PolicyTiming(
        t_ns=ended,
        policy=name,
        control=name in (CONTROL, AGAIN),
        width=len(tokens),
        context=generation.context,
        samples_ns=(ended - began,),
        peak_bytes=mx.get_peak_memory(),
        cache_bytes=mx.get_cache_memory(),
        kept_bytes=policy.kept_bytes if isinstance(policy, DensePass) else 0,
        greatest_difference=float(cast("float", difference.item())),
        same_choices=bool(same.item()),
    )


def _logits(generation: Generation, tokens: Sequence[int], policy: Policy, keep_hidden: bool) -> mx.array:
    """Float32 logits [1, n, vocabulary] of a pass that is not timed; the caches are as before."""
    with as_before(generation.cache):
        _, logits = policy(generation.target, mx.array(list(tokens))[None], generation.cache, keep_hidden)
        logits = logits.astype(mx.float32)
        mx.eval(logits)
    return logits
