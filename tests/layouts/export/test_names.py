"""Names of files that nobody named."""

from __future__ import annotations

import pytest

from specview.layouts.export.names import FORMS, SUFFIX_BY_FORM, free_name, stem_of, suggested_name, usual_screen


@pytest.mark.parametrize(
    ("screen", "form", "name"),
    [
        ("ledger", "png", "run-ledger-120x40.png"),
        ("ledger", "md", "run-ledger.md"),
        ("report", "html", "run-report.html"),
        ("events", "trace", "run.trace.json"),
        ("redacted", "session", "run-redacted.specview.jsonl"),
    ],
)
def test_a_name_says_session_and_screen(screen, form, name) -> None:
    assert suggested_name("run.specview.jsonl", screen, form, (120, 40)) == name


@pytest.mark.parametrize("name", ["../../etc/passwd", "a b\n.specview.jsonl", ".specview.jsonl", "…", None, "x" * 500])
def test_a_stem_is_a_possible_name(name) -> None:
    stem = stem_of(name)
    assert stem and "/" not in stem and not stem.startswith(".") and len(stem) <= 80 and stem.isprintable()


def test_a_taken_name_gets_a_number_before_its_ending() -> None:
    taken = {"a.trace.json", "a-2.trace.json", "b.png", "c", "d.tar.xz"}
    assert [free_name(n, taken.__contains__) for n in ("a.trace.json", "b.png", "c", "d.tar.xz", "e.md")] == [
        "a-3.trace.json", "b-2.png", "c-2", "d.tar-2.xz", "e.md",
    ]  # fmt: skip


def test_every_form_has_an_ending_and_a_usual_screen() -> None:
    assert set(SUFFIX_BY_FORM) == set(FORMS) and all(usual_screen(form) for form in FORMS)
