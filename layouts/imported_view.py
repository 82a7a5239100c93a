"""The dashboard of another engine's figures: what its counters can feed, and a sentence where they cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from ..profilers.judge.blocks_table import BlocksTable
from ..profilers.judge.imported import ImportedVerdict
from ..profilers.judge.ledger import Ledger
from ..profilers.judge.ledger_sheets import verdicts_beside
from ..profilers.judge.numbers import MS, numbers, whole_probes
from ..profilers.judge.windows import tokens_per_second, windows_of_runs
from ..profilers.record.records import Counters
from ..profilers.record.session import Session
from . import figures
from .costs import Rulers, decode_view, verify_view
from .imported_line import ImportedLine, imported_line
from .imported_rows import DERIVED, SAYS
from .view_models import DecodeView, RatioBar, StreamPiece, StreamView, VerifyView

IMPORTED = "imported"  # how the plan of an import begins
UNKNOWN = "unknown"
MOST_WINDOWS = 400
NO_TEXT = "What an engine generated is not recorded here, only what it counts."
NO_WINDOWS = f"{NO_TEXT} Nothing was counted yet."
NO_PASSES = "What a decode step is made of is not in these figures: no pass was timed alone."
NO_WIDTHS = "No verify pass was timed alone here. With llama.cpp, llama-bench -p 1-16 -n 0 times them, to import."
NO_SINGLE = "Passes over several positions are here, but none over one position to divide them by."


@dataclass(frozen=True, slots=True)
class ImportedFacts:
    """What a session of another engine says.

    `found` is the group of like windows that is shown, `others` how many more there are. `passes` are whole passes
    of one sequence in ms by positions, `draft_step_ms` a drafter step timed alone, `line` the break-even line or why
    there is none, `windows` the last ones as text.
    """

    found: ImportedVerdict | None
    others: int
    passes: Mapping[int, float]
    draft_step_ms: float | None
    line: ImportedLine | str
    windows: StreamView


def imported_facts(session: Session, ledger: Ledger | None) -> ImportedFacts | None:
    """The facts; None for a session that specview or somebody's own loop recorded round by round."""
    if not session.counters and session.header.source is None:
        return None
    if ledger is not None and ledger.segments:
        return None
    if session.runs and not session.counters and not session.header.plan.startswith(IMPORTED):
        return None
    verdicts = verdicts_beside(session, ledger)
    passes = {width: fmean(ns) * MS for width, ns in sorted(whole_probes(session, "verify").items()) if ns}
    if not verdicts and not passes and (session.runs or session.probes):
        return None
    found = _shown(verdicts)
    draft = whole_probes(session, "draft").get(1)
    draft_step_ms = fmean(draft) * MS if draft else None
    return ImportedFacts(
        found=found,
        others=max(0, len(verdicts) - 1),
        passes=passes,
        draft_step_ms=draft_step_ms,
        line=imported_line(found, passes, draft_step_ms),
        windows=_windows(session.counters or windows_of_runs(session)),
    )


def _shown(verdicts: Sequence[ImportedVerdict]) -> ImportedVerdict | None:
    """The last group with a verdict, else the last: a stretch that had two requests at once hides no others."""
    judged = [each for each in verdicts if each.verdict not in (None, "refused")] or list(verdicts)
    return judged[-1] if judged else None


def setting_of(session: Session, found: ImportedVerdict | None) -> tuple[str, ...]:
    """Engine, drafter with k, and rule, as far as the engine says; what is unknown is left out."""
    source = session.header.source or ""
    if found is None or not found.windows:
        return source, "no drafts" if found is not None else ""
    k = found.numbers.get("k", found.manner.k)
    told = session.header.drafter.kind if session.header.drafter is not None else ""
    drafter = found.manner.drafter or (told if told != UNKNOWN else "") or "drafts"
    return source, f"{drafter} k={k}" if k is not None else drafter, found.manner.rule or ""


def imported_decode(
    session: Session, ledger: Ledger | None, blocks: BlocksTable | None, rulers: Rulers, facts: ImportedFacts
) -> DecodeView:
    """Whole passes over one position where they were timed, and plain decode beside them."""
    view = decode_view(session, ledger, blocks, rulers)
    plain_ms = _decode_ms(facts.found)
    if view.whole_ms is None and view.sum_ms is None:
        told = "" if plain_ms is None else f"Plain decode takes {figures.ms(plain_ms)} a token (1000 ÷ tok/s). "
        return replace(view, message=f"{told}{NO_PASSES}")
    view = replace(view, waiting=_between_blocks(facts.found) if view.waiting else "")
    return view if view.pipelined_ms is not None else replace(view, pipelined_ms=plain_ms)


