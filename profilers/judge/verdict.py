"""Whether drafting wins, and every reason to give no answer: one verdict from plain facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .counted import counted
from .spans import Ruler
from .statistics import LOOKS, Interval, live_interval, prompts_still_needed, upper_bound_when_none

if TYPE_CHECKING:
    from .kv_sides import Switch

VerdictKind = Literal["wins", "loses", "cannot_win", "too_close", "refused"]
Scope = Literal["prompts", "this prompt only"]

CANARY_LIMIT = 1.10
DRIFT_LIMIT = 0.05
WIDEST_INTERVAL = 0.10
BUSY_LIMIT = 0.25
SWAP_LIMIT_BYTES = 16 * 2**20
BUG_DRAFTS = 100
LEAST_ROUNDS = 30
LEAST_SEGMENTS = 3
TOO_FEW = "too_few_rounds"
# Prompts weigh equally in S and by their rounds in E and R, so the two may differ a little without a fault.
POOLING_SLACK = 1.05
VERIFY_SLACK = 0.97


_WHY: dict[VerdictKind, tuple[str, str]] = {
    "wins": ("A round yields more tokens than the decode steps it costs.", "Keep drafting on."),
    "loses": (
        "A round costs more decode steps than it yields tokens.",
        "Try fewer drafts a round or a better drafter, or turn drafting off for these prompts.",
    ),
    "cannot_win": (
        "A round costs more decode steps than it could ever yield tokens.",
        "Turn drafting off, or make the verify pass cheaper; better guesses cannot help.",
    ),
    "too_close": (
        "The interval of the speedup holds 1.",
        "Record more prompts, or leave drafting off: little is at stake.",
    ),
}


@dataclass(frozen=True, slots=True)
class VerdictFacts:
    """What a verdict rests on; None or empty where something was not measured.

    `log_ratios` holds log(drafting ÷ plain tok/s) of each prompt in order,
    `segment_log_ratios` of each pair of segments of the one (latest) prompt;
    `budget_spent`: the run ended where it was planned to, not after a look.
    `round_steps_full` is R at full acceptance with catch-up and
    `most_tokens` what such a round yields (k + 1; for lookup the mean over the
    widths that occur). `verify_steps` is T_verify(n) ÷ T_decode, one ruler.
    `canary` and `drift` are late ÷ early ratios of times, drift at equal
    context; `other_busy` is the share of the machine's cores that other
    processes keep busy; `unlike` names settings that differ between the runs;
    `output_bugs` counts places where drafts changed greedy text beyond a tie.
    `switch` says which side of a start of quantised keys and values they are of.
    """

    log_ratios: tuple[float, ...]
    segment_log_ratios: tuple[float, ...]
    rounds: int
    segments: int
    drafted: int
    accepted: int
    budget_spent: bool = False
    tokens_per_round: Interval | None = None
    round_steps: Interval | None = None
    round_steps_full: Interval | None = None
    most_tokens: float | None = None
    verify_steps: Interval | None = None
    canary: Interval | None = None
    drift: Interval | None = None
    other_busy: float | None = None
    swapped_bytes: int | None = None
    rules: tuple[str, ...] = ()
    decode_ruler: Ruler = Ruler.PIPELINED
    round_ruler: Ruler = Ruler.SYNCHRONOUS
    unlike: tuple[str, ...] = ()
    output_bugs: int = 0
    switch: Switch | None = None


@dataclass(frozen=True, slots=True)
class GuardFinding:
    """One reason to give no number, and what to do about it."""

    code: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer: a kind, its sentence, and the raw speedup S with the interval that decided.

    A refused one has no speedup; `reason` and `remedy` are its first finding's.
    `still_needed` counts prompts, or segments where the scope is this prompt only.
    """

    kind: VerdictKind
    speedup: Interval | None
    sentence: str
    reason: str
    remedy: str
    scope: Scope
    still_needed: int | None
    findings: tuple[GuardFinding, ...] = ()


def measured_speedup(facts: VerdictFacts) -> tuple[Interval | None, Scope]:
    """S with the interval that may be watched: over prompts from three on, else over segments of one."""
    if len(facts.log_ratios) >= 3:
        return live_interval(facts.log_ratios, closing=facts.budget_spent), "prompts"
    segments = live_interval(facts.segment_log_ratios, closing=facts.budget_spent, serial=True)
    return segments, "this prompt only"


