"""Somebody's own loop records itself: pairs for a verdict, whole files at every moment, and never a broken engine."""

from __future__ import annotations

import errno
import json
import math
import os
import subprocess
import sys
import warnings

import pytest

from specview.profilers.judge.ledger import ledger_of
from specview.profilers.judge.visits import visits_of
from specview.profilers.record.own_file import free_path, warn_in_python
from specview.profilers.record.own_loop import own_loop
from specview.profilers.record.session import read_session

MS = 1_000_000


class Time:
    """A clock that goes on when told."""

    def __init__(self):
        self.ns = 1_000

    def __call__(self):
        return self.ns

    def spend(self, ns):
        self.ns += ns
        return ns


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def told():
    return []


@pytest.fixture
def loop_in(tmp_path, time, told):
    """A loop that records into the test's folder."""

    def make(name="mine.specview.jsonl", **more):
        more = {"model": "my model", "drafter": "mtp", "k": 3, "clock": time, "unix_clock": lambda: 7} | more
        return own_loop(tmp_path / name, warn=told.append, **more)

    return make


def play(loop, time, prompt, round_ms, accepted=(3, 1, 2, 0, 3, 2), rounds=48):
    """One prompt: as many plain steps of 10 ms as its rounds yield tokens, then the rounds."""
    kept = [accepted[n % len(accepted)] for n in range(rounds)]
    loop.run(prompt=prompt, arm="plain")
    for n in range(sum(kept) + rounds):
        loop.plain(time.spend(10 * MS + n % 7 * 1000))
    loop.run(prompt=prompt, arm="drafting", k=3)
    for n, count in enumerate(kept):
        loop.round(drafted=3, accepted=count, round_ns=time.spend(round(round_ms * MS) + n % 5 * 1000))


@pytest.mark.parametrize(("round_ms", "kind"), [(18.0, "wins"), (40.0, "loses")])
def test_plain_and_drafting_runs_of_prompts_give_a_verdict(loop_in, time, round_ms, kind):
    with loop_in() as loop:
        for prompt in ("one", "two", "three", "four"):
            play(loop, time, prompt, round_ms)
            loop.verify(1, 10 * MS)
            loop.verify(4, 17 * MS)
    session = read_session(loop.path)
    ledger = ledger_of(session)
    assert session.status == "finished" and not session.problems
    assert ledger.verdict.kind == kind, ledger.verdict.sentence
    assert ledger.verdict.speedup.estimate == pytest.approx(2.83 * 10 / round_ms, rel=0.03)
    assert ledger.prompts == 4 and ledger.setting.drafter == "mtp"
    assert set(ledger.verify_by_width) == {1, 4}


@pytest.mark.parametrize("rule", ["exact match", "rejection sampling"])
def test_passes_of_a_loop_that_draws_are_those_of_its_rounds(loop_in, time, rule):
    with loop_in(rule=rule, temperature=0.7) as loop:
        for prompt in ("one", "two"):
            play(loop, time, prompt, 18.0)
            loop.verify(4, 17 * MS)
            loop.draft(1, 2 * MS)
    session = read_session(loop.path)
    assert {probe.part: probe.rule for probe in session.probes} == {"verify": rule, "draft": None}
    assert set(ledger_of(session).verify_by_width) == {4}


def test_one_prompt_without_a_name_gives_pairs_of_segments(loop_in, time):
    with loop_in() as loop:
        for n in range(200):
            loop.plain(time.spend(10 * MS + n % 3))
        for n in range(80):
            loop.round(3, (1, 2)[n % 2], time.spend(18 * MS + n % 3))
    (visit,) = visits_of(read_session(loop.path))
    assert len(visit.pairs()) == 7
    assert ledger_of(read_session(loop.path)).verdict.kind == "wins"


def test_the_header_says_whose_figures_these_are_and_no_path(loop_in):
    with loop_in(model="/home/someone/models/mine-4bit", engine="my engine", device="my box") as loop:
        loop.run("a secret prompt", kind="code", prompt_tokens=12)
        loop.round(3, 2, 5)
    session = read_session(loop.path)
    assert session.header.source == "my engine" and session.header.model.id == "mine-4bit"
    assert session.header.started_unix_ns == 7 and not session.header.text_kept
    text = loop.path.read_text()
    assert "secret" not in text and "/home" not in text
    (run,) = session.runs
    assert (run.prompt.kind, run.prompt.tokens, run.prompt.text) == ("code", 12, None)
    assert session.rounds[0].context == 12


