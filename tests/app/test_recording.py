"""`specview record` from options to a saved session and a few lines, on the bundled model with short segments."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stub_canary import StubCanary

from specview.app.cli import main, parser
from specview.app.recording import plan_of
from specview.engine.errors import SpecviewError
from specview.engine.model_files import BUNDLED_FOLDER
from specview.profilers.measure import schedule
from specview.profilers.record import recorder as recording
from specview.profilers.record.session import read_session
from specview.profilers.record.steering import Command, Steering

SHORT = ("--limit", "1", "--tokens", "8", "--prompts", "english")


@pytest.fixture
def short_segments(monkeypatch):
    monkeypatch.setattr(schedule, "SEGMENT_TOKENS", 8)
    monkeypatch.setattr(recording, "Canary", StubCanary)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "new.specview.jsonl"


@pytest.fixture
def recorded(short_segments, capsys, out):
    """Record with these options; returns status, session and the two streams."""

    def record(*options):
        status = main(["record", *SHORT, "--out", str(out), *options])
        said = capsys.readouterr()
        return status, read_session(out), said.out, said.err

    return record


def refused(capsys, *options):
    """The one sentence that a command answers bad input with."""
    assert main(["record", *SHORT, *map(str, options)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("specview: ")
    assert said.err.count("\n") == 1 and said.err.endswith(".\n")
    assert "Traceback" not in said.err
    return said.err


# ----------------------------------------------------------------- what works


@pytest.mark.parametrize("draft", ["mtp", "lookup", "none", "MODEL_DIR"])
def test_every_drafter_records_a_session_that_opens(recorded, draft):
    status, session, said, errors = recorded("--draft", str(BUNDLED_FOLDER) if draft == "MODEL_DIR" else draft)
    assert (status, errors) == (0, "")
    assert session.status == "finished"
    assert session.problems == ()
    assert session.header.drafter.kind == {"MODEL_DIR": "model"}.get(draft, draft)
    assert {o.judged for o in session.outputs} == {"equal"}
    lines = said.splitlines()
    for start in ("without drafts ", "with drafts ", "tokens per round ", "acceptance ", "output           = plain"):
        assert any(line.startswith(start) for line in lines), start
    assert lines[-1].startswith("Saved: ") and lines[-1].endswith("new.specview.jsonl")


def test_k_0_is_the_loop_without_drafts(recorded):
    status, session, said, _ = recorded("--k", "0")
    assert status == 0
    assert {r.arm for r in session.runs} == {"plain", "k0", "split"}
    assert {r.drafted for r in session.rounds} == {0}
    assert "nothing was drafted" in said


def test_several_drafts_a_round(recorded):
    status, session, said, _ = recorded("--k", "4")
    assert status == 0
    assert {r.drafted for r in session.rounds} == {4}
    assert "conditional by position" in said


def test_a_cast_is_told_in_the_header(recorded):
    _, session, _, _ = recorded("--dtype", "float32")
    assert (session.header.model.quantisation, session.header.model.dtype) == (None, "float32")


def test_a_model_folder_is_named_without_its_path(recorded, out):
    status, session, _, _ = recorded("--model", str(BUNDLED_FOLDER), "--draft", str(BUNDLED_FOLDER))
    assert status == 0
    assert session.header.model.id == BUNDLED_FOLDER.name
    assert {r.drafter for r in session.runs if r.arm != "plain"} == {BUNDLED_FOLDER.name}
    assert str(BUNDLED_FOLDER.parent) not in out.read_text()


def test_show_says_the_same_as_record_and_no_host_user_or_folder_is_told(recorded, capsys, out):
    _, _, said, _ = recorded("--draft", "lookup")
    assert main(["show", str(out)]) == 0
    assert capsys.readouterr().out.splitlines() == said.splitlines()[:-1]
    text = out.read_text()
    assert str(Path.cwd()) not in text
    assert str(Path.home()) + "/" not in text
    assert str(out.parent) not in text
    assert os.uname().nodename not in text


def test_prompts_of_ones_own(recorded, tmp_path):
    own = tmp_path / "own.jsonl"
    own.write_text('{"text": "Once upon a time", "kind": "tale"}\n\n{"text": "import os"}\n')
    _, session, _, _ = recorded("--prompts", str(own))
    assert {(r.prompt.suite, r.prompt.kind, r.prompt.text) for r in session.runs} == {("own.jsonl", "tale", None)}
    assert str(tmp_path) not in session.header.plan


def test_a_name_is_found_when_none_is_given(short_segments, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("specview.app.recording.sessions_folder", lambda: tmp_path / "sessions")
    monkeypatch.chdir(tmp_path)
    assert main(["record", *SHORT, "--draft", "lookup"]) == 0
    (path,) = (tmp_path / "sessions").iterdir()
    assert path.name.startswith("bundled-lookup-k1-")
    assert capsys.readouterr().out.splitlines()[-1] == f"Saved: sessions/{path.name}"


@pytest.mark.parametrize(
    ("options", "drafter"), [([], "mtp"), (["--model", "org/name"], "lookup"), (["--draft", "none"], "none")]
)
def test_the_drafter_follows_from_the_model(options, drafter):
    assert plan_of(parser().parse_args(["record", *options])).drafter == drafter


# ------------------------------------------------------------- what is refused


def test_a_missing_model(capsys, out):
    assert "There is no model folder" in refused(capsys, "--model", "/no/such/folder", "--out", out)
    assert not out.exists()


def test_a_folder_without_config(capsys, tmp_path, out):
    folder = tmp_path / "empty"
    folder.mkdir()
    assert "empty holds no config.json" in refused(capsys, "--model", folder, "--out", out)
    assert not out.exists()


def test_corrupt_weights(capsys, tmp_path, out):
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "config.json").write_bytes((BUNDLED_FOLDER / "config.json").read_bytes())
    (folder / "model.safetensors").write_bytes(b"\x00" * 64)
    assert "The weights of broken cannot be read" in refused(capsys, "--model", folder, "--out", out)
    assert not out.exists()


def test_a_hub_id_while_offline(capsys, monkeypatch, out):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "the hub cannot be reached" in refused(capsys, "--model", "no-such-org/no-such-model", "--out", out)
    assert not out.exists()


def test_an_unknown_drafter(capsys, out):
    assert "There is no drafter 'magic'" in refused(capsys, "--draft", "magic", "--out", out)
    assert not out.exists()


def test_a_drafter_with_other_token_strings(capsys, tmp_path, out):
    folder = tmp_path / "stranger"
    folder.mkdir()
    for file in BUNDLED_FOLDER.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    by_id = {i: token for token, i in vocabulary.items()}
    one, other = by_id[300], by_id[301]
    vocabulary[one], vocabulary[other] = 301, 300
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    text = refused(capsys, "--draft", folder, "--out", out)
    assert "stranger means " in text and "by token 300 where bundled means " in text
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--k", "-1"], "A draft of k = -1 tokens makes no sense: choose k from 0 to 64."),
        (["--k", "1000"], "A draft of k = 1000 tokens makes no sense: choose k from 0 to 64."),
        (["--tokens", "0"], "leaves nothing to measure"),
        (["--limit", "0"], "leaves no prompt"),
        (["--context", "0"], "leaves no room"),
        (["--context", "20"], "more than the 0 this run has room for"),
        (["--tokens", "100000"], "ask for fewer --tokens"),
        (["--budget", "soon"], "'soon' is no budget"),
        (["--budget", "0s"], "'0s' is no budget"),
        (["--budget", "-5"], "'-5' is no budget"),
        (["--budget", "1.5"], "a number of rounds is whole"),
        (["--prompts", "poems"], "There is no prompt suite or file 'poems'"),
        (["--prompts", "~no-such-user-here/x"], "There is no prompt suite or file"),
    ],
)
def test_senseless_options(capsys, out, options, sentence):
    joined = [f"{options[0]}={options[1]}"]
    assert sentence in refused(capsys, *joined, "--out", out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.txt", b"", "empty.txt holds no text"),
        ("blank.txt", b" \n\t\n", "blank.txt holds no text"),
        ("empty.jsonl", b"\n\n", "empty.jsonl holds no text"),
        ("huge.txt", b"x" * (8 * 1024 * 1024 + 1), "huge.txt is larger than 8 MB"),
        ("long.txt", b"word " * 20_000, "tokens, more than the"),
        ("latin.txt", "é".encode("latin-1"), "latin.txt is not UTF-8 text"),
        ("bad.jsonl", b'{"text": "a"}\nnot json\n', "Line 2 of bad.jsonl is no prompt"),
        ("list.jsonl", b'["text"]\n', "Line 1 of list.jsonl is no prompt"),
        ("none.jsonl", b'{"prompt": "a"}\n', "Line 1 of none.jsonl is no prompt"),
        ("half.jsonl", b'{"text": "\\ud800"}\n', "Line 1 of half.jsonl is no prompt"),
        ("deep.jsonl", b"[" * 100_000, "Line 1 of deep.jsonl is no prompt"),
    ],
)
def test_prompts_that_cannot_be_used(capsys, tmp_path, out, name, content, sentence):
    file = tmp_path / name
    file.write_bytes(content)
    assert sentence in refused(capsys, "--prompts", file, "--out", out)
    assert not out.exists()


def test_a_folder_of_prompts(capsys, tmp_path, out):
    assert "There is no prompt suite or file" in refused(capsys, "--prompts", tmp_path, "--out", out)


def test_an_out_that_exists_is_left_alone(capsys, out):
    out.write_text("mine\n")
    assert "new.specview.jsonl exists already; choose another --out." in refused(capsys, "--out", out)
    assert out.read_text() == "mine\n"


def test_an_out_inside_a_file(capsys, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine\n")
    assert "is not a folder; choose another --out." in refused(capsys, "--out", file / "new.specview.jsonl")
    assert file.read_text() == "mine\n"


def test_an_out_that_is_a_folder(capsys, tmp_path):
    assert "exists already" in refused(capsys, "--out", tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(capsys, tmp_path):
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o555)
    assert "cannot be created in" in refused(capsys, "--out", folder / "new.specview.jsonl")


def test_a_folder_that_may_not_be_written(capsys, tmp_path, monkeypatch, out):
    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("specview.profilers.record.store.os.open", refuse)
    assert "(read-only file system); choose another --out." in refused(capsys, "--out", out)


def test_without_mlx_record_names_the_extras(capsys, monkeypatch, out):
    for name in [m for m in sys.modules if m == "mlx" or m.startswith("mlx.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mlx", None)
    monkeypatch.delitem(sys.modules, "specview.profilers.record.recorder")
    for name in [m for m in sys.modules if m.startswith("specview.engine.")]:
        if name != "specview.engine.errors":
            monkeypatch.delitem(sys.modules, name)
    text = refused(capsys, "--out", out)
    assert "install specview[cpu] or specview[cuda]" in text
    assert not out.exists()


# ------------------------------------------------------- in a process of its own


# The command with a smaller canary, which takes most of the time before the first round.
COMMAND = """
from specview.app.cli import main
from specview.profilers.measure import canary
canary.SIDE = 32
raise SystemExit(main())
"""


def start_recorder(*options, **more):
    """A recorder process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "record", "--prompts", "english", "--draft", "lookup", *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


