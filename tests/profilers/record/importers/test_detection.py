"""A file goes to the importer whose signs it shows, and where several do a person is asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from specview.profilers.record.importers.detection import detected_importer, named_importer
from specview.profilers.record.importers.imported import Imported, Importer, ImportFailed, Tally
from specview.profilers.record.importers.registry import IMPORTER_BY_KIND


def importer(form: str, likely: Callable[[str], float]) -> Importer:
    return Importer(
        form=form, engine="e", likely=likely, read=lambda _: Imported(engine="e", form=form, records=(), tally=Tally())
    )


MADE = {
    "a": importer("a", lambda head: 0.9 if "A" in head else 0.0),
    "b": importer("b", lambda head: 0.88 if "B" in head else 0.0),
    "c": importer("c", lambda head: 0.5 if "C" in head else 0.1),
}


def test_the_surest_wins() -> None:
    assert detected_importer("A C", "f", MADE) is MADE["a"]
    assert detected_importer("C", "f", MADE) is MADE["c"]


def test_a_tie_is_named() -> None:
    with pytest.raises(ImportFailed, match=r"^x\.log could be a or b; say which with --kind\.$"):
        detected_importer("A B", "x.log", MADE)


def test_no_sign_lists_the_kinds() -> None:
    with pytest.raises(ImportFailed, match=r"x\.log shows no sign.*a, b, c"):
        detected_importer("nothing", "x.log", MADE)


def test_only_the_beginning_is_looked_at() -> None:
    with pytest.raises(ImportFailed):
        detected_importer("." * 70_000 + "A", "f", MADE)


def test_a_kind_is_found_however_it_is_spelled() -> None:
    assert named_importer("llamacpp_LOG", IMPORTER_BY_KIND) is IMPORTER_BY_KIND["llama.cpp-log"]
    with pytest.raises(ImportFailed, match=r"no kind 'nonsense'; --kind takes .*llama-bench"):
        named_importer("nonsense", IMPORTER_BY_KIND)


SAMPLES: dict[str, str] = json.loads(Path(__file__).with_name("one_of_each_kind.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_every_form_is_told_apart_from_all_others(kind: str) -> None:
    assert detected_importer(SAMPLES[kind], "f", IMPORTER_BY_KIND) is IMPORTER_BY_KIND[kind]


def test_every_kind_has_a_sample_here() -> None:
    assert set(SAMPLES) == set(IMPORTER_BY_KIND)


def test_every_importer_takes_any_text() -> None:
    for head in ("", "\n", "{", "[", "x" * 100, "\x00\ud800", '{"a": 1}', "1,2\n3,4\n", *SAMPLES.values()):
        for one in IMPORTER_BY_KIND.values():
            assert 0 <= one.likely(head) <= 1


def test_every_importer_refuses_an_empty_text_with_a_sentence() -> None:
    for one in IMPORTER_BY_KIND.values():
        with pytest.raises(ImportFailed, match=r"\.$"):
            one.read([])
