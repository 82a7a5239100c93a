"""vLLM's per-request metrics: converted, and checked against themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from served_samples import damaged, notes, stretches, survives

from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.vllm_requests import likely, read

# 50 rounds of up to 2 drafts: 20 kept none, 18 kept one, 12 both: 42 of 100 drafts
REQUEST: dict[str, Any] = {
    "mean_acceptance_length": 1.84,
    "draft_acceptance_rate": 0.42,
    "acceptance_histogram": [20, 18, 12],
    "num_spec_steps": 50,
    "num_accepted_draft_tokens": 42,
    "num_draft_tokens": 100,
    "num_spec_tokens": 2,
}


def line(**changes: object) -> str:
    return json.dumps({name: value for name, value in (REQUEST | changes).items() if value is not ...})


def test_counts_and_positions_come_from_one_request() -> None:
    imported = read([line()])
    (counters,) = stretches(imported)
    assert (counters.rounds, counters.drafted, counters.accepted, counters.k) == (50, 100, 42, 2)
    assert counters.accepted_by_position == (30, 12)
    assert counters.tokens_per_round == 1.84
    assert counters.derived == ("accepted_by_position",)
    assert not notes(imported, "contradiction")


def test_requests_inside_saved_responses_are_found_with_their_tokens() -> None:
    response = {
        "model": "/srv/models/tiny",
        "choices": [{"text": "hello"}],
        "usage": {"completion_tokens": 92},
        "metrics": {"speculative_decoding": REQUEST},
    }
    imported = read(json.dumps([response, response], indent=2).splitlines(keepends=True))
    assert [one.tokens for one in stretches(imported)] == [92, 92]
    assert imported.model == "tiny"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mean_acceptance_length": 1.9}, "mean_acceptance_length"),
        ({"draft_acceptance_rate": 0.5}, "draft_acceptance_rate"),
        ({"acceptance_histogram": [19, 18, 13]}, "44 accepted"),
        ({"acceptance_histogram": [21, 18, 12]}, "51 steps"),
        ({"num_spec_tokens": 1, "num_draft_tokens": 50, "draft_acceptance_rate": 0.84}, "more than the 1 drafts"),
        ({"num_draft_tokens": 120, "draft_acceptance_rate": 0.35}, "more than 50 steps of 2"),
        ({"per_step_accepted": [1, 2], "per_step_drafted": [50, 50]}, "per_step_accepted adds up to 3"),
    ],
)
def test_each_contradiction_is_named(changes: dict[str, object], said: str) -> None:
    told = notes(read([line(**changes)]), "contradiction")
    assert any(said in text for text in told), told


def test_a_rate_in_percent_is_no_contradiction() -> None:
    imported = read([line(draft_acceptance_rate=42.0)])
    assert not notes(imported, "contradiction")
    assert notes(imported, "percent")


def test_a_missing_length_is_derived_and_missing_counts_stay_missing() -> None:
    (counters,) = stretches(read([line(mean_acceptance_length=..., acceptance_histogram=...)]))
    assert counters.tokens_per_round == pytest.approx(1.84)
    assert counters.accepted_by_position is None
    assert "tokens_per_round" in counters.derived
    (counters,) = stretches(read([line(num_draft_tokens=...)]))
    assert counters.drafted is None


@pytest.mark.parametrize("bad", [-1, 2.5, "x", True, [1], {"a": 1}, float("nan"), float("inf"), 10**18])
def test_a_field_of_no_use_is_a_puzzle_and_the_rest_is_read(bad: object) -> None:
    imported = read([line(num_draft_tokens=bad)])
    assert stretches(imported)[0].drafted is None
    assert stretches(imported)[0].rounds == 50
    assert imported.tally.not_understood == 1


def test_a_field_given_twice_with_two_values_is_a_puzzle() -> None:
    text = line()[:-1] + ', "num_draft_tokens": 99}'
    imported = read([text])
    assert stretches(imported)[0].drafted is None
    assert imported.tally.not_understood == 1


def test_unknown_fields_of_drafting_deep_and_cut_objects_are_puzzles() -> None:
    deep = '{"a":' * 80 + "1" + "}" * 80
    imported = read([line(num_new_draft_figure=4), deep, line()[:60]])
    assert len(stretches(imported)) == 1
    assert imported.tally.not_understood == 3


def test_lines_of_other_programs_are_ignored() -> None:
    imported = read(["starting …\r\n", line() + "\r\n", '{"choices": []}\n'])
    assert (imported.tally.understood, imported.tally.ignored) == (1, 2)


def test_nothing_to_use_is_refused_in_a_sentence() -> None:
    with pytest.raises(ImportFailed, match="per-request"):
        read(['{"choices": []}'])


def test_it_is_recognised() -> None:
    assert likely(line()) > 0.8
    assert likely('{"engine": "x", ' + line()[1:]) < 0.8
    assert likely("{}") == 0


@settings(max_examples=60, deadline=None)
@given(damaged(line(per_step_accepted=[1] * 42) + "\n" + line()))
def test_damage_never_breaks_it(text: str) -> None:
    survives(read, text)
