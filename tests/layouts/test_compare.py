"""What the Compare page says: headline, causes, table, bars and refusals, from built sessions."""

from __future__ import annotations

import json
import math

import july
import pytest
from compared_sessions import VERIFY, named
from session_builder import CASES
from survey_builder import SURVEYS

from specview.layouts.compare import CompareFacts, compare_facts, compare_view
from specview.layouts.compare_bars import SHADED, SOLID, bars_lines, split_table, split_title
from specview.layouts.compare_object import compare_object
from specview.layouts.compare_words import percent, sentences, signed
from specview.layouts.lines import Line, width_of
from specview.profilers.judge.comparison.comparing import Compared, Named, compare
from specview.profilers.judge.comparison.gate import gate
from specview.profilers.record.session import session_of

DEARER = {**VERIFY, 2: VERIFY[2] * 1.1}


def text(lines: tuple[Line, ...] | list[Line]) -> str:
    return "\n".join("".join(span.text for span in each) for each in lines)


@pytest.fixture(scope="module")
def dearer() -> Compared:
    return compare(named("a", 1), named("b", 2, verify=DEARER))


def test_the_headline_says_how_much_slower_how_sure_and_why(dearer: Compared) -> None:
    said = text(sentences(dearer))
    assert said.startswith("SLOWER  B is 8.") and "slower than A with drafts [−" in said and "]: real" in said
    assert "Verify costs 10.1% more (+0.69 ms a token), most of all linear attention" in said
    assert "acceptance did not change measurably (±0.0" in said
    assert "A 1.41x wins · B 1.29x wins" in said and "Measured alike in every fact" in said


def test_noise_is_told_with_what_would_have_shown() -> None:
    said = text(sentences(compare(named("a", 1), named("b", 4))))
    assert said.startswith("NOISE  No difference with drafts to be seen") and "% would have shown" in said
    assert "No part of a round changed for real" in said


def test_a_faster_session_and_a_longer_draft_are_told() -> None:
    said = text(sentences(compare(named("a", 1), named("c", 3, k=3)), "C"))
    assert said.startswith("FASTER  C is 4") and "Longer drafts yield more tokens (−" in said
    assert "Passes over 4 positions instead of 2 cost +2.5" in said and "Differs: k 1 → 3" in said


def test_fewer_accepted_drafts_are_told_with_both_values() -> None:
    said = text(sentences(compare(named("a", 1), named("b", 8, p=0.5, environment={"mlx": "0.33.0"}))))
    assert "Acceptance fell 0.80 → 0.5" in said and "Differs: MLX 0.32.0 → 0.33.0" in said


def test_a_doubted_run_has_no_headline_and_says_why() -> None:
    said = text(sentences(compare(named("a"), named("b", others=0.6, verify=DEARER))))
    assert said.startswith("NO HEADLINE  B: Other programs kept 60% of the processor busy.")
    assert "slower" not in said and "real" not in said and "no verdict" in said


def test_the_table_has_both_values_the_change_and_its_finding(dearer: Compared) -> None:
    view = compare_view(CompareFacts("a", (dearer,), ""))
    rows = {row.key: row for row in view.table.rows}
    verify = rows["verify_ms"]
    assert verify.cells[:6] == ("T_verify", "ms", "12.39", "13.64", "+10.1%", "real") and verify.tone == "bad"
    assert rows["acceptance_conditional"].cells[5] == "noise" and rows["acceptance_conditional"].tone == "quiet"
    assert rows["verify_linear_attention_ms"].cells[0] == "verify(2) linear attn"
    assert rows["decode_gap_ms"].cells[1] == "ms" and rows["pass_2_ms"].cells[5] == "real"
    assert view.environments.rows == () and view.environments.message


@pytest.mark.parametrize("width", [44, 58, 76, 120])
def test_bars_fit_and_tell_direction_and_certainty_without_colour(dearer: Compared, width: int) -> None:
    assert dearer.split is not None
    lines = bars_lines(dearer.split, width)
    assert all(width_of(each) <= max(width, 58) for each in lines)
    rows = {line[0].text.strip(): "".join(span.text for span in line) for line in lines}
    verify = next(row for name, row in rows.items() if name.startswith("verify"))
    assert "real" in verify and verify.index("│") < verify.index(SOLID)
    back = compare(named("b", 2, verify=DEARER), named("a", 1)).split
    assert back is not None
    turned = next(text([each]) for each in bars_lines(back, width) if each[0].text.startswith("verify"))
    assert turned.index(SOLID) < turned.index("│")


