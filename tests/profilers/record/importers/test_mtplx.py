"""MTPLX's receipts: acceptance by depth is cumulative, phases are totals, and depth 0 is not plain decoding."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from served_samples import damaged, stretches, survives

from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.mtplx import likely, read
from specview.profilers.record.records import Note

RECEIPT = {
    "accepted_by_depth": [80, 50, 20],
    "drafted_by_depth": [100, 100, 100],
    "verify_calls": 100,
    "draft_time_s": 1.0,
    "verify_time_s": 5.0,
    "accept_time_s": 0.25,
    "commit_time_s": 0.5,
    "decode_elapsed_s": 8.0,
    "completion_tokens": 250,
}


def read_one(**changes):
    """The import of one receipt with fields changed."""
    return read([json.dumps(RECEIPT | changes)])


def contradictions(made):
    """The remarks on what does not fit."""
    return [note.text for note in made.records if isinstance(note, Note) and "contradiction" in note.tags]


def test_a_receipt_is_one_stretch():
    made = read_one()
    (only,) = stretches(made)
    assert (only.arm, only.drafter, only.k, only.rounds) == ("drafting", "mtp", 3, 100)
    assert (only.drafted, only.accepted, only.accepted_by_position) == (300, 150, (80, 50, 20))
    assert (only.draft_ns, only.verify_ns, only.rest_ns) == (1_000_000_000, 5_000_000_000, 750_000_000)
    assert (only.tokens, only.elapsed_ns, only.tokens_per_second) == (250, 8_000_000_000, 31.25)
    assert only.tokens_per_round == 2.5
    assert set(only.derived) == {"accepted", "drafted", "tokens_per_second", "rest_ns", "tokens_per_round"}
    assert not contradictions(made) and made.tally.not_understood == 0


def test_receipts_inside_documents_count_once_even_if_repeated():
    text = {"model": "/home/someone/models/x-4bit", "turns": [{"receipt": RECEIPT, "stats_full": RECEIPT}]}
    made = read([json.dumps(text)])
    assert len(stretches(made)) == 1
    assert made.model == "x-4bit"


def test_plain_receipts_are_plain_and_a_depth_of_zero_is_not():
    plain = {"generation_mode": "ar", "decode_tok_s": 20.0, "completion_tokens": 40}
    (only,) = stretches(read([json.dumps(plain)]))
    assert (only.arm, only.elapsed_ns, only.rounds) == ("plain", 2_000_000_000, None)
    zero = {"generation_mode": "mtp", "speculative_depth": 0, "decode_tok_s": 18.0, "verify_calls": 40}
    (only,) = stretches(read([json.dumps(zero | {"accepted_by_depth": [], "drafted_by_depth": []})]))
    assert (only.arm, only.k, only.accepted) == ("drafting", 0, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"accepted_drafts": 151},
        {"drafted_tokens": 200},
        {"drafted_by_depth": [100, 40, 30]},
        {"accepted_by_depth": [80, 90, 20]},
        {"verify_calls": 70},
        {"verify_time_s": 9.0},
        {"decode_tok_s": 60.0},
        {"drafted_by_depth": [100, 100]},
        {"completion_tokens": 100},
    ],
)
def test_contradictions_are_told(changes):
    assert contradictions(read_one(**changes))


def test_fields_of_no_use_and_unknown_figures_are_puzzled():
    made = read_one(draft_time_s="soon", verify_widths=[1, 2], decode_elapsed_s=-1)
    assert made.tally.not_understood == 3
    assert "verify_widths: [1, 2]" in made.tally.examples


def test_nothing_usable_is_one_sentence():
    with pytest.raises(ImportFailed, match="This holds no figures of MTPLX"):
        read(['{"verify_calls": null}', "text"])


def test_the_head_tells_it():
    assert likely(json.dumps(RECEIPT)) > 0.9
    assert likely("{}") == 0


@settings(max_examples=80, deadline=None)
@given(damaged(json.dumps(RECEIPT, indent=1)))
def test_damage_is_never_more_than_a_refusal(text):
    survives(read, text)
