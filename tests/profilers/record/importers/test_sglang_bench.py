"""SGLang's benchmarks: settings of bench_speculative, runs of bench_serving."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from served_samples import damaged, notes, stretches, survives

from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.sglang_bench import likely, read

PLAIN = {
    "batch_size": 2,
    "steps": 0,
    "topk": 0,
    "num_draft_tokens": 0,
    "acc_length": 1.0,
    "step_time": 0.01,
    "speed": 100.0,
    "completion_tokens": 512.0,
}
CHAIN = PLAIN | {"steps": 3, "topk": 1, "num_draft_tokens": 4, "acc_length": 2.4, "step_time": 0.016, "speed": 150.0}
TREE = CHAIN | {"topk": 4, "num_draft_tokens": 8, "acc_length": 3.2, "step_time": 0.02, "speed": 160.0}


def text(*runs: dict[str, Any]) -> list[str]:
    return [json.dumps(run) + "\n" for run in runs]


def test_settings_become_stretches_with_their_batch() -> None:
    imported = read(text(PLAIN, CHAIN))
    plain, chain = stretches(imported)
    assert (plain.arm, plain.batch, plain.tokens_per_second, plain.tokens_per_round) == ("plain", 2, 200.0, None)
    # the speed of the file is of one sequence, that of a stretch of both
    assert (chain.arm, chain.batch, chain.tokens_per_second, chain.tokens_per_round) == ("drafting", 2, 300.0, 2.4)
    assert (chain.k, imported.k) == (3, 3)
    assert "20th percentile" in notes(imported, "percentile")[0]


def test_trees_have_no_k() -> None:
    imported = read(text(TREE))
    assert stretches(imported)[0].k is None
    assert notes(imported, "tree")


def test_a_missing_speed_is_derived_from_the_step() -> None:
    (counters,) = stretches(read(text({name: value for name, value in CHAIN.items() if name != "speed"})))
    assert counters.tokens_per_second == pytest.approx(300.0)


def test_contradictions_are_named() -> None:
    assert "does not fit" in notes(read(text(CHAIN | {"speed": 250.0})), "contradiction")[0]
    assert "4 positions" in notes(read(text(CHAIN | {"acc_length": 4.8, "speed": 300.0})), "contradiction")[0]


def test_a_serving_run_has_its_accept_length_and_a_plain_one_none() -> None:
    run = {
        "backend": "sglang",
        "max_concurrency": 1,
        "output_throughput": 45.0,
        "mean_tpot_ms": 20.0,
        "accept_length": 2.5,
        "duration": 10.0,
        "total_output_tokens": 450,
    }
    drafting, plain = stretches(read(text(run, run | {"accept_length": None})))
    assert (drafting.arm, drafting.tokens_per_round, drafting.tokens_per_second) == ("drafting", 2.5, 50.0)
    assert (plain.arm, plain.tokens_per_round) == ("plain", None)


def test_settings_of_no_use_are_puzzles() -> None:
    imported = read(text(CHAIN, CHAIN | {"speed": "x", "step_time": -1, "acc_length": None}, {"note": 1}))
    assert (len(stretches(imported)), imported.tally.not_understood, imported.tally.ignored) == (1, 1, 1)


def test_nothing_to_use_is_refused_in_a_sentence() -> None:
    with pytest.raises(ImportFailed, match="bench_speculative"):
        read(['{"a": 1}'])


def test_it_is_recognised() -> None:
    assert likely(text(CHAIN)[0]) > 0.9
    assert likely('{"backend": "vllm", "output_throughput": 5}') == 0


@settings(max_examples=60, deadline=None)
@given(damaged("".join(text(PLAIN, CHAIN, TREE))))
def test_damage_never_breaks_it(damage: str) -> None:
    survives(read, damage)
