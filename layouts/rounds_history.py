"""The Rounds screen: accepted lengths, acceptance over time with its interval, and single rounds with their parts."""

from __future__ import annotations

from dataclasses import dataclass

from ..profilers.judge.history import History, LengthCount, OneRound, Window, history_of
from ..profilers.record.session import Session
from . import figures
from .charts import Canvas, bar
from .curve_chart import Chart, Point, Series
from .lines import EMPTY, Line, line, right, wrapped
from .tables import Column, TableRow, TableView

NOTHING = "No round was drafted here, so there is nothing to plot: record with a drafter."
PARTS = (("draft", "▒", "cat-norms"), ("verify", "█", "measured"), ("rest", "░", "quiet"))
FREE = ("▓", "cat-linear")
EMPTY_CHART = Chart(())
WAIT = "Reckoning …"
WAITING_TABLE = TableView(message=WAIT)
LEAST_BARS = 3
ROOMY_LEGEND = 46


@dataclass(frozen=True, slots=True)
class HistoryView:
    """What the screen shows; `rounds` are newest first, as the table is, `message` stands where there are none."""

    title: str = "Rounds"
    message: str = WAIT
    summary: str = ""
    lengths: tuple[LengthCount, ...] = ()
    over_time: Chart = EMPTY_CHART
    over_time_legend: Line = ()
    windows: tuple[Window, ...] = ()
    rounds: tuple[OneRound, ...] = ()
    table: TableView = WAITING_TABLE


def history_view(history: History | None) -> HistoryView:
    """The view of a history."""
    if history is None:
        return HistoryView(message=NOTHING, table=TableView(message=NOTHING))
    alpha = history.alpha
    summary = (
        f"{figures.count(history.count, 'round')} of {history.setting.drafter}, "
        f"k = {history.setting.k}: "
        f"α {figures.share(alpha.estimate)} {figures.span(alpha)} (conditional acceptance, pooled over positions)"
    )
    points = tuple(
        Point(w.last + 1, w.acceptance.estimate, w.acceptance.low, w.acceptance.high) for w in history.windows
    )
    newest = tuple(reversed(history.rounds))
    return HistoryView(
        title=f"Rounds · {history.setting.drafter}, k = {history.setting.k}",
        message="",
        summary=summary,
        lengths=history.lengths,
        over_time=Chart((Series(points, "●", "measured"),), alpha.estimate, ends=(0.0, 1.0)),
        over_time_legend=_over_time_legend(alpha.estimate),
        windows=history.windows,
        rounds=newest,
        table=_table(newest, history.count),
    )


def _over_time_legend(alpha: float) -> Line:
    level = f" all {figures.share(alpha)}  "
    return line(("●", "measured"), " α by window, │ 95%  ", ("──", "quiet"), level, ("over rounds", "quiet"))


def session_history(session: Session) -> HistoryView:
    """The view of a session; whatever it holds, this returns."""
    try:
        return history_view(history_of(session))
    except (ArithmeticError, ValueError) as error:
        told = f"The rounds of this session do not fit together ({error})."
        return HistoryView(message=told, table=TableView(message=told))


def _table(rounds: tuple[OneRound, ...], count: int) -> TableView:
    columns = (
        Column("number", "round"),
        Column("t", "at s", 4),
        Column("prompt", "prompt", 3, text=True),
        Column("context", "context", 5),
        Column("accepted", "kept", 0),
        Column("round", "ms", 0),
        Column("draft", "draft", 1),
        Column("verify", "verify", 1),
        Column("rest", "rest", 2),
    )
    rows = tuple(
        TableRow(
            str(r.number),
            (
                f"{r.number + 1:,}",
                f"{r.t_s:.2f}",
                r.prompt,
                f"{r.context:,}",
                f"{r.accepted} of {r.drafted}",
                figures.bare_ms(r.round_ms),
                figures.bare_ms(r.draft_ms),
                figures.bare_ms(r.verify_ms),
                figures.bare_ms(r.rest_ms),
            ),
        )
        for r in rounds
    )
    return TableView(columns, rows, message="" if rows or count else NOTHING)


def window_of(view: HistoryView, number: int | None) -> Window | None:
    """The window that holds the round of that number, or the last one before it; None without one."""
    counted = next((r.counted for r in view.rounds if r.number == number), None)
    if counted is None or not view.windows:
        return None
    return next((w for w in view.windows if counted <= w.last), view.windows[-1])


def window_words(window: Window) -> str:
    """What a window says."""
    first, last = window.first + 1, window.last + 1
    rounds = f"round {last:,}" if first == last else f"rounds {first:,}–{last:,}"
    return (
        f"{rounds}: α {figures.share(window.acceptance.estimate)} "
        f"{figures.span(window.acceptance)}, E {window.tokens_per_round:.2f}, "
        f"{figures.ms(window.round_ms)} a round, {figures.count(window.prompts, 'prompt')}"
    )


