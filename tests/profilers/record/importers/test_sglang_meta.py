"""SGLang's responses: rounds of requests, streamed or whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from served_samples import damaged, notes, stretches, survives

from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.sglang_meta import likely, read

# 20 verify calls of 3 drafts: 5 right none, 6 one, 5 two, 4 three: 28 of 60
META: dict[str, Any] = {
    "id": "a",
    "prompt_tokens": 12,
    "completion_tokens": 48,
    "spec_accept_rate": 28 / 60,
    "spec_accept_length": 2.4,
    "spec_num_correct_drafts": 28,
    "spec_num_proposed_drafts": 60,
    "spec_verify_ct": 20,
    "spec_correct_drafts_histogram": [5, 6, 5, 4],
    "e2e_latency": 2.0,
}


def response(**changes: object) -> str:
    return json.dumps({"text": "hello", "meta_info": META | changes})


def test_a_request_has_rounds_and_positions() -> None:
    imported = read([response()])
    (counters,) = stretches(imported)
    assert (counters.rounds, counters.drafted, counters.accepted, counters.k) == (20, 60, 28, 3)
    assert counters.accepted_by_position == (15, 9, 4)
    assert (counters.tokens, counters.tokens_per_round, counters.tokens_per_second) == (48, 2.4, 24.0)
    assert "tokens_per_second" in counters.derived
    assert notes(imported, "prompt_time")
    assert not notes(imported, "contradiction")


def test_a_decode_speed_of_the_engine_is_taken_as_it_is() -> None:
    (counters,) = stretches(read([response(decode_throughput=30.5)]))
    assert (counters.tokens_per_second, counters.elapsed_ns) == (30.5, None)


def test_of_a_stream_only_the_last_piece_counts() -> None:
    pieces = [
        response(completion_tokens=10, spec_verify_ct=4, spec_num_correct_drafts=6, spec_num_proposed_drafts=12),
        response(id="b"),
        response(),
    ]
    lines = [f"data: {piece}\n" for piece in pieces] + ["data: [DONE]\n"]
    assert [one.rounds for one in stretches(read(lines))] == [20, 20]


def test_requests_without_verify_calls_are_plain() -> None:
    plain = json.dumps({"text": "", "meta_info": {"id": "p", "completion_tokens": 40, "e2e_latency": 2.0}})
    (counters,) = stretches(read([plain]))
    assert (counters.arm, counters.tokens_per_second, counters.rounds) == ("plain", 20.0, None)


def test_a_length_by_tokens_gives_way_to_the_drafts() -> None:
    imported = read([response(completion_tokens=49, spec_accept_length=2.45)])
    assert stretches(imported)[0].tokens_per_round == 2.4
    assert notes(imported, "kind")


def test_older_names_and_a_rate_by_position_are_understood() -> None:
    old = {
        name: value
        for name, value in META.items()
        if name not in ("spec_num_correct_drafts", "spec_num_proposed_drafts", "spec_correct_drafts_histogram")
    } | {"spec_accepted_drafts": 28, "spec_proposed_drafts": 60, "spec_accept_rate": 0.6}
    imported = read([json.dumps({"meta_info": old})])
    assert stretches(imported)[0].accepted == 28
    assert notes(imported, "kind")
    assert not notes(imported, "contradiction")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"spec_correct_drafts_histogram": [5, 6, 4, 5]}, "29 right"),
        ({"spec_correct_drafts_histogram": [6, 6, 5, 4]}, "21 verify calls"),
        ({"spec_accept_length": 3.3}, "spec_accept_length"),
        ({"spec_accept_rate": 0.9}, "spec_accept_rate"),
        ({"spec_num_proposed_drafts": 20}, "More drafts"),
    ],
)
def test_each_contradiction_is_named(changes: dict[str, object], said: str) -> None:
    told = notes(read([response(**changes)]), "contradiction")
    assert any(said in one for one in told), told


def test_fields_of_no_use_and_unknown_ones_are_puzzles() -> None:
    imported = read([response(spec_num_proposed_drafts="x", spec_new_figure=3, e2e_latency=float("inf"))])
    assert imported.tally.not_understood == 3


def test_nothing_to_use_is_refused_in_a_sentence() -> None:
    with pytest.raises(ImportFailed, match="meta_info"):
        read(['{"text": "x"}', "noise"])


def test_it_is_recognised() -> None:
    assert likely(response()) > 0.9
    assert likely("{}") == 0


@settings(max_examples=60, deadline=None)
@given(damaged(response() + "\n" + response(id="b")))
def test_damage_never_breaks_it(text: str) -> None:
    survives(read, text)