def test_the_first_two_events_after_a_switch_are_warm_up(loop_in):
    with loop_in() as loop:
        for arm in ("plain", "drafting"):
            loop.run("a", arm=arm)
            for _ in range(4):
                loop.plain(5) if arm == "plain" else loop.round(3, 1, 9)
    session = read_session(loop.path)
    assert [step.warm_up for step in session.steps] == [True, True, False, False]
    assert [each.warm_up for each in session.rounds] == [True, True, False, False]


def test_phases_and_split_runs_are_kept(loop_in):
    with loop_in() as loop:
        loop.run("a", arm="split")
        loop.round(drafted=3, accepted=2, round_ns=100, draft_ns=20.4, verify_ns=70, rest_ns=10)
    session = read_session(loop.path)
    (only,) = session.rounds
    assert (only.draft_ns, only.verify_ns, only.rest_ns, only.width, only.tokens) == (20, 70, 10, 4, 3)
    assert session.runs[0].arm == "split" and only.replay


def test_a_numbered_segment_resumes_the_run_of_its_arm(loop_in):
    with loop_in() as loop:
        for segment in range(3):
            for arm in ("plain", "drafting", "drafting", "plain"):
                loop.run("a", arm=arm, segment=segment)
                for _ in range(4):
                    loop.plain(5) if arm == "plain" else loop.round(3, 1, 9)
    session = read_session(loop.path)
    assert [run.arm for run in session.runs] == ["plain", "drafting"]
    (visit,) = visits_of(session)
    assert [segment.number for segment in visit.pairs()] == [0, 1, 2]
    assert [len(segment.steps) for segment in visit.pairs()] == [4, 4, 4]


def test_another_k_begins_another_visit_and_k_of_zero_is_not_plain(loop_in):
    with loop_in() as loop:
        for k in (1, 0):
            loop.run("a", arm="plain")
            loop.plain(5)
            loop.run("a", arm="drafting", k=k)
            loop.round(k, 0, 9)
    session = read_session(loop.path)
    assert [(run.arm, run.k) for run in session.runs] == [("plain", 0), ("drafting", 1), ("plain", 0), ("k0", 0)]
    assert [visit.setting.k for visit in visits_of(session)] == [1, 0]


def test_a_step_in_a_drafting_run_is_a_round_without_drafts(loop_in, told):
    with loop_in() as loop:
        loop.run("a", arm="drafting")
        loop.plain(7)
        loop.run("a", arm="plain")
        loop.round(3, 2, 9)
    session = read_session(loop.path)
    assert [(each.drafted, each.tokens, each.round_ns) for each in session.rounds] == [(0, 1, 7)]
    assert len(told) == 1 and "This run is plain" in told[0]


def test_text_is_kept_only_on_demand_and_only_of_the_first_drafting(loop_in):
    for keep_text in (False, True):
        with loop_in(keep_text=keep_text) as loop:
            for arm in ("plain", "drafting", "drafting"):
                loop.run("a", arm=arm)
                if arm == "plain":
                    loop.plain(5, pieces=["a"])
                else:
                    loop.round(3, 1, 9, pieces=["a", "b"])
        session = read_session(loop.path)
        assert session.header.text_kept is keep_text
        assert [step.pieces for step in session.steps] == [None]
        shown = [each.pieces.committed if each.pieces else None for each in session.rounds]
        assert shown == ([("a", "b"), None] if keep_text else [None, None])


def test_the_file_is_whole_after_every_record(loop_in):
    with loop_in() as loop:
        for n in range(5):
            loop.round(3, 1, 9)
            text = loop.path.read_text()
            assert text.endswith("\n") and len(read_session(loop.path).rounds) == n + 1
    assert json.loads(loop.path.read_text().splitlines()[-1])["kind"] == "footer"


def test_an_exception_passes_and_the_session_is_failed(loop_in):
    with pytest.raises(ZeroDivisionError), loop_in() as loop:
        loop.round(3, 1, 9)
        raise ZeroDivisionError("in /home/someone/engine.py")
    footer = read_session(loop.path).footer
    assert (footer.status, footer.reason, footer.rounds) == ("failed", "ZeroDivisionError: in engine.py", 1)
    with pytest.raises(KeyboardInterrupt), loop_in() as loop:
        raise KeyboardInterrupt
    assert read_session(loop.path).status == "stopped"


