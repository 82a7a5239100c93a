"""The list of saved sessions: found, sorted, marked; and one of them in full."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from specview.layouts.library import (
    SORTS,
    LibraryAsk,
    LibraryFacts,
    chosen_entries,
    moved_sort,
    sessions_view,
    size_text,
    sorted_by,
    storage_words,
    toggled,
    when_text,
)
from specview.layouts.library_detail import detail_lines, why_none
from specview.layouts.library_list import library_object, listed
from specview.layouts.library_verdict import LARGEST_BYTES, VerdictWords, verdict_words
from specview.layouts.library_words import KEYS, sessions_explanation
from specview.layouts.tables import table_lines
from specview.profilers.record.library.entries import Entry
from specview.profilers.record.library.index import Library
from specview.profilers.record.library.trash import Storage
from specview.profilers.record.session import read_session

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"
SECOND = 10**9
NOV_30 = 1_795_996_800 * SECOND  # 2026-11-30 00:00 UTC


def entry(name: str, days_ago: float = 0, **facts: Any) -> Entry:
    made: dict[str, Any] = {
        "path": Path("library") / f"{name}.specview.jsonl",
        "name": name,
        "size_bytes": 1000,
        "changed_ns": NOV_30,
        "status": "finished",
        "kind": "recording",
        "started_unix_ns": NOV_30 - int(days_ago * 86_400) * SECOND,
        "model": "bundled",
        "quantisation": "8-bit, groups of 64",
        "dtype": "float32",
        "drafter": "mtp",
        "k": 1,
        "rounds": 100,
        **facts,
    }
    return Entry(**made)


ENTRIES = (
    entry("beta", 3, size_bytes=5_000_000, tags=("night", "cpu"), note="try OpenBLAS", rounds=7),
    entry("Alpha", 1, model="smollm2", drafter="lookup", k=4),
    entry("live", 9, status="recording", rounds=None),
    entry("gone", 400, status="failed", reason="the disk was full", model=""),
)
VERDICTS = {
    ENTRIES[0].path: VerdictWords("loses", "LOSES", 0.87, "0.87x measured", "A round costs 2 steps."),
    ENTRIES[1].path: VerdictWords("wins", "WINS", 1.22),
}
FACTS = LibraryFacts(Library(ENTRIES, Storage(2, 3_000_000), looked=True), VERDICTS, now_unix_ns=NOV_30, zone=UTC)


def order(**asked: Any) -> list[str]:
    return [each.name for each in chosen_entries(FACTS, LibraryAsk(**asked))]


def drawn(one: Entry | None, width: int = 60, **more: Any) -> str:
    verdict = None if one is None else VERDICTS.get(one.path)
    lines = detail_lines(one, verdict, width, zone=UTC, **more)
    assert all(sum(len(span.text) for span in line) <= width for line in lines)
    return "\n".join("".join(span.text for span in line) for line in lines)


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("when", ["Alpha", "beta", "gone"]),
        ("name", ["Alpha", "beta", "gone"]),
        ("verdict", ["Alpha", "beta", "gone"]),
        ("model", ["beta", "Alpha", "gone"]),
        ("rounds", ["Alpha", "gone", "beta"]),
        ("size", ["beta", "Alpha", "gone"]),
    ],
)
def test_what_is_being_recorded_comes_first_in_every_order(sort: str, names: list[str]) -> None:
    assert order(sort=sort) == ["live", *names]
    assert order(sort=sort, backwards=True) == ["live", *reversed(names)]


@pytest.mark.parametrize(
    ("needle", "names"),
    [
        ("LOOKUP k=4", ["Alpha"]),
        ("#night", ["beta"]),
        ("openblas 8-bit", ["beta"]),
        ("failed", ["gone"]),
        ("recording", ["live", "Alpha", "beta", "gone"]),
        ("mtp nothing", []),
    ],
)
def test_all_words_have_to_be_somewhere(needle: str, names: list[str]) -> None:
    assert order(needle=needle) == names


def test_s_goes_round_the_orders_and_a_title_clicked_twice_turns_one_round() -> None:
    ask = LibraryAsk()
    seen = [ask.sort]
    for _ in SORTS:
        ask = moved_sort(ask)
        seen.append(ask.sort)
    assert seen == [*SORTS, "when"]
    ask = sorted_by(ask, "size")
    assert (ask.sort, ask.backwards) == ("size", False)
    assert sorted_by(ask, "size").backwards and sorted_by(ask, "note") == ask


def test_the_table_names_verdict_state_and_marks_in_words() -> None:
    ask = toggled(LibraryAsk(), ENTRIES[0].path)
    view = sessions_view(FACTS, ask)
    rows = {row.cells[1]: row for row in view.table.rows}
    assert rows["beta"].cells[:4] == ("✓◇", "beta", "LOSES 0.87x", "bundled 8-bit")
    assert rows["beta"].cells[4:9] == ("mtp k=1", "Nov 27 00:00", "5.0 MB", "7", "#night #cpu")
    assert rows["live"].cells[:3] == (" ●", "live", "being recorded") and rows["live"].tone == "good"
    assert rows["gone"].cells[5] == "2025-10-26" and rows["gone"].cells[3] == "— 8-bit"
    assert view.storage == "4 sessions, 5.0 MB; trash 2, 3.0 MB · 1 marked"
    assert toggled(ask, ENTRIES[0].path).marked == frozenset()
    wide = table_lines(view.table, 76)
    assert "verdict" in "".join(span.text for span in wide[0]) and "note" not in "".join(span.text for span in wide[0])


def test_an_empty_library_and_a_search_in_vain_say_what_to_do() -> None:
    assert "Looking" in sessions_view(LibraryFacts(Library(), {}), LibraryAsk()).table.message
    empty = sessions_view(LibraryFacts(Library(looked=True), {}), LibraryAsk())
    assert "press r" in empty.table.message and empty.storage == "0 sessions, 0 B"
    vain = sessions_view(FACTS, LibraryAsk(needle="xyz"))
    assert vain.table.rows == () and "None of 4 sessions" in vain.table.message and "0 of 4" in vain.title
    trouble = sessions_view(replace(FACTS, library=Library((), trouble="It cannot be read.")), LibraryAsk())
    assert trouble.trouble and not trouble.table.message
    unread = replace(FACTS, library=replace(FACTS.library, unread=1))
    assert "3 of 4 read" in sessions_view(unread, LibraryAsk()).title


def test_one_session_in_full() -> None:
    text = drawn(ENTRIES[0])
    assert "LOSES 0.87x measured" in text and "note     try OpenBLAS" in text and "tags     #night #cpu" in text
    assert "model    bundled (8-bit, groups of 64, float32)" in text and "when     2026-11-27 00:00" in text
    failed = drawn(ENTRIES[3])
    assert "▲ recording, failed: the disk was full" in failed and "Reckoning" in failed
    assert "enter follows it" in drawn(ENTRIES[2])
    assert drawn(ENTRIES[3], paused="Not now.").count("Not now.") == 1
    assert drawn(None) == ""
    assert "too large" in why_none(replace(ENTRIES[3], size_bytes=LARGEST_BYTES + 1), "")
    bad = entry("bad", status="unreadable", reason="It is no session.", model="")
    assert drawn(bad).splitlines()[0] == "bad  ▲ cannot be opened: It is no session."
    assert len(drawn(entry("n" * 200)).splitlines()[0]) == 60


def test_sizes_and_moments_are_readable() -> None:
    assert [size_text(n) for n in (0, 999, 1000, 999_499, 999_500, 2_500_000_000)] == [
        "0 B",
        "999 B",
        "1 kB",
        "999 kB",
        "1.0 MB",
        "2.50 GB",
    ]
    assert when_text(NOV_30, NOV_30, UTC) == "Nov 30 00:00"
    assert when_text(10**30, NOV_30, UTC) == "—"


@pytest.mark.parametrize(
    ("name", "kind", "speedup"),
    [("bundled-mtp", "loses", 0.87), ("shape-35b-a3b", "costs", None), ("article-a-july", "refused", None)],
)
def test_the_verdict_of_a_list_is_that_of_the_dashboard(name: str, kind: str, speedup: float | None) -> None:
    found = verdict_words(read_session(EXAMPLES / f"{name}.specview.jsonl"))
    assert found.kind == kind and found.word and found.first
    assert found.speedup == (None if speedup is None else pytest.approx(speedup, abs=0.01))


def test_the_printed_list_and_its_json_hold_the_same() -> None:
    lines = table_lines(listed(ENTRIES, VERDICTS, NOV_30, UTC), 1000)
    text = "\n".join("".join(span.text for span in line) for line in lines)
    assert "WINS 1.22x" in text and "try OpenBLAS" in text and "…" not in text
    told = library_object(FACTS.library, ENTRIES[:2], VERDICTS)
    assert told["in_library"] == 4 and told["trash"] == {"sessions": 2, "size_bytes": 3_000_000}
    first, second = told["sessions"]
    assert (
        first["tags"] == ["night", "cpu"] and first["file"] == "beta.specview.jsonl" and "library" not in first["file"]
    )
    assert first["verdict"]["speedup"] == 0.87 and second["verdict"]["kind"] == "wins" and second["note"] is None


def test_the_help_tells_storage_and_keys_fit_their_frames() -> None:
    told = sessions_explanation(FACTS.library, LibraryAsk())
    assert told.numbers == (storage_words(FACTS.library),)
    assert [len(keys) for keys in KEYS] == sorted((len(keys) for keys in KEYS), reverse=True) and len(KEYS[1]) <= 72