def test_small_pieces_give_way_where_rows_are_few(dearer: Compared) -> None:
    assert dearer.split is not None
    whole, short = bars_lines(dearer.split, 76), bars_lines(dearer.split, 76, "B", 9)
    assert len(whole) == len(dearer.split.parts) + 2 and len(short) == 9
    assert "smaller" in text(short) and "linear attn" in text(short) and "misc" not in text(short)
    assert split_title(dearer.split) == "What changed the speed · A 7.78 → B 8.47 ms a token"


def test_the_split_is_a_table_too_for_exports(dearer: Compared) -> None:
    table = split_table(dearer.split)
    rows = {row.cells[0]: row.cells for row in table.rows}
    assert rows["verify"][1:4] == ("12.39", "13.64", "+0.69") and rows["verify"][6] == "real"
    assert rows["in all"][5].startswith("−8.") and split_table(None).rows == ()


def test_noise_is_drawn_shaded_and_small() -> None:
    split = compare(named("a", 1), named("b", 4)).split
    assert split is not None
    drawn = text(bars_lines(split, 76))
    assert SOLID not in drawn and 0 < drawn.count(SHADED) < 20


def test_unlike_sessions_are_refused_with_the_key_and_compared_when_asked() -> None:
    pair = [named("a"), named("b", environment={"blas": "OpenBLAS"})]
    view = compare_view(compare_facts(pair))
    assert view.refused and text(view.sentences).startswith("UNLIKE  Press A")
    assert "a (A) and b (B) were not measured alike: BLAS" in text(view.sentences) and view.split is None
    assert [row.cells[3] for row in view.environments.rows] == ["unlike"]
    asked = compare_view(compare_facts(pair, anyway=True))
    assert not asked.refused and "! Not measured alike (BLAS)" in text(asked.sentences)


def test_several_sessions_are_listed_and_each_can_be_shown() -> None:
    facts = compare_facts(
        [named("a", 1), named("b", 2, verify=DEARER), named("c", environment={"chip": "M9"}), named("d", others=0.6)]
    )
    view = compare_view(facts)
    assert [row.cells[0] for row in view.sessions.rows] == ["A", "B", "C", "D"]
    assert [row.cells[3] for row in view.sessions.rows][0::2] == ["the base", "unlike"]
    assert view.sessions.rows[3].cells[4] == "not to be trusted"
    assert compare_view(facts, 1).refused and compare_view(facts, 2).title == "A a ↔ D d"


def test_one_session_alone_asks_for_another() -> None:
    assert "c chooses" in compare_view(compare_facts([named("a")])).table.message


def test_the_object_holds_raw_numbers_with_units_in_their_names(dearer: Compared) -> None:
    found = compare_object([dearer], "B", [gate(dearer, 0.03)])
    json.dumps(found, allow_nan=False)
    other = found["others"][0]
    assert other["quantities"]["verify_ms"]["ratio"] == pytest.approx(1.1, abs=0.005)
    parts = [each for each in other["split"]["parts"] if each["level"] == 0]
    total = math.fsum(each["change_ms_per_token"] for each in parts)
    assert total == pytest.approx(other["split"]["change_ms_per_token"])
    assert found["gates"][0]["outcome"] == "slower" and found["gates"][0]["limit_fraction"] == 0.03


def test_any_two_sessions_are_compared_or_refused_with_a_sentence() -> None:
    sessions = [Named(name, session_of(each)) for name, each in {**CASES, **SURVEYS, "july": july.records()}.items()]
    for base in sessions:
        facts = compare_facts([base, *sessions], anyway=True)
        assert len(facts.others) == len(sessions)
        for at, other in enumerate(facts.others):
            view = compare_view(facts, at)
            assert view.sentences and text(view.sentences)
            assert isinstance(other, Compared) or other.why.endswith(".")
            if view.split is not None:
                assert bars_lines(view.split, 60)
            for each in (other,) if isinstance(other, Compared) else ():
                json.dumps(compare_object([each], "B"), allow_nan=False)


def test_signs_and_digits() -> None:
    assert percent(math.log(1.1)) == "+10.0%" and percent(math.log(0.9)) == "−10.0%" and percent(math.log(3)) == "+200%"
    assert percent(-1e-9) == "0.0%" and signed(-0.0001) == "0.000" and signed(1.234, "ms") == "+1.23 ms"
