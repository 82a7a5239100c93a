"""mlx-lm's benchmark lines and a stream of tokens become stretches and rounds, with what is not known left out."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from served_samples import damaged, stretches

from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.mlx_lm_stream import (
    IMPORTERS,
    likely_benchmark,
    likely_stream,
    read_benchmark,
    read_stream,
)
from specview.profilers.record.records import Note, Round, Run, to_line

BENCH = """Running warmup..
Timing with prompt_tokens=512, generation_tokens=100, batch_size=1.
Trial 1:  prompt_tps=812.500, generation_tps=50.000, peak_memory=4.512, total_time=2.630
Trial 2:  prompt_tps=800.000, generation_tps=40.000, peak_memory=4.512, total_time=3.140
Averages: prompt_tps=806.250, generation_tps=45.000, peak_memory=4.512
"""


def stream(*tokens, t=1.0, step=0.1, **more):
    """One line a token: True is a draft; drafts come with the round's last token, 0.1 s after the last round."""
    lines = []
    for n, draft in enumerate(tokens):
        lines.append(json.dumps({"token": n, "from_draft": draft, "t": round(t, 6), **more}))
        t += 0 if draft else step
    return lines


def test_each_trial_is_a_stretch_of_plain_decoding_without_the_prompt():
    made = read_benchmark(BENCH.splitlines(keepends=True))
    first, second = stretches(made)
    assert (first.arm, first.label, first.batch, first.tokens) == ("plain", "trial 1", 1, 100)
    assert first.tokens_per_second == 50.0 and first.elapsed_ns == 2_000_000_000
    assert first.derived == ("elapsed_ns",)
    assert second.elapsed_ns == 2_500_000_000 and second.t_ns == 4_500_000_000
    assert (made.tally.understood, made.tally.ignored, made.tally.not_understood) == (4, 1, 0)
    assert not [r for r in made.records if isinstance(r, Note) and "contradiction" in r.tags]


def test_an_average_that_its_trials_do_not_give_is_a_contradiction():
    made = read_benchmark(BENCH.replace("generation_tps=45.000", "generation_tps=46.000").splitlines())
    assert [r.text for r in made.records if isinstance(r, Note) and "contradiction" in r.tags] == [
        "The average is 46.000 tokens per second, that of the 2 trials before it 45.000."
    ]


def test_averages_alone_are_used():
    (only,) = stretches(read_benchmark(["Averages: prompt_tps=1.000, generation_tps=45.000, peak_memory=4.512\n"]))
    assert (only.label, only.tokens_per_second, only.tokens) == ("averages", 45.0, None)


def test_a_batch_counts_all_of_its_sequences():
    text = "Timing with prompt_tokens=8, generation_tokens=100, batch_size=4.\r\nTrial 1:  generation_tps=200.000\r\n"
    (only,) = stretches(read_benchmark(text.splitlines(keepends=True)))
    assert (only.batch, only.tokens, only.elapsed_ns) == (4, 400, 2_000_000_000)


def test_colours_prefixes_decimal_commas_and_other_digits_are_read():
    lines = [
        "\x1b[32m12:00:01 [INFO] Trial 1:  prompt_tps=812,500, generation_tps=50,125, peak_memory=4,512\x1b[0m\n",
        "Trial 2:  prompt_tps=٨١٢٫٥, generation_tps=٥٠٫١٢٥, peak_memory=4.5\n",
    ]
    assert [each.tokens_per_second for each in stretches(read_benchmark(lines))] == [50.125, 50.125]


@pytest.mark.parametrize("bad", ["NaN", "-3.000", "inf", "1e400", "", "0.000", "fast"])
def test_a_speed_that_is_none_is_puzzled(bad):
    made = read_benchmark([*BENCH.splitlines(), f"Trial 3:  prompt_tps=1.000, generation_tps={bad}, peak_memory=1.0"])
    assert len(stretches(made)) == 2
    assert made.tally.not_understood >= 1


def test_other_lines_with_speeds_are_puzzled_and_a_huge_line_too():
    lines = [*BENCH.splitlines(), "Generation: 100 tokens, 45.678 tokens-per-sec", "x" * 70_000, "Trial 3:  generation"]
    made = read_benchmark(lines)
    assert made.tally.not_understood == 3
    assert max(map(len, made.tally.examples)) <= 200