def lines_of(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for_lines(process, path, count):
    """Wait until the session has so many lines, a minute at most."""
    for _ in range(6000):
        if process.poll() is not None or lines_of(path) >= count:
            break
        time.sleep(0.01)
    assert process.poll() is None
    assert lines_of(path) >= count


def assert_whole(path):
    """Every line but a torn last one is a record, and the events of each run are numbered without gaps."""
    session = read_session(path)
    assert session.problems == ()
    for run in session.runs:
        numbers = [e.i for e in (*session.rounds, *session.steps) if e.run == run.run]
        assert numbers == list(range(len(numbers)))
    torn = path.read_bytes().rpartition(b"\n")[2]
    whole = path.read_bytes().count(b"\n")
    assert all(json.loads(line) for line in path.read_bytes().split(b"\n")[:whole])
    return session, torn


@pytest.mark.parametrize("lines", [1, 2, 5, 23, 51, 110])
def test_a_killed_recorder_loses_at_most_the_record_in_flight(out, lines):
    with start_recorder("--out", out) as process:
        wait_for_lines(process, out, lines)
        process.kill()
    session, _ = assert_whole(out)
    assert session.status == "interrupted"
    assert lines_of(out) >= lines


def test_ctrl_c_ends_with_a_footer(out):
    with start_recorder("--out", out) as process:
        wait_for_lines(process, out, 30)
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate()
    session, torn = assert_whole(out)
    assert (session.status, session.footer.reason) == ("stopped", "SIGINT")
    assert process.returncode == 0 and errors == b"" and torn == b""
    assert said.decode().splitlines()[-1].startswith("Saved: ")
    assert "This session stopped: SIGINT." in said.decode()


def test_the_end_of_stdin_stops_a_controlled_recorder(out):
    with start_recorder("--out", out, "--control", stdin=subprocess.PIPE) as process:
        wait_for_lines(process, out, 20)
        process.stdin.write(b'no json\n\xff\xfe\n{"action": "dance"}\n{"action": "change", "k": 3}\n')
        process.stdin.flush()
        wait_for_lines(process, out, 45)
        process.stdin.close()
        process.stdin = None
        said, errors = process.communicate()
    session, _ = assert_whole(out)
    assert (session.status, session.footer.reason) == ("stopped", "whoever started the recorder is gone")
    assert process.returncode == 0 and errors == b""
    assert {r.k for r in session.runs if r.arm == "drafting"} == {1, 3}
    reports = [json.loads(line) for line in said.splitlines()]
    events = [r["event"] for r in reports]
    assert events[:3] == ["loading", "loading", "session"] and events[-1] == "finished"
    assert reports[2]["name"] == out.name
    assert reports[-1]["status"] == "stopped"


PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(child.pid, flush=True)
child.stdout.read()
"""


def test_a_killed_app_leaves_no_orphan(out):
    recorder = [COMMAND, "record", "--control", "--draft", "lookup", "--out", str(out)]
    with subprocess.Popen([sys.executable, "-c", PARENT, *recorder], stdout=subprocess.PIPE) as app:
        child = int(app.stdout.readline())
        wait_for_lines(app, out, 20)
        app.kill()
    for _ in range(6000):
        if not is_running(child):
            break
        time.sleep(0.01)
    assert not is_running(child)
    session, _ = assert_whole(out)
    assert session.status == "stopped"


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def limited(size_bytes):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))

    return limit


def test_a_full_disk_keeps_the_records_so_far(out):
    with start_recorder("--out", out, preexec_fn=limited(9_000)) as process:
        said, errors = process.communicate()
    assert process.returncode == 1
    text = errors.decode()
    session, torn = assert_whole(out)
    assert text.startswith("specview: The file has reached its size limit: ") and text.count("\n") == 1
    assert f"{lines_of(out)} records are safe in {out.name}" in text
    assert torn == b"" and session.rounds
    assert main(["show", str(out)]) == 0
    assert said == b""


def test_a_disk_with_no_room_at_all_leaves_no_file(out):
    with start_recorder("--out", out, preexec_fn=limited(100)) as process:
        _, errors = process.communicate()
    assert process.returncode == 1
    assert errors.startswith(b"specview: ") and errors.count(b"\n") == 1
    assert not out.exists()


# ----------------------------------------------------------------- in-process


def test_a_recording_stopped_before_its_first_round_is_saved_and_says_so(short_segments, capsys, monkeypatch, out):
    class AtOnce(Steering):
        def poll(self):
            return Command("stop", reason="SIGINT")

    monkeypatch.setattr("specview.app.recording.Steering", AtOnce)
    assert main(["record", *SHORT, "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("No verdict: ") and said.out.splitlines()[-1].startswith("Saved: ")
    assert "This session stopped: SIGINT." in said.out
    assert read_session(out).status == "stopped"


def test_a_recording_that_cannot_be_told_is_saved_all_the_same(short_segments, capsys, monkeypatch, out):
    def nothing(*_):
        raise SpecviewError("This session holds no round of drafting yet; record longer.")

    monkeypatch.setattr("specview.profilers.judge.ledger.ledger_of", nothing)
    assert main(["record", *SHORT, "--draft", "lookup", "--out", str(out)]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("Saved: ") and said.err.startswith("specview: This session holds no round")
    assert read_session(out).status == "finished"


def test_an_ended_stdin_stops_at_once(short_segments, capsys, monkeypatch, out):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["record", *SHORT, "--control", "--out", str(out)]) == 0
    assert read_session(out).status == "stopped"


def test_a_failed_controlled_recording_reports_and_says_why(capsys, monkeypatch, out):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["record", *SHORT, "--control", "--k=-1", "--out", str(out)]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out) == {"event": "failed", "message": said.err.removeprefix("specview: ").strip()}


# ----------------------------------------------------------------- real models


@pytest.mark.real_model
@pytest.mark.parametrize("draft", ["lookup", "smollm2-q4"])
def test_smollm2_records_with_lookup_and_with_a_draft_copy(recorded, real_models, draft):
    wish = draft if draft == "lookup" else str(real_models / draft)
    status, session, said, errors = recorded("--model", str(real_models / "smollm2-float32"), "--draft", wish)
    assert (status, errors) == (0, "")
    assert session.status == "finished"
    assert session.header.model.architecture == "llama"
    assert {o.judged for o in session.outputs} <= {"equal", "tie"}
    assert "tokens per round " in said