def judge(facts: VerdictFacts) -> Verdict:
    """The verdict, or a refusal with its reason and remedy when any guard finds something."""
    interval, scope = measured_speedup(facts)
    findings = guards(facts)
    serial = scope == "this prompt only"
    needed = prompts_still_needed(facts.segment_log_ratios if serial else facts.log_ratios, serial=serial)
    if findings or interval is None:
        first = findings[0]
        sentence = f"No verdict: {first.message} {first.remedy}{_of_side(facts) if first.code != TOO_FEW else ''}"
        return Verdict("refused", None, sentence, first.message, first.remedy, scope, needed, findings)
    kind = _kind(facts, interval)
    needed = needed if kind == "too_close" else 0
    reason, remedy = _WHY[kind]
    sentence = _sentence(kind, facts, interval, needed, scope)
    return Verdict(kind, interval, sentence, reason, remedy, scope, needed)


def guards(facts: VerdictFacts) -> tuple[GuardFinding, ...]:
    """Everything that forbids a headline, most basic first; noise of 12–18% alone is none of them."""
    interval, scope = measured_speedup(facts)
    found = (*_mixtures(facts), *_counts(facts, interval), *_machine(facts))
    if interval is None:
        return found
    return (*found, *_impossible(facts, interval), *_width(facts, interval, scope))


def _mixtures(facts: VerdictFacts) -> list[GuardFinding]:
    found = []
    if facts.decode_ruler is not Ruler.PIPELINED or facts.round_ruler is not Ruler.SYNCHRONOUS:
        found.append(
            GuardFinding(
                "mixed_rulers",
                f"The baseline was timed as {facts.decode_ruler} and the rounds as {facts.round_ruler}: "
                "two rulers, whose quotient can turn a loss into a win.",
                "Time whole rounds and take plain decode as 1000 ÷ its measured tokens per second.",
            )
        )
    if len(set(facts.rules)) > 1:
        found.append(
            GuardFinding(
                "mixed_rules",
                f"Drafts were accepted under different rules ({', '.join(sorted(set(facts.rules)))}), "
                "which are not comparable.",
                "Judge each rule by itself: pick the runs of one rule, or record again with one.",
            )
        )
    if facts.output_bugs:
        found.append(
            GuardFinding(
                "output_differs",
                f"With drafts the text differs from plain greedy at {counted(facts.output_bugs, 'place')} by more "
                "than a tie.",
                "Find the fault in the model, the cache or the drafter first: a wrong text can be fast.",
            )
        )
    if facts.unlike:
        found.append(
            GuardFinding(
                "unlike_runs",
                f"The runs differ in {', '.join(facts.unlike)} and must not be pooled.",
                "Pick the runs that are alike, or compare them side by side.",
            )
        )
    return found


def _counts(facts: VerdictFacts, interval: Interval | None) -> list[GuardFinding]:
    found = []
    if facts.accepted == 0 and facts.drafted >= BUG_DRAFTS:
        bound = upper_bound_when_none(facts.drafted)
        found.append(
            GuardFinding(
                "zero_acceptance",
                f"None of {facts.drafted} drafts was accepted, so at most {bound:.1%} would be: a bug, not a "
                "bad drafter.",
                "Check that drafter and model share a tokenizer and that the drafter has seen the prompt.",
            )
        )
    too_few = facts.rounds < LEAST_ROUNDS or facts.segments < LEAST_SEGMENTS or interval is None
    if too_few and facts.switch is not None and facts.switch.split:
        found.append(GuardFinding(TOO_FEW, facts.switch.reason, facts.switch.remedy))
    elif too_few:
        found.append(
            GuardFinding(
                TOO_FEW,
                f"Too little is recorded: {counted(facts.rounds, 'round')} in "
                f"{counted(facts.segments, 'pair')} of segments over {counted(len(facts.log_ratios), 'prompt')}.",
                f"Record longer: at least {LEAST_ROUNDS} rounds, and {LOOKS[0]} prompts or {LOOKS[1]} pairs "
                "of segments of one.",
            )
        )
    return found


