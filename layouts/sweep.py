"""The Sweep screen: T_verify over positions with its cliffs, and speedup by k, measured against the formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..engine.errors import SpecviewError
from ..profilers.judge.asked import scaled
from ..profilers.judge.break_even import BreakEvenLine, break_even_line
from ..profilers.judge.costs_alone import CostsAlone, costs_alone
from ..profilers.judge.curve import VerifyCurve, pooled_curve, verify_curves
from ..profilers.judge.ledger import Ledger, ledger_of
from ..profilers.judge.question import FROM_HALF
from ..profilers.judge.statistics import Interval
from ..profilers.judge.visits import Setting, settings_of, visits_of
from ..profilers.record.session import Session
from . import figures
from .curve_chart import Chart, Point, Series
from .heat import HeatView, heat_view
from .lines import Line, line, wrapped
from .tables import Column, TableRow, TableView
from .view_models import WhatIf

NO_WIDTHS = (
    "No width was timed twice yet, so there is no curve. A recording probes a few widths between its segments; "
    "y surveys the same model, and specview curve sweeps all widths."
)
GLYPHS = ("●", "◆", "■", "○")
TONES = ("measured", "cat-linear", "cat-norms", "cat-sampling")
MARKED = " · WHAT IF"
EMPTY_TABLE = TableView()
EMPTY_CHART = Chart(())
NO_HEAT = HeatView()


@dataclass(frozen=True, slots=True)
class Tried:
    """One setting that was run: its measured speedup, or why there is none."""

    setting: Setting
    speedup: Interval | None
    why_not: str


@dataclass(frozen=True, slots=True)
class SweepFacts:
    """What a session says of widths and draft lengths.

    `lines` are those of the last setting's drafter at every k whose verify width was measured; `costs` stand in where
    nothing was generated.
    """

    curves: tuple[VerifyCurve, ...] = ()
    tried: tuple[Tried, ...] = ()
    lines: tuple[BreakEvenLine, ...] = ()
    costs: CostsAlone | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class SweepView:
    """Two charts with their tables; sentences name cliffs, rulers and what is missing."""

    curve_title: str = "T_verify(n)"
    curve: Chart = EMPTY_CHART
    curve_legend: Line = ()
    widths: TableView = EMPTY_TABLE
    sentences: tuple[str, ...] = ()
    speed_title: str = "Speedup by k"
    speed: Chart = EMPTY_CHART
    speed_legend: Line = ()
    lengths: TableView = EMPTY_TABLE
    rulers: tuple[str, ...] = ()
    heat: HeatView = NO_HEAT


def sweep_facts(session: Session, ledger: Ledger | None, shares: Mapping[int, float]) -> SweepFacts:
    """Everything about widths and draft lengths; an unfit session is a message, not a crash."""
    try:
        curves = () if session.runs else verify_curves(session)
        if not curves:
            pooled = pooled_curve(session)
            curves = () if pooled is None else (pooled,)
        return SweepFacts(
            curves=curves,
            tried=_tried(session),
            lines=() if ledger is None else _lines(ledger, shares),
            costs=None if ledger is not None else costs_alone(session),
            message="" if curves else NO_WIDTHS,
        )
    except SpecviewError as error:
        return SweepFacts(message=str(error))
    except (ArithmeticError, ValueError) as error:
        return SweepFacts(message=f"The times of this session do not fit together ({error}).")


def _tried(session: Session) -> tuple[Tried, ...]:
    if not session.runs:
        return ()
    found = []
    for setting in settings_of(visits_of(session)):
        try:
            verdict = ledger_of(session, setting).verdict
        except SpecviewError as error:
            found.append(Tried(setting, None, str(error)))
            continue
        found.append(Tried(setting, verdict.speedup, "" if verdict.speedup is not None else verdict.reason))
    return tuple(found)


def _lines(ledger: Ledger, shares: Mapping[int, float]) -> tuple[BreakEvenLine, ...]:
    found = []
    for width in ledger.verify_by_width:
        if width > 1:
            try:
                found.append(break_even_line(ledger, shares, width - 1))
            except SpecviewError:
                continue  # parts of a round that were not measured; the table says which k are there
    return tuple(found)


def sweep_view(facts: SweepFacts, asked: WhatIf | float | None = None) -> SweepView:
    """Both charts; a what-if (a number is one of p) moves the formula's points and never the measured ones."""
    what_if = asked if isinstance(asked, WhatIf) else WhatIf(p=asked)
    lengths, speed, legend, rulers = (
        _speed_measured(facts, what_if) if facts.costs is None else _speed_at_most(facts.costs, what_if)
    )
    return SweepView(
        curve_title=_curve_title(facts) + (MARKED if what_if.verify != 1.0 else ""),
        curve=Chart((*(_series(curve, i) for i, curve in enumerate(facts.curves)), *_asked_series(facts, what_if))),
        curve_legend=_curve_legend(facts, what_if),
        widths=_widths(facts, what_if),
        sentences=_sentences(facts),
        speed_title="Speedup by k" + ("" if what_if == WhatIf() else MARKED),
        speed=speed,
        speed_legend=legend,
        lengths=lengths,
        rulers=rulers,
        heat=heat_view(asked_lines(facts, what_if), facts.tried[-1].setting.k if facts.tried else None, what_if.p),
    )