def length_lines(view: HistoryView, width: int, height: int) -> list[Line]:
    """How many rounds kept 0, 1, … drafts: bars with shares, and │ where one constant α would put them."""
    if not view.lengths:
        return wrapped(view.message, width, "quiet")
    counts = max(len(f"{each.rounds:,}") for each in view.lengths)
    labels = max(2, len(str(view.lengths[-1].accepted)))
    room = max(4, width - labels - counts - 20 if width >= 44 else width - labels - 8)
    full = max(max(each.share.high, each.expected or 0.0) for each in view.lengths)
    expected = " if α were constant" if width >= ROOMY_LEGEND else " constant α"
    share = " share of rounds  " if width >= ROOMY_LEGEND else " of rounds  "
    lines = [line(("kept   ", "quiet"), ("█", "whole"), share, ("│", "warn"), expected)]
    for each in view.lengths:
        cells = list(bar(each.share.estimate, full, room).ljust(room))
        tones = ["whole"] * room
        if each.expected is not None:
            at = min(room - 1, round(each.expected / full * room))
            cells[at], tones[at] = "│", "warn"
        drawn = [(cell, tone) for cell, tone in zip(cells, tones, strict=True)]
        tail = f" {figures.percent(each.share.estimate):>6}"
        if width >= 44:
            tail += f" {each.rounds:>{counts},}"
        lines.append(line((right(str(each.accepted), labels) + " ", "strong"), *drawn, (tail, "")))
    told = wrapped(view.summary, width, "quiet")
    return [*lines, *([EMPTY] if len(lines) + len(told) < height else []), *told]


def timeline_lines(rounds: tuple[OneRound, ...], selected: int | None, width: int, height: int) -> list[Line]:
    """One column a round, oldest at the left: its height is its time, its fill its parts, below it what it kept.

    The columns end at the newest round, or stand around the `selected` one (its number), which ▲ marks.
    """
    if not rounds:
        return wrapped(NOTHING, width, "quiet")
    legend = line(*(part for name, glyph, tone in PARTS for part in ((glyph, tone), f" {name}  ")), FREE, " free")
    bars = max(LEAST_BARS, height - 4)
    labels = 6
    room = max(1, width - labels)
    oldest_first = rounds[::-1]
    shown = _around(oldest_first, selected, room)
    full = max(r.round_ms for r in shown)
    canvas = Canvas(room, bars)
    for x, each in enumerate(shown):
        _column(canvas, x, each, full)
    lines: list[Line] = [legend]
    for y, row in enumerate(canvas.rows()):
        label = figures.short_ms(full) if y == 0 else "0" if y == bars - 1 else "ms" if y == bars // 2 else ""
        lines.append(line((right(label, labels - 1), "quiet"), ("│", "axis"), *row))
    kept = "".join(str(r.accepted) if r.accepted < 10 else "+" for r in shown)
    lines.append(line((right("kept", labels - 1) + " ", "quiet"), kept))
    at = next((x for x, r in enumerate(shown) if r.number == selected), None)
    lines.append(line("" if at is None else " " * (labels + at), ("" if at is None else "▲", "strong")))
    return lines


def round_at(rounds: tuple[OneRound, ...], selected: int | None, width: int, cell: int) -> int | None:
    """The number of the round whose column is at `cell` of a timeline so wide; None beside the columns."""
    labels = 6
    shown = _around(rounds[::-1], selected, max(1, width - labels))
    index = cell - labels
    return shown[index].number if 0 <= index < len(shown) else None


def _around(oldest_first: tuple[OneRound, ...], selected: int | None, room: int) -> tuple[OneRound, ...]:
    end = len(oldest_first)
    at = next((i for i, r in enumerate(oldest_first) if r.number == selected), None)
    if at is not None and at < end - room:
        end = min(end, at + room // 2 + 1)
    return oldest_first[max(0, end - room) : max(end, min(room, len(oldest_first)))]


def _column(canvas: Canvas, x: int, each: OneRound, full: float) -> None:
    """Parts from the bottom up, each at least its rounded height."""
    if each.verify_ms is None:
        parts = [(FREE[0], FREE[1], each.round_ms)]
    else:
        times = {"draft": each.draft_ms or 0.0, "verify": each.verify_ms, "rest": each.rest_ms or 0.0}
        parts = [(glyph, tone, times[name]) for name, glyph, tone in PARTS]
    filled, total = 0, 0.0
    for glyph, tone, ms in parts:
        total += ms
        top = min(canvas.height, max(filled, round(total / full * canvas.height)))
        for y in range(filled, top):
            canvas.put(x, canvas.height - 1 - y, glyph, tone)
        filled = top
    if filled == 0:
        canvas.put(x, canvas.height - 1, "▁", parts[0][1])
