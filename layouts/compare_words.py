"""A comparison in sentences: how much slower or faster, how sure, what did it, and what cannot be told."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..profilers.judge.comparison.comparing import Compared
from ..profilers.judge.comparison.effects import Effect
from ..profilers.judge.comparison.environments import Difference
from ..profilers.judge.comparison.measures import Change
from ..profilers.judge.comparison.split import Part, Split
from . import figures
from .explanations import Explanation
from .lines import Line, line

SMALL = 0.001
MOST_CAUSES = 3
MINUS = "−"
SHORT = {"linear attention": "linear attn", "full attention": "full attn", "norms and residuals": "norms, resid."}
DEARER = {
    "verify": ("verify costs", "more", "less"),
    "draft": ("drafting costs", "more", "less"),
    "rest": ("the rest of a round costs", "more", "less"),
    "round": ("a round costs", "more", "less"),
}


def short(name: str) -> str:
    """A name with its op category in fewer letters."""
    for long, shorter in SHORT.items():
        name = name.replace(long, shorter)
    return name


def percent(log_ratio: float, signed: bool = True) -> str:
    """A log ratio as a change in percent, with fewer digits where it is large."""
    value = math.expm1(min(log_ratio, 20.0)) * 100
    digits = 0 if abs(value) >= 100 else 1
    value = round(value, digits) or 0.0  # no sign before nothing
    text = f"{value:+.{digits}f}%" if signed and value else f"{abs(value):.{digits}f}%"
    return text.replace("-", MINUS)


def signed(value: float, unit: str = "", digits: int = 2) -> str:
    """A difference with its sign, three digits where it is below a tenth."""
    places = digits if abs(value) >= 0.1 else 3
    value = round(value, places) or 0.0
    number = f"{value:+.{places}f}" if value else f"{0:.{places}f}"
    return f"{number}{f' {unit}' if unit else ''}".replace("-", MINUS)


def span_text(effect: Effect, *, logs: bool) -> str:
    """The ends of an effect's interval, empty where it has none."""
    if effect.low is None or effect.high is None:
        return ""
    if logs:
        return f"[{percent(effect.low)}, {percent(effect.high)}]"
    return f"[{signed(effect.low)}, {signed(effect.high)}]"


def visible_text(change: Change) -> str:
    """The smallest change that would have shown, in the terms the change is told in."""
    if change.log_ratio is not None:
        seen = change.log_ratio.visible
        return (
            ""
            if seen is None
            else f"×{math.exp(seen):.1f}"
            if seen > math.log(2)
            else f"±{percent(seen, signed=False)}"
        )
    seen = None if change.difference is None else change.difference.visible
    return "" if seen is None else f"±{signed(seen).lstrip('+')}"


def sentences(compared: Compared, letter: str = "B") -> tuple[Line, ...]:
    """The headline, what did it, the speedups, what differs, and what to read with caution; most important first."""
    found = [headline(compared, letter)]
    if not compared.doubts:
        found += [line(text) for text in (_causes(compared), _widths(compared)) if text]
    found += [line(text) for text in (_speedups(compared, letter), _plain(compared, letter)) if text]
    changed = changed_text([each for each in compared.differences if each.base and each.other])
    alike = "Measured alike in every fact that both say."
    found.append(line(("Differs: ", "quiet"), changed) if changed else line((alike, "quiet")))
    found += [line(("! ", "warn"), (text, "warn")) for text in (*compared.doubts[1:], *compared.cautions)]
    return tuple(found)


def headline(compared: Compared, letter: str = "B") -> Line:
    """One line: slower or faster by how much, real or noise; none where a run is not to be trusted."""
    if compared.doubts:
        return line(("NO HEADLINE  ", "warn"), compared.doubts[0])
    drafting = compared.change("drafting_tokens_per_second")
    effect = None if drafting is None else drafting.log_ratio
    if effect is None:
        return _costs_headline(compared, letter)
    size = (
        f"{letter} is {percent(effect.estimate, signed=False)} {'faster' if effect.estimate > 0 else 'slower'} than A"
    )
    held = span_text(effect, logs=True)
    if effect.finding == "real":
        word, tone = ("FASTER", "good") if effect.estimate > 0 else ("SLOWER", "bad")
        return line((f"{word}  ", tone), (f"{size} with drafts", "strong"), f" {held}: real")
    if effect.finding == "noise":
        seen = "" if effect.visible is None else f"; {percent(effect.visible, signed=False)} would have shown"
        change = percent(effect.estimate)
        return line(("NOISE  ", "warn"), "No difference with drafts to be seen: ", f"{letter} is {change} {held}{seen}")
    return line(("NO INTERVAL  ", "warn"), f"{size} with drafts, from too few prompts to say how sure that is")


