"""The map of speedup over acceptance and k: its line S = 1, its shades without colour, and what does not fit."""

import pytest
from session_builder import Made, built, lines_of

from specview.layouts.heat import HeatView, heat_lines
from specview.layouts.lines import width_of
from specview.layouts.sweep import sweep_facts, sweep_view
from specview.layouts.views import reckon
from specview.profilers.record.session import SessionReader


@pytest.fixture(scope="module")
def facts():
    reader = SessionReader("made")
    reader.feed(lines_of(built(Made(prompts=6, k=1, p=0.8, verify={1: 10.9, 2: 12.0, 3: 13.5, 4: 15.0, 8: 24.0}))))
    session = reader.session()
    reckoning = reckon(session)
    return sweep_facts(session, reckoning.ledger, reckoning.share_by_drafted)


def text_of(lines):
    return ["".join(span.text for span in spans) for spans in lines]


def test_every_measured_k_has_a_row_and_no_other(facts):
    heat = sweep_view(facts, None).heat
    assert [row.k for row in heat.rows] == [1, 2, 3, 7]
    assert heat.here == 1


def test_left_of_the_line_drafts_lose_and_right_of_it_they_win(facts):
    heat = sweep_view(facts, 0.02).heat
    texts = text_of(heat_lines(heat, 110, 8))[1:5]
    assert [row.crossing is not None for row in heat.rows] == ["┃" in text for text in texts] == [True] * 4
    for text in texts:
        before, after = text[5:102].split("┃")
        assert set(before) <= set("·░◆") and set(after) <= set("▒▓█")


def test_the_speed_at_the_right_is_that_of_the_formula(facts):
    heat = sweep_view(facts, None).heat
    for row, line in zip(heat.rows, facts.lines, strict=True):
        assert row.now == line.speedup(line.alpha.estimate)
    assert f"{heat.rows[0].now:.2f}x" in text_of(heat_lines(heat, 60, 10, 1))[1]


def test_a_what_if_moves_the_point_and_says_so(facts):
    asked = sweep_view(facts, 0.31).heat
    lines = heat_lines(asked, 70, 12, 2)
    assert any("WHAT IF" in text for text in text_of(lines))
    assert any(span.tone == "what-if-point" for spans in lines for span in spans)


@pytest.mark.parametrize("width", [24, 36, 58, 110])
@pytest.mark.parametrize("height", [6, 8, 20])
def test_it_fits_and_keeps_its_axis(facts, width, height):
    lines = heat_lines(sweep_view(facts, None).heat, width, height, 7)
    assert all(width_of(spans) <= width for spans in lines[1:])
    assert any("└" in text for text in text_of(lines))
    assert any(text.startswith("▸ 7") for text in text_of(lines))


def test_without_widths_a_sentence_stands_there():
    assert text_of(heat_lines(HeatView(message="nothing yet"), 60, 10)) == ["nothing yet"]
