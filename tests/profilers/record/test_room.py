"""Room for a context: reckoned from shapes before anything is read, and refused in a sentence with the numbers."""

from __future__ import annotations

import pytest
from tiny_models import tiny_target

from specview.engine.drafters.layer_skip import LayerSkip
from specview.engine.drafters.model import DraftModel
from specview.engine.fit import FitError, fit
from specview.profilers.record.plan import PlanError
from specview.profilers.record.room import RECORDED_COPIES, check_room, longest_text

POSITIONS = 1000


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next"])
def test_copies_of_the_caches_and_those_of_a_draft_model_are_counted(model_type):
    target = tiny_target(model_type)
    alone = fit(target, POSITIONS)
    enough = alone.needed_bytes - alone.weight_bytes + (RECORDED_COPIES - 1) * alone.cache_bytes
    check_room(target, POSITIONS, None, enough, copies=RECORDED_COPIES)
    with pytest.raises(FitError, match=r"at 1,000 positions needs .* are free: choose a shorter context"):
        check_room(target, POSITIONS, None, enough - 1, copies=RECORDED_COPIES)
    draft = DraftModel(target)
    check_room(target, POSITIONS, None, 2 * enough, draft, RECORDED_COPIES)
    with pytest.raises(FitError):
        check_room(target, POSITIONS, None, 2 * enough - 1, draft, RECORDED_COPIES)
    check_room(target, POSITIONS, None, None, draft, RECORDED_COPIES)


def test_a_draft_of_the_first_layers_can_be_reckoned_too():
    target = tiny_target("llama")
    with pytest.raises(FitError):
        check_room(target, 10_000_000, None, 1_000_000, LayerSkip(target, 1))


def test_a_text_reaches_what_was_asked_for_or_what_the_model_reads():
    target = tiny_target("llama")
    target.config["max_position_embeddings"] = 8192
    assert [longest_text(target, asked, 4096) for asked in (None, 100, 8192)] == [4096, 100, 8192]
    with pytest.raises(PlanError, match="reads at most 8,192 positions: ask for a --context up to that"):
        longest_text(target, 8193, 4096)
    target.config["max_position_embeddings"] = 512
    assert longest_text(target, None, 4096) == 512
    del target.config["max_position_embeddings"]
    assert [longest_text(target, asked, 4096) for asked in (None, 9000)] == [4096, 9000]