def test_without_k_a_stream_gives_counts_because_drafted_is_not_known():
    # rounds: (first, with the prompt), 2 accepted, 0 accepted, 1 accepted, then a torn one
    lines = stream(True, False, True, True, False, False, True, False, True)
    (only,) = stretches(read_stream(lines))
    assert (only.arm, only.rounds, only.accepted, only.drafted) == ("drafting", 3, 3, None)
    assert only.accepted_by_position == (2, 1)
    assert only.tokens == 6 and only.elapsed_ns == 300_000_000
    assert only.tokens_per_round == 2.0 and only.tokens_per_second == pytest.approx(20.0)


def test_with_k_each_round_is_one_and_the_first_is_warm_up():
    made = read_stream(stream(True, False, True, True, False, False, k=3))
    runs = [r for r in made.records if isinstance(r, Run)]
    rounds = [r for r in made.records if isinstance(r, Round)]
    assert [(run.arm, run.k, run.drafter) for run in runs] == [("drafting", 3, "model")]
    assert [(r.drafted, r.accepted, r.tokens, r.warm_up) for r in rounds] == [
        (3, 1, 2, True),
        (3, 2, 3, False),
        (3, 0, 1, False),
    ]
    assert [r.round_ns for r in rounds[1:]] == [100_000_000, 100_000_000]


def test_k_of_zero_is_the_drafting_loop_and_not_plain():
    made = read_stream(stream(False, False, False, k=0))
    assert [r.arm for r in made.records if isinstance(r, Run)] == ["k0"]


def test_a_stream_without_drafts_is_plain_and_says_that_this_is_a_guess():
    made = read_stream(stream(False, False, False, False))
    (only,) = stretches(made)
    assert (only.arm, only.tokens, only.elapsed_ns) == ("plain", 3, 300_000_000)
    assert any("trap" in r.tags for r in made.records if isinstance(r, Note))
    (told,) = stretches(read_stream(stream(False, False, False, arm="drafting")))
    assert (told.arm, told.accepted, told.rounds) == ("drafting", 0, 2)


def test_another_request_and_a_clock_that_goes_back_begin_another_stream():
    lines = [*stream(False, False, request="a"), *stream(False, False, False, request="b"), *stream(False, False)]
    assert [each.label for each in stretches(read_stream(lines))] == ["a", "b", "request 3"]
    lines = [*stream(False, False, t=5.0), *stream(False, False, t=1.0)]
    assert [each.tokens for each in stretches(read_stream(lines))] == [1, 1]


def test_duplicated_keys_wrong_types_and_torn_lines_are_puzzled():
    lines = [
        *stream(False, False, False),
        '{"token": 1, "from_draft": true, "from_draft": false, "t": 9.0}',
        '{"token": 1, "from_draft": 1, "t": 9.0}',
        '{"token": 1, "from_draft": false, "t": NaN}',
        "other program",
        '{"token": 1, "from_dr',
    ]
    made = read_stream(lines)
    assert made.tally.not_understood == 4
    assert made.tally.ignored == 1


def test_nothing_usable_is_one_sentence():
    for read in (read_benchmark, read_stream):
        with pytest.raises(ImportFailed, match=r"^This holds no figures of mlx-lm"):
            read(["nothing\n"])


def test_heads_are_told_apart():
    assert likely_benchmark(BENCH) > 0.9 and likely_stream(BENCH) == 0
    head = "\n".join(stream(True, False))
    assert likely_stream(head) > 0.5 and likely_benchmark(head) == 0


@settings(max_examples=60, deadline=None)
@given(damaged(BENCH), damaged("\n".join(stream(True, False, True, True, False, False, k=3))))
def test_damage_is_never_more_than_a_refusal(bench, tokens):
    for importer, text in zip(IMPORTERS, (bench, tokens), strict=True):
        with suppress(ImportFailed):
            made = importer.read(text.splitlines(keepends=True))
            assert all(to_line(record) for record in made.records)
