"""What a survey found as tables and as objects: units, narrow terminals, figures that agree, what lacks."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace

import pytest
from rich.console import Console
from session_builder import CASES
from survey_records import COSTS, cost_ms, demands, footer, header, survey, whole

from specview.layouts.survey_tables import as_drawn, as_object
from specview.profilers.record.records import Calibration, Counters, Environment, Note
from specview.profilers.record.session import session_of

QUESTIONS = ("blocks", "census", "curve", "floor", "experiment", "survey")
SURVEY = session_of(survey())
RECORDING = session_of(CASES["cannot-win"])


def drawn(question, session=SURVEY, columns=80):
    """What a terminal of that width shows."""
    text = io.StringIO()
    console = Console(file=text, width=columns, highlight=False, markup=False, color_system=None)
    for drawing in as_drawn(question, session):
        console.print(drawing)
    return text.getvalue()


def row(text, name, start=0):
    """The cells of the first row of that name."""
    lines = text[start:].splitlines()
    return next(line for line in lines if line.lstrip().startswith(name)).replace(name, "", 1).split()


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("columns", [80, 100, 120, 160])
def test_no_number_is_cut_off_at_any_usual_width(question, columns):
    text = drawn(question, columns=columns)
    assert all(len(line) <= columns for line in text.splitlines())
    tables = [line for line in text.splitlines() if line.startswith(" ")]
    assert not [line for line in tables if "…" in line.replace(" … ", "")]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("session", [SURVEY, RECORDING, session_of([header(), footer()])])
def test_every_answer_is_json_without_nan(question, session):
    found = json.loads(json.dumps(as_object(question, session), allow_nan=False))
    assert found["status"] == "finished" and found["model"]["id"] == session.header.model.id


def test_an_infinite_interval_becomes_null():
    lone = [p for p in survey() if getattr(p, "ruler", "") != "fenced"]
    found = as_object("blocks", session_of(lone))
    json.dumps(found, allow_nan=False)
    assert found["widths"]["1"]["rulers"]["fenced"]["span"] is None


def test_three_rulers_stand_side_by_side_and_name_their_unit():
    text = drawn("blocks")
    assert "One pass over 1 position, ms by ruler" in text
    sums = row(text, "sum")
    total = sum(cost_ms(place, 1) for place in COSTS)
    assert sums[0] == "43" and [float(sums[i]) for i in (1, 3, 5)] == pytest.approx(
        [total * 1.1, total, total * 0.8], abs=0.02
    )
    assert row(text, "whole, synchronous")[0] == f"{total + 6:.2f}"
    assert row(text, "whole, pipelined")[0] == f"{total + 5:.2f}"


def test_wall_less_queued_sum_is_the_gap_and_its_parts_add_up():
    text = drawn("blocks")
    wall, queued, gap = (float(row(text, name)[0]) for name in ("wall: 5 passes", "queued sum", "gap "))
    assert wall - queued == pytest.approx(gap, abs=0.011) == pytest.approx(6.0, abs=0.011)
    parts = as_object("blocks", SURVEY)["widths"]["1"]["gap"]
    total = sum(p["ms"] or 0.0 for p in parts["parts"]) + parts["rest"]["ms"]
    assert total == pytest.approx(parts["gap"]["ms"])


def test_interrupted_passes_are_told_where_the_wall_leaves_them_out():
    records = [*survey()[:-1], *(whole(1, 46.0) for _ in range(3))]
    late = replace(whole(1, 46.0), samples_ns=(400_000_000,), build_ns=(2_000_000,), eval_ns=(398_000_000,))
    assert "1 interrupted left out" in drawn("blocks", session_of([*records, late, footer()]))


def test_verify_over_decode_is_the_same_in_every_table():
    ratios = as_object("blocks", SURVEY)["ratios"]["2"]
    floors = {r["category"]: r["measured_ratio"] for r in as_object("floor", SURVEY)["widths"]["2"]["rows"]}
    assert ratios["ruler"] == "queued"
    for (_, category, _), (_, _, further) in COSTS.items():
        assert ratios["by_category"][category]["estimate"] == pytest.approx(1 + further)
        assert floors[category] == pytest.approx(1 + further)
    assert row(drawn("blocks"), "MoE", drawn("blocks").index("Verify ÷ decode"))[0] == "2.00"


def test_ratios_fall_back_to_one_ruler_and_say_which():
    fenced = [p for p in survey() if getattr(p, "ruler", "") != "queued"]
    text = drawn("blocks", session_of(fenced))
    assert "Blocks by ruler: fenced. The whole graph is synchronous." in text
    assert row(text, "MoE", text.index("Verify ÷ decode"))[0] == "2.00"


def test_a_floor_is_bytes_over_bandwidth_and_avoidable_is_the_rest():
    text = drawn("floor")
    measured, least, avoidable, ratio, floor_ratio, bound = row(text, "MLP")
    assert (least, bound, floor_ratio) == ("10.00", "bytes", "1.00")  # 100 MB at 10 GB/s
    assert float(measured) - float(least) == pytest.approx(float(avoidable)) and ratio == "1.50"
    assert "bytes ÷ 10.0 GB/s measured" in text
    assert row(text, "MoE")[1] == "3.00"  # 3 of 8 experts of 80 MB, by the routes
    assert "Routed experts: 3.00 distinct by the routes that occurred" in text


def test_small_floors_are_not_shown_as_nothing():
    held = [d for d in survey() if not isinstance(d, Calibration) or d.what != "bandwidth"]
    fast = Calibration(what="bandwidth", value=1e13, unit="B/s", t_ns=0)
    assert row(drawn("floor", session_of([*held, fast])), "MLP")[1] == "0.010"


def test_a_floor_without_demands_names_the_command_that_measures_them():
    assert "specview floor takes the census" in drawn("floor", RECORDING, 200)
    found = as_object("floor", RECORDING)
    assert found["widths"] == {} and "specview floor" in found["reason"]


def with_rounds(random_weights):
    first, *rest = CASES["cannot-win"]
    last = rest.pop()
    named = replace(first, model=header(random_weights).model)
    return session_of([named, *rest, *survey()[1:5], *demands(), last])


def test_the_reachable_speedup_needs_rounds_and_weights():
    assert "drafting would run at" in drawn("floor", with_rounds(False), 300)
    assert as_object("floor", with_rounds(False))["reachable"]["speedup"]["estimate"] > 0
    for session in (with_rounds(True), SURVEY):
        assert "drafting would run" not in drawn("floor", session, 300)
        assert as_object("floor", session)["reachable"] is None


def test_bytes_of_a_census_are_in_units_that_can_be_read():
    text = drawn("census")
    cells = row(text, "lm_head", text.index("A pass over 2"))
    assert cells[:6] == ["QuantizedMatmul", "1", "1.0", "MB", "8.2", "kB"]
    assert "52 primitives, 45 of them dispatched" in text


def test_what_was_seen_by_name_only_shows_no_bytes():
    assert row(drawn("census")[drawn("census").index("Contiguous") - 60 :], "lm_head")[2:] == ["—", "—", "—"]


def test_a_wide_terminal_shows_the_shapes_too():
    assert "float32[1,2,1536]" in drawn("census", columns=160) and "float32[1,2,1536]" not in drawn("census")
    assert "1536→49152" in drawn("census", columns=160) and "1536→49152" not in drawn("census")


def test_cliffs_of_a_primitive_are_marked_and_told():
    text = drawn("census", columns=160)
    assert "5.00▲" in text and "cliff 6→8" in text


def test_a_curve_of_two_widths_asks_for_more_to_tell_a_cliff():
    text = drawn("curve")
    assert "128 positions in the cache" in text and "Too few widths" in text
    assert row(text, "2")[0] == f"{6 + sum(cost_ms(place, 2) for place in COSTS):.2f}"


def test_a_recording_has_one_curve_over_all_its_contexts():
    assert drawn("curve", RECORDING).count("T_verify(n)") == 1


def test_an_experiment_names_the_switch_and_judges_it():
    text = drawn("experiment")
    assert row(text, "compile off")[-3:-2] == ["real"] and "slower" in text
    assert "compile: passes under a setting" in text


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("blocks", "No block was timed in this session; specview blocks times them."),
        ("census", "No census was taken in this session; specview census takes one."),
        ("curve", "specview curve"),
        ("floor", "specview floor"),
        ("experiment", "specview experiment"),
    ],
)
def test_a_session_without_the_answer_says_who_measures_it(question, sentence):
    assert sentence in drawn(question, session_of([header(), footer()]), 200)


def test_an_imported_session_without_a_machine_still_has_a_head():
    bare = replace(header(), environment=Environment())
    counted = Counters(t_ns=1, arm="plain", source="some engine", tokens=10, elapsed_ns=10**9)
    assert "None" not in drawn("survey", session_of([bare, counted, footer()]), 200)


@pytest.mark.parametrize(
    ("ending", "sentence"),
    [
        ([footer("stopped", "SIGINT")], "It was stopped (SIGINT): these are the figures of what was measured"),
        ([footer("failed", "no memory")], "It was failed (no memory)"),
        ([], "It was interrupted: these are"),
    ],
)
def test_a_survey_that_did_not_run_to_its_end_says_so(ending, sentence):
    assert sentence in drawn("curve", session_of([*survey()[:-1], *ending]), 200)


def test_text_from_a_file_is_no_markup():
    named = replace(header(), model=replace(header().model, id="[bold]model[/]"))
    assert "[bold]model[/]" in drawn("curve", session_of([named, *survey()[1:]]))


@pytest.mark.parametrize("noise_ns", [1e9, math.exp(40)])
def test_one_noisy_slope_neither_fills_its_column_nor_breaks_the_ratios(noise_ns):
    noisy = [
        replace(p, slope_low_ns=-noise_ns, slope_high_ns=noise_ns) if getattr(p, "ruler", "") == "queued" else p
        for p in survey()
    ]
    assert "±>999%" in drawn("blocks", session_of(noisy))
    json.dumps(as_object("blocks", session_of(noisy)), allow_nan=False)


def test_every_width_has_a_floor_of_its_own():
    wider = [
        replace(p, width=4) for p in survey() if getattr(p, "width", 0) == 2 and getattr(p, "ruler", "") == "queued"
    ]
    session = session_of([*survey()[:-1], *wider, footer()])
    text = drawn("floor", session)
    assert "Verify at 2 positions" in text and "Verify at 4 positions" in text
    assert list(as_object("floor", session)["widths"]) == ["2", "4"]


def test_a_pass_alone_that_is_quicker_than_one_among_others_is_no_tie():
    slope = {"slope_ns": 60e6, "slope_low_ns": 59.9e6, "slope_high_ns": 60.1e6}
    queued = replace(whole(1, 46.0), ruler="queued", samples_ns=None, build_ns=None, eval_ns=None, layers=1, **slope)
    text = " ".join(drawn("blocks", session_of([*survey()[:-1], queued, footer()])).split())
    assert "less, so nothing is lost before anything runs" in text


def test_passes_of_a_curve_at_another_context_are_not_pooled_with_the_blocks():
    far = replace(whole(1, 500.0), context=4096)
    session = session_of([*survey()[:-1], far, replace(far, width=2), footer()])
    assert as_object("blocks", session)["widths"] == as_object("blocks", SURVEY)["widths"]
    assert drawn("curve", session).count("T_verify(n)") == 2


def test_a_busy_machine_during_calibration_is_told_beside_the_floor():
    tags = ("calibration",)
    notes = [Note(t_ns=0, text="Calibrated: by a sweep.", tags=tags), Note(t_ns=0, text="Something ran.", tags=tags)]
    session = session_of([*survey()[:-1], *notes, footer()])
    assert "Something ran." in drawn("floor", session) and "by a sweep" not in drawn("floor", session)
    assert as_object("floor", session)["remarks"] == ["Something ran."]
