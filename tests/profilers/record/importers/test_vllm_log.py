"""vLLM's log: windows of drafting with the speed beside them, plain servers, old versions, damage."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from served_samples import damaged, notes, stretches, survives

from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.vllm_log import likely, read

HEAD = "(APIServer pid=7) INFO 03-02 10:00:{second:02d} [loggers.py:250] "
SPEED = (
    HEAD
    + "Engine {engine:03d}: Avg prompt throughput: {prompt} tokens/s, Avg generation throughput: {speed} tokens/s, "
    "Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: 1.2%, Prefix cache hit rate: 0.0%\n"
)
SPEC = (
    HEAD + "SpecDecoding metrics: Mean acceptance length: 2.30, Accepted throughput: 13.00 tokens/s, "
    "Drafted throughput: 30.00 tokens/s, Accepted: 130 tokens, Drafted: 300 tokens, "
    "Per-position acceptance rate: 0.700, 0.400, 0.200, Avg Draft acceptance rate: 43.3%\n"
)
START = (
    "(EngineCore pid=9) INFO 03-02 09:59:00 [core.py:90] Initializing a V1 LLM engine (v0.12.0) with config: "
    "model='/srv/models/big', speculative_config=SpeculativeConfig(method='eagle3', model='org/head', "
    "num_spec_tokens=3), tokenizer='/srv/models/big', dtype=torch.bfloat16\n"
)
PLAIN_START = START.replace("SpeculativeConfig(method='eagle3', model='org/head', num_spec_tokens=3)", "None")


def speed(second: int, speed: object = 23.0, *, engine: int = 0, prompt: object = 0.0, running: int = 1) -> str:
    return SPEED.format(second=second, speed=speed, engine=engine, prompt=prompt, running=running)


def spec(second: int) -> str:
    return SPEC.format(second=second)


LOG = START + speed(10, 18.0, prompt=9.5) + spec(10) + speed(20) + 'INFO: "POST /v1" 200 OK\n' + spec(20)


def test_a_window_has_its_rounds_and_the_speed_of_the_line_before() -> None:
    imported = read(LOG.splitlines(keepends=True))
    first, second = stretches(imported)
    # 300 drafts of 3 are 100 rounds; 1 + 130 / 100 = 2.30
    assert (second.rounds, second.drafted, second.accepted) == (100, 300, 130)
    assert second.accepted_by_position == (70, 40, 20)
    assert (second.k, second.batch, second.tokens, second.tokens_per_second) == (3, 1, 230, 23.0)
    assert second.elapsed_ns == 10_000_000_000
    assert {"rounds", "tokens", "accepted_by_position"} <= set(second.derived)
    assert second.t_ns - first.t_ns == 10_000_000_000
    assert (imported.model, imported.drafter, imported.k) == ("big", "eagle3 org/head", 3)


def test_a_window_with_a_prompt_inside_loses_its_speed_when_others_have_none() -> None:
    imported = read(LOG.splitlines())
    first, second = stretches(imported)
    assert (first.rounds, first.tokens_per_second) == (100, None)
    assert second.tokens_per_second
    assert notes(imported, "prompt_time")


def test_with_prompts_everywhere_the_speed_stays_and_is_remarked() -> None:
    imported = read((START + speed(10, 18.0, prompt=9.5) + spec(10)).splitlines())
    assert stretches(imported)[0].tokens_per_second == 18.0
    assert notes(imported, "prompt_time")


def test_lines_of_two_engines_are_not_mixed() -> None:
    log = speed(10, 50.0, engine=0) + spec(10) + speed(10, 70.0, engine=1) + spec(10) + speed(20, 1.0, engine=1)
    first, second = stretches(read((log + speed(20, 60.0, engine=0) + spec(20)).splitlines()))[:2]
    assert (first.tokens_per_second, second.tokens_per_second) == (50.0, 70.0)
    assert (first.label, second.label) == (None, "engine 001")


def test_processes_that_write_one_log_are_not_mixed() -> None:
    other = speed(10, 99.0).replace("pid=7", "pid=8")
    assert stretches(read((speed(10) + other + spec(10)).splitlines()))[0].tokens_per_second == 23.0


def test_a_drafting_line_alone_gives_the_speed_by_the_clock() -> None:
    imported = read(spec(10).splitlines())
    (window,) = stretches(imported)
    # 230 tokens for 130 accepted, at 13 accepted a second
    assert window.tokens_per_second == pytest.approx(23.0)
    assert "tokens_per_second" in window.derived
    assert notes(imported, "wall_time")


def test_a_server_without_speculative_decoding_is_plain() -> None:
    imported = read((PLAIN_START + speed(10, 40.0) + speed(20, 41.0)).splitlines())
    assert [(one.arm, one.tokens_per_second, one.batch) for one in stretches(imported)] == [
        ("plain", 40.0, 1),
        ("plain", 41.0, 1),
    ]
    assert not notes(imported, "assumed_plain")


def test_a_log_that_does_not_say_is_taken_as_plain_and_it_is_said() -> None:
    imported = read(speed(10, 40.0).splitlines())
    assert [one.arm for one in stretches(imported)] == ["plain"]
    assert notes(imported, "assumed_plain")


def test_a_plain_and_a_drafting_life_in_one_log_give_a_baseline() -> None:
    imported = read((PLAIN_START + speed(10, 40.0) + LOG).splitlines())
    assert [one.arm for one in stretches(imported)] == ["plain", "drafting", "drafting"]


def test_windows_without_drafts_of_a_drafting_server_are_not_plain() -> None:
    imported = read((LOG + speed(30, 3.0)).splitlines())
    assert [one.arm for one in stretches(imported)] == ["drafting", "drafting"]
    assert notes(imported, "undrafted")


def test_rounds_are_found_when_drafts_were_shorter_than_k() -> None:
    line = (
        "INFO SpecDecoding metrics: Mean acceptance length: 1.43, Accepted: 30 tokens, Drafted: 161 tokens, "
        "Per-position acceptance rate: 0.271, 0.100, 0.057, Avg Draft acceptance rate: 18.6%"
    )
    (window,) = stretches(read([line]))
    # 19, 7 and 4 of 70 rounds
    assert (window.rounds, window.accepted_by_position) == (70, (19, 7, 4))


def test_the_first_form_of_the_line_has_counts_and_a_rate_only() -> None:
    line = "INFO SpecDecoding metrics: Draft acceptance rate: 50.0%, Accepted: 30 tokens, Drafted: 60 tokens\n"
    (window,) = stretches(read([START, line]))
    assert (window.rounds, window.accepted, window.tokens_per_round) == (20, 30, 2.5)
    (window,) = stretches(read([line]))
    assert (window.rounds, window.drafted, window.tokens_per_round) == (None, 60, None)


def test_old_vllm_counts_from_its_start_and_accepted_means_more_than_a_prefix() -> None:
    line = (
        "INFO 10-16 19:05:{second} metrics.py:367] Speculative metrics: Draft acceptance rate: 0.642, System "
        "efficiency: 0.598, Number of speculative tokens: 3, Number of accepted tokens: {accepted}, Number of draft "
        "tokens: {drafted}, Number of emitted tokens: {emitted}.\n"
    )
    lines = [
        line.format(second="00", accepted=200, drafted=300, emitted=240),
        line.format(second="10", accepted=420, drafted=600, emitted=460),
    ]
    imported = read(lines)
    first, second = stretches(imported)
    assert (first.rounds, first.accepted, first.tokens_per_round) == (100, 140, 2.4)
    assert (second.rounds, second.accepted, second.tokens_per_round) == (100, 120, 2.2)
    assert notes(imported, "warm_up")
    assert notes(imported, "old_version")


def test_a_rate_that_does_not_fit_its_counts_is_a_contradiction() -> None:
    imported = read(spec(10).replace("43.3%", "63.3%").splitlines())
    assert "63.3%" in notes(imported, "contradiction")[0]


def test_a_length_that_does_not_fit_the_positions_is_a_contradiction() -> None:
    imported = read(spec(10).replace("0.400", "0.600").splitlines())
    assert notes(imported, "contradiction")
    assert stretches(imported)[0].accepted_by_position is None


def test_other_locales_colours_and_line_ends_read_the_same() -> None:
    expected = stretches(read(LOG.splitlines()))
    commas = LOG.replace("2.30", "2,30").replace("0.700, 0.400, 0.200", "0,700, 0,400, 0,200").replace("23.0 ", "23,0 ")
    assert stretches(read(commas.splitlines())) == expected
    arabic = LOG.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))
    got = stretches(read(arabic.splitlines()))
    assert [(one.rounds, one.tokens_per_second) for one in got] == [
        (one.rounds, one.tokens_per_second) for one in expected
    ]
    coloured = LOG.replace("INFO", "\x1b[32mINFO\x1b[0m").replace("\n", "\r\n")
    assert stretches(read(coloured.splitlines(keepends=True))) == expected


def test_counts_with_thousands_separators_are_counts() -> None:
    line = spec(10).replace("130 tokens", "1,300 tokens").replace("300 tokens, Per", "3,000 tokens, Per")
    (window,) = stretches(read([line]))
    assert (window.accepted, window.drafted, window.rounds) == (1300, 3000, 1000)


def test_cut_unknown_and_huge_lines_are_puzzles() -> None:
    lines = [
        *LOG.splitlines(),
        spec(30)[:120],
        "SpecDecodeWorker stage times: average_time_per_proposal_tok_ms=3.57 scoring_time_ms=94.42",
        "SpecDecoding metrics: Accepted: 12.4 tok/s, Drafted: 15.1 tok/s",
        "x" * 70_000,
    ]
    tally = read(lines).tally
    assert tally.not_understood == 4
    assert tally.understood == 4


def test_a_rate_list_cut_inside_a_number_is_not_used() -> None:
    whole_line = spec(10)
    cut = whole_line[: whole_line.index("0.200") + 3]
    (window,) = stretches(read([cut]))
    assert (window.accepted, window.accepted_by_position) == (130, None)


def test_nothing_to_use_is_refused_in_a_sentence() -> None:
    with pytest.raises(ImportFailed, match="disable-log-stats"):
        read(["hello", "llama_print_timings: 5"])


def test_a_long_log_gives_a_bounded_number_of_records() -> None:
    lines = (part for n in range(6000) for part in (speed(n % 60), spec(n % 60)))
    imported = read(lines)
    windows = stretches(imported)
    assert len(windows) <= 4096
    assert sum(one.rounds or 0 for one in windows) == 600_000
    assert notes(imported, "merged")


def test_it_is_recognised() -> None:
    assert likely(LOG) > 0.9
    assert likely(speed(1)) > 0.7
    assert likely("llama_print_timings") == 0


@settings(max_examples=60, deadline=None)
@given(damaged(LOG))
def test_damage_never_breaks_it(text: str) -> None:
    survives(read, text)