def test_timed_rounds_and_steps_read_the_clock(loop_in, time):
    with loop_in() as loop:
        with loop.timed_round() as each:
            time.spend(10)
            each.drafted()
            time.spend(100)
            each.verified()
            time.spend(1)
            each.accepted(2, of=3)
        with loop.timed_round() as each:
            time.spend(50)
            each.accepted(0, of=3, tokens=1)
        loop.run("a", arm="plain")
        with loop.timed_step() as step:
            time.spend(40)
            step.tokens(2)
    session = read_session(loop.path)
    first, second = session.rounds
    assert (first.round_ns, first.draft_ns, first.verify_ns, first.rest_ns) == (111, 10, 100, 1)
    assert (second.round_ns, second.draft_ns, second.tokens) == (50, None, 1)
    assert (session.steps[0].step_ns, session.steps[0].tokens) == (40, 2)


def test_a_timed_round_that_fails_or_says_nothing_is_left_out(loop_in, told):
    with loop_in() as loop:
        with pytest.raises(KeyError), loop.timed_round():
            raise KeyError
        with loop.timed_round():
            pass
        loop.round(3, 3, 9)
    session = read_session(loop.path)
    assert len(session.rounds) == 1 and len(told) == 1
    assert session.notes[0].text.startswith("1 records were left out")


@pytest.mark.parametrize(
    "bad",
    [
        lambda loop: loop.round(3, 5, 9),
        lambda loop: loop.round(3, 1, -9),
        lambda loop: loop.round(3, 1, math.nan),
        lambda loop: loop.round(3, 1, math.inf),
        lambda loop: loop.round("x", 1, 9),
        lambda loop: loop.round(None, 1, 9),
        lambda loop: loop.round(3, 1, 10**30),
        lambda loop: loop.run("a", arm="other"),
        lambda loop: loop.run(7),
        lambda loop: loop.verify(-1, 5),
        lambda loop: loop.note(None),
    ],
)
def test_what_is_wrong_is_left_out_told_once_and_never_raised(loop_in, told, bad):
    with loop_in() as loop:
        loop.round(3, 1, 9)
        for _ in range(3):
            bad(loop)
        loop.round(3, 1, 9)
    session = read_session(loop.path)
    assert len(session.rounds) == 2 and not session.problems
    assert len(told) == 1 and session.status == "finished"


def test_a_full_disk_is_told_once_and_the_loop_goes_on(loop_in, told):
    left = 4

    def write(descriptor, data):
        nonlocal left
        left -= 1
        if left < 0:
            os.write(descriptor, data[:5])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(descriptor, data)

    with loop_in(write=write) as loop:
        for _ in range(10):
            loop.round(3, 1, 9)
        assert not loop.recording
    assert len(told) == 1 and "The disk is full" in told[0]
    session = read_session(loop.path)
    assert len(session.rounds) == 2 and not session.problems and session.status == "interrupted"


def test_a_file_that_cannot_be_made_is_told_once_and_the_loop_goes_on(tmp_path, told):
    (tmp_path / "taken").write_text("a file")
    with own_loop(tmp_path / "taken" / "mine", warn=told.append) as loop:
        loop.plain(5)
    assert loop.path is None and len(told) == 1


def test_a_taken_name_gets_a_number(tmp_path, loop_in):
    for _ in range(3):
        with loop_in("mine.specview.jsonl"):
            pass
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["mine-2.specview.jsonl", "mine-3.specview.jsonl", "mine.specview.jsonl"]
    assert free_path(tmp_path / "other").name == "other.specview.jsonl"
    assert free_path(tmp_path / "other.jsonl").name == "other.specview.jsonl"


def test_the_warning_is_pythons_own_and_never_an_exception():
    with pytest.warns(RuntimeWarning, match="full"):
        warn_in_python("full")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_in_python("full")


def test_importing_it_brings_no_heavy_library():
    heavy = {"mlx", "numpy", "scipy", "pandas", "textual", "rich", "transformers"}
    code = "import sys, specview.profilers.record.stream_recorder; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "specview.profilers.record.own_loop" in loaded and not heavy & loaded
