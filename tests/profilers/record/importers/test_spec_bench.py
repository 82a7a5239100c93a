"""Spec-Bench's answers by category: the sums say whether its lengths count the bonus token."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from served_samples import damaged, stretches, survives

from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.spec_bench import likely, read
from specview.profilers.record.records import Note


def question(category="math_reasoning", lengths=(3, 1, 2, 4), tokens=(6, 4), wall=(0.5, 0.25), **more):
    """One line of answers of two turns."""
    choice = {"index": 0, "turns": ["a", "b"], "new_tokens": list(tokens), "wall_time": list(wall)}
    choice |= {"decoding_steps": [2, 2], "accept_lengths": list(lengths)} | more
    return json.dumps({"question_id": 1, "category": category, "model_id": "vicuna-eagle", "choices": [choice]})


def tags(made):
    """The tags of its notes."""
    return sorted(note.tags[1] for note in made.records if isinstance(note, Note))


def test_lengths_that_add_up_to_the_tokens_count_the_bonus():
    made = read([question(), question("writing")])
    first, second = stretches(made)
    assert (first.label, second.label, first.arm, first.k, first.drafted) == (
        "math_reasoning",
        "writing",
        "drafting",
        None,
        None,
    )
    assert (first.rounds, first.accepted, first.accepted_by_position) == (4, 6, (3, 2, 1))
    assert (first.tokens, first.elapsed_ns, first.tokens_per_round) == (10, 750_000_000, 2.5)
    assert first.tokens_per_second == pytest.approx(40 / 3)
    assert made.model == "vicuna-eagle" and tags(made) == ["trap"]


def test_lengths_that_fall_short_by_one_a_round_leave_the_bonus_out():
    for lengths, tokens in (((2, 1, 1, 2), (6, 4)), ((2, 0, 1, 3), (6, 4))):
        made = read([question(lengths=lengths, tokens=tokens)])
        (only,) = stretches(made)
        assert (only.rounds, only.accepted, only.tokens_per_round) == (4, 6, 2.5)
        assert tags(made) == ["trap", "trap"]


def test_a_length_of_one_for_every_token_is_a_baseline():
    (only,) = stretches(read([question(lengths=[1] * 10, decoding_steps=[6, 4])]))
    assert (only.arm, only.rounds, only.tokens) == ("plain", None, 10)


def test_every_choice_is_read():
    item = json.loads(question())
    item["choices"] = item["choices"] * 2 + ["odd"]
    made = read([json.dumps(item)])
    assert len(stretches(made)) == 2 and made.tally.not_understood == 1


def test_sums_far_from_the_tokens_and_steps_that_differ_are_contradictions():
    assert "contradiction" in tags(read([question(tokens=(600, 400))]))
    assert "contradiction" in tags(read([question(decoding_steps=[20, 20])]))


@pytest.mark.parametrize("bad", [{"accept_lengths": [1, -2]}, {"accept_lengths": "x"}, {"accept_lengths": [10**9]}])
def test_lengths_of_no_use_are_puzzled(bad):
    made = read([question(), question(**bad)])
    assert made.tally.not_understood >= 1
    assert len([c for c in stretches(made) if c.arm == "drafting"]) == 1


def test_torn_lines_and_lines_without_choices_are_accounted_for():
    made = read([question() + "\r\n", '{"question_id": 2, "category": "x"}', "loading…", '{"a": 1}', question()[:90]])
    assert (made.tally.understood, made.tally.not_understood, made.tally.ignored) == (1, 2, 2)


def test_nothing_usable_is_one_sentence():
    with pytest.raises(ImportFailed, match="This holds no figures of Spec-Bench"):
        read(["{}"])


def test_the_head_tells_it():
    assert likely(question()) > 0.9
    assert likely('{"choices": []}') == 0


@settings(max_examples=80, deadline=None)
@given(damaged(question() + "\n" + question("writing")))
def test_damage_is_never_more_than_a_refusal(text):
    survives(read, text)
