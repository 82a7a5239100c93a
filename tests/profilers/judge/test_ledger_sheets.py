"""Every number of a session as rows: recorded, imported, surveyed, July, and whatever a file may hold."""

from __future__ import annotations

import july
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_builder import CASES
from windows_made import drafting, imported_half, plain, requests, session, whole

from specview.layouts.ledger import head_lines, ledger_view
from specview.layouts.sheet_lines import sheet_lines
from specview.profilers.judge.ledger import ledger_of
from specview.profilers.judge.ledger_rows import GROUPS
from specview.profilers.judge.ledger_sheets import NOTHING, ledger_sheets
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of

NORMAL = session_of(CASES["normal"])


def sheet_of(made):
    (sheet,) = ledger_sheets(made)
    return sheet


def rows_named(sheet, name):
    return [row for row in sheet.rows if row.name == name]


def test_a_recorded_session_has_rows_in_every_group_in_their_order():
    groups = [row.group for row in sheet_of(NORMAL).rows]
    assert list(dict.fromkeys(groups)) == list(GROUPS)
    assert groups == sorted(groups, key=GROUPS.index)


def test_times_carry_ruler_interval_median_and_n():
    ledger = ledger_of(NORMAL)
    (row,) = rows_named(sheet_of(NORMAL), "T_decode")
    assert (row.value, row.unit, row.ruler, row.source) == (ledger.decode.mean.estimate, "ms", "pipelined", "measured")
    assert row.interval == ledger.decode.mean and row.spread == ledger.decode.spread and row.n == ledger.decode.n
    (verify,) = rows_named(sheet_of(NORMAL), "T_verify(3)")
    assert verify.ruler == "synchronous"


def test_every_acceptance_names_its_kind():
    rows = [row for row in sheet_of(NORMAL).rows if row.group == "acceptance" and not row.name.startswith("E")]
    assert {row.kind for row in rows} == {"mean accepted", "per draft", "conditional", "cumulative", "per generated"}


def test_the_prediction_stands_beside_the_measurement_with_its_error():
    names = [row.name for row in sheet_of(NORMAL).rows if row.group == "prediction"]
    assert names[:3] == ["predicted speed", "measured speed", "error"]
    (error,) = rows_named(sheet_of(NORMAL), "error")
    assert error.value == ledger_of(NORMAL).prediction_error.error and error.source == "inferred"


def test_what_was_not_measured_is_a_what_if():
    (row,) = rows_named(sheet_of(NORMAL), "S at p = 1")
    assert row.source == "what-if"


def test_the_division_is_that_of_the_means():
    sheet = sheet_of(NORMAL)
    for division in sheet.divisions:
        expected = division.tokens_per_round * division.decode_ms / division.round_ms
        assert division.speedup == pytest.approx(expected)
    assert [d.title for d in sheet.divisions] == ["measured", "from parts"]
    assert [name for name, _ in sheet.divisions[1].parts] == ["T_verify", "T_draft", "T_rest"]


def test_blocks_beside_a_whole_graph_show_both_rulers():
    rulers = sheet_of(NORMAL).two_rulers
    assert rulers is not None and rulers.wrong.speedup > rulers.right.speedup


def test_without_blocks_there_is_one_ruler():
    assert sheet_of(session_of(CASES["interrupted"])).two_rulers is None


def test_a_refused_verdict_has_rows_and_no_speedup():
    sheet = sheet_of(session_of(CASES["one-round"]))
    assert sheet.sentence.startswith("No verdict")
    assert not [row for row in sheet.rows if row.unit == "x"] and sheet.divisions == ()
    assert [row for row in sheet.rows if row.group == "guards"]


def test_imported_numbers_are_called_imported_and_what_follows_inferred():
    sheet = sheet_of(session(*requests((100.0, 80.0, 90.0), (82.0, 66.0, 75.0))))
    by_name = {row.name: row.source for row in sheet.rows}
    assert by_name["plain speed"] == by_name["drafting speed"] == by_name["E, tokens per round"] == "imported"
    assert by_name["T_decode"] == by_name["R, round in steps"] == "inferred"
    assert not any(row.source == "measured" for row in sheet.rows)


def test_what_an_importer_derived_is_marked():
    sheet = sheet_of(session(plain(90.0, derived=("tokens_per_second",)), drafting(60.0, derived=("rounds", "k"))))
    (speed,), (tokens,) = rows_named(sheet, "plain speed"), rows_named(sheet, "E, tokens per round")
    assert "Derived by the importer." in speed.remark
    assert "Derived by the importer: k, rounds." in tokens.remark


