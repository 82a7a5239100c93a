"""Raw fields as servers print them become counts, E and end-to-end time."""

from __future__ import annotations

import pytest

from specview.profilers.judge.appraisal.judgement import judge_facts

VLLM = "vllm:spec_decode_num_"


def numbers(facts):
    return judge_facts(facts).numbers


def test_llama_server_timings_count_rounds_as_generated_minus_accepted():
    timings = {"predicted_n": 200, "predicted_ms": 11082.6, "draft_n": 347, "draft_n_accepted": 65, "cache_n": 4}
    for facts in (timings, {"timings": timings}):
        found = numbers({**facts, "decode_tps": 20})
        assert found["rounds"] == 135
        assert found["tokens_per_round"] == pytest.approx(200 / 135)
        assert found["speedup"] == pytest.approx(200 / 11.0826 / 20)


def test_llama_server_timings_without_drafts_are_a_baseline():
    answer = judge_facts({"predicted_n": 100, "predicted_ms": 2000, "verify_ms": {"2": 30}})
    assert answer.numbers["decode_ms"] == 20
    assert "decode_ms" in answer.inferred


def test_llama_speculative_prints_a_percentage():
    found = numbers({"n_draft": 16, "n_predict": 128, "n_drafted": 297, "n_accept": 171, "accept": 57.576})
    assert found["k"] == 16
    assert found["tokens_per_round"] == pytest.approx(1 + 16 * 171 / 297)
    assert found["per_draft"] == pytest.approx(0.57576, rel=1e-3)


def test_vllm_counters_with_labels_are_added_up_and_created_times_ignored():
    facts = {
        VLLM + 'drafts_total{engine="0"}': 60,
        VLLM + 'drafts_total{engine="1"}': 40,
        VLLM + "drafts_created": 1.7e9,
        VLLM + "draft_tokens_total": 300,
        VLLM + "accepted_tokens_total": 187,
        **{VLLM + f'accepted_tokens_per_pos_total{{position="{i}"}}': n for i, n in enumerate((82, 61, 44))},
    }
    answer = judge_facts(facts)
    assert answer.numbers["tokens_per_round"] == pytest.approx(2.87)
    assert answer.numbers["cumulative"] == pytest.approx([0.82, 0.61, 0.44])
    assert not any(warned.code == "unknown_fact" for warned in answer.warnings)


def test_vllm_bench_results_hold_a_percentage():
    facts = {"spec_decode_acceptance_rate": 62.3, "spec_decode_num_drafts": 1010, "spec_decode_draft_tokens": 3030}
    facts |= {"spec_decode_accepted_tokens": 1890, "spec_decode_per_position_acceptance_rates": [0.821, 0.609, 0.437]}
    facts |= {"mean_tpot_ms": 20, "output_throughput": 35}
    answer = judge_facts(facts)
    assert answer.numbers["tokens_per_second"] == pytest.approx(50)
    assert answer.numbers["cumulative"] == pytest.approx([0.821, 0.609, 0.437])
    assert answer.warnings == ()
    assert numbers({"spec_decode_acceptance_rate": 0.8, "k": 1})["tokens_per_round"] == pytest.approx(1.008)


@pytest.mark.parametrize("histogram", [[39, 1, 0, 3], {"0": 39, "1": 1, "3": 3}])
def test_a_histogram_gives_rounds_counts_and_positions(histogram):
    found = numbers({"acceptance_histogram": histogram})
    assert (found["rounds"], found["accepted"], found["k"]) == (43, 10, 3)
    assert found["cumulative"] == pytest.approx([4 / 43, 3 / 43, 3 / 43])


def test_a_histogram_may_leave_out_lengths_that_never_occurred():
    found = numbers({"acceptance_histogram": [30, 10], "num_spec_tokens": 3})
    assert found["cumulative"] == pytest.approx([0.25, 0, 0])


def test_steps_of_a_record_are_counted():
    found = numbers({"per_step_accepted": [0, 3, 1, 0], "per_step_drafted": [3, 3, 3, 3]})
    assert (found["rounds"], found["accepted"], found["drafted"]) == (4, 4, 12)


def test_sglang_meta_info_counts_positions_not_drafts():
    facts = {"spec_accept_length": 2.5, "spec_verify_ct": 200, "spec_num_correct_drafts": 300}
    facts |= {"spec_num_proposed_drafts": 600, "spec_correct_drafts_histogram": [50, 50, 50, 50]}
    found = numbers({"meta_info": facts})
    assert (found["rounds"], found["k"]) == (200, 3)
    assert found["tokens_per_round"] == 2.5
    assert numbers({"spec_num_draft_tokens": 4, "spec_accept_length": 2.5})["k"] == 3


def test_sglang_bench_speculative_is_told_from_aiperf_by_its_length():
    found = numbers({"acc_length": 2.4, "num_draft_tokens": 4, "steps": 3, "topk": 1, "speed": 150, "batch_size": 1})
    assert found["k"] == 3
    assert found["round_ms"] == pytest.approx(2.4 * 1000 / 150)


def test_mlx_engines_are_read():
    dflash = {"generation_tps": 80, "accepted_from_draft": 300, "tokens_per_cycle": 4.0, "cycles": 100}
    assert numbers({**dflash, "acceptance_ratio": 0.75})["tokens_per_round"] == 4
    mtplx = {"accepted_by_depth": [150, 90], "drafted_by_depth": [200, 200], "verify_calls": 200}
    found = numbers({**mtplx, "decode_elapsed_s": 8.8, "completion_tokens": 440})
    assert found["tokens_per_round"] == 2.2
    assert found["cumulative"] == [0.75, 0.45]
    assert found["round_ms"] == pytest.approx(44)
