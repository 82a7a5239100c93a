"""One request of llama.cpp: what its log or its timings say of it, as counters and as notes on what does not fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from ..records import Counters
from .findings import Findings
from .written_numbers import nanoseconds

MS_NS = 1e6
AGREEMENT = 0.03


@dataclass(slots=True)
class DraftWindow:
    """What one drafter counted since it last told: `calls` for a draft, its time, tokens drafted and accepted."""

    name: str
    calls: int
    drafted: int
    accepted: int
    draft_ns: int | None
    differenced: bool


@dataclass(slots=True)
class Request:
    """What is known of one request so far; `decode_ms` leaves the prompt out, `steps_by_kept` counts rounds."""

    label: str
    tokens: int | None = None
    decode_ms: float | None = None
    tokens_per_second: float | None = None
    drafted: int | None = None
    accepted: int | None = None
    mean_length: float | None = None
    by_position: tuple[float, ...] | None = None
    k: int | None = None
    temperature: float | None = None
    drafting_loop: bool = False
    windows: list[DraftWindow] = field(default_factory=list)
    steps_by_kept: dict[int, int] = field(default_factory=dict)

    @property
    def drafts(self) -> bool:
        """Whether it ran the drafting loop, with or without drafts."""
        return self.drafting_loop or self.drafted is not None or bool(self.windows) or bool(self.steps_by_kept)


def counters_of(request: Request, source: str, t_ns: int, findings: Findings) -> Counters | None:
    """The counters of a request, its contradictions told to `findings`; None of one that has no figure."""
    elapsed_ns = nanoseconds(request.decode_ms, MS_NS)
    tokens = request.tokens or None
    if not request.drafts:
        if (tokens is None or elapsed_ns is None) and not request.tokens_per_second:
            return None
        return Counters(
            t_ns=t_ns,
            arm="plain",
            source=source,
            label=request.label,
            tokens=tokens,
            elapsed_ns=elapsed_ns,
            tokens_per_second=request.tokens_per_second,
            temperature=request.temperature,
        )
    return _drafting(request, source, t_ns, tokens, elapsed_ns, findings)


def _drafting(
    request: Request, source: str, t_ns: int, tokens: int | None, elapsed_ns: int | None, findings: Findings
) -> Counters:
    derived: list[str] = []
    drafted, accepted, draft_ns = _drafts(request, derived, findings)
    if accepted is not None and drafted is not None and accepted > drafted:
        findings.contradict(f"{request.label}: {accepted} drafts accepted of {drafted}.")
    with_drafts = _rounds_with_drafts(request, accepted)
    passes = None
    if tokens is not None and accepted is not None:
        if tokens > accepted:
            passes = tokens - accepted
        else:
            findings.contradict(f"{request.label}: {accepted} drafts accepted in {tokens} tokens.")
    per_round = request.mean_length
    rounds = passes if passes is not None else with_drafts
    # the first token comes of the prompt and the last round may be cut, so a short request is a pass or two off
    same = passes is not None and with_drafts is not None and abs(passes - with_drafts) <= max(2, AGREEMENT * passes)
    if passes is not None and tokens is not None and (per_round is None or not same):
        if per_round is not None:
            text = (
                f"{request.label}: mean len {per_round:g} counts rounds with drafts only ({with_drafts or 0}); "
                f"{tokens} tokens took about {passes} passes, {tokens / passes:.3f} tokens each, which is used here."
            )
            findings.note("rounds_without_drafts", text)
        per_round = tokens / passes
        derived.append("tokens_per_round")
    elif per_round is None and rounds and accepted is not None:
        per_round = 1 + accepted / rounds
        derived.append("tokens_per_round")
    if rounds is not None:
        derived.append("rounds")
    by_position = _by_position(request, accepted, with_drafts, findings)
    if by_position is not None:
        derived.append("accepted_by_position")
    names = tuple(dict.fromkeys(window.name for window in request.windows))
    return Counters(
        t_ns=t_ns,
        arm="drafting",
        source=source,
        label=request.label,
        drafter="+".join(names) or None,
        k=request.k,
        rounds=rounds,
        drafted=drafted,
        accepted=accepted,
        accepted_by_position=by_position,
        tokens=tokens if elapsed_ns is not None else None,
        elapsed_ns=elapsed_ns if tokens is not None else None,
        draft_ns=draft_ns,
        tokens_per_second=request.tokens_per_second,
        tokens_per_round=per_round,
        temperature=request.temperature,
        derived=tuple(derived),
    )


def _drafts(request: Request, derived: list[str], findings: Findings) -> tuple[int | None, int | None, int | None]:
    """Drafted, accepted and the time of drafting: the request's own counts, with those of its drafters beside them."""
    drafted, accepted = request.drafted, request.accepted
    if not request.windows:
        if drafted is None and request.steps_by_kept:
            return None, sum(kept * steps for kept, steps in request.steps_by_kept.items()), None
        return (drafted, accepted, None) if drafted is not None else (0, 0, None)
    proposed = sum(window.drafted for window in request.windows)
    kept = sum(window.accepted for window in request.windows)
    times = [window.draft_ns for window in request.windows if window.draft_ns is not None]
    draft_ns = sum(times) if times else None
    if any(window.differenced for window in request.windows):
        derived.append("draft_ns")
    if drafted is None or accepted is None:
        return proposed, kept, draft_ns
    if near(proposed, drafted) and near(kept, accepted):
        return drafted, accepted, draft_ns
    text = (
        f"{request.label}: the server counts {accepted} of {drafted} drafts accepted, its drafters {kept} of {proposed}"
    )
    if near(kept, accepted):
        # builds that redo a partly accepted round leave its drafts out of the server's count
        findings.contradict(f"{text}: drafts of rounds that were done twice, or dropped, are left out.")
        return drafted, accepted, draft_ns
    findings.contradict(f"{text}: other requests ran meanwhile, so the time of drafting is left out.")
    derived[:] = [name for name in derived if name != "draft_ns"]
    return drafted, accepted, None


