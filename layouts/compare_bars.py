"""The split of a change in speed as bars: right of the middle slower, left faster, solid real, shaded not so sure."""

from __future__ import annotations

from ..profilers.judge.comparison.effects import Effect
from ..profilers.judge.comparison.split import Part, Split
from . import figures
from .compare_words import percent, short, signed, span_text
from .lines import Line, left, line, right
from .tables import Column, TableRow, TableView

SOLID, SHADED = "█", "░"
NAMES = (12, 22)  # the least and the most cells of a name
NUMBERS = 24
LEAST_BAR = 19
LEAST_SCALE = 0.05  # of a token's time fills a bar at least, so that noise does not look large
SIGN_BY_FINDING = {"real": "real", "maybe": "maybe", "noise": "noise", "unknown": "?"}


def bars_lines(split: Split, width: int, letter: str = "B", height: int | None = None) -> list[Line]:
    """A bar for every part and for all; pieces of verify stand below it, the smallest left out where rows are few."""
    parts, left_out = _kept(split, height)
    longest = max(len(_name(part)) for part in parts)
    names = max(NAMES[0], min(longest, NAMES[1], width - NUMBERS - 2 - LEAST_BAR))
    bar = max(LEAST_BAR, width - names - NUMBERS - 2)
    bar -= 1 - bar % 2
    half = bar // 2
    sizes = [abs(each) for each in (split.token_ms.estimate, *(part.token_ms.estimate for part in split.parts))]
    largest = max(*sizes, LEAST_SCALE * split.base_token_ms)
    faster, slower = "◂ faster", "slower ▸"
    legend = f"{faster}{' ' * (bar - len(faster) - len(slower))}{slower}"
    more = f"… {left_out} smaller"
    first = left(more, names) if left_out else " " * names
    return [
        line((first, "quiet"), (legend, "quiet"), (f" {'ms/token':>9} {'speed':>7}", "quiet")),
        *(
            _row(left(_name(part), names), part.token_ms, part.log_speed, half, largest, quiet=part.level > 0)
            for part in parts
        ),
        _row(left(f"{letter} − A", names), split.token_ms, split.log_speed, half, largest, quiet=False),
    ]


def split_table(split: Split | None, letter: str = "B") -> TableView:
    """The same as a table, with the times of each part in a round; empty where nothing could be taken apart."""
    if split is None:
        return TableView()
    columns = (
        Column("part", "part", text=True),
        Column("base", "A, ms a round"),
        Column("other", f"{letter}, ms a round"),
        Column("token", "change, ms a token"),
        Column("interval", "95%"),
        Column("speed", "speed"),
        Column("finding", "", text=True),
    )
    parts = [_cells(_name(part), (part.base_ms, part.other_ms), part.token_ms, part.log_speed) for part in split.parts]
    cells = (*parts, _cells("in all", (None, None), split.token_ms, split.log_speed))
    rows = tuple(TableRow(str(at), each) for at, each in enumerate(cells))
    return TableView(columns, rows)


def _cells(name: str, round_ms: tuple[float | None, float | None], token: Effect, speed: Effect) -> tuple[str, ...]:
    base, other = ("" if ms is None else figures.bare_ms(ms) for ms in round_ms)
    held, word = span_text(token, logs=False), SIGN_BY_FINDING[token.finding]
    return name, base, other, signed(token.estimate), held, percent(speed.estimate), word


def split_title(split: Split | None, letter: str = "B") -> str:
    """What is taken apart, with its two ends."""
    if split is None:
        return "What changed the speed"
    ends = figures.significant(split.base_token_ms), figures.significant(split.other_token_ms)
    return f"What changed the speed · A {ends[0]} → {letter} {ends[1]} ms a token"


def _kept(split: Split, height: int | None) -> tuple[list[Part], int]:
    """The parts that fit so many rows beside the legend and the sum, and how many pieces do not."""
    pieces = sorted((part for part in split.parts if part.level), key=lambda part: -abs(part.token_ms.estimate))
    room = len(pieces) if height is None else max(0, height - 2 - (len(split.parts) - len(pieces)))
    dropped = pieces[room:]
    return [part for part in split.parts if part not in dropped], len(dropped)


def _name(part: Part) -> str:
    return f"  {short(part.name)}" if part.level else part.name


def _row(name: str, token_ms: Effect, speed: Effect, half: int, largest: float, *, quiet: bool) -> Line:
    cells = round(abs(token_ms.estimate) / largest * half) if largest else 0
    real = token_ms.finding == "real"
    drawn = (SOLID if real else SHADED) * cells
    slower = token_ms.estimate > 0
    before = " " * half if slower or not cells else right(drawn, half)
    after = left(drawn, half) if slower else " " * half
    tone = ("bad" if slower else "good") if real else "quiet"
    numbers = f" {right(signed(token_ms.estimate), 9)} {right(percent(speed.estimate), 7)} "
    word = SIGN_BY_FINDING[token_ms.finding]
    return line(
        (name, "quiet" if quiet else ""),
        (before, tone),
        ("│", "axis"),
        (after, tone),
        (numbers, "" if real else "quiet"),
        (word, tone if real else "quiet"),
    )