def _costs_headline(compared: Compared, letter: str) -> Line:
    """Where nothing was drafted in one of them: the widest pass that both timed."""
    passes = [each for each in compared.changes if each.group == "passes" and each.log_ratio is not None]
    if not passes:
        return line(("COSTS ONLY  ", "quiet"), "There is no speed with drafts to compare.")
    change = next((each for each in passes if each.key == "pass_2_ms"), passes[0])
    assert change.log_ratio is not None
    said = (
        f"{change.name}: {letter} takes {percent(change.log_ratio.estimate)} {span_text(change.log_ratio, logs=True)}"
    )
    return line(("COSTS ONLY  ", "quiet"), f"{said}: {word_of(change)}. There is no speed with drafts to compare.")


def word_of(change: Change) -> str:
    """Real, maybe, noise, or that there is no interval."""
    return {"real": "real", "maybe": "maybe", "noise": "noise", "unknown": "no interval"}[change.finding]


def _causes(compared: Compared) -> str:
    """Which parts changed for real, the largest first, and that acceptance did not where it did not."""
    split = compared.split
    if split is None:
        return ""
    top = [part for part in split.parts if part.level == 0]
    real = [part for part in top if part.log_speed.finding == "real" and abs(part.log_speed.estimate) >= SMALL]
    real.sort(key=lambda part: -abs(part.log_speed.estimate))
    said = [_cause(compared, split, part) for part in real[:MOST_CAUSES]]
    acceptance = next((part for part in top if part.key == "acceptance"), None)
    if acceptance is not None and acceptance not in real and acceptance.log_speed.finding == "noise":
        said.append(_no_change(compared))
    text = "; ".join(each for each in said if each)
    if not real:
        text = f"no part of a round changed for real{f'; {text}' if text else ''}"
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _no_change(compared: Compared) -> str:
    alpha = compared.change("acceptance_conditional") or compared.change("acceptance_per_draft")
    seen = "" if alpha is None or alpha.difference is None or not alpha.difference.visible else visible_text(alpha)
    return f"acceptance did not change measurably{f' ({seen} would have shown)' if seen else ''}"


def _cause(compared: Compared, split: Split, part: Part) -> str:
    worth = f"{signed(part.token_ms.estimate, 'ms')} a token"
    if part.key == "acceptance":
        alpha = compared.change("acceptance_conditional") or compared.change("acceptance_per_draft")
        moved = "" if alpha is None else f" {figures.share(alpha.base)} → {figures.share(alpha.other)}"
        return f"acceptance {'rose' if part.log_speed.estimate > 0 else 'fell'}{moved} ({worth})"
    if part.key == "length":
        longer = part.log_speed.estimate > 0
        return f"{'longer' if longer else 'shorter'} drafts yield {'more' if longer else 'fewer'} tokens ({worth})"
    if part.key == "between":
        return f"what drafting and verifying hide behind each other changed ({worth})"
    start, more, less = DEARER[part.key]
    assert part.base_ms is not None and part.other_ms is not None and part.round_ms is not None
    dearer = part.round_ms.estimate > 0
    share = (
        percent(math.log(part.other_ms / part.base_ms), signed=False) if min(part.base_ms, part.other_ms) > 0 else ""
    )
    mostly = _mostly(split) if part.key == "verify" else ""
    return f"{start} {share} {more if dearer else less} ({worth}){mostly}"


