"""Screens as documents: raw numbers with their units, and the same tables as they are shown."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hostile_session import FORMULA, hostile_session

from specview.layouts.export.csv_text import csv_text
from specview.layouts.export.documents import raw_documents
from specview.layouts.export.json_text import json_text
from specview.layouts.export.shown import shown_document
from specview.layouts.tables import Column, TableRow, TableView
from specview.profilers.record.session import read_session

EXAMPLES = Path(__file__).resolve().parents[3] / "assets" / "examples"


@pytest.fixture(scope="module")
def session():
    """A recording that loses."""
    return read_session(EXAMPLES / "bundled-mtp.specview.jsonl")


def one(screen, session):
    (document,) = raw_documents(screen, session, "name")
    return document


def test_the_ledger_has_raw_numbers_with_unit_spread_n_ruler_and_source(session) -> None:
    document = one("ledger", session)
    rows = json.loads(json_text(document))["tables"]["ledger"]
    decode = next(row for row in rows if row["name"] == "T_decode")
    assert decode["unit"] == "ms" and decode["ruler"] == "pipelined" and decode["source"] == "measured"
    assert 6.50 < decode["value"] < 6.51 and decode["value"] != round(decode["value"], 2)
    assert decode["low_95"] < decode["value"] < decode["high_95"] and decode["n"] == 696 and decode["median"] > 6
    assert any("1.877 × 6.51 ÷ 14.06 ms" in each for each in document.sentences)


def test_the_dashboard_says_the_verdict_and_gives_its_panels(session) -> None:
    document = one("dashboard", session)
    assert document.sentences[0].startswith("LOSES 0.87x")
    assert [table.name for table in document.tables] == [
        "decode_step", "verify_by_category", "verify_by_positions", "break_even", "ledger",
    ]  # fmt: skip


def test_the_sweep_names_units_and_marks_the_measured_draft_length(session) -> None:
    widths, lengths = one("sweep", session).tables
    assert "verify_ms" in widths.keys and len(widths.rows) == len(widths.shown.rows)
    assert len(lengths.rows) == len(lengths.shown.rows)
    first = dict(zip(lengths.keys, lengths.rows[0], strict=True))
    assert first["k"] == 1 and 0.87 < first["measured_speedup"] < 0.88


def test_ops_come_raw_by_place_and_by_primitive() -> None:
    shape = read_session(EXAMPLES / "shape-35b-a3b.specview.jsonl")
    places, primitives, floors = one("ops", shape).tables
    assert "moved_bytes" in places.keys and primitives.rows and floors.name == "floors"


def test_a_report_holds_every_screen_and_its_limits(session) -> None:
    documents = raw_documents("report", session, "name")
    assert [each.screen for each in documents] == ["dashboard", "ledger", "sweep", "ops", "limits"]
    assert any("18" in text or "prompts" in text for text in documents[-1].sentences)


def test_a_screen_that_has_to_be_drawn_has_no_raw_document(session) -> None:
    assert raw_documents("experiments", session, "name") is None


def test_a_survey_and_an_imported_session_have_documents_too() -> None:
    assert one("ledger", read_session(EXAMPLES / "shape-35b-a3b.specview.jsonl")).tables
    july = read_session(EXAMPLES / "article-a-july.specview.jsonl")
    assert any("1.0655x" in text for text in one("ledger", july).sentences)
    assert one("dashboard", july).sentences[0].startswith("NO VERDICT")


def test_hostile_texts_stay_texts_in_every_form() -> None:
    for document in raw_documents("report", hostile_session(), "=name"):
        whole = json.loads(json_text(document), parse_constant=pytest.fail)
        assert whole["screen"] == document.screen
        text = csv_text(document)
        assert "\x1b" not in text and f",{FORMULA}" not in text and not text.startswith("=")


def test_columns_of_one_unit_are_read_as_numbers_and_others_stay_texts() -> None:
    columns = tuple(Column(str(i), title) for i, title in enumerate(("n", "÷ T(1)", "share", "ms", "", "mixed")))
    rows = (
        TableRow("a", ("1,024", "1.50", "7.0%", "—", "=x", "1 ms")),
        TableRow("b", ("2", "−0.25", "12%", "3.00", "y", "2 MB")),
    )
    (table,) = shown_document("s", "t", (("Widths · ms", TableView(columns, rows)),)).tables
    assert table.name == "widths"
    assert table.keys == ("n", "per_t_1", "share_percent", "ms", "4", "mixed")
    assert table.rows == ((1024, 1.5, 7.0, None, "=x", "1 ms"), (2, -0.25, 12, 3.0, "y", "2 MB"))


def test_a_document_without_rows_says_what_is_missing() -> None:
    document = shown_document("s", "t", (("Empty", TableView(message="Nothing yet.")),))
    assert document.tables == () and document.sentences == ("Nothing yet.",)


def test_no_number_is_without_end(session) -> None:
    for document in raw_documents("report", session, "name"):
        for table in document.tables:
            for row in table.rows:
                assert all(not isinstance(v, float) or math.isfinite(v) for v in row)
