"""Following a file: growth, torn lines, cuts, replacements, and files that are no session."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from session_builder import CASES, lines_of, written

from specview.app import following
from specview.app.following import FIRST_BYTES, FileFollower, Following, Reading, Update, Waker, follow, rest_after
from specview.profilers.record.session import read_session


def cut_lines(name: str = "cannot-win") -> list[bytes]:
    return lines_of(CASES[name]).splitlines(keepends=True)


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    follower = FileFollower(tmp_path / "a.specview.jsonl")
    look = follower.look()
    assert look.waiting and not look.changed and look.session is None and look.trouble == ""
    written(tmp_path, "a", CASES["wins"])
    assert follower.look().session is not None


def test_growth_is_read_from_where_it_was_left(tmp_path: Path) -> None:
    path, lines = tmp_path / "a.specview.jsonl", cut_lines()
    path.write_bytes(b"".join(lines[:40]))
    follower = FileFollower(path)
    first = follower.look()
    assert first.changed and first.session is not None
    assert not follower.look().changed
    with path.open("ab") as file:
        file.write(b"".join(lines[40:]))
    second = follower.look()
    assert second.changed and second.session is not None and second.session.footer is not None
    assert not second.session.problems


def test_a_torn_last_line_waits_for_its_rest(tmp_path: Path) -> None:
    path, lines = tmp_path / "a.specview.jsonl", cut_lines()
    whole = b"".join(lines[:10])
    path.write_bytes(whole + lines[10][:20])
    follower = FileFollower(path)
    follower.look()
    with path.open("ab") as file:
        file.write(lines[10][20:])
    look = follower.look()
    assert look.session is not None and not look.session.problems and look.trouble == ""


def test_a_torn_line_that_its_writer_takes_back_is_forgotten(tmp_path: Path) -> None:
    path, lines = tmp_path / "a.specview.jsonl", cut_lines()
    whole = b"".join(lines[:10])
    path.write_bytes(whole + lines[10][:20])
    follower = FileFollower(path)
    follower.look()
    path.write_bytes(whole)
    assert follower.look().trouble == ""
    with path.open("ab") as file:
        file.write(lines[11])
    look = follower.look()
    assert look.session is not None and not look.session.problems and look.trouble == ""


def test_a_file_cut_short_is_read_again_and_says_so(tmp_path: Path) -> None:
    path, lines = tmp_path / "a.specview.jsonl", cut_lines()
    path.write_bytes(b"".join(lines))
    follower = FileFollower(path)
    full = follower.look()
    os.truncate(path, len(b"".join(lines[:30])))
    look = follower.look()
    assert look.changed and "cut short" in look.trouble
    assert look.session is not None and full.session is not None
    assert len(look.session.steps) < len(full.session.steps)


def test_a_replaced_file_is_read_anew_and_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, "a", CASES["cannot-win"])
    follower = FileFollower(path)
    follower.look()
    written(tmp_path, "b", CASES["wins"]).replace(path)
    look = follower.look()
    assert "replaced" in look.trouble
    assert look.session is not None and look.session.header.drafter is not None
    assert look.session.header.drafter.k == 3


def test_a_file_that_vanishes_leaves_what_was_read(tmp_path: Path) -> None:
    path = written(tmp_path, "a", CASES["wins"])
    follower = FileFollower(path)
    follower.look()
    path.unlink()
    look = follower.look()
    assert look.changed and "gone" in look.trouble and look.session is not None
    assert not follower.look().changed


def test_a_file_that_is_no_session_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.specview.jsonl"
    path.write_bytes(b"\x00\x01 nothing\n" * 10)
    look = FileFollower(path).look()
    assert look.session is None and look.trouble.endswith(".")


def test_a_pipe_in_the_place_of_a_file_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "a.specview.jsonl"
    os.mkfifo(path)
    assert "not a regular file" in FileFollower(path).look().trouble


def test_a_last_line_without_newline_counts_once_nobody_writes(tmp_path: Path) -> None:
    path = written(tmp_path, "a", CASES["wins"])
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    follower = FileFollower(path)
    look = follower.look()
    assert look.session is not None and look.session.footer is None
    look = follower.look(settle=True)
    assert look.session is not None and look.session.footer is not None


def test_following_delivers_at_once_and_again_after_growth(tmp_path: Path) -> None:
    path, lines = tmp_path / "a.specview.jsonl", cut_lines()
    path.write_bytes(b"".join(lines[:200]))
    updates: list[Update] = []

    class Fast(Waker):
        def wait(self, seconds: float, armed: bool) -> None:
            if len(updates) == 1:
                with path.open("ab") as file:
                    file.write(b"".join(lines[200:]))

    follow(path, updates.append, lambda: len(updates) == 2, Fast(path))
    assert [u.grew for u in updates] == [False, True]
    assert all(u.reckoning is not None for u in updates)
    assert updates[1].reckoning is not None and updates[1].reckoning.ledger is not None


def test_a_change_in_the_folder_wakes_an_armed_sleeper(tmp_path: Path) -> None:
    waker = Waker(tmp_path / "a.specview.jsonl")
    waker.wake()
    waker.wait(600.0, armed=True)  # returns at once; otherwise the test would never end
    waker.disarm()


def test_a_folder_that_cannot_be_watched_is_polled(tmp_path: Path) -> None:
    waker = Waker(tmp_path / "missing" / "a.specview.jsonl")
    waker.wait(0.0, armed=True)
    waker.disarm()


def long_file(folder: Path) -> Path:
    path = written(folder, "long", CASES["wins"])
    *lines, footer = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"".join(lines[1:]) * (2 + 3 * FIRST_BYTES // path.stat().st_size) + footer)
    return path


def test_how_far_a_long_file_is_read_is_told_and_its_header_first(tmp_path: Path) -> None:
    path = long_file(tmp_path)
    told: list[Reading] = []
    look = FileFollower(path, told.append).look()
    assert told[0].header is not None and 0 < told[0].share < 1
    assert look.session is not None and look.session == read_session(path)


def test_the_first_delivery_of_a_long_file_says_that_it_is_being_read(tmp_path: Path) -> None:
    updates: list[Update] = []
    follow(long_file(tmp_path), updates.append, lambda: bool(updates) and updates[-1].reading is None, Waker(tmp_path))
    assert updates[0].reading is not None and updates[0].reckoning is None
    assert updates[-1].reckoning is not None


def test_a_file_that_nobody_wants_any_more_is_not_read_to_its_end(tmp_path: Path) -> None:
    updates: list[Update] = []
    follow(long_file(tmp_path), updates.append, lambda: bool(updates), Waker(tmp_path))
    assert len(updates) == 1 and updates[0].reading is not None


@pytest.mark.parametrize(("used", "rest"), [(0.0, 1.0), (0.01, 1.0), (0.03, 1.5), (0.2, 2.0), (0.5, 2.0), (2.0, 8.0)])
def test_it_rests_longer_the_more_it_computes_but_no_more_than_it_must(used: float, rest: float) -> None:
    assert rest_after(used) == pytest.approx(rest)


def test_blocks_that_were_put_off_are_made_up_for_when_the_file_is_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from specview.layouts import views

    monkeypatch.setattr(views, "MANY_PROBES", 1)
    monkeypatch.setattr(views, "HARDLY_MORE", 1000.0)
    path, lines = tmp_path / "a.specview.jsonl", cut_lines("wins")
    path.write_bytes(b"".join(lines[:200]))
    updates: list[Update] = []

    class Growing(Waker):
        def wait(self, seconds: float, armed: bool) -> None:
            if len(updates) == 1:
                with path.open("ab") as file:
                    file.write(b"".join(lines[200:-1]))

    follow(path, updates.append, lambda: len(updates) == 3, Growing(path))
    first, second, third = (update.reckoning for update in updates)
    assert first is not None and second is not None and third is not None
    assert second.unfinished and second.blocks is first.blocks
    assert not third.unfinished and third.blocks == views.reckon(replace(third.session)).blocks


def test_an_end_that_nobody_foresaw_is_told_beside_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    path, known = Path("a.specview.jsonl"), object()

    def fail(path: Path, deliver: Callable[[Update], None], *_: object) -> None:
        deliver(Update(path, known, "", waiting=False, grew=False))  # type: ignore[arg-type]
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(following, "follow", fail)
    updates: list[Update] = []
    Following(lambda work: work(), updates.append).start(path)
    assert [update.reckoning for update in updates] == [known, known]
    said = "a.specview.jsonl cannot be followed any further (ZeroDivisionError: division by zero)."
    assert updates[-1].trouble == said and not updates[-1].waiting