def _mostly(split: Split) -> str:
    """The op category that made most of what verify changed by."""
    whole = next(part for part in split.parts if part.key == "verify").token_ms.estimate
    pieces = [part for part in split.parts if part.level == 1]
    if not pieces or not whole:
        return ""
    largest = max(pieces, key=lambda part: part.token_ms.estimate * math.copysign(1.0, whole))
    share = largest.token_ms.estimate / whole
    if share <= 0 or largest.token_ms.finding == "noise":
        return ""
    much = "mostly" if share > 0.5 else "most of all"
    what = "what is in no block" if largest.key == "no_block" else largest.name
    return f", {much} {what} ({signed(largest.token_ms.estimate, 'ms')})"


def _widths(compared: Compared) -> str:
    """Where passes have other widths: how much is width, and how much the price of a pass."""
    if compared.wider_ms is None or compared.dearer_ms is None:
        return ""
    left, right = compared.base.setting, compared.other.setting
    assert left is not None and right is not None
    return (
        f"Passes over {right.k + 1} positions instead of {left.k + 1} cost {signed(compared.wider_ms, 'ms')} a round; "
        f"at equal width they cost {signed(compared.dearer_ms, 'ms')} (passes timed alone)."
    )


def interval_words(compared: Compared) -> str:
    """What the intervals are over."""
    if compared.scope is None:
        return "95%, over repeated timings"
    if compared.paired:
        return f"95% over {compared.units[0]} {compared.scope}, each against itself"
    return f"95% over {compared.units[0]} and {compared.units[1]} {compared.scope}, not paired"


def _speedups(compared: Compared, letter: str) -> str:
    """Both speedups; the verdict words only where a run has one."""
    change = compared.change("speedup_times")
    if change is None:
        return ""
    sides = (("A", compared.base, change.base), (letter, compared.other, change.other))
    words = {"wins": "wins", "loses": "loses", "cannot_win": "cannot win", "too_close": "too close"}
    said = []
    for name, side, value in sides:
        kind = "" if side.ledger is None else words.get(side.ledger.verdict.kind, "no verdict")
        said.append(f"{name} {figures.times(value)}{f' {kind}' if kind else ''}")
    moved = ""
    if change.log_ratio is not None and not compared.doubts:
        moved = f": {percent(change.log_ratio.estimate)} {span_text(change.log_ratio, logs=True)}, {word_of(change)}"
    return f"Against plain decode: {' · '.join(said)}{moved}."


def _plain(compared: Compared, letter: str) -> str:
    change = compared.change("plain_tokens_per_second")
    if change is None or change.log_ratio is None or change.finding != "real" or compared.doubts:
        return ""
    effect = change.log_ratio
    return (
        f"Plain decode itself is {percent(effect.estimate, signed=False)} "
        f"{'faster' if effect.estimate > 0 else 'slower'} in {letter} {span_text(effect, logs=True)}: real."
    )


def changed_text(differences: Sequence[Difference]) -> str:
    """What differs between the two, in one line."""
    return " · ".join(f"{each.fact} {each.base or 'not said'} → {each.other or 'not said'}" for each in differences)


def explained(now: Sequence[str]) -> Explanation:
    """What the Compare page means, with what it says now."""
    return Explanation(
        "Compare",
        (
            "A is the base; every change is the other session against it. Where both measured the same prompts, each "
            "prompt is compared with itself and the 95% interval is over prompts (a t interval by leaving one out at a "
            "time), so what is special about a prompt cancels. Speeds and times are geometric means over prompts.",
            "real: the interval leaves no change out. noise: it does not, which is not the same as equal; 'would show' "
            "is the smallest change that data like these show in four of five tries. The rows are judged together: "
            "where nothing changed, 19 of 20 comparisons call none of them real. A row that would be real by itself, "
            "but is one of so many, is maybe: ask that alone, with a new pair of recordings. What one pair of sessions "
            "cannot know is how much the machine differs from day to day: record A and B in turns when that matters.",
            "The bars take the change in speed with drafts apart. Parts add up exactly, in ms a token, whichever "
            "session is the base. Pieces of verify come from blocks timed alone; what they leave is in no block.",
            "Machines, models or prompts that differ are refused, because they would drown what drafting did; A "
            "compares them anyway. Drafter, k, rule, MLX and mlx-lm may differ: that is what one compares.",
        ),
        (
            "log(tok/s) = log E − log T_round",
            "a part's share = its Δ ÷ logarithmic mean;  Σ shares = log(other ÷ base)",
        ),
        tuple(now) or ("Nothing is compared yet.",),
    )
