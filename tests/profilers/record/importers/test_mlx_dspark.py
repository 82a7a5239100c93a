"""mlx-dspark's events become rounds by request and mode, and its benchmark's mean lengths keep their kind."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from served_samples import damaged, stretches

from specview.profilers.record.importers import mlx_dspark, rounds_kept
from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.mlx_dspark import IMPORTERS, read_benchmark, read_events
from specview.profilers.record.importers.rounds_kept import RoundsKept
from specview.profilers.record.records import Note, Round, Run, to_line


def event(req="r1", i=0, drafted=4, accepted=2, committed=None, seq=1, ms=25.5, t=100.0, **more):
    """One round as the server streams it."""
    made = {"req": req, "mode": "dspark", "i": i, "drafted": drafted, "accepted": accepted}
    made |= {
        "committed": accepted + 1 if committed is None and isinstance(accepted, int) else committed,
        "cap": 4,
        "source": "drafter",
    }
    return json.dumps(made | {"ms": ms, "seq": seq, "t": t} | more)


def parts(made, cls):
    """The records of one kind."""
    return [record for record in made.records if isinstance(record, cls)]


def test_rounds_of_interleaved_requests_go_to_runs_of_their_own():
    lines = [event(), event("r2", seq=2), event(i=1, accepted=4, seq=3, t=130.5), event("r2", i=1, accepted=0, seq=4)]
    made = read_events(lines)
    runs, rounds = parts(made, Run), parts(made, Round)
    assert [(run.run, run.arm, run.drafter, run.k, run.rule) for run in runs] == [
        (0, "drafting", "dspark", 4, "unknown"),
        (1, "drafting", "dspark", 4, "unknown"),
    ]
    assert runs[0].prompt.hash != runs[1].prompt.hash
    assert [(r.run, r.i, r.accepted, r.tokens, r.width, r.warm_up) for r in rounds] == [
        (0, 0, 2, 3, 5, True),
        (1, 0, 2, 3, 5, True),
        (0, 1, 4, 5, 5, False),
        (1, 1, 0, 1, 5, False),
    ]
    assert rounds[2].round_ns == 25_500_000 and rounds[2].t_ns == 130_500_000
    assert (made.tally.understood, made.tally.not_understood) == (4, 0)


def test_lookup_rounds_are_another_drafter():
    made = read_events([event(), event(i=1, seq=2, source="lookup")])
    assert [run.drafter for run in parts(made, Run)] == ["dspark", "dspark+lookup"]


def test_events_seen_twice_count_once_and_missing_ones_are_told():
    lines = [event(i=1, seq=5), event(i=1, seq=5), event(i=2, seq=9)]
    made = read_events(lines)
    assert len(parts(made, Round)) == 2
    assert [note.text for note in parts(made, Note)] == [
        "3 rounds are missing: the server drops what is not read soon."
    ]


def test_a_server_that_began_anew_is_told():
    made = read_events([event(i=1, seq=5), event(i=2, seq=6), event("r9", i=1, seq=1)])
    assert len(parts(made, Round)) == 3
    assert [note.tags for note in parts(made, Note)] == [("import", "reset")]


def test_server_events_lists_and_lines_of_others_are_read():
    made = read_events(
        ["event: round\r\n", f"data: {event(i=1)}\r\n", f"[{event(i=2, seq=2)},\n", f"{event(i=3, seq=3)}]"]
    )
    assert len(parts(made, Round)) == 3
    assert made.tally.ignored == 1


@pytest.mark.parametrize(
    "bad",
    [
        {"accepted": 5},
        {"drafted": -1},
        {"drafted": 10**18},
        {"accepted": "many"},
        {"committed": True},
        {"drafted": 2.5},
        {"drafted": [4]},
    ],
)
def test_a_round_that_cannot_be_is_puzzled(bad):
    made = read_events([event(i=1), event(i=2, seq=2, **bad)])
    assert len(parts(made, Round)) == 1
    assert made.tally.not_understood == 1


def test_more_committed_than_accepted_and_the_bonus_is_a_contradiction():
    made = read_events([event(i=1, accepted=2, committed=5)])
    assert [note.tags for note in parts(made, Note)] == [("import", "contradiction")]


def test_a_round_without_a_time_is_counted_and_not_kept():
    lines = [event(i=1), event(i=2, seq=2, accepted=1, ms=None), event(i=3, seq=3, accepted=3, ms=0)]
    made = read_events(lines)
    (only,) = stretches(made)
    assert (only.rounds, only.drafted, only.accepted, only.elapsed_ns) == (2, 8, 4, None)
    assert only.accepted_by_position == (2, 1, 1) and only.tokens_per_round == 3.0


def test_beyond_the_limit_rounds_are_counted(monkeypatch):
    monkeypatch.setattr(mlx_dspark, "RoundsKept", lambda source: RoundsKept(source, most=2))
    made = read_events([event(i=n, seq=n, accepted=n % 3) for n in range(1, 8)])
    assert len(parts(made, Round)) == 2
    (rest,) = stretches(made)
    assert (rest.rounds, rest.accepted, rest.elapsed_ns) == (5, 4, 5 * 25_500_000)
    assert rest.tokens_per_second == pytest.approx(9 / 0.1275)
    assert rounds_kept.MOST_ROUNDS <= 1_000_000


def test_accept_of_a_benchmark_is_a_mean_length():
    text = {
        "model": "org/target-4bit",
        "runs": [
            {"run": "baseline", "tok_s": 30.0, "decode_tok_s": 31.5, "accept": 1.0, "per_prompt": []},
            {"run": "dspark", "tok_s": 55.0, "decode_tok_s": 60.0, "accept": 2.87, "per_prompt": []},
        ],
    }
    made = read_benchmark(json.dumps(text, indent=1).splitlines())
    plain, drafting = stretches(made)
    assert (plain.arm, plain.tokens_per_second, plain.tokens_per_round) == ("plain", 31.5, None)
    assert (drafting.arm, drafting.tokens_per_second, drafting.tokens_per_round) == ("drafting", 60.0, 2.87)
    assert made.model == "org/target-4bit"


@pytest.mark.parametrize("name", ["explain", "database", "qwen-base", "cap off", "dspark none"])
def test_a_run_that_yields_more_than_one_token_a_round_drafts_whatever_its_name(name):
    runs = [{"run": name, "decode_tok_s": 60.0, "accept": mean} for mean in (2.5, 1.0, None)]
    made = stretches(read_benchmark([json.dumps({"runs": runs})]))
    assert [(c.arm, c.drafter, c.tokens_per_round) for c in made] == [
        ("drafting", name, 2.5),
        ("plain", None, None),
        ("plain", None, None),
    ]


def test_prompts_of_a_run_are_taken_in_its_place():
    run = {"run": "dspark", "decode_tok_s": 60.0, "accept": 2.5}
    run["per_prompt"] = [{"decode_tok_s": 50.0, "accept": 2.0}, {"decode_tok_s": 70.0, "accept": 3.0, "prompt": "code"}]
    made = stretches(read_benchmark([json.dumps({"runs": [run]})]))
    assert [(c.label, c.tokens_per_round) for c in made] == [("dspark: prompt 1", 2.0), ("dspark: code", 3.0)]


def test_a_length_below_one_and_a_speed_with_the_prompt_are_told():
    text = {"runs": [{"run": "dspark", "tok_s": 55.0, "accept": 0.87, "per_prompt": [1, 2]}, 7]}
    made = read_benchmark([json.dumps(text)])
    (only,) = stretches(made)
    assert (only.tokens_per_round, only.tokens_per_second) == (None, 55.0)
    assert {note.tags[1] for note in parts(made, Note)} == {"contradiction", "trap"}
    assert made.tally.not_understood == 2


def test_nothing_usable_is_one_sentence():
    for importer in IMPORTERS:
        with pytest.raises(ImportFailed, match="This holds no figures of mlx-dspark"):
            importer.read(['{"hello": 1}\n'])


def test_heads_are_told_apart():
    events, benchmark = IMPORTERS
    head = event()
    assert events.likely(head) > 0.9 and benchmark.likely(head) == 0
    assert benchmark.likely('{"runs": [{"decode_tok_s": 1, "accept": 2}]}') > 0.5 and events.likely('{"runs"') == 0


@settings(max_examples=60, deadline=None)
@given(damaged("\n".join(event(i=n, seq=n) for n in range(4))))
def test_damage_is_never_more_than_a_refusal(text):
    for importer in IMPORTERS:
        with suppress(ImportFailed):
            made = importer.read(text.splitlines(keepends=True))
            assert all(to_line(record) for record in made.records)