def test_imported_speeds_carry_their_spread_over_windows():
    (row,) = rows_named(sheet_of(session(plain(90.0), *[drafting(v) for v in (60.0, 62.0, 70.0)])), "drafting speed")
    assert (row.spread.median, row.spread.mad, row.n) == (62.0, 2.0, 3)


def test_half_of_the_facts_are_shown_and_the_rest_is_asked_for():
    sheet = sheet_of(session_of(imported_half()))
    assert not [row for row in sheet.rows if row.group == "baseline"]
    assert any(row.name == "missing" and "--baseline-tps" in row.remark for row in sheet.rows)


def test_several_groups_have_a_sheet_each():
    sheets = ledger_sheets(session(plain(90.0), drafting(60.0), drafting(61.0, k=2)))
    assert [sheet.title for sheet in sheets] == ["vLLM, eagle, k = 3, 1 at once", "vLLM, eagle, k = 2, 1 at once"]


def test_several_at_once_show_a_ratio_that_is_no_speedup():
    sheet = sheet_of(session(plain(400.0, batch=8), drafting(500.0, batch=8)))
    (row,) = rows_named(sheet, "throughput ratio")
    assert row.value == pytest.approx(1.25) and "no S of one request" in row.remark
    assert not rows_named(sheet, "S, speedup") and not rows_named(sheet, "T_decode")


def test_july_shows_both_results_and_the_gap():
    sheet = sheet_of(session_of(july.records()))
    (wrong,), (right,) = rows_named(sheet, "S, wrong ruler"), rows_named(sheet, "S, right ruler")
    assert wrong.value == pytest.approx(1.0655, abs=1e-4) and right.value == pytest.approx(0.7994, abs=1e-4)
    (gap,) = rows_named(sheet, "between blocks")
    assert gap.value == pytest.approx(2.813, abs=5e-4)
    assert "34.6% of the sum, 25.7% of the wall" in gap.remark
    blocks = [row.value for row in sheet.rows if row.name.endswith("(1)") and "sum" not in row.name]
    assert blocks == pytest.approx([4.356, 1.424, 1.266, 0.902, 0.18])


def test_a_survey_has_its_costs_and_no_verdict():
    probes = [p for p in CASES["normal"] if isinstance(p, r.Probe)]
    sheet = sheet_of(session_of((CASES["normal"][0], *probes, CASES["normal"][-1])))
    assert "no verdict" in sheet.sentence
    assert {row.group for row in sheet.rows} == {"costs"}


def test_an_empty_session_says_so():
    sheet = sheet_of(session_of(CASES["normal"][:1]))
    assert "no verdict" in sheet.sentence or sheet.sentence == NOTHING


def test_lines_that_could_not_be_read_are_a_row(tmp_path):
    from specview.profilers.record.session import read_session

    path = tmp_path / "x.specview.jsonl"
    path.write_bytes(b"".join(map(r.to_line, whole(plain(90.0)))) + b"{broken\n" + b"[1]\n")
    (row,) = rows_named(sheet_of(read_session(path)), "unreadable lines")
    assert row.value == 2 and "line 4" in row.remark


SIGNED = st.none() | st.floats(-1e308, 1e308, allow_nan=False)
PROBES = st.builds(
    r.Probe,
    t_ns=st.integers(0, 9),
    ruler=st.sampled_from(("whole", "fenced", "queued")),
    part=st.sampled_from(("decode", "verify", "draft", "round")),
    width=st.integers(0, 4),
    context=st.just(0),
    block=st.none() | st.sampled_from(("a", "b")),
    category=st.none() | st.sampled_from(("MoE", "misc", "new")),
    samples_ns=st.none() | st.lists(st.integers(0, 10**18), max_size=3).map(tuple),
    slope_ns=SIGNED,
    slope_low_ns=SIGNED,
    slope_high_ns=SIGNED,
    layers=st.none() | st.integers(0, 10**9),
)
WINDOWS = st.builds(
    drafting,
    st.none() | st.floats(0, 1e308, allow_nan=False),
    k=st.integers(0, 3),
    batch=st.sampled_from((None, 1, 4)),
    accepted=st.integers(0, 10**15),
    draft_ns=st.none() | st.integers(0, 10**18),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PROBES, max_size=8), st.lists(WINDOWS, max_size=3), st.floats(0, 1e308, allow_nan=False))
def test_whatever_a_file_holds_it_can_be_shown_and_told(probes, windows, tps):
    made = session(plain(tps), *windows, *probes, r.Calibration(what="peak", value=tps, unit="flop/s", t_ns=0))
    view = ledger_view(ledger_sheets(made))
    assert head_lines(view, 76)
    assert sheet_lines(made, ledger_sheets(made))
