"""Metrics text as samples, and the counters of three engines in them."""

from __future__ import annotations

from specview.profilers.record.importers.counter_differences import Reset
from specview.profilers.record.importers.prometheus import (
    Sample,
    counted_between,
    counters_of,
    engine_of,
    is_metric,
    samples_of_line,
)

VLLM = """\
# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="tiny"} 100.0
vllm:spec_decode_num_drafts_total{engine="1",model_name="tiny"} 40.0
vllm:spec_decode_num_drafts_created{engine="0",model_name="tiny"} 1.7e+09
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="tiny"} 200.0
vllm:spec_decode_num_draft_tokens_total{engine="1",model_name="tiny"} 80.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="tiny"} 90.0
vllm:spec_decode_num_accepted_tokens_total{engine="1",model_name="tiny"} 30.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="tiny",position="0"} 60.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="tiny",position="1"} 30.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="tiny",position="0"} 20.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="tiny",position="1"} 10.0
vllm:generation_tokens_total{engine="0",model_name="tiny"} 190.0
vllm:num_requests_running{engine="0",model_name="tiny"} 2.0
vllm:num_requests_running{engine="1",model_name="tiny"} 1.0
"""

SGLANG = """\
sglang:spec_accept_length{engine_type="unified",model_name="/data/models/tiny",tp_rank="0"} 2.5
sglang:spec_accept_length{engine_type="unified",model_name="/data/models/tiny",tp_rank="1"} 2.5
sglang:spec_verify_calls_total{model_name="/data/models/tiny",tp_rank="0"} 40
sglang:spec_verify_calls_total{model_name="/data/models/tiny",tp_rank="1"} 40
sglang:num_running_reqs{model_name="/data/models/tiny",tp_rank="0"} 3
sglang:gen_throughput{model_name="/data/models/tiny",tp_rank="0"} 99.5
"""


def samples_of(text: str) -> list[Sample]:
    """The samples of a text, line by line."""
    return [sample for line in text.splitlines() if is_metric(line) for sample in samples_of_line(line) or ()]


def test_engines_are_added_up() -> None:
    counted = counters_of(samples_of(VLLM), "vllm")
    assert (counted.rounds, counted.drafted, counted.accepted) == (140, 280, 120)
    assert counted.accepted_by_position == (80, 40)
    assert (counted.workers, counted.running, counted.generated) == (2, 3, 190)
    assert counted.models == ("tiny",)
    assert counted.drafts


def test_the_ranks_of_one_engine_are_counted_once_and_paths_are_not_kept() -> None:
    counted = counters_of(samples_of(SGLANG), "sglang")
    assert (counted.rounds, counted.tokens_per_round, counted.running) == (40, 2.5, 3)
    assert counted.generated_per_second == 99.5
    assert counted.models == ("tiny",)


def test_schedulers_with_batches_of_their_own_are_added_up() -> None:
    text = 'sglang:gen_throughput{dp_rank="0",tp_rank="0"} 10\nsglang:gen_throughput{dp_rank="1",tp_rank="1"} 20\n'
    assert counters_of(samples_of(text), "sglang").generated_per_second == 30


def test_the_engine_is_told_by_its_prefix() -> None:
    assert engine_of(samples_of(VLLM)) == "vllm"
    assert engine_of(samples_of(SGLANG)) == "sglang"
    assert engine_of(samples_of("llamacpp:tokens_predicted_total 5\n")) == "llama.cpp"
    assert engine_of(samples_of("python_gc_objects_collected_total 5\n")) is None


def test_llama_cpp_has_the_same_counters_under_its_name() -> None:
    text = """\
llamacpp:spec_decode_num_drafts_total 10
llamacpp:spec_decode_num_draft_tokens_total 30
llamacpp:spec_decode_num_accepted_tokens_total 12
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 7
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 4
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="2"} 1
llamacpp:tokens_predicted_total 22
llamacpp:tokens_predicted_seconds_total 0.5
"""
    counted = counters_of(samples_of(text), "llama.cpp")
    assert (counted.rounds, counted.drafted, counted.accepted) == (10, 30, 12)
    assert counted.accepted_by_position == (7, 4, 1)
    assert (counted.decoded, counted.decode_seconds) == (22, 0.5)


def test_a_name_in_braces_a_prefix_and_a_time_are_understood() -> None:
    (sample,) = samples_of_line('{"vllm:generation_tokens_total",engine="0"} 7 1700000000500') or ()
    assert (sample.name, sample.value, sample.time_s) == ("vllm:generation_tokens_total", 7, 1700000000.5)
    (sample,) = samples_of_line('ray_vllm_generation_tokens_total{engine="0"} 7') or ()
    assert sample.name == "vllm:generation_tokens_total"


def test_what_is_no_count_is_no_sample() -> None:
    for value in ("NaN", "+Inf", "-3", "1e300", "abc", ""):
        assert samples_of_line(f"vllm:generation_tokens_total {value}") is None
    assert samples_of_line('vllm:generation_tokens_total{engine="0') is None
    assert samples_of_line("vllm:x " + "1" * 70_000) is None


def test_positions_with_one_missing_are_not_told() -> None:
    text = "\n".join(line for line in VLLM.splitlines() if 'position="0"' not in line)
    assert counters_of(samples_of(text), "vllm").accepted_by_position is None


def test_what_was_counted_between_two_looks_has_the_gauges_of_the_later() -> None:
    later = VLLM.replace(" 100.0", " 150.0").replace(
        'running{engine="0",model_name="tiny"} 2.0', 'running{engine="0"} 5'
    )
    counted = counted_between(samples_of(VLLM), samples_of(later), "vllm")
    assert not isinstance(counted, Reset)
    assert (counted.rounds, counted.accepted, counted.running) == (50, 0, 6)


def test_a_restart_between_two_looks_is_a_reset() -> None:
    assert isinstance(counted_between(samples_of(VLLM), samples_of(VLLM.replace(" 100.0", " 3.0")), "vllm"), Reset)
