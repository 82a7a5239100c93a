"""`specview show` in words and as JSON for sessions that no recorder of specview wrote."""

from __future__ import annotations

import json

import july
import pytest
from session_builder import CASES
from windows_made import drafting, imported_half, plain, requests, session

from specview.engine.errors import SpecviewError
from specview.layouts.summary import as_object, summary_lines
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of

SURVEY = (CASES["normal"][0], *(p for p in CASES["normal"] if isinstance(p, r.Probe)))


def test_an_imported_session_tells_its_verdict_first_in_its_group():
    lines = summary_lines(session(*requests((100.0, 80.0, 90.0), (82.0, 66.0, 75.0))))
    assert lines[0] == "org/model: imported: metrics, figures of vLLM."
    at = lines.index("vLLM, eagle, k = 3, 1 at once")
    assert "0.8" in lines[at + 1] and "95% interval" in lines[at + 1]


def test_july_is_told_with_both_rulers():
    lines = "\n".join(summary_lines(session_of(july.records())))
    assert "✗ wrong ruler  1.6457 × 10.941 ÷ (2 × 8.128 + 0.643) ms = 1.0655x, 97.4 tok/s" in lines
    assert "✓ right ruler  1.6457 × 10.941 ÷ (2 × 10.941 + 0.643) ms = 0.7994x, 73.1 tok/s" in lines
    assert "= 1.066x" in lines and "= 0.799x" in lines
    assert "Mixed rulers" in lines and "specview measured none of them" in lines


def test_july_as_an_object():
    told = as_object(session_of(july.records()))
    (sheet,) = told["sheets"]
    assert sheet["two_rulers"]["wrong_speedup"] == pytest.approx(1.0655, abs=1e-4)
    assert sheet["two_rulers"]["right_speedup"] == pytest.approx(0.7994, abs=1e-4)
    assert sheet["two_rulers"]["gap_ms"] == pytest.approx(2.813, abs=5e-4)
    assert told["imported"][0]["verdict"] == "refused"
    assert told["source"] == "article A"


def test_a_given_baseline_completes_half_an_import():
    made = session_of(imported_half())
    assert any("give --baseline-tps" in line for line in summary_lines(made))
    assert as_object(made, baseline_tps=92.0)["imported"][0]["verdict"] == "loses"


def test_a_survey_is_told_too():
    assert any("no verdict" in line for line in summary_lines(session_of(SURVEY)))
    assert any("T_verify(2)" in line for line in summary_lines(session_of(SURVEY)))


def test_a_session_without_any_figure_is_one_sentence():
    with pytest.raises(SpecviewError, match="record longer"):
        summary_lines(session_of(SURVEY[:1]))
    with pytest.raises(SpecviewError, match="record longer"):
        as_object(session_of(SURVEY[:1]))


def test_a_recorded_session_with_windows_tells_both():
    windows = (plain(90.0), drafting(60.0))
    made = session_of((*CASES["normal"][:-1], *windows, CASES["normal"][-1]))
    lines = summary_lines(made)
    assert "without drafts" in lines[2] and "vLLM, eagle, k = 3, 1 at once" in lines
    told = as_object(made)
    assert "parts_ms" in told and len(told["sheets"]) == 2


def test_a_recorded_session_with_blocks_shows_both_rulers():
    lines = summary_lines(session_of(CASES["normal"]))
    assert any(line.startswith("✗ wrong ruler") for line in lines)


@pytest.mark.parametrize("records", [july.records(), imported_half(), SURVEY, *CASES.values()])
def test_every_object_is_json(records):
    told = json.loads(json.dumps(as_object(session_of(records)), allow_nan=False))
    assert told["sheets"]
