"""dflash's summaries: accepted ÷ generated keeps its kind, blocks count positions, lazy phases are left out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from served_samples import damaged, stretches, survives

from specview.profilers.record.importers.dflash import likely, read
from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.records import Note

SUMMARY = {
    "ttft_ms": 120.0,
    "generation_tps": 50.0,
    "generation_tokens": 100,
    "accepted_from_draft": 75,
    "tokens_per_cycle": 4.0,
    "cycles": 25,
    "acceptance_ratio": 0.75,
    "block_tokens": 8,
    "phase_timings_us": {
        "prefill": 120_000.0,
        "draft": 300_000.0,
        "draft_prefill": 1.0,
        "draft_incremental": 2.0,
        "verify": 1_500_000.0,
        "replay": 60_000.0,
        "commit": 40_000.0,
    },
}


def read_one(**changes):
    """The import of one summary with fields changed."""
    return read([json.dumps(SUMMARY | changes)])


def tags(made):
    """The tags of its notes."""
    return sorted(note.tags[1] for note in made.records if isinstance(note, Note))


def test_a_summary_is_one_stretch_with_every_kind_told_apart():
    made = read_one()
    (only,) = stretches(made)
    assert (only.arm, only.k, only.rounds, only.drafted) == ("drafting", 7, 25, None)
    assert (only.accepted, only.tokens, only.tokens_per_round) == (75, 100, 4.0)
    assert only.elapsed_ns == 2_000_000_000 and only.derived == ("elapsed_ns", "rest_ns")
    assert (only.draft_ns, only.verify_ns, only.rest_ns) == (300_000_000, 1_500_000_000, 100_000_000)
    assert made.tally.not_understood == 0 and tags(made) == ["trap"]


def test_phases_that_were_not_waited_for_are_left_out_and_told():
    made = read_one(phase_timings_us={"prefill": 1.0, "draft": 20_000.0, "verify": 140_000.0})
    (only,) = stretches(made)
    assert (only.draft_ns, only.verify_ns) == (None, None)
    assert any("add up to 8% of the time" in r.text for r in made.records if isinstance(r, Note))


def test_the_time_of_the_prompt_is_taken_off_and_the_history_gives_positions():
    summary = {
        "elapsed_us": 2_500_000.0,
        "generation_tokens": 10,
        "accepted_from_draft": 6,
        "acceptance_ratio": 0.6,
        "cycles_completed": 4,
        "acceptance_history": [3, 0, 2, 1],
        "draft_tokens_attempted": 28,
        "phase_timings_us": {"prefill": 500_000.0},
    }
    (only,) = stretches(read([json.dumps(summary)]))
    assert only.elapsed_ns == 2_000_000_000 and only.tokens_per_second == 5.0
    assert only.accepted_by_position == (3, 2, 1) and only.drafted == 28
    assert only.tokens_per_round == 2.5
    assert set(only.derived) == {"elapsed_ns", "tokens_per_second", "tokens_per_round", "accepted_by_position"}


def test_what_is_missing_is_derived_or_stays_missing():
    (only,) = stretches(read([json.dumps({"acceptance_ratio": 0.5, "generation_tokens": 40, "generation_tps": 20.0})]))
    assert (only.accepted, only.rounds, only.tokens_per_round) == (20, None, None)
    (only,) = stretches(read([json.dumps({"accepted_from_draft": 30, "cycles": 10})]))
    assert (only.tokens, only.tokens_per_second, only.tokens_per_round) == (40, None, 4.0)


def test_a_baseline_and_a_fallback_are_plain():
    text = {"baseline": {"generation_tps": 30.0, "generation_tokens": 60}, "dflash": SUMMARY}
    plain, drafting = stretches(read([json.dumps(text)]))
    assert (plain.arm, plain.label, plain.tokens_per_second) == ("plain", "baseline", 30.0)
    assert (drafting.arm, drafting.label) == ("drafting", "dflash")
    (only,) = stretches(read_one(fallback_ar=True, accepted_from_draft=0, acceptance_ratio=0.0))
    assert only.arm == "plain" and only.rounds is None


@pytest.mark.parametrize("name", ["explain", "database", "qwen-base", "baseline"])
def test_what_was_counted_overrules_a_name_that_sounds_plain(name):
    nothing_kept = SUMMARY | {"accepted_from_draft": 0, "acceptance_ratio": 0.0, "tokens_per_cycle": 1.0, "cycles": 100}
    arms = {
        name: SUMMARY,
        f"{name} by ratio": {"generation_tps": 9.0, "acceptance_ratio": 0.5},
        f"{name} by mean": {"generation_tps": 9.0, "tokens_per_cycle": 2.0},
        f"{name} by attempts": nothing_kept | {"draft_tokens_attempted": 700},
        f"{name} by nothing": nothing_kept,
    }
    assert [only.arm for only in stretches(read([json.dumps(arms)]))] == ["drafting"] * 4 + ["plain"]


@pytest.mark.parametrize(
    "changes",
    [
        {"acceptance_ratio": 0.9},
        {"acceptance_ratio": 75.0},
        {"tokens_per_cycle": 5.0},
        {"generation_tokens": 50, "generation_tps": 25.0, "acceptance_ratio": None},
        {"acceptance_history": [1, 2]},
        {"draft_tokens_attempted": 40},
    ],
)
def test_contradictions_are_told(changes):
    assert "contradiction" in tags(read_one(**changes))


def test_fields_of_no_use_and_unknown_figures_are_puzzled():
    made = read_one(cycles="many", phase_timings_us={"draft": -1}, accepted_twice=3, acceptance_ratio=float("nan"))
    assert made.tally.not_understood == 4
    assert "accepted_twice: 3" in made.tally.examples


def test_nothing_usable_is_one_sentence():
    with pytest.raises(ImportFailed, match="This holds no figures of dflash-mlx"):
        read(['{"acceptance_ratio": "x"}'])


def test_the_head_tells_it():
    assert likely(json.dumps(SUMMARY)) > 0.9
    assert likely('{"hello": 1}') == 0


@settings(max_examples=80, deadline=None)
@given(damaged(json.dumps(SUMMARY, indent=1)))
def test_damage_is_never_more_than_a_refusal(text):
    survives(read, text)
