"""The command line: what each command prints, and one sentence for everything that is wrong."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys

import pytest

from specview import __version__
from specview.app.cli import main
from specview.profilers.record.records import to_line


@pytest.fixture
def session_file(build, tmp_path):
    """A finished session of three prompts."""
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt)
    build.finished()
    path = tmp_path / "some.specview.jsonl"
    path.write_bytes(b"".join(to_line(record) for record in build.made))
    return path


def sentence(capsys, *arguments):
    """What a command says when it fails: one sentence on stderr, nothing on stdout."""
    assert main([*map(str, arguments)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("specview: ")
    assert said.err.count("\n") == 1
    return said.err.removeprefix("specview: ").strip()


def test_show_prints_the_verdict_first(capsys, session_file):
    assert main(["show", str(session_file)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith("Loses: drafting runs at 0.80x of plain decode")
    for start in ("without drafts ", "with drafts ", "tokens per round ", "acceptance "):
        assert f"\n{start}" in said.out


def test_a_long_line_is_not_broken(capsys, session_file, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    main(["show", str(session_file)])
    assert capsys.readouterr().out.splitlines()[0].endswith("2.00 tokens.")


def test_show_json_is_one_object(capsys, session_file):
    assert main(["show", str(session_file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["drafting_tokens_per_second"] == pytest.approx(80.0)
    assert said["status"] == "finished"


def test_show_says_the_same_twice(capsys, session_file):
    main(["show", str(session_file)])
    first = capsys.readouterr().out
    main(["show", str(session_file)])
    assert capsys.readouterr().out == first


def test_a_session_alone_is_shown_where_there_is_no_screen(capsys, session_file):
    assert main([str(session_file)]) == 0
    assert capsys.readouterr().out.startswith("Loses: ")


def test_text_from_a_file_is_never_markup_or_control(capsys, build, tmp_path):
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt)
    build.note("[bold red]no[/] \x1b[31mcolour\x07")
    path = tmp_path / "s.specview.jsonl"
    path.write_bytes(b"".join(to_line(r) for r in build.made))
    main(["show", str(path)])
    said = capsys.readouterr().out
    assert "Note: [bold red]no[/] [31mcolour" in said
    assert "\x1b" not in said and "\x07" not in said


def test_a_terminal_without_these_characters_shows_others(session_file, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["show", str(session_file)]) == 0
    sys.stdout.flush()
    assert b"(accepted ? drafted)" in raw.getvalue()


def test_a_truncated_session_is_shown(capsys, session_file):
    whole = session_file.read_bytes()
    session_file.write_bytes(whole[: len(whole) * 2 // 3])
    assert main(["show", str(session_file)]) == 0
    assert "This session was interrupted" in capsys.readouterr().out


def test_a_bad_middle_line_is_reported_and_the_rest_opens(capsys, session_file):
    lines = session_file.read_bytes().splitlines(keepends=True)
    lines[5] = b"nonsense\n"
    session_file.write_bytes(b"".join(lines))
    assert main(["show", str(session_file)]) == 0
    assert "1 line of the file could not be read; the first is line 6" in capsys.readouterr().out


def test_show_of_a_missing_file(capsys, tmp_path):
    assert sentence(capsys, "show", tmp_path / "no.specview.jsonl") == "There is no file no.specview.jsonl."


def test_show_of_a_folder(capsys, tmp_path):
    assert "is a folder; choose a session file." in sentence(capsys, "show", tmp_path)


@pytest.mark.parametrize("content", [b"Dear diary\n", b"\x00\x01\x02\xff", b"{}\n", b"[]\n", b'{"kind":"round"}\n'])
def test_show_of_another_file(capsys, tmp_path, content):
    path = tmp_path / "other.txt"
    path.write_bytes(content)
    assert sentence(capsys, "show", path).startswith("other.txt is not a specview session")


def test_show_of_an_empty_file(capsys, tmp_path):
    path = tmp_path / "empty.specview.jsonl"
    path.touch()
    assert "empty" in sentence(capsys, "show", path)


def test_show_of_a_header_cut_in_half(capsys, session_file):
    session_file.write_bytes(session_file.read_bytes()[:100])
    assert "some.specview.jsonl" in sentence(capsys, "show", session_file)


def test_show_of_a_newer_schema(capsys, session_file):
    lines = session_file.read_bytes().splitlines(keepends=True)
    header = json.loads(lines[0])
    header["schema"] = 99
    session_file.write_bytes(json.dumps(header).encode() + b"\n" + b"".join(lines[1:]))
    said = sentence(capsys, "show", session_file)
    assert said == "some.specview.jsonl was written by a newer specview (schema 99); upgrade specview to open it."


def test_show_of_a_session_without_rounds(capsys, build, tmp_path):
    path = tmp_path / "short.specview.jsonl"
    path.write_bytes(to_line(build.made[0]))
    assert sentence(capsys, "show", path) == "This session holds no round of drafting yet; record longer."


@pytest.mark.parametrize("arguments", [["dance", "x"], ["show"], ["record", "--k", "many"], ["show", "a", "b"]])
def test_wrong_usage_ends_with_2(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"specview {__version__}\n"


def test_an_interrupted_command_ends_with_130(capsys, monkeypatch, session_file):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("specview.app.cli.show_session", interrupt)
    assert main(["show", str(session_file)]) == 130
    assert capsys.readouterr().err == "specview: interrupted.\n"


WITHOUT_MLX = """
import sys
for name in ("mlx", "mlx_lm", "textual"):
    sys.modules[name] = None
