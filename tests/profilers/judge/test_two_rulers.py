"""A block sum over a whole-graph baseline, and the same division by one ruler. Figures: article A, section 3."""

from __future__ import annotations

import pytest

from specview.profilers.judge.spans import Ruler
from specview.profilers.judge.two_rulers import BlockSums, block_sums, two_rulers

JULY = BlockSums(ruler=Ruler.FENCED, single_ms=8.128)


def july(**more):
    facts = {
        "k": 1,
        "tokens_per_round": 1.6457,
        "decode_ms": 1000 / 91.4,
        "wall_ms": None,
        "blocks": JULY,
        "verify_ms": None,
        "draft_ms": 0.643,
    }
    return two_rulers(**{**facts, **more})


def test_july_is_a_win_by_the_wrong_ruler_and_a_loss_by_the_right_one():
    found = july()
    assert found.wrong.speedup == pytest.approx(1.6457 / 16.899 * 1000 / 91.4)
    assert found.wrong.speedup == pytest.approx(1.0655, abs=1e-4)
    assert found.right.speedup == pytest.approx(0.7994, abs=1e-4)
    assert found.how == "passes"


def test_july_leaves_out_a_gap_of_a_third_of_the_sum():
    found = july()
    assert found.gap_ms == pytest.approx(2.813, abs=5e-4)
    assert found.gap_of_sum == pytest.approx(0.346, abs=5e-4)
    assert found.gap_of_wall == pytest.approx(0.257, abs=5e-4)


def test_the_sentence_names_the_wrong_ruler_and_what_it_does():
    found = july()
    assert found.sentence.startswith("Mixed rulers: a fenced block sum for verify is divided into a whole-graph")
    assert "the 1.0655x is wrong. It turns a loss into a win." in found.sentence
    assert "0.7994x, and no draft can win" in found.answer
    assert found.origin == "No pass over 2 positions was timed, so verify counts as 2 passes in both."


def test_a_verify_measured_by_both_rulers_is_used_as_measured():
    found = july(blocks=BlockSums(ruler=Ruler.QUEUED, single_ms=8.0, verify_ms=12.0), verify_ms=15.0)
    assert (found.how, found.wrong.verify_ms, found.right.verify_ms) == ("measured", 12.0, 15.0)


def test_a_verify_measured_by_one_ruler_scales_the_other():
    whole = july(wall_ms=10.0, verify_ms=15.0)
    assert whole.how == "scaled" and whole.wrong.verify_ms == pytest.approx(8.128 * 1.5)
    blocks = july(wall_ms=10.0, blocks=BlockSums(ruler=Ruler.FENCED, single_ms=8.0, verify_ms=12.0))
    assert blocks.how == "scaled" and blocks.right.verify_ms == pytest.approx(15.0)


def test_fences_may_cost_more_than_what_lies_between_blocks():
    found = july(blocks=BlockSums(ruler=Ruler.FENCED, single_ms=12.0))
    assert found.gap_ms < 0 and "blocks add 1.059 ms a pass" in found.sentence


@pytest.mark.parametrize("odd", [{"k": 0}, {"decode_ms": 0.0}, {"tokens_per_round": 0.0}, {"verify_ms": -3.0}])
def test_without_drafts_or_times_there_is_nothing_to_divide(odd):
    assert july(**odd) is None


def test_no_blocks_no_sum(build):
    assert block_sums(build.finished(), 2) is None
