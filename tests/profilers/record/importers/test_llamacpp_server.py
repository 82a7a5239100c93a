"""llama-server's timings, in whatever they are wrapped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specview.profilers.record.importers.imported import Imported, ImportFailed
from specview.profilers.record.importers.llamacpp_server import likely, read
from specview.profilers.record.records import Counters, Note, to_line

DRAFTING: dict[str, Any] = {
    "cache_n": 0, "prompt_n": 45, "prompt_ms": 113.8, "prompt_per_token_ms": 2.53, "prompt_per_second": 395.3,
    "predicted_n": 200, "predicted_ms": 11082.606, "predicted_per_token_ms": 55.413, "predicted_per_second": 18.046,
    "draft_n": 347, "draft_n_accepted": 65,
}  # fmt: skip
PLAIN = {name: value for name, value in DRAFTING.items() if not name.startswith("draft")}


def imported(text: str) -> Imported:
    return read(text.splitlines(keepends=True))


def counters(*objects: object) -> tuple[Counters, ...]:
    found = imported("\n".join(json.dumps(each) for each in objects))
    return tuple(record for record in found.records if isinstance(record, Counters))


def notes(*objects: object) -> list[tuple[str, ...]]:
    found = imported("\n".join(json.dumps(each) for each in objects))
    return [record.tags for record in found.records if isinstance(record, Note)]


def test_rounds_are_tokens_less_accepted_drafts() -> None:
    (one,) = counters(DRAFTING)
    assert one.arm == "drafting"
    assert (one.rounds, one.drafted, one.accepted, one.tokens) == (135, 347, 65, 200)
    assert one.elapsed_ns == 11_082_606_000
    assert one.tokens_per_round == pytest.approx(200 / 135)
    assert set(one.derived) == {"rounds", "tokens_per_round"}
    assert one.tokens_per_second == 18.046


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(DRAFTING),
        json.dumps(DRAFTING, indent=4),
        json.dumps([{"content": "x", "timings": DRAFTING}]),
        json.dumps({"id": "chatcmpl-1", "object": "chat.completion", "choices": [], "timings": DRAFTING}),
        json.dumps({"prompt": "p", "response": {"content": "x", "timings": DRAFTING}}),
        "\ufeff" + json.dumps({"results": [{"timings": DRAFTING}]}),
        "curl: 200\n" + json.dumps({"timings": DRAFTING}) + "\r\ndone\n",
        "data: " + json.dumps({"content": "", "stop": True, "timings": DRAFTING}) + "\n\ndata: [DONE]\n",
    ],
)
def test_timings_are_found_in_every_wrapping(text: str) -> None:
    found = [record for record in imported(text).records if isinstance(record, Counters)]
    assert [(one.rounds, one.tokens) for one in found] == [(135, 200)]


def test_a_stream_that_tells_its_timings_with_every_token_counts_once() -> None:
    growing = [{**DRAFTING, "predicted_n": n, "predicted_ms": 55.0 * n, "draft_n_accepted": 0} for n in (1, 2)]
    chunks = [
        {"object": "chat.completion.chunk", "id": "a", "choices": [], "timings": timings}
        for timings in (*growing, DRAFTING)
    ]
    assert [one.tokens for one in counters(*chunks)] == [200]
    answers = [{"content": "x", "stop": timings is DRAFTING, "timings": timings} for timings in (*growing, DRAFTING)]
    assert [one.tokens for one in counters(*answers)] == [200]


def test_interleaved_streams_stay_apart() -> None:
    chunk = {"object": "chat.completion.chunk", "choices": []}
    chunks = [
        {**chunk, "id": name, "timings": {**DRAFTING, "predicted_n": n}}
        for name, n in zip("abab", (70, 80, 90, 99), strict=True)
    ]
    assert sorted(one.tokens or 0 for one in counters(*chunks)) == [90, 99]


def test_settings_beside_the_timings_give_k_temperature_and_model() -> None:
    answer = {
        "model": "/models/some-8b-q4.gguf",
        "generation_settings": {"speculative.n_max": 3, "temperature": 0.0},
        "timings": DRAFTING,
    }
    (one,) = counters(answer)
    assert (one.k, one.temperature) == (3, 0.0)
    assert imported(json.dumps(answer)).model == "some-8b-q4.gguf"


def test_answers_without_draft_counts_are_plain_and_beside_drafting_ones_that_is_told() -> None:
    assert [one.arm for one in counters(PLAIN)] == ["plain"]
    assert notes(PLAIN) == []
    assert [one.arm for one in counters(DRAFTING, PLAIN)] == ["drafting", "plain"]
    assert notes(DRAFTING, PLAIN) == [("import", "plain_or_without_drafts")]


def test_no_drafts_at_all_is_the_drafting_loop_and_not_plain() -> None:
    (one,) = counters({**DRAFTING, "draft_n": 0, "draft_n_accepted": 0})
    assert (one.arm, one.rounds, one.drafted) == ("drafting", 200, 0)
    assert notes({**DRAFTING, "draft_n": 0, "draft_n_accepted": 0}) == [("import", "k0")]


def test_a_speed_that_leaves_out_the_first_token_is_no_contradiction() -> None:
    short = {"predicted_n": 10, "predicted_ms": 1000.0, "predicted_per_second": 9.0}
    assert notes(short) == []
    assert notes({**short, "predicted_per_second": 12.0}) == [("import", "contradiction")]


def test_more_accepted_than_possible_is_a_contradiction() -> None:
    assert ("import", "contradiction") in notes({**DRAFTING, "draft_n_accepted": 400})
    (one,) = counters({**DRAFTING, "draft_n_accepted": 400})
    assert one.rounds is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("draft_n", "347"),
        ("draft_n", -1),
        ("draft_n", 1.5),
        ("draft_n", 10**18),
        ("predicted_ms", float("nan")),
        ("predicted_ms", float("inf")),
        ("predicted_n", True),
        ("draft_n_rejected", 7),
    ],
)
def test_fields_that_are_not_understood_are_counted_and_the_rest_is_used(field: str, value: object) -> None:
    tally = imported(json.dumps({"timings": {**DRAFTING, field: value}})).tally
    assert tally.not_understood >= 1
    assert any(field in example for example in tally.examples)


def test_a_name_that_occurs_twice_with_two_values_is_not_believed() -> None:
    text = json.dumps(DRAFTING)[:-1] + ', "predicted_n": 7}'
    assert "predicted_n" in imported(text).tally.examples[0]


def test_a_torn_last_line_and_deep_nesting_are_counted() -> None:
    whole = json.dumps({"timings": DRAFTING})
    found = imported(f"{whole}\n{whole[:60]}\n")
    assert (found.tally.understood, found.tally.not_understood) == (1, 1)
    deep = "[" * 100 + "]" * 100
    assert imported(f"{whole}\n{deep}\n").tally.not_understood == 1


def test_without_a_speed_it_is_refused_with_what_to_do() -> None:
    with pytest.raises(ImportFailed, match="save whole answers"):
        imported('{"choices": []}')


def test_its_own_signs_are_likely_and_others_are_not() -> None:
    assert likely(json.dumps(DRAFTING)) > 0.9
    assert likely("data: " + json.dumps({"timings": PLAIN})) > 0.9
    assert likely('{"spec_decode_num_drafts": 1}') == 0
    assert likely("eval time = 1.0 ms / 1 tokens") == 0


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_damaged_answers_never_end_in_anything_but_a_sentence(data: st.DataObject) -> None:
    text = json.dumps([{"timings": DRAFTING}, {"timings": PLAIN}], indent=data.draw(st.sampled_from([None, 1])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        new = data.draw(st.text(max_size=5) | st.sampled_from(["-", "9" * 40, "NaN", "1e400", "[" * 80, "{", "}", '"']))
        text = text[:at] + new + text[at + data.draw(st.integers(0, 9)) :]
    try:
        found = imported(text)
    except ImportFailed:
        return
    for record in found.records:
        to_line(record)