from specview.app.cli import main
raise SystemExit(main(sys.argv[1:]))
"""


def without_mlx(*arguments):
    command = [sys.executable, "-c", WITHOUT_MLX, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_machine_without_mlx_shows_sessions(session_file, capsys):
    for more in ([], ["--json"]):
        shown = without_mlx("show", session_file, *more)
        main(["show", str(session_file), *more])
        assert (shown.returncode, shown.stderr, shown.stdout) == (0, "", capsys.readouterr().out)


def test_a_machine_without_mlx_tells_its_version():
    assert without_mlx("--version").stdout == f"specview {__version__}\n"


def test_a_machine_without_mlx_names_the_extras(tmp_path):
    out = tmp_path / "new.specview.jsonl"
    ended = without_mlx("record", "--out", out)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.startswith("specview: MLX cannot be loaded") and ended.stderr.count("\n") == 1
    assert "install specview[cpu] or specview[cuda]" in ended.stderr
    assert not out.exists()


def test_python_m_is_the_command():
    said = subprocess.check_output([sys.executable, "-m", "specview", "--version"], text=True)
    assert said == f"specview {__version__}\n"


class Full(io.RawIOBase):
    """A stream on a disk without room."""

    def __init__(self, number: int) -> None:
        self.number = number

    def writable(self):
        return True

    def write(self, data):
        raise OSError(self.number, os.strerror(self.number))


def onto(stream):
    """A text stream over it, as stdout is one."""
    return io.TextIOWrapper(io.BufferedWriter(stream), encoding="utf-8")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("arguments", [["show"], ["show", "--json"], ["export", "--as", "md", "-o", "-"]])
def test_output_that_nothing_takes_is_one_sentence(capsys, monkeypatch, session_file, arguments, number):
    full = onto(Full(number))
    monkeypatch.setattr(sys, "stdout", full)
    assert main([*arguments, str(session_file)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("specview: The output could not be written (") and said.count("\n") == 1
    assert full.closed  # so that nothing fails again at the end of the process


def test_what_else_goes_wrong_with_a_file_is_not_called_the_output(monkeypatch, session_file):
    def refuse(*_):
        raise OSError(errno.EBADF, "bad")

    monkeypatch.setattr("specview.app.cli.show_session", refuse)
    with pytest.raises(OSError, match="bad"):
        main(["show", str(session_file)])


def test_a_reader_that_left_is_no_error_to_tell(capsys, monkeypatch, session_file):
    left, errors = onto(Full(errno.EPIPE)), io.StringIO()
    monkeypatch.setattr(sys, "stdout", left)
    monkeypatch.setattr(sys, "stderr", errors)
    assert main(["show", "--json", str(session_file)]) == 1
    assert left.closed and errors.closed


def test_streams_that_were_closed_are_no_terminal(capsys, monkeypatch, session_file):
    monkeypatch.setattr(sys, "stdin", None)
    assert main([str(session_file)]) == main(["open", str(session_file)]) == 0
    assert capsys.readouterr().out.startswith("Loses: ")
    assert "needs a terminal" in sentence(capsys, "watch", session_file)
    assert main(["judge"]) == 2 and "specview judge --help" in capsys.readouterr().err
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stdin", closed)
    assert main([str(session_file)]) == 0
    monkeypatch.setattr(sys, "stdout", None)
    for command in (["show"], ["open"], ["curve"]):
        assert main([*command, str(session_file)]) == 0
    assert main(["export", "--as", "csv", "-o", "-", str(session_file)]) == 1
    assert "Standard output is closed: name a file with -o." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["import", "x.log", "--out", ""], "--out '.' is a folder: name the file to write."),
        (["record", "--out", "/"], "--out '/' is a folder: name the file to write."),
        (["import", "pyproject.toml", "--kind", ""], "There is no kind ''; --kind takes "),
    ],
)
def test_what_has_no_name_is_told_by_what_was_typed(capsys, arguments, said):
    assert said in sentence(capsys, *arguments)


def test_facts_in_the_root_folder_are_told_by_its_name(capsys):
    assert main(["judge", "/"]) == 2
    assert capsys.readouterr().err.startswith("specview: / cannot be read (")
