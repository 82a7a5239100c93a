"""What the tables of a survey share: a table and its title, room for it, short figures, and the line on top."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from ..profilers.judge.statistics import Interval
from ..profilers.record.session import Session
from . import figures

Drawn = list[RenderableType]
WIDE_COLUMNS = 110  # from here on shapes find room beside the numbers
IN_A_LAYER = "model.layers."  # of a place such as model.layers.*.mlp, whose star says enough on a narrow terminal


@dataclass(frozen=True, slots=True)
class Fitting:
    """The full table where the terminal has room for it, else the narrow one."""

    wide: RenderableType
    narrow: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.wide if options.max_width >= WIDE_COLUMNS else self.narrow


def head(session: Session) -> Text:
    """What was measured on what, in one line."""
    model, machine = session.header.model, session.header.environment
    stored = model.quantisation or model.dtype
    built = sum(count for _, count in model.layers)
    if model.layers_in_full is not None:
        layers = f"{built} of {sum(count for _, count in model.layers_in_full)} layers"
    else:
        layers = figures.count(built, "layer")
    shape = ", random weights" if model.random_weights else ""
    blas = "" if machine.blas is None else f" with {machine.blas}"
    where = f"on {machine.device or 'an unnamed device'}{blas}"
    return Text(f"{model.id} ({model.architecture}, {stored}, {layers}{shape}) {where}")


def table_of(*columns: str, left: int = 1) -> Table:
    """An empty table, its first columns to the left and numbers to the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i < left else "right", overflow="ellipsis", no_wrap=True)
    return table


def titled(title: str, table: RenderableType) -> Drawn:
    """A table under its title, which may be longer than the table is wide."""
    return [Text(title, style="italic"), table]


def flowing(table: Table, index: int) -> None:
    """Let a column of words break over lines."""
    column = table.columns[index]
    column.justify, column.no_wrap, column.overflow = "left", False, "fold"


def spread(interval: Interval | None) -> str:
    """Half the interval in percent, as short as a column wants it."""
    if interval is None or interval.estimate == 0:
        return ""
    percent = abs(interval.high - interval.low) / 2 / abs(interval.estimate) * 100
    if not percent < 1000:
        return " ±>999%"
    return f" ±{percent:.0f}%" if percent >= 9.95 else f" ±{percent:.1f}%"


def small_ms(value: float | None) -> str:
    """Milliseconds with a third decimal below a tenth, since much of a floor lies there."""
    return figures.bare_ms(value) if value is None or abs(value) >= 0.1 else f"{value:.3f}"


def short_size(size_bytes: int) -> str:
    """Bytes, in kB while they are few."""
    return f"{size_bytes / 1e3:.1f} kB" if size_bytes < 1e5 else figures.size(size_bytes)


def listed(numbers: Iterable[int]) -> str:
    """Numbers with commas between them."""
    return ", ".join(map(str, numbers))