# ------------------------------------------------------------------ T_verify(n)


def _curve_title(facts: SweepFacts) -> str:
    if len(facts.curves) != 1:
        return "T_verify(n)"
    return f"T_verify(n) · {_context(facts.curves[0])} positions in the cache"


def _context(curve: VerifyCurve) -> str:
    low, high = curve.contexts
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _series(curve: VerifyCurve, index: int) -> Series:
    points = tuple(Point(p.width, p.ms.mean.estimate, max(0.0, p.ms.mean.low), p.ms.mean.high) for p in curve.points)
    gaps = tuple((cliff.below, cliff.above) for cliff in curve.cliffs)
    return Series(points, GLYPHS[index % len(GLYPHS)], TONES[index % len(TONES)], gaps)


def _asked_series(facts: SweepFacts, what_if: WhatIf) -> tuple[Series, ...]:
    """The curves with T_verify moved; one position is a decode step and stays."""
    if what_if.verify == 1.0:
        return ()
    return tuple(
        Series(
            tuple(Point(p.width, p.ms.mean.estimate * what_if.verify) for p in curve.points if p.width > 1),
            "◇",
            "what-if",
            tuple((cliff.below, cliff.above) for cliff in curve.cliffs),
        )
        for curve in facts.curves
    )


def _curve_legend(facts: SweepFacts, what_if: WhatIf) -> Line:
    parts: list[tuple[str, str]] = []
    for i, curve in enumerate(facts.curves):
        parts += [(GLYPHS[i % len(GLYPHS)], TONES[i % len(TONES)]), (f" {_context(curve)} in cache  ", "")]
    if any(curve.cliffs for curve in facts.curves):
        parts += [("▲", "warn"), (" after a cliff  ", "")]
    if what_if.verify != 1.0:
        parts += [("◇", "what-if"), (" WHAT IF  ", "")]
    parts.append(("ms over n", "quiet"))
    return line(*parts)


