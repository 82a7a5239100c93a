"""The Experiments views: what a switch does here, what it brought, and words for each."""

from __future__ import annotations

from dataclasses import replace

from session_builder import CASES
from survey_builder import SURVEYS

from specview.layouts.experiments import SwitchFacts, experiments_view
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of

KNOWN = (
    SwitchFacts("compile", "fusing", ("compile off",)),
    SwitchFacts("buffers", "command buffers", ("8",), "Only a GPU reads it."),
    SwitchFacts("blas", "multiplying", (), "No OpenBLAS was found."),
)
TRIED = session_of(SURVEYS["experiments"])


def test_a_switch_is_available_or_a_control_or_says_why_not() -> None:
    view = experiments_view(session_of(CASES["wins"]), KNOWN)
    assert [row.cells[3].split(":")[0] for row in view.switches.rows] == ["yes", "as a control", "no"]
    assert KNOWN[1].runnable and not KNOWN[2].runnable
    assert view.results.rows == () and "Enter runs" in view.results.message


def test_results_are_real_or_noise_with_control_and_memory() -> None:
    view = experiments_view(TRIED, KNOWN)
    judged = {(row.cells[0], row.cells[1]): row.cells[7] for row in view.results.rows}
    assert judged["compile off", "compile"] == "real" and judged["OpenBLAS, one thread", "blas"] == "noise"
    assert "control" in judged.values()
    assert {row.tone for row in view.results.rows if row.cells[7] == "real"} == {"bad"}
    assert any("+30.0 MB" in row.cells for row in view.results.rows)
    assert view.switches.rows[0].cells[1] == "real"


def test_words_name_the_selected_switch_first() -> None:
    words = experiments_view(TRIED, KNOWN).words("blas")
    assert words[0].startswith("blas: multiplying. no: No OpenBLAS") and any("real: slower" in text for text in words)
    assert experiments_view(None, ()).words(None) == ()


def test_switches_that_a_session_tried_are_listed_where_none_is_known() -> None:
    view = experiments_view(TRIED, (), "MLX is not installed here.")
    assert [row.key for row in view.switches.rows] == ["compile", "blas"]
    assert view.switches.message == "MLX is not installed here."


def test_times_of_nothing_are_no_result() -> None:
    records = tuple(replace(x, samples_ns=(0,)) if isinstance(x, r.Experiment) else x for x in SURVEYS["experiments"])
    assert experiments_view(session_of(records), KNOWN).results.rows == ()