def _between_blocks(found: ImportedVerdict | None) -> str:
    """What lies between fenced blocks: no gap by the queued ruler, and the whole of the mixed-ruler mistake."""
    rulers = None if found is None else found.two_rulers
    if rulers is None:
        return "Blocks were timed one by one; the gap takes the queued ruler."
    shares = f"{figures.percent(rulers.gap_of_sum)} of the sum, {figures.percent(rulers.gap_of_wall)} of the wall"
    return f"Whole graph − {rulers.blocks.ruler} blocks: {figures.ms(rulers.gap_ms)}, {shares}, in no block."


def _decode_ms(found: ImportedVerdict | None) -> float | None:
    """1000 ÷ plain tok/s of one request."""
    if found is None or found.plain is None or any(w.code == "batched_speed" for w in found.warnings):
        return None
    return 1000 / found.plain.tokens_per_second


def imported_verify(
    session: Session, ledger: Ledger | None, blocks: BlocksTable | None, facts: ImportedFacts
) -> VerifyView:
    """Verify ÷ decode by width where a curve was imported, else what is known instead."""
    view = verify_view(ledger, blocks, numbers(whole_probes(session, "verify")))
    single = facts.passes.get(1)
    if single is None or len(facts.passes) < 2:
        return replace(view, widths=(), cliffs=(), no_widths=_no_widths(facts))
    k = None if facts.found is None or not facts.found.windows else facts.found.numbers.get("k")
    bars = (RatioBar(str(n), ms / single, k is not None and n == k + 1) for n, ms in facts.passes.items())
    return replace(view, widths=tuple(bars))


def _no_widths(facts: ImportedFacts) -> str:
    if len(facts.passes) > 1:
        return NO_SINGLE
    part = next((p for p in ([] if facts.found is None else facts.found.parts) if p.name == "verify"), None)
    if part is None:
        return NO_WIDTHS
    step = _decode_ms(facts.found)
    cost = "" if step is None else f", {figures.steps(part.ms / step)}"
    sign = DERIVED if part.derived else SAYS
    return f"{sign} Verify takes {figures.ms(part.ms)} a round by the engine's own clock{cost}. {NO_WIDTHS}"


def _windows(counters: Sequence[Counters]) -> StreamView:
    """The last windows as a line each: when, tok/s, E, share of drafts accepted."""
    if not counters:
        return StreamView(message=NO_WINDOWS)
    shown = counters[-MOST_WINDOWS:]
    first = len(counters) - len(shown)
    timed = any(window.t_ns for window in shown)
    head = f"{'at' if timed else 'window':<8}{'tok/s':>7}{'E':>7}{'drafts':>8}\n"
    pieces = [StreamPiece(f"{NO_TEXT}\n", "mark"), StreamPiece(head, "mark")]
    for number, window in enumerate(shown, start=first + 1):
        when = figures.clock(window.t_ns / 1e9) if timed else f"{number}"
        pieces.append(StreamPiece(_window_line(when, window), "plain" if window.arm == "plain" else "accepted"))
    pieces[-1] = replace(pieces[-1], text=pieces[-1].text.rstrip("\n"))
    where = figures.count(len(counters), "window") if not first else f"last {MOST_WINDOWS} of {len(counters):,} windows"
    return StreamView(where=where, pieces=tuple(pieces))


def _window_line(when: str, window: Counters) -> str:
    speed, tokens, drafted = tokens_per_second(window), window.tokens_per_round, window.drafted
    if window.rounds and window.accepted is not None:
        tokens = 1 + window.accepted / window.rounds
    e = figures.ratio(tokens)
    share = figures.NONE
    if window.arm == "plain":
        e, share = "", "plain"
    elif drafted and window.accepted is not None:
        share = f"{window.accepted / drafted:.0%}"
    several = f"  ×{window.batch}" if window.batch is not None and window.batch > 1 else ""
    rate = figures.NONE if speed is None else figures.significant(speed)
    return f"{when:<8}{rate:>7}{e:>7}{share:>8}{several}\n"