def _widths(facts: SweepFacts, what_if: WhatIf) -> TableView:
    several, asked = len(facts.curves) > 1, what_if.verify != 1.0
    columns = (
        *((Column("context", "cache", 0),) if several else ()),
        Column("width", "n"),
        Column("ms", "ms", 0),
        *((Column("asked", "what if ms", 0),) if asked else ()),
        Column("spread", "±", 3),
        Column("ratio", "÷ T(1)", 0),
        Column("interval", "95%", 4),
        Column("marginal", "each more", 1),
        Column("n", "timed", 5),
        Column("mark", "", 0, text=True),
    )
    rows = []
    for curve in facts.curves:
        edges = {cliff.above for cliff in curve.cliffs}
        bumps = {bump.width: bump.pad_to for bump in curve.bumps}
        for p in curve.points:
            mark = "▲" if p.width in edges else f"pad to {bumps[p.width]}" if p.width in bumps else ""
            cells = (
                *((_context(curve),) if several else ()),
                str(p.width),
                figures.bare_ms(p.ms.mean.estimate),
                *((figures.bare_ms(p.ms.mean.estimate * (what_if.verify if p.width > 1 else 1.0)),) if asked else ()),
                figures.plus_minus(p.ms.mean).removeprefix("± "),
                figures.ratio(p.ratio.estimate),
                figures.span(p.ratio),
                figures.NONE if p.marginal_ms is None else figures.bare_ms(p.marginal_ms.estimate),
                str(p.ms.n),
                mark,
            )
            rows.append(TableRow(f"{_context(curve)} {p.width}", cells, "warn" if mark else ""))
    return TableView(columns, tuple(rows), message=facts.message or NO_WIDTHS)


def _sentences(facts: SweepFacts) -> tuple[str, ...]:
    found = []
    for curve in facts.curves:
        at = f" at {_context(curve)} in the cache" if len(facts.curves) > 1 else ""
        found += [
            f"Cliff between {c.below} and {c.above}{at}: {figures.ms(c.marginal)} a position, "
            f"else {figures.ms(c.typical)}."
            for c in curve.cliffs
        ]
        found += [
            f"{b.width} positions{at} cost more than {b.pad_to}: padding saves {figures.ms(b.saved)}."
            for b in curve.bumps
        ]
    left_out = [curve.left_out for curve in facts.curves if curve.left_out]
    if facts.curves and not found:
        found.append("No cliff among the measured widths; between them nothing is guessed.")
    return (*found, *dict.fromkeys(left_out))


# ------------------------------------------------------------------ speedup by k

Speed = tuple[TableView, Chart, Line, tuple[str, ...]]


def asked_lines(facts: SweepFacts, what_if: WhatIf) -> tuple[BreakEvenLine, ...]:
    """The formula's lines with T_verify and T_draft as asked."""
    return tuple(scaled(each, what_if.verify, what_if.draft) for each in facts.lines)


def _speed_measured(facts: SweepFacts, what_if: WhatIf) -> Speed:
    """Measured settings as points, the formula at every k whose verify width was measured as a line."""
    what_if_p, asked = what_if.p, what_if != WhatIf()
    last = facts.tried[-1].setting if facts.tried else None
    mine = [t for t in facts.tried if last is not None and t.setting.drafter == last.drafter and t.setting.k > 0]
    measured = tuple(
        Point(t.setting.k, t.speedup.estimate, t.speedup.low, t.speedup.high) for t in mine if t.speedup is not None
    )
    by_k = {each.k: each for each in asked_lines(facts, what_if)}
    formula = tuple(Point(k, each.speedup(_alpha(each, what_if_p))) for k, each in sorted(by_k.items()))
    cliffs = {cliff.above for curve in facts.curves for cliff in curve.cliffs}
    gaps = tuple((k - 1, k) for k in by_k if k + 1 in cliffs)
    tone = "what-if" if asked else "limit"
    chart = Chart((Series(formula, "·", tone, gaps), Series(measured, "●", "measured", joined=False)), 1.0)
    rows = []
    points = {p.x: p for p in formula}
    for k in sorted({*by_k, *(t.setting.k for t in mine)}):
        tried = [t for t in mine if t.setting.k == k]
        found = tried[-1].speedup if tried else None
        here = k == what_if.k
        note = "◀ WHAT IF" if here else tried[-1].why_not if tried else ("" if k not in by_k else by_k[k].inferred)
        rows.append(
            TableRow(
                str(k),
                (
                    str(k),
                    figures.NONE if found is None else figures.times(found.estimate),
                    "" if found is None else figures.span(found),
                    figures.times(points[k].y) if k in points else figures.NONE,
                    figures.bare_ms(by_k[k].verify.ms) if k in by_k else figures.NONE,
                    note,
                ),
                "what-if" if here else "",
            )
        )
    columns = (
        Column("k", "k"),
        Column("measured", "measured", 0),
        Column("interval", "95%", 2),
        Column("formula", "what if" if asked else "formula", 0),
        Column("verify", "verify", 3),
        Column("note", "", 4, text=True),
    )
    message = "" if rows else "Rounds are still to be measured: a speedup needs drafts and plain decoding."
    drafter = "" if last is None else f" · {last.drafter}"
    alpha = None if not facts.lines else _alpha(facts.lines[0], what_if_p)
    legend = line(
        ("●", "measured-point"), " measured  ", ("⠒⠒", tone), f" formula{drafter}  ",
        ("" if alpha is None else f"α {figures.share(alpha)}{' WHAT IF' if asked else ''}", "quiet"),
    )  # fmt: skip
    rulers = (
        "Measured: free rounds against pipelined plain decoding over the same text, paired.",
        "Formula: E(α) · T_decode (pipelined) ÷ (T_verify(k+1) + T_draft + T_rest), verify and draft synchronous, "
        "rest from split rounds.",
    )
    return TableView(columns, tuple(rows), message=message), chart, legend, rulers if rows else ()


