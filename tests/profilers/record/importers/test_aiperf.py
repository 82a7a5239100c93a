"""AIPerf's neutral record comes in as counters, checked against itself, and goes out from rounds or counters."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from served_samples import damaged, stretches, survives

from specview.profilers.record.importers.aiperf import ExportError, aiperf_of, likely, read
from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.own_loop import own_loop
from specview.profilers.record.records import Counters, Note
from specview.profilers.record.session import read_session

RECORD = {
    "engine": "some-engine",
    "mean_acceptance_length": 2.0,
    "draft_acceptance_rate": 0.5,
    "acceptance_histogram": {"0": 3, "1": 5, "3": 1},
    "num_accepted_draft_tokens": 8,
    "num_draft_tokens": 16,
    "num_spec_steps": 8,
    "num_spec_tokens": 3,
    "completion_tokens": 17,
    "per_step_accepted": None,
    "per_step_drafted": None,
}
# 3 rounds with none, 4 with one, 1 with three: 7 of 16 drafts in 8 rounds, 1 + 7/8
GOOD = RECORD | {
    "acceptance_histogram": {"0": 3, "1": 4, "3": 1},
    "num_accepted_draft_tokens": 7,
    "mean_acceptance_length": 1.875,
    "draft_acceptance_rate": 0.4375,
}


def contradictions(made):
    """The remarks on what does not fit."""
    return [note.text for note in made.records if isinstance(note, Note) and "contradiction" in note.tags]


def test_a_record_is_one_stretch_without_a_time():
    made = read([json.dumps({"metadata": {"model": "m"}, "spec_decode": GOOD})])
    (only,) = stretches(made)
    assert (only.source, only.k, only.rounds, only.drafted, only.accepted) == ("some-engine", 3, 8, 16, 7)
    assert only.accepted_by_position == (5, 1, 1) and only.tokens_per_round == 1.875
    assert (only.tokens, only.elapsed_ns, only.tokens_per_second) == (17, None, None)
    assert made.engine == "some-engine" and made.model == "m"
    assert not contradictions(made) and made.tally.not_understood == 0


def test_a_histogram_may_be_a_list():
    (only,) = stretches(read([json.dumps(GOOD | {"acceptance_histogram": [3, 4, 0, 1]})]))
    assert only.accepted_by_position == (5, 1, 1)


def test_each_of_the_checks_tells_what_does_not_fit():
    assert len(contradictions(read([json.dumps(RECORD)]))) == 1  # 3 + 5 + 1 rounds are 9, and 8 accepted are right
    assert len(contradictions(read([json.dumps(GOOD | {"mean_acceptance_length": 2.875})]))) == 1
    (text,) = contradictions(read([json.dumps(GOOD | {"draft_acceptance_rate": 43.75})]))
    assert "percentage" in text
    assert contradictions(read([json.dumps(GOOD | {"num_accepted_draft_tokens": 17})]))
    steps = {"per_step_accepted": [0, 0, 0, 1, 1, 1, 1, 3], "per_step_drafted": [2] * 8}
    (text,) = contradictions(read([json.dumps(GOOD | steps)]))
    assert text == "A step accepted more drafts than it had."
    assert len(contradictions(read([json.dumps(GOOD | {"per_step_accepted": [1]})]))) == 1


@pytest.mark.parametrize("bad", [{"x": 1}, {"1": -1}, 7, [1, "x"], {"99999": 1}, {"1": True}])
def test_a_histogram_of_no_use_is_puzzled_and_the_rest_used(bad):
    made = read([json.dumps(GOOD | {"acceptance_histogram": bad})])
    assert stretches(made)[0].accepted_by_position is None
    assert made.tally.not_understood == 1


def test_nothing_usable_is_one_sentence():
    with pytest.raises(ImportFailed, match="AIPerf's acceptance records"):
        read(['{"num_spec_steps": 1}', '{"num_spec_steps": "x", "num_accepted_draft_tokens": 2}'])


def test_an_engines_own_metrics_are_left_to_its_importer():
    assert likely(json.dumps(GOOD)) > 0.8
    assert likely(json.dumps({name: value for name, value in GOOD.items() if name != "engine"})) < 0.5


def test_counters_go_out_and_come_back():
    (counters,) = stretches(read([json.dumps(GOOD)]))
    assert aiperf_of(counters) == GOOD
    assert stretches(read([json.dumps(aiperf_of(counters))])) == [counters]


def test_counters_that_lack_a_count_are_refused_in_a_sentence():
    with pytest.raises(ExportError, match="lack one of them"):
        aiperf_of(Counters(t_ns=0, arm="drafting", source="x", rounds=3, accepted=1, drafted=3))
    with pytest.raises(ExportError, match="contradict"):
        aiperf_of(
            Counters(t_ns=0, arm="drafting", source="x", rounds=1, accepted=5, drafted=9, accepted_by_position=(2, 3))
        )


def test_the_rounds_of_a_sessions_last_setting_go_out_step_by_step(tmp_path):
    with own_loop(tmp_path / "mine", drafter="mtp", k=1, engine="my engine", clock=lambda: 0) as loop:
        loop.run("a", arm="drafting", k=1)
        for _ in range(4):
            loop.round(1, 1, 10)
        loop.run("a", arm="plain")
        loop.plain(5)
        loop.run("a", arm="drafting", k=3)
        for accepted in (3, 3, 0, 2, 1):  # the first two are warm-up
            loop.round(3, accepted, 10)
    made = aiperf_of(read_session(loop.path))
    assert made["engine"] == "my engine"
    assert (made["per_step_accepted"], made["per_step_drafted"]) == ([0, 2, 1], [3, 3, 3])
    assert (made["mean_acceptance_length"], made["num_spec_tokens"], made["completion_tokens"]) == (2.0, 3, 6)
    assert made["acceptance_histogram"] == {"0": 1, "1": 1, "2": 1}
    (back,) = stretches(read([json.dumps(made)]))
    assert (back.rounds, back.accepted, back.accepted_by_position) == (3, 3, (2, 1))


def test_a_session_without_rounds_is_refused_in_a_sentence(tmp_path):
    with own_loop(tmp_path / "mine") as loop:
        loop.plain(5)
    with pytest.raises(ExportError, match="no rounds of drafting"):
        aiperf_of(read_session(loop.path))


@settings(max_examples=80, deadline=None)
@given(damaged(json.dumps(GOOD, indent=1)))
def test_damage_is_never_more_than_a_refusal(text):
    survives(read, text)
