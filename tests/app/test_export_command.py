"""`specview export` in every form, without a terminal."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hostile_session import hostile_records
from PIL import Image
from session_builder import CASES, written

from specview.app.cli import main
from specview.layouts.pictures import CELL, MARGIN
from specview.profilers.record.session import read_session


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A saved session, in the folder that exports go to."""
    monkeypatch.chdir(tmp_path)
    return written(tmp_path, "run", CASES["wins"])


def exported(session: Path, *options: str) -> str:
    out = session.parent / "out"
    assert main(["export", str(session), *options, "-o", str(out), "--force"]) == 0
    return out.read_text(encoding="utf-8")


def test_tables_reports_and_traces_need_no_screen(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exported(session, "--as", "md").startswith("## Ledger")
    assert exported(session, "--as", "csv").startswith("sheet,group,name,value,unit")
    assert json.loads(exported(session, "--as", "json"))["screen"] == "ledger"
    assert json.loads(exported(session, "--as", "json", "--screen", "report"))["documents"][0]["screen"] == "dashboard"
    assert exported(session, "--as", "csv", "--screen", "events").startswith("event,arm,drafter")
    assert exported(session, "--as", "html").startswith("<!doctype html>")
    assert json.loads(exported(session, "--as", "trace"))["traceEvents"]
    assert capsys.readouterr().out.count("Saved: out") == 7


def test_a_redacted_copy_opens_with_the_same_verdict(session: Path) -> None:
    from specview.profilers.judge.ledger import ledger_of

    exported(session, "--as", "session", "--redact")
    copy, original = read_session(session.parent / "out"), read_session(session)
    assert ledger_of(copy).verdict == ledger_of(original).verdict
    assert not any(each.pieces for each in copy.rounds) and len(copy.rounds) == len(original.rounds)


def test_a_file_is_named_after_session_and_screen_and_never_overwritten(session: Path) -> None:
    for _ in range(2):
        assert main(["export", str(session), "--as", "csv", "--screen", "ledger"]) == 0
    assert {"run-ledger.csv", "run-ledger-2.csv"} <= {each.name for each in session.parent.iterdir()}


def test_standard_output_holds_the_export_and_nothing_else(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(session), "--as", "json", "-o", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["screen"] == "ledger"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--as", "session"), "add --redact"),
        (("--redact",), "add --as session"),
        (("--as", "csv", "--keep-notes"), "--keep-notes says"),
        (("--as", "trace", "--screen", "ledger"), "leave --screen out"),
        (("--as", "png", "--screen", "report"), "report can be exported as html, md, json, not as png"),
        (("--screen", "nowhere"), "There is no screen 'nowhere': choose one of dashboard"),
        (("--theme", "mauve"), "There is no theme 'mauve'"),
        (("--size", "1x1"), "columns x rows"),
        (("--size", "junk", "--as", "md"), "columns x rows"),
        (("--theme", "mauve", "--as", "csv"), "There is no theme 'mauve'"),
        (("--screen", "compare", "--with", "nowhere"), "There is no file and no saved session nowhere"),
        (("--screen", "compare", "--with", "notes.txt", "--as", "md"), "notes.txt is not a specview session"),
        (("-o", "run.specview.jsonl", "--as", "md"), "is there already"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    session: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    before = session.read_bytes()
    (session.parent / "notes.txt").write_text("Dear diary\n")
    assert main(["export", str(session), *options]) == 1
    assert said in capsys.readouterr().err
    assert session.read_bytes() == before


def test_pictures_and_texts_of_a_drawn_screen(session: Path) -> None:
    out = session.parent / "out.png"
    assert main(["export", str(session), "--as", "png", "--size", "80x24", "--theme", "light", "-o", str(out)]) == 0
    image = Image.open(io.BytesIO(out.read_bytes()))
    assert image.size == (80 * CELL[0] + 2 * MARGIN, 24 * CELL[1] + 2 * MARGIN)
    svg = exported(session, "--as", "svg", "--screen", "ledger")
    assert re.findall(r"https?://[^\s\"']+", svg) == ["http://www.w3.org/2000/svg"]
    assert "url(" not in svg.replace('url("data:', "").replace("url(#", "")
    assert svg.count("data:font/woff2;base64,") == 2 and "Fira" not in svg
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert "Baseline" in svg


def test_every_page_of_the_app_can_be_drawn(session: Path) -> None:
    """One app, one page after the other: new screens need no code of their own here."""
    from specview.app.exporting.headless import Sight, looked_at, screen_names
    from specview.app.exports import text_of

    names = [name for name in screen_names() if name not in ("dashboard", "experiments", "ledger")]
    for name in names[:3]:
        assert "specview — " in looked_at(session, Sight(screen=name, size=(80, 24)), text_of)


def test_a_drawn_screen_without_raw_numbers_gives_what_it_shows(session: Path) -> None:
    found = json.loads(exported(session, "--as", "json", "--screen", "rounds"))
    assert found["screen"] == "rounds" and found["numbers"] == "as shown" and found["sentences"]


def test_hostile_texts_come_out_as_texts(tmp_path: Path) -> None:
    session = written(tmp_path, "hostile", hostile_records())
    assert "<script" not in exported(session, "--as", "html")
    assert "<script" not in exported(session, "--as", "md", "--screen", "report")
    assert "\x1b" not in exported(session, "--as", "csv", "--screen", "events")


def test_a_saved_session_is_exported_where_mlx_cannot_be_imported(session: Path) -> None:
    blocked = "import sys; sys.modules.update({'mlx': None, 'mlx_lm': None, 'mlx.core': None}); "
    call = f"from specview.app.cli import main; sys.exit(main(['export', {str(session)!r}, '-o', 'x.svg']))"
    subprocess.run([sys.executable, "-c", blocked + call], check=True, timeout=120, cwd=session.parent)
    assert (session.parent / "x.svg").stat().st_size > 10_000