def _alpha(each: BreakEvenLine, what_if_p: float | None) -> float:
    return each.alpha.estimate if what_if_p is None else what_if_p


def _speed_at_most(costs: CostsAlone, what_if: WhatIf) -> Speed:
    """Costs alone: the most that drafts which cost nothing could bring, all accepted or at a what-if p."""
    lengths = [width - 1 for width in costs.widths if width > 1]
    best = tuple(Point(k, costs.most_speedup(1.0, k)) for k in lengths)
    what_if_p = FROM_HALF if what_if.p is None and what_if != WhatIf() else what_if.p
    asked = () if what_if_p is None else tuple(Point(k, _at_most(costs, what_if, what_if_p, k)) for k in lengths)
    columns = (
        Column("k", "k"),
        Column("steps", "R at least", 0),
        Column("best", "all kept", 1),
        Column("needed", "p at least", 2),
        Column("asked", "what if", 6 if what_if_p is None else 0),
    )
    rows = tuple(
        TableRow(
            str(k),
            (
                str(k),
                figures.ratio(costs.steps(k + 1)),
                figures.times(costs.most_speedup(1.0, k)),
                "none" if (needed := costs.crossing(k)) is None else figures.share(needed),
                figures.NONE if what_if_p is None else figures.times(_at_most(costs, what_if, what_if_p, k)),
            ),
            "what-if" if k == what_if.k else "",
        )
        for k in lengths
    )
    chart = Chart((Series(best, "○", "limit"), Series(asked, "◇", "what-if")), 1.0)
    legend = line(
        ("○", "limit"), " at most, all accepted  ",
        *((("◇", "what-if"), f" p {figures.share(what_if_p)} WHAT IF") if what_if_p is not None else ()),
    )  # fmt: skip
    rulers = (
        f"Nothing was generated: R is T_verify(k+1), synchronous, in {costs.in_steps_of}; drafts and the rest of a "
        "round are taken as free, so a real drafter does worse.",
    )
    return TableView(columns, rows), chart, legend, rulers


def _at_most(costs: CostsAlone, what_if: WhatIf, p: float, k: int) -> float:
    """S at the most with T_verify as asked."""
    return costs.most_speedup(p, k) / what_if.verify


def notes_lines(texts: tuple[str, ...], width: int) -> list[Line]:
    """Sentences in quiet lines."""
    return [each for text in texts for each in wrapped(text, width, "quiet")]