def _rounds_with_drafts(request: Request, accepted: int | None) -> int | None:
    """Rounds that had a draft: counted, or from the mean length of the accepted prefix."""
    if request.steps_by_kept:
        return sum(request.steps_by_kept.values())
    if accepted and request.mean_length is not None and request.mean_length > 1:
        kept = request.mean_length - 1
        if request.by_position is not None and abs(sum(request.by_position) - kept) <= 0.02:
            kept = sum(request.by_position)
        return max(1, round(accepted / kept)) if kept > 0 else None
    if request.windows and request.tokens is None:
        return max(window.calls for window in request.windows) or None
    return None


def _by_position(
    request: Request, accepted: int | None, rounds: int | None, findings: Findings
) -> tuple[int, ...] | None:
    if request.by_position is None:
        deepest = max(request.steps_by_kept, default=0)
        steps = request.steps_by_kept
        return tuple(sum(n for kept, n in steps.items() if kept > i) for i in range(deepest)) or None
    rates = request.by_position
    if any(later > earlier + 0.002 for earlier, later in pairwise(rates)):
        findings.contradict(f"{request.label}: acceptance by position rises, so it is not cumulative.")
        return None
    if request.mean_length is not None and abs(1 + sum(rates) - request.mean_length) > 0.02:
        text = f"{request.label}: mean len {request.mean_length:g}, but by position it would be {1 + sum(rates):.3f}."
        findings.contradict(text)
    if rounds is None and accepted and sum(rates) > 0:
        rounds = round(accepted / sum(rates))
    return None if not rounds else tuple(round(rate * rounds) for rate in rates)


def near(one: float, other: float) -> bool:
    """Whether two counts of the same thing agree, rounding and a request's first token aside."""
    return abs(one - other) <= AGREEMENT * max(abs(other), abs(one)) + 1e-9