def _machine(facts: VerdictFacts) -> list[GuardFinding]:
    found = []
    canary, drift = facts.canary, facts.drift
    if canary is not None and canary.estimate > CANARY_LIMIT and canary.low > 1:
        found.append(
            GuardFinding(
                "canary_slowed",
                f"A fixed matrix product became {canary.estimate - 1:.0%} slower during the run: the machine "
                "is hot or throttled.",
                "Let it cool, plug it in, turn low-power mode off, and record again with longer pauses.",
            )
        )
    if drift is not None and abs(drift.estimate - 1) > DRIFT_LIMIT and not drift.holds(1.0):
        found.append(
            GuardFinding(
                "baseline_drift",
                f"Plain decode itself changed by {drift.estimate - 1:+.0%} during the run, at equal context.",
                "Close what else runs, let the machine settle and record again.",
            )
        )
    if facts.other_busy is not None and facts.other_busy > BUSY_LIMIT:
        found.append(
            GuardFinding(
                "machine_loaded",
                f"Other programs kept {facts.other_busy:.0%} of the processor busy.",
                "Stop them (`top` shows which) and record again.",
            )
        )
    if facts.swapped_bytes is not None and facts.swapped_bytes > SWAP_LIMIT_BYTES:
        found.append(
            GuardFinding(
                "swapping",
                f"The machine swapped {facts.swapped_bytes / 2**20:.0f} MiB during the run: memory is short.",
                "Close other programs, or use a smaller model, drafter or context.",
            )
        )
    return found


def _impossible(facts: VerdictFacts, s: Interval) -> list[GuardFinding]:
    tokens, steps = facts.tokens_per_round, facts.round_steps
    full, most = facts.round_steps_full, facts.most_tokens
    why: str | None = None
    if tokens and s.low > tokens.high:
        why = f"a round yields {tokens.estimate:.2f} tokens, and not even a free one could be that fast"
    elif tokens and steps and steps.low > 0 and s.low > POOLING_SLACK * tokens.high / steps.low:
        why = f"{tokens.estimate:.2f} tokens a round at {steps.estimate:.2f} decode steps do not allow it"
    elif full and most and s.low > 1 and full.low > most:
        why = f"at full acceptance a round costs {full.estimate:.2f} decode steps for {most:.3g} tokens"
    elif facts.verify_steps and facts.verify_steps.high < VERIFY_SLACK:
        why = f"a verify pass took {facts.verify_steps.estimate:.2f} of the decode step it contains"
    if why is None:
        return []
    return [
        GuardFinding(
            "impossible_win",
            f"The measured speeds contradict each other: {why}.",
            "Look for a slow or cold baseline, tokens counted twice, or a pass not waited for; record again.",
        )
    ]


def _width(facts: VerdictFacts, s: Interval, scope: Scope) -> list[GuardFinding]:
    off = max(s.high / s.estimate - 1, 1 - s.low / s.estimate)
    if not facts.budget_spent or off <= WIDEST_INTERVAL:
        return []
    units = "prompts" if scope == "prompts" else "segments"
    return [
        GuardFinding(
            "wide_interval",
            f"The budget is spent and the speedup is still uncertain by ±{off:.0%} over {s.n} {units}.",
            f"Raise the budget or add {units}; if kinds of text differ, judge each kind by itself.",
        )
    ]


def _of_side(facts: VerdictFacts) -> str:
    sentence = "" if facts.switch is None else facts.switch.sentence
    return f" {sentence}" if sentence else ""


def _kind(facts: VerdictFacts, s: Interval) -> VerdictKind:
    if s.low > 1:
        return "wins"
    if s.high >= 1:
        return "too_close"
    full, most = facts.round_steps_full, facts.most_tokens
    return "cannot_win" if full and most and full.low > most else "loses"


def _sentence(kind: VerdictKind, facts: VerdictFacts, s: Interval, needed: int | None, scope: Scope) -> str:
    tail = (" This holds for this prompt only." if scope == "this prompt only" else "") + _of_side(facts)
    span = f"{s.level:.0%} interval {s.low:.2f} to {s.high:.2f}"
    full, most = facts.round_steps_full, facts.most_tokens
    if kind == "cannot_win" and full and most:
        return (
            f"Cannot win: even if every draft were accepted a round would cost {full.estimate:.2f} decode "
            f"steps and yield {most:.3g} tokens. "
            f"Drafting runs at {s.estimate:.2f}x of plain decode ({span}).{tail}"
        )
    cost = ""
    if facts.tokens_per_round and facts.round_steps:
        cost = (
            f" A round costs {facts.round_steps.estimate:.2f} decode steps and yields "
            f"{facts.tokens_per_round.estimate:.2f} tokens."
        )
    if kind == "too_close":
        unit = "prompt" if scope == "prompts" else "segment"
        more = f" About {counted(needed, f'more {unit}')} may settle it." if needed else ""
        return (
            f"Too close to call: drafting runs at {s.estimate:.2f}x of plain decode, and the {span} "
            f"holds 1.{cost}{more}{tail}"
        )
    word = "Wins" if kind == "wins" else "Loses"
    return f"{word}: drafting runs at {s.estimate:.2f}x of plain decode ({span}).{cost}{tail}"
