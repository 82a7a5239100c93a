"""The Ledger screen: every number in groups with spread, n, ruler, kind and source, the division above them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..profilers.judge.ledger_rows import GROUPS, Division, GroupName, LedgerRow, LedgerSheet, Source
from ..profilers.judge.two_rulers import TwoRulers
from . import figures
from .lines import Line, folded, line, width_of, wrapped
from .tables import Column, TableView
from .told_rows import ToldRows, remark_of
from .view_models import Tone, WhatIfView
from .what_if import asked_rows

GROUP_TITLES: dict[GroupName, str] = {
    "baseline": "Baseline",
    "round": "Round",
    "acceptance": "Acceptance",
    "costs": "Costs by ruler",
    "prediction": "Prediction beside the measurement",
    "guards": "Guards",
}
GROUP_WORDS: dict[GroupName, str] = {
    "baseline": "What plain decode costs: the denominator of R.",
    "round": "What a round costs, and what that means.",
    "acceptance": "What a round yields. Kinds of acceptance are not comparable, so each number names its own.",
    "costs": "What passes cost. Times of two rulers are never divided.",
    "prediction": "What parts timed elsewhere say, beside what was measured.",
    "guards": "Reasons to doubt the numbers, and what is missing.",
}
SIGNS: dict[Source, str] = {"measured": "●", "inferred": "○", "imported": "◇", "what-if": "?"}
TONES: dict[Source, Tone] = {"measured": "", "inferred": "quiet", "imported": "", "what-if": "warn"}
COLUMNS = (
    Column("name", "number", text=True),
    Column("value", "value"),
    Column("interval", "95%", 2),
    Column("spread", "median ± MAD", 5),
    Column("n", "n", 4),
    Column("ruler", "ruler or kind", 1, text=True),
    Column("source", "source", 6, text=True),
    Column("remark", "remark", 7, text=True),
)
FORMULA = "S = E · T_decode ÷ T_round"
ROOM_FOR_REMARKS = 110
NOTHING = TableView(message="Nothing is measured yet.")


@dataclass(frozen=True, slots=True)
class LedgerView:
    """What the Ledger screen shows; `remark_by_key` is what is said of a row, `legend` tells the signs apart."""

    title: str = "Ledger"
    sentences: tuple[str, ...] = ()
    divisions: tuple[Division, ...] = ()
    two_rulers: tuple[TwoRulers, ...] = ()
    notes: tuple[str, ...] = ()
    table: TableView = NOTHING
    remark_by_key: tuple[tuple[str, str], ...] = ()
    legend: str = " · ".join(f"{sign} {source}" for source, sign in SIGNS.items())

    def remark(self, key: str | None) -> str:
        """What is said of the row with that key."""
        return remark_of(self.remark_by_key, key)


def ledger_view(sheets: Sequence[LedgerSheet], asked: WhatIfView | None = None) -> LedgerView:
    """The sheets one below the other; `asked` is the what-if that the dashboard answers at the moment."""
    told = ToldRows(COLUMNS)
    several = len(sheets) > 1
    for at, sheet in enumerate(sheets):
        mine = [*sheet.rows, *(asked_rows(asked) if at == 0 else [])]
        for group in GROUPS:
            held = [row for row in mine if row.group == group]
            if not held:
                continue
            heading = f"{GROUP_TITLES[group]} · {sheet.title}" if several else GROUP_TITLES[group]
            told.heading(f"{at} {group}", heading, GROUP_WORDS[group])
            for index, row in enumerate(held):
                said = f"{row.source}: {row.remark}" if row.remark else row.source
                told.put(f"{at} {group} {index}", _cells(row), said, _tone(row))
    return LedgerView(
        title=f"Ledger · {sheets[0].title}" if len(sheets) == 1 else f"Ledger · {len(sheets)} groups",
        sentences=tuple(dict.fromkeys(f"{s.title}: {s.sentence}" if several else s.sentence for s in sheets)),
        divisions=tuple(division for sheet in sheets for division in sheet.divisions),
        two_rulers=tuple(s.two_rulers for s in sheets if s.two_rulers is not None),
        notes=tuple(dict.fromkeys(note for sheet in sheets for note in sheet.notes)),
        table=_without_empty(told.view(NOTHING.message)),
        remark_by_key=tuple(told.remarks),
    )


def table_for(view: LedgerView, width: int) -> TableView:
    """The table for so many cells: where it is narrow, names need the room that remarks would take."""
    if width >= ROOM_FOR_REMARKS:
        return view.table
    return _kept(view.table, [i for i, c in enumerate(view.table.columns) if c.key != "remark"])


def _without_empty(table: TableView) -> TableView:
    """Only columns in which something stands; number and value always."""
    kept = [i for i, c in enumerate(table.columns) if i < 2 or any(row.cells[i] for row in table.rows)]
    return _kept(table, kept)


def _kept(table: TableView, kept: Sequence[int]) -> TableView:
    rows = (replace(row, cells=tuple(row.cells[i] for i in kept)) for row in table.rows)
    return replace(table, columns=tuple(table.columns[i] for i in kept), rows=tuple(rows))


def _tone(row: LedgerRow) -> Tone:
    if row.group == "guards" and row.value is None:
        return "warn"
    return TONES[row.source]


def _cells(row: LedgerRow) -> tuple[str, ...]:
    name = f"{SIGNS[row.source]} {row.name}"
    return (
        name,
        value_text(row),
        interval_text(row),
        spread_text(row),
        "" if row.n is None else f"{row.n:,}",
        row.ruler or row.kind,
        row.source,
        row.remark,
    )


def value_text(row: LedgerRow) -> str:
    """The value with its unit."""
    if row.value is None:
        return ""
    if row.unit == "ms":
        return figures.ms(row.value)
    if row.unit == "%":
        return figures.percent(row.value, signed=True)
    if row.unit == "x":
        return f"{row.value:.3f}x"
    if row.unit == "tok/s":
        return figures.rate(row.value)
    if row.unit in ("times", "lines", "bugs"):
        return f"{row.value:.0f} {row.unit}"
    if row.unit in ("", "tokens", "steps"):
        return f"{row.value:.3f} {row.unit}".strip()
    return f"{_large(row.value)} {row.unit}"


def _large(value: float) -> str:
    for scale, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= scale:
            return f"{value / scale:.3g} {letter}"
    return figures.significant(value)


def interval_text(row: LedgerRow) -> str:
    """The ends of the interval in the value's unit."""
    held = row.interval
    if held is None:
        return ""
    if row.unit == "%":
        return f"[{figures.percent(held.low, signed=True)}, {figures.percent(held.high, signed=True)}]"
    if row.unit == "tok/s":
        return f"[{figures.significant(held.low)}, {figures.significant(held.high)}]"
    return figures.span(held, 3 if row.unit in ("", "x") else 2)


