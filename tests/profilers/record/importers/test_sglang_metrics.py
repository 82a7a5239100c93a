"""SGLang's metrics page: gauges of the moment, counters, and positions that are not drafts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from served_samples import damaged, notes, stretches, survives

from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.sglang_metrics import likely, read

LOOK = """\
# TYPE sglang:spec_accept_length gauge
sglang:spec_accept_length{{model_name="org/tiny"}} 2.5
sglang:spec_accept_rate{{model_name="org/tiny"}} {rate}
sglang:spec_num_steps{{model_name="org/tiny"}} 3
sglang:spec_num_draft_tokens{{model_name="org/tiny"}} {positions}
sglang:spec_verify_calls_total{{model_name="org/tiny"}} {calls}
sglang:generation_tokens_total{{model_name="org/tiny"}} {tokens}
sglang:num_running_reqs{{model_name="org/tiny"}} 2
sglang:gen_throughput{{model_name="org/tiny"}} 80.5
"""


def look(calls: int = 100, tokens: int = 240, rate: object = 0.5, positions: int = 4) -> str:
    return LOOK.format(calls=calls, tokens=tokens, rate=rate, positions=positions)


def test_positions_count_one_more_than_drafts() -> None:
    imported = read(look().splitlines())
    (counters,) = stretches(imported)
    assert (counters.k, counters.rounds, counters.drafted) == (3, 100, 300)
    assert (counters.accepted, counters.tokens_per_round) == (140, 2.4)
    assert {"k", "drafted", "accepted", "tokens_per_round"} <= set(counters.derived)
    assert (counters.batch, counters.tokens_per_second) == (2, 80.5)
    assert notes(imported, "warm_up")
    assert notes(imported, "moment")


def test_two_looks_give_what_was_counted_in_between() -> None:
    (counters,) = stretches(read((look() + look(calls=300, tokens=840)).splitlines()))
    assert (counters.rounds, counters.tokens_per_round, counters.accepted) == (200, 3.0, 400)


def test_a_rate_by_position_and_one_that_fits_nothing_are_told() -> None:
    # 1.5 / 3 = 0.5 is of drafts; 2.5 / 4 = 0.625 is of positions
    assert not notes(read(look(rate=0.5).splitlines()), "kind")
    assert notes(read(look(rate=0.625).splitlines()), "kind")
    assert notes(read(look(rate=0.9).splitlines()), "contradiction")


def test_calls_that_count_batches_are_not_rounds() -> None:
    imported = read(look(calls=10).splitlines())
    (counters,) = stretches(imported)
    assert (counters.rounds, counters.accepted, counters.tokens_per_round) == (None, None, 2.5)
    assert notes(imported, "contradiction")


def test_trees_have_no_k() -> None:
    imported = read(look(positions=16).splitlines())
    assert stretches(imported)[0].k is None
    assert notes(imported, "tree")


def test_a_server_without_drafts_is_plain() -> None:
    text = "sglang:spec_accept_length 0.0\nsglang:gen_throughput 55.0\nsglang:num_running_reqs 1\n"
    (counters,) = stretches(read(text.splitlines()))
    assert (counters.arm, counters.tokens_per_second, counters.tokens_per_round) == ("plain", 55.0, None)


def test_nothing_to_use_is_refused_in_a_sentence() -> None:
    with pytest.raises(ImportFailed, match="sglang"):
        read(["vllm:generation_tokens_total 5"])


def test_it_is_recognised() -> None:
    assert likely(look()) > 0.9
    assert likely("vllm:generation_tokens_total 5\n") == 0


@settings(max_examples=50, deadline=None)
@given(damaged(look() + look(calls=300, tokens=840)))
def test_damage_never_breaks_it(text: str) -> None:
    try:
        imported = read(text.splitlines())
    except ImportFailed:
        return
    stretches(imported)


def test_a_whole_sample_survives() -> None:
    survives(read, look())
