"""Facts that cannot be used are told in one clear sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specview.profilers.judge.appraisal.judgement import judge_facts
from specview.profilers.judge.appraisal.reading import LARGEST_BYTES, FactsError, read_facts


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no facts"),
        (b"decode 92", "not valid JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"k": NaN}', "NaN"),
        (b'{"k": -Infinity}', "Infinity"),
        (b'{"k": 1e999}', "too large"),
        (b'{"k": ' + b"9" * 5000 + b"}", "64 bits"),
        (b'{"k": 1, "k": 2}', "twice"),
        (b'{"acceptance": {"value": 1, "value": 0}}', "twice"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "deep"),
        (b'{"k": "\xff"}', "UTF-8"),
        (b" " * (LARGEST_BYTES + 1), "longer than"),
    ],
)
def test_bytes_that_are_no_facts(data, said):
    with pytest.raises(FactsError, match=said):
        read_facts(data)


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"colour": 3},
        {"decode_tps": 0},
        {"decode_tps": -3},
        {"decode_tps": "92"},
        {"decode_tps": True},
        {"decode_tps": []},
        {"decode_tps": 1e12},
        {"decode_ms": 1e-12},
        {"verify_ms": 21.0},
        {"verify_ms": "steep"},
        {"verify_ms": {"two": 3}},
        {"verify_ms": {"0": 3}},
        {"verify_ms": {"2": -3}},
        {"verify_ruler": "fenced"},
        {"k": -1},
        {"k": 2.5},
        {"k": 10**9},
        {"k": list(range(500))},
        {"acceptance": "high"},
        {"acceptance": {"value": 1.5}},
        {"acceptance": {"value": 101, "kind": "per_draft"}},
        {"acceptance": {"value": 0.5, "kind": "odd"}},
        {"acceptance": {"value": 0.5, "kind": "cumulative"}},
        {"acceptance": {"positions": [0.5, 0.4]}},
        {"acceptance": {"positions": [0.5], "kind": "per_draft"}},
        {"acceptance": {"value": 1, "kind": "accepted_per_generated"}},
        {"acceptance": {"accepted": 1.5}},
        {"moe": {"experts": 8}},
        {"moe": {"experts": 8, "active": 9}},
        {"acceptance_histogram": {"x": 1}},
        {"acceptance_histogram": {"9999": 1}},
        {"draft_n": "many"},
        {"timings": 3},
        {"timings": {"k": 1}, "k": 2},
    ],
)
def test_values_that_cannot_be_used(facts):
    with pytest.raises(FactsError) as told:
        judge_facts(facts)
    text = str(told.value)
    assert text.endswith(".") and "\n" not in text and len(text) < 300


def test_a_null_is_not_given():
    assert judge_facts({"k": 1, "decode_ms": None, "acceptance": {"value": None}}).numbers == {"k": 1}


def test_names_and_texts_of_others_are_stripped_of_controls():
    answer = judge_facts({"k": 1, "a\x1b[31m" + "b" * 500: 1, "content": "x\x1b[2J\u202ey"})
    said = str(answer.to_object())
    assert "\\x1b" not in said and "\\u202e" not in said
    assert all(len(warned.message) < 200 for warned in answer.warnings)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["1", "2", "value", "kind", "x"]), inner, max_size=3)
    ),
    max_leaves=5,
)
NAMES = ["decode_ms", "verify_ms", "k", "acceptance", "moe", "round_ms", "timings", "draft_n", "accept", "rounds"]
NAMES += [
    "acceptance_histogram",
    "speculative_tps",
    "tokens_per_round",
    "predicted_n",
    "generation_tps",
    "verify_passes",
]


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=6))
def test_whatever_comes_is_judged_or_told(facts):
    try:
        judge_facts(facts).to_object()
    except FactsError as told:
        assert "\n" not in str(told)


POSITIVE = st.floats(1e-6, 1e9)


@settings(max_examples=150, deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "decode_ms": POSITIVE,
            "round_ms": POSITIVE,
            "verify_ms": st.just("flat") | st.dictionaries(st.sampled_from(["1", "2", "4"]), POSITIVE),
            "k": st.integers(0, 40) | st.lists(st.integers(0, 6), min_size=1, max_size=4),
            "speculative_tps": POSITIVE | st.lists(POSITIVE, min_size=1, max_size=3),
            "tokens_per_round": st.floats(0, 1e9),
            "acceptance": st.fixed_dictionaries(
                {},
                optional={
                    "value": st.floats(0, 1),
                    "kind": st.sampled_from(["conditional", "per_draft", "mean_accepted", None]),
                    "accepted": st.integers(0, 200),
                    "drafted": st.integers(0, 200),
                    "rounds": st.integers(0, 200),
                },
            ),
            "acceptance_histogram": st.lists(st.integers(0, 20), min_size=1, max_size=5),
            "predicted_n": st.integers(0, 300),
            "predicted_ms": POSITIVE,
            "draft_n": st.integers(0, 300),
            "draft_n_accepted": st.integers(0, 300),
        },
    )
)
def test_facts_of_the_right_types_are_judged(facts):
    if facts:
        json.dumps(judge_facts(facts).to_object(), allow_nan=False)