def spread_text(row: LedgerRow) -> str:
    """Median and median absolute deviation."""
    if row.spread is None:
        return ""
    digits = figures.significant if row.unit == "tok/s" else figures.bare_ms
    return f"{digits(row.spread.median)} ± {digits(row.spread.mad)}"


def division_text(division: Division) -> str:
    """The division with its numbers in place."""
    parts = " + ".join(f"{ms:.2f}" for _, ms in division.parts)
    parts = f"({parts})" if len(division.parts) > 1 else parts
    return f"{division.tokens_per_round:.3f} × {division.decode_ms:.2f} ÷ {parts} ms = {division.speedup:.3f}x"


def formula_of(division: Division) -> str:
    """The names of what is divided."""
    if len(division.parts) == 1:
        return FORMULA
    return f"S = E · T_decode ÷ ({' + '.join(name for name, _ in division.parts)})"


def ruler_text(rulers: TwoRulers, *, wrong: bool) -> str:
    """One of the two divisions, with its numbers in place."""
    side = rulers.wrong if wrong else rulers.right
    parts = [side.verify_ms, rulers.draft_ms, rulers.rest_ms]
    words = " + ".join(f"{ms:.3f}" for ms in parts if ms > 0)
    if rulers.how == "passes":
        one = rulers.blocks.single_ms if wrong else rulers.wall_ms
        words = " + ".join([f"{rulers.k + 1} × {one:.3f}", *(f"{ms:.3f}" for ms in parts[1:] if ms > 0)])
    return f"{rulers.tokens_per_round:.4f} × {rulers.decode_ms:.3f} ÷ ({words}) ms = {side.speedup:.4f}x"


def ruler_lines(rulers: TwoRulers, width: int | None = None) -> list[Line]:
    """Both divisions, the gap between the rulers, and which of them is wrong."""
    drawn = []
    for wrong, mark, tone in ((True, "✗ wrong ruler  ", "bad"), (False, "✓ right ruler  ", "good")):
        side = rulers.wrong if wrong else rulers.right
        text = ruler_text(rulers, wrong=wrong)
        speed = f", {figures.rate(1000 * rulers.tokens_per_round / side.round_ms)}"
        whole = line((mark, tone), text, (speed, "quiet"))
        drawn.append(whole if width is None or width_of(whole) <= width else line((mark, tone), text))
    ruler, sum_ms = str(rulers.blocks.ruler), rulers.blocks.single_ms
    shares = f"{figures.percent(rulers.gap_of_sum)} of the sum, {figures.percent(rulers.gap_of_wall)} of the wall"
    gap = f"whole graph {rulers.wall_ms:.3f} − {ruler} sum {sum_ms:.3f} = {rulers.gap_ms:.3f} ms: {shares}"
    return [*drawn, *_hanging("  gap          ", gap, width)]


def _hanging(head: str, text: str, width: int | None) -> list[Line]:
    """A text after its head, later lines indented below it."""
    if width is None:
        return [line((head, "quiet"), (text, "quiet"))]
    rows = wrapped(text, max(20, width - len(head)), "quiet")
    return [line((head if i == 0 else " " * len(head), "quiet"), *row) for i, row in enumerate(rows)]


def head_lines(view: LedgerView, width: int) -> list[Line]:
    """What stands above the table: the sentences, the formula and the divisions."""
    lines: list[Line] = []
    for sentence in view.sentences:
        lines += wrapped(sentence, width, "strong", indent=2)
    if view.divisions:
        longest = max(view.divisions, key=lambda each: len(each.parts))
        lines.append(line((f"  {'formula':<13}", "quiet"), (formula_of(longest), "quiet")))
    for division in view.divisions:
        lines.append(line((f"{SIGNS[division.source]} {division.title:<13}", "quiet"), division_text(division)))
    for rulers in view.two_rulers:
        lines += ruler_lines(rulers, width)
        lines += _hanging("  ", rulers.origin, width)
    for note in view.notes:
        lines += _hanging("note  ", note, width)
    return [row for each in lines for row in folded(each, width)]
