"""Tables as values: which columns fit, what is cut, how rows are sorted."""

from __future__ import annotations

import subprocess
import sys

from specview.layouts.lines import width_of
from specview.layouts.tables import Column, TableRow, TableView, fitted, header_line, row_line, sorted_rows

COLUMNS = (
    Column("block", "block", text=True, tail=True),
    Column("count", "count", 5),
    Column("ms", "ms", 0),
    Column("note", "note", 2, text=True),
)
ROWS = (
    TableRow("a", ("model.layers.*.mlp.switch_mlp", "1,024", "12.30", "why this is so")),
    TableRow("b", ("lm_head", "3", "0.10", "")),
)
VIEW = TableView(COLUMNS, ROWS, "ms")


def test_the_views_of_pages_need_no_textual_and_no_mlx() -> None:
    check = (
        "import sys, specview.layouts.ops, specview.layouts.sweep, specview.layouts.experiments; "
        "sys.exit(any(m in sys.modules for m in ('textual', 'mlx.core', 'pandas', 'transformers')))"
    )
    subprocess.run([sys.executable, "-c", check], check=True, timeout=60)


def text(spans) -> str:
    return "".join(span.text for span in spans)


def test_every_line_takes_what_the_columns_take() -> None:
    for width in (30, 45, 60, 200):
        fit = fitted(VIEW, width)
        lines = [header_line(VIEW, fit), *(row_line(VIEW, row, fit) for row in VIEW.rows)]
        assert len({width_of(spans) for spans in lines}) == 1
        assert width_of(lines[0]) <= width


def test_columns_of_high_rank_go_first_and_rank_zero_stays() -> None:
    assert [COLUMNS[i].key for i in fitted(VIEW, 200).indices] == ["block", "count", "ms", "note"]
    assert [COLUMNS[i].key for i in fitted(VIEW, 38).indices] == ["block", "ms", "note"]
    assert [COLUMNS[i].key for i in fitted(VIEW, 22).indices] == ["block", "ms"]


def test_the_end_of_a_block_is_kept_and_the_sorted_column_is_signed() -> None:
    fit = fitted(VIEW, 22)
    assert text(row_line(VIEW, ROWS[0], fit)).startswith("…") and "switch_mlp" in text(row_line(VIEW, ROWS[0], fit))
    assert "ms▾" in text(header_line(VIEW, fit))


def test_wide_characters_count_twice() -> None:
    view = TableView(COLUMNS, (TableRow("a", ("以以以以以以以以以以", "1", "2.00", "")),))
    fit = fitted(view, 30)
    assert width_of(row_line(view, view.rows[0], fit)) == width_of(header_line(view, fit))


def test_numbers_go_from_large_to_small_with_missing_ones_last() -> None:
    one, two, three = (TableRow(key, ()) for key in "abc")
    assert [row.key for row in sorted_rows([(1.0, one), (None, two), (3, three)], True)] == ["c", "a", "b"]
    assert [row.key for row in sorted_rows([("z", one), ("b", two), ("c", three)], False)] == ["b", "c", "a"]


def test_columns_kept_free_cost_a_gap_rather_than_a_column() -> None:
    full = fitted(VIEW, 200)
    taken = sum(full.widths) + 2 * (len(full.widths) - 1)
    assert fitted(VIEW, taken).indices == fitted(VIEW, taken, 1).indices
    for width in (25, 33, 38, taken, taken + 1, taken + 20):
        fit = fitted(VIEW, width, 1)
        lines = [header_line(VIEW, fit), *(row_line(VIEW, row, fit) for row in VIEW.rows)]
        assert {width_of(spans) for spans in lines} <= set(range(width))
    tight = fitted(VIEW, taken, 1)
    assert tight.last_gap == 1 or sum(tight.widths) < sum(full.widths)


def test_a_cell_says_which_column_it_lies_in() -> None:
    fit = fitted(VIEW, 200)
    title = text(header_line(VIEW, fit))
    assert [fit.at(title.index(word)) for word in ("block", "note")] == [0, 3]
    assert fit.at(fit.widths[0]) is None and fit.at(500) is None and fit.at(-1) is None
