"""The survey commands: what they print and save, how they end early, and one sentence for everything that is wrong."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import sys
from types import SimpleNamespace

import pytest
from session_builder import CASES
from survey_records import footer, header, survey

from specview.app import surveying
from specview.app.cli import main, parser
from specview.app.surveying import QUESTIONS, plan_of
from specview.engine.errors import SpecviewError
from specview.profilers.record.records import to_line
from specview.profilers.record.session import read_session
from specview.profilers.record.steering import Command
from specview.profilers.record.store import StoreError
from specview.profilers.record.survey_plan import SurveyError


class FakeSurvey:
    """Writes a survey of known costs instead of measuring; `ending` says how it ends."""

    ending = "finished"
    kept = survey()

    def __init__(self, plan, progress, folder, steering):
        self.plan, self.progress, self.steering = plan, progress, steering
        self.target = SimpleNamespace(name="model")
        progress.loading("model")

    def record(self, store):
        for done, record in enumerate(self.kept[:-1]):
            self.progress.measuring("blocks", done, len(self.kept))
            store.append(record)
        if self.ending == "failed":
            store.finish(footer("failed", "no memory"))
            raise SurveyError("The survey broke off (no memory).")
        if self.ending == "full":
            raise StoreError("The disk is full: 3 records are safe in some.jsonl; free some space and record again.")
        last = footer("stopped", "SIGINT") if self.ending == "stopped" else footer()
        store.finish(last)
        return last


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """A fake survey, and a folder for sessions."""
    made = type("Fake", (FakeSurvey,), {})
    monkeypatch.setattr(surveying, "_survey_class", lambda: made)
    monkeypatch.setattr(surveying, "sessions_folder", lambda: tmp_path / "sessions")
    monkeypatch.setattr(surveying, "kept_folder", lambda: tmp_path / "machine")
    monkeypatch.delenv("COLUMNS", raising=False)
    return made


@pytest.fixture
def saved(tmp_path):
    """A saved survey."""
    path = tmp_path / "old.specview.jsonl"
    path.write_bytes(b"".join(map(to_line, survey())))
    return path


def sentence(capsys, *arguments, status=1):
    """What a command says when it fails: one sentence on stderr, nothing on stdout."""
    assert main([*map(str, arguments)]) == status
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("specview: ") and said.err.count("\n") == 1
    return said.err.removeprefix("specview: ").strip()


def plan(*arguments):
    options = parser().parse_args([*map(str, arguments)])
    return plan_of(options, QUESTIONS[options.command])


@pytest.mark.parametrize("command", QUESTIONS)
def test_a_measurement_is_saved_and_answered(capsys, fake, tmp_path, command):
    assert main([command]) == 0
    said = capsys.readouterr()
    (path,) = (tmp_path / "sessions").iterdir()
    assert path.name.startswith(f"model-{command}-") and read_session(path).status == "finished"
    assert said.err == "" and said.out.startswith("org/model (llama, float32, 30 layers) on cpu with some BLAS\n")
    assert said.out.rstrip().endswith(path.name) and "Saved: " in said.out


@pytest.mark.parametrize("command", QUESTIONS)
def test_json_is_one_object_and_nothing_else(capsys, fake, tmp_path, command):
    assert main([command, "--json", "--out", str(tmp_path / "new.specview.jsonl")]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out, parse_constant=pytest.fail)
    assert said.out.count("\n") == 1 and said.err == "" and found["session"] == "new.specview.jsonl"


@pytest.mark.parametrize("command", QUESTIONS)
def test_a_saved_session_is_read_without_measuring(capsys, monkeypatch, saved, command):
    monkeypatch.setattr(surveying, "_survey_class", lambda: pytest.fail("it measured"))
    before = sorted(saved.parent.iterdir())
    assert main([command, str(saved)]) == 0
    assert "Saved: " not in capsys.readouterr().out and sorted(saved.parent.iterdir()) == before


def test_a_recording_says_who_takes_the_census(capsys, tmp_path):
    path = tmp_path / "recording.specview.jsonl"
    path.write_bytes(b"".join(map(to_line, CASES["cannot-win"])))
    for command, named in (("census", "specview census"), ("floor", "specview floor")):
        assert main([command, str(path)]) == 0
        assert named in capsys.readouterr().out


def test_a_pipe_is_as_wide_as_columns_says(capsys, monkeypatch, saved):
    monkeypatch.delenv("COLUMNS", raising=False)
    main(["census", str(saved)])
    assert max(map(len, capsys.readouterr().out.splitlines())) > 100
    monkeypatch.setenv("COLUMNS", "80")
    main(["census", str(saved)])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_stopped_survey_is_kept_and_says_where(capsys, fake, tmp_path):
    fake.ending = "stopped"
    path = tmp_path / "new.specview.jsonl"
    assert main(["blocks", "--out", str(path)]) == 0
    said = capsys.readouterr()
    assert "stopped" in said.err and "new.specview.jsonl" in said.err
    assert "It was stopped (SIGINT)" in said.out
    assert read_session(path).status == "stopped"


def test_a_survey_stopped_before_anything_was_measured_leaves_no_file(capsys, fake, tmp_path):
    fake.ending, fake.kept = "stopped", [header(), footer()]
    path = tmp_path / "new.specview.jsonl"
    assert "nothing is saved" in sentence(capsys, "blocks", "--out", path)
    assert not path.exists()


def test_a_survey_that_breaks_says_where_the_rest_is(capsys, fake, tmp_path):
    fake.ending = "failed"
    path = tmp_path / "new.specview.jsonl"
    said = sentence(capsys, "blocks", "--out", path)
    assert said.startswith("The survey broke off (no memory).") and "new.specview.jsonl" in said
    assert read_session(path).status == "failed"


def test_a_survey_that_breaks_at_once_leaves_no_file(capsys, fake, tmp_path):
    fake.ending, fake.kept = "failed", [header(), footer()]
    path = tmp_path / "new.specview.jsonl"
    assert sentence(capsys, "blocks", "--out", path) == "The survey broke off (no memory)."
    assert not path.exists()


def test_a_full_disk_is_told_in_the_words_of_the_store(capsys, fake, tmp_path):
    fake.ending = "full"
    said = sentence(capsys, "blocks", "--out", tmp_path / "new.specview.jsonl")
    assert said.startswith("The disk is full: 3 records are safe") and "measured before" not in said


def test_an_answer_that_cannot_be_written_names_the_session(capsys, monkeypatch, saved):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for more in ([], ["--json"]):
        monkeypatch.setattr(sys, "stdout", Full())
        assert main(["curve", str(saved), *more]) == 1
        said = capsys.readouterr().err
        assert "no space left on device" in said and f"specview curve {saved}" in said and said.count("\n") == 1


def test_a_name_that_is_taken_is_not_written_over(capsys, fake, saved):
    before = saved.read_bytes()
    assert "exists already" in sentence(capsys, "blocks", "--out", saved)
    assert saved.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_told(capsys, fake, saved):
    assert "is not a folder" in sentence(capsys, "blocks", "--out", saved / "new.specview.jsonl")


def test_a_session_that_is_none_is_told(capsys, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("Dear diary\n")
    assert sentence(capsys, "blocks", tmp_path / "no.jsonl") == "There is no file no.jsonl."
    assert "is not a specview session" in sentence(capsys, "floor", other)
    assert "is a folder" in sentence(capsys, "curve", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["blocks", "--widths", "0"], "from 1 to 256"),
        (["blocks", "--widths", "1-300"], "from 1 to 256"),
        (["blocks", "--widths", "x"], "cannot be read"),
        (["blocks", "--widths", "²"], "cannot be read"),
        (["blocks", "--context", "100000000"], "out of reach"),
        (["blocks", "--context", "0"], "--context"),
        (["blocks", "--repeats", "1"], "at least 2"),
        (["blocks", "--place-ms", "inf"], "for ever"),
        (["blocks", "--place-ms", "nan"], "more than 0"),
        (["blocks", "--layers", "2"], "--shape"),
        (["blocks", "--shape", "0.6b", "--model", "some"], "one of them"),
        (["curve", "--widths", "1"], "at least one more"),
        (["survey", "--widths", "1"], "at least one more"),
        (["batch", "--batches", "0,2"], "from 1 to 256"),
        (["batch", "--batches", "x"], "--batches"),
    ],
)
def test_a_plan_that_makes_no_sense_is_one_sentence(capsys, fake, arguments, word):
    assert word in sentence(capsys, *arguments)


@pytest.mark.parametrize("arguments", [["blocks", "--repeats", "many"], ["blocks", "a", "b"], ["floor", "--nonsense"]])
def test_wrong_usage_is_status_2(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2 and capsys.readouterr().out == ""


def test_one_position_is_always_measured_where_ratios_are_to_it():
    for command in ("blocks", "floor", "curve", "survey"):
        assert plan(command, "--widths", "4").widths == (1, 4)
    for command in ("census", "experiment", "policies"):
        assert plan(command, "--widths", "4").widths == (4,)


def test_a_whole_survey_draws_its_curve_over_many_widths_unless_told():
    assert plan("survey").widths == (1, 2) and plan("survey").over == tuple(range(1, 17))
    assert plan("survey", "--widths", "2,8").over == (1, 2, 8)
    assert plan("curve").over == tuple(range(1, 17)) and plan("blocks").over == (1, 2)


def test_only_an_experiment_knows_switches():
    assert plan("experiment", "--switch", "compile", "--switch", "blas").experiments == ("compile", "blas")
    assert plan("experiment").experiments == ()


def test_batches_draft_as_record_does_and_time_the_width_that_drafts_verify():
    usual = plan("batch")
    assert (usual.draft, usual.k, usual.tokens, usual.widths) == ("mtp", 1, 32, (1, 2, 4))
    assert plan("batch", "--model", "folder").draft == "lookup" and plan("batch", "--draft", "none").draft is None
    assert plan("batch", "--shape", "qwen3-0.6b").draft is None
    asked = plan("batch", "--draft", "fixed:0.7", "--k", "6", "--widths", "2", "--tokens", "16")
    assert (asked.draft, asked.k, asked.tokens, asked.widths) == ("fixed:0.7", 6, 16, (2, 7))
    assert plan("batch", "--draft", "none", "--widths", "4").widths == (4,) and plan("blocks").draft is None


def test_batches_are_asked_for_and_an_acceptance_is_for_reading_only(capsys, fake, saved):
    assert plan("batch", "--batches", "1,3-4").batches == (1, 3, 4) and plan("curve").parts == ("curve",)
    assert "no probability" in sentence(capsys, "batch", "--p", "1.5")
    assert main(["batch", str(saved), "--json", "--p", "0.7"]) == 0
    assert json.loads(capsys.readouterr().out)["what_if"] == []


def reports(out):
    return [json.loads(line) for line in out.splitlines()]


def test_under_control_stdout_carries_reports_only(capsys, fake, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    path = tmp_path / "new.specview.jsonl"
    assert main(["blocks", "--control", "--out", str(path)]) == 0
    said = reports(capsys.readouterr().out)
    assert [said[0]["event"], said[1]["event"], said[-1]["event"]] == ["loading", "session", "finished"]
    progress = [report for report in said if report["event"] == "progress"]
    assert len(progress) == len({(r["what"], 100 * r["prompts_done"] // r["prompts_all"]) for r in progress}) > 1
    assert "new.specview.jsonl" in str(said[1]) and said[-1]["status"] == "finished"


def test_under_control_a_failure_is_reported_and_the_file_stays_for_who_follows_it(capsys, fake, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    fake.ending, fake.kept = "failed", [header(), footer()]
    path = tmp_path / "new.specview.jsonl"
    assert main(["blocks", "--control", "--out", str(path)]) == 1
    said = reports(capsys.readouterr().out)
    assert said[-1] == {"event": "failed", "message": "The survey broke off (no memory)."}
    assert path.exists()


def test_a_signal_asks_the_survey_to_stop(fake, tmp_path):
    asked = []

    class Signalled(fake):
        def record(self, store):
            os.kill(os.getpid(), signal.SIGTERM)
            command = self.steering.poll()
            asked.append(command)
            return super().record(store)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surveying, "_survey_class", lambda: Signalled)
        main(["curve", "--out", str(tmp_path / "new.specview.jsonl")])
    assert asked == [Command("stop", reason="SIGTERM")]


def test_without_mlx_the_sentence_names_the_extra(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "specview.profilers.record.survey", None)
    assert "install specview[cpu]" in sentence(capsys, "blocks")


def test_errors_of_a_survey_are_of_the_family():
    assert issubclass(SurveyError, SpecviewError)


@pytest.mark.parametrize("option", [["--screen"], ["--control"], ["--shape", "35b-a3b"], ["--out", "new.jsonl"]])
def test_what_is_for_measuring_is_refused_with_a_saved_session(capsys, monkeypatch, saved, option):
    monkeypatch.setattr(surveying, "_survey_class", lambda: pytest.fail("it measured"))
    said = sentence(capsys, "survey", saved, *option)
    assert said.startswith(f"{option[0]} is for measuring") and f"specview open {saved}" in said
    if option[0] == "--shape":
        assert sentence(capsys, *option, saved) == said


def test_a_survey_on_the_screen_needs_a_terminal(capsys, fake, monkeypatch):
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    monkeypatch.setattr("specview.app.application.SpecviewApp", lambda *_, **__: pytest.fail("it opened the screen"))
    assert sentence(capsys, "survey", "--screen").startswith("The screen needs a terminal; without --screen")
