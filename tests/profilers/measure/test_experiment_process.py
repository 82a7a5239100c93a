"""A child process is asked and heard, its failures are sentences, and it never outlives its context."""

from __future__ import annotations

import os
import sys

import pytest

from specview.profilers.measure.experiment_process import ChildError, ChildProcess

ECHO = "import sys, json\nfor line in sys.stdin:\n    print(json.dumps({'got': json.loads(line)}), flush=True)"


def child(code, patience_s=600.0):
    return ChildProcess([sys.executable, "-c", code], dict(os.environ), "the arm", patience_s)


def gone(process):
    return process._process.returncode is not None


def test_requests_are_answered_one_by_one_and_the_end_of_stdin_ends_it():
    with child(ECHO) as process:
        assert process.ask({"a": 1}) == {"got": {"a": 1}}
        assert process.ask({"b": 2}) == {"got": {"b": 2}}
    assert process._process.returncode == 0


def test_it_is_killed_when_its_context_ends_in_an_error():
    with pytest.raises(RuntimeError), child(ECHO) as process:
        raise RuntimeError
    assert gone(process) and process._process.returncode < 0


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import sys; sys.exit('no /home/someone/model here')", "ended early, and said last: no model here"),
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9"),
        ("input(); print('hello')", "'hello', which is no answer"),
        ("input(); print([1])", "no answer"),
        ("input(); print('[' * 100000)", "no answer"),
        ("input(); print('x' * (1 << 21))", "no answer"),
        ('input(); print(\'{"error": "the model is broken"}\')', "gave up: the model is broken"),
        ("input(); print('half', end='')", "ended early"),
    ],
)
def test_what_is_no_answer_is_one_clear_sentence_and_no_orphan(code, sentence):
    with pytest.raises(ChildError) as caught, child(code) as process:
        process.ask({"a": 1})
    assert sentence in str(caught.value) and "'the arm'" in str(caught.value) and "\n" not in str(caught.value)
    assert "/home" not in str(caught.value)
    assert gone(process)


def test_silence_has_an_end():
    with pytest.raises(ChildError, match="said nothing"), child("input(); input()", patience_s=0.0) as process:
        process.ask({})
    assert gone(process)


def test_a_program_that_is_not_there_is_a_sentence():
    with pytest.raises(ChildError, match="could not be started"), ChildProcess(["/nonexistent"], {}, "the arm"):
        pass


def test_numbers_and_texts_are_believed_only_when_sound():
    process = child("")
    assert process.count({"n": 3}, "n") == 3 and process.counts({"n": [1, 2]}, "n") == (1, 2)
    assert process.text({"t": "a\x1b[2J /home/someone/b"}, "t") == "a [2J b"
    for bad in (None, True, -1, 1.5, "3", 2**63):
        with pytest.raises(ChildError, match="'n'"):
            process.count({"n": bad}, "n")
    for bad in (None, [], [1, "2"], 3):
        with pytest.raises(ChildError, match="'n'"):
            process.counts({"n": bad}, "n")
    with pytest.raises(ChildError, match="'t'"):
        process.text({"t": 3}, "t")
