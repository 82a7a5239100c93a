"""llama-bench's rows as passes and plain decoding, llama-batched-bench's as several sequences at once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specview.profilers.record.importers import llama_bench as bench
from specview.profilers.record.importers.imported import Imported, ImportFailed
from specview.profilers.record.records import Counters, Note, Probe, to_line


def row(prompt: int, generated: int, *samples_ns: int, **more: Any) -> dict[str, Any]:
    return {
        "build_commit": "0123abc", "model_filename": "/m/some-8b-q4.gguf", "model_type": "llama 8B Q4_0",
        "backends": "CUDA", "gpu_info": "NVIDIA H200", "n_batch": 2048, "n_ubatch": 512,
        "n_prompt": prompt, "n_gen": generated, "n_depth": 0,
        "avg_ns": sum(samples_ns) // len(samples_ns), "stddev_ns": 0, "samples_ns": list(samples_ns), **more,
    }  # fmt: skip


ROWS = [row(1, 0, 10_000_000, 10_200_000), row(2, 0, 10_600_000, 10_400_000), row(0, 128, 1_280_000_000, 1_290_000_000)]
TABLE = """\
main: n_kv_max = 4096, n_batch = 2048

|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|   128 |    100 |    1 |    228 |    0.108 |  1186.64 |    2.500 |    40.00 |    2.608 |    87.42 |
|   128 |    100 |    4 |    912 |    0.430 |  1190.00 |    5.000 |    80.00 |    5.430 |   167.96 |
"""
BATCHED = {"n_kv_max": 4096, "pp": 128, "tg": 100, "pl": 4, "n_kv": 912, "t_pp": 0.43, "speed_pp": 1190.0,
           "t_tg": 5.0, "speed_tg": 80.0, "t": 5.43, "speed": 167.96}  # fmt: skip


def imported(*rows: object, indent: int | None = None) -> Imported:
    return bench.read_bench(json.dumps(list(rows), indent=indent).splitlines(keepends=True))


def notes(found: Imported) -> list[tuple[str, ...]]:
    return [record.tags for record in found.records if isinstance(record, Note)]


def test_prompts_alone_are_passes_that_wide_and_generation_is_plain_decoding() -> None:
    found = imported(*ROWS)
    probes = [record for record in found.records if isinstance(record, Probe)]
    assert [(p.part, p.ruler, p.width, p.context, p.samples_ns) for p in probes] == [
        ("verify", "whole", 1, 0, (10_000_000, 10_200_000)),
        ("verify", "whole", 2, 0, (10_600_000, 10_400_000)),
    ]
    plain = [record for record in found.records if isinstance(record, Counters)]
    assert [(one.arm, one.batch, one.tokens, one.elapsed_ns) for one in plain] == [
        ("plain", 1, 128, 1_280_000_000),
        ("plain", 1, 128, 1_290_000_000),
    ]
    assert (found.model, found.device, found.form) == ("llama 8B Q4_0", "NVIDIA H200", "llama-bench")


def test_one_document_many_lines_and_a_line_each_are_the_same() -> None:
    lines = [json.dumps(each) + "\n" for each in ROWS]
    assert imported(*ROWS, indent=2).records == imported(*ROWS).records == bench.read_bench(lines).records


def test_a_depth_is_the_context_of_a_pass() -> None:
    (probe,) = (record for record in imported(row(2, 0, 5, n_depth=4096)).records if isinstance(record, Probe))
    assert probe.context == 4096


def test_old_rows_without_samples_give_their_mean() -> None:
    old = {name: value for name, value in ROWS[0].items() if name not in ("samples_ns", "n_depth")}
    (probe,) = (record for record in imported(old).records if isinstance(record, Probe))
    assert (probe.samples_ns, probe.context) == ((10_100_000,), 0)


def test_long_prompts_are_no_verify_passes() -> None:
    found = imported(*ROWS, row(512, 0, 90_000_000), row(64, 0, 90_000_000, n_ubatch=32))
    assert [record.width for record in found.records if isinstance(record, Probe)] == [1, 2]
    assert found.tally.ignored == 2


def test_prompt_and_generation_in_one_time_are_left_out_and_told() -> None:
    found = imported(*ROWS, row(64, 64, 90_000_000))
    assert len([record for record in found.records if isinstance(record, Counters)]) == 2
    assert notes(found) == [("import", "prompt_time")]


def test_rows_of_other_settings_never_join_a_curve() -> None:
    found = imported(*ROWS, row(3, 0, 90_000_000, n_threads=4), row(4, 0, 9_000_000, model_filename="/m/other.gguf"))
    assert [record.width for record in found.records if isinstance(record, Probe)] == [1, 2]
    assert notes(found) == [("import", "unlike_rows")]


def test_a_mean_that_its_samples_deny_is_a_contradiction() -> None:
    assert notes(imported(row(2, 0, 10_000_000, avg_ns=20_000_000))) == [("import", "contradiction")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_prompt": "2"},
        {"n_prompt": -2},
        {"n_prompt": 2.5},
        {"n_depth": None},
        {"samples_ns": [1, "x"]},
        {"samples_ns": []},
        {"samples_ns": [float("nan")]},
        {"samples_ns": [0]},
        {"samples_ns": [10**18]},
    ],
)
def test_rows_that_are_not_understood_are_counted(wrong: dict[str, Any]) -> None:
    tally = imported(*ROWS, {**ROWS[1], **wrong}).tally
    assert (tally.understood, tally.not_understood) == (3, 1)


def test_a_file_cut_off_gives_the_rows_that_are_whole() -> None:
    text = json.dumps(ROWS, indent=2)
    found = bench.read_bench(text[: text.rindex("n_gen")].splitlines(keepends=True))
    assert [record.width for record in found.records if isinstance(record, Probe)] == [1, 2]
    assert found.tally.not_understood == 1


def test_its_markdown_table_is_refused_with_the_option_to_take() -> None:
    with pytest.raises(ImportFailed, match="-o json"):
        bench.read_bench(["| model | size | test | t/s |\n", "| llama | 4 GiB | pp2 | 99.1 |\n"])


def test_sequences_at_once_come_from_the_table_and_from_json() -> None:
    table = bench.read_batched(TABLE.splitlines(keepends=True))
    alone, four = (record for record in table.records if isinstance(record, Counters))
    assert (alone.batch, alone.tokens, alone.elapsed_ns) == (1, 100, 2_500_000_000)
    assert (four.batch, four.tokens, four.elapsed_ns, four.tokens_per_second) == (4, 400, 5_000_000_000, 80.0)
    assert table.tally.not_understood == 0
    (same,) = bench.read_batched([json.dumps(BATCHED)]).records
    assert isinstance(same, Counters)
    assert (same.batch, same.tokens, same.elapsed_ns) == (4, 400, 5_000_000_000)


def test_a_table_with_decimal_commas_reads_the_same() -> None:
    commas = bench.read_batched(TABLE.replace(".", ",").splitlines())
    assert commas.records == bench.read_batched(TABLE.splitlines()).records


def test_a_speed_that_its_counts_deny_is_a_contradiction() -> None:
    found = bench.read_batched([json.dumps({**BATCHED, "speed_tg": 20.0})])
    assert notes(found) == [("import", "contradiction")]


def test_damaged_rows_of_a_table_are_counted() -> None:
    tally = bench.read_batched([*TABLE.splitlines(), "|   128 |   nan |", '{"pp": 1, "tg": 5']).tally
    assert (tally.understood, tally.not_understood) == (2, 2)


def test_a_table_without_generation_is_refused() -> None:
    with pytest.raises(ImportFailed, match="-ntg"):
        bench.read_batched([json.dumps({**BATCHED, "tg": 0})])


def test_their_own_signs_are_likely_and_the_other_s_are_not() -> None:
    assert bench.likely_bench(json.dumps(ROWS)) > 0.9
    assert bench.likely_batched(TABLE) > 0.9
    assert bench.likely_batched(json.dumps(BATCHED)) > 0.9
    assert bench.likely_bench(json.dumps(BATCHED)) == bench.likely_batched(json.dumps(ROWS)) == 0


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_damaged_rows_never_end_in_anything_but_a_sentence(data: st.DataObject) -> None:
    read, text = data.draw(
        st.sampled_from(
            [
                (bench.read_bench, json.dumps(ROWS, indent=1)),
                (bench.read_batched, TABLE),
                (bench.read_batched, json.dumps(BATCHED)),
            ]
        )
    )
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        new = data.draw(st.text(max_size=5) | st.sampled_from(["-", "9" * 40, "NaN", "1e400", "[", "{", "|", '"', ","]))
        text = text[:at] + new + text[at + data.draw(st.integers(0, 9)) :]
    try:
        found = read(text.splitlines(keepends=True))
    except ImportFailed:
        return
    for record in found.records:
        to_line(record)
