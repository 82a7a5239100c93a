"""The glossary: what it holds, what is found, and what stands first."""

from __future__ import annotations

import pytest

from specview.app.pages import SCREEN_BY_NAME
from specview.layouts.glossary import TERMS_BY_PAGE, glossary_lines, is_about, terms_for
from specview.layouts.glossary_terms import TERMS
from specview.layouts.lines import width_of

WANTED = (
    "round", "drafted", "accepted", "bonus", "tokens per round", "acceptance", "conditional", "cumulative", "per draft",
    "T_decode, pipelined", "T_decode, synchronous", "T_verify", "t_draft(m)", "T_draft", "catch-up", "T_rest", "R,",
    "S,", "free round", "split round", "probe step", "fenced sum", "queued sum", "gap", "floor", "break-even",
    "avoidable", "too close", "guard", "ruler", "confidence sequence", "greedy match", "exact match",
    "rejection sampling", "MTP", "prompt lookup", "layer skip", "cannot win",
)  # fmt: skip


@pytest.mark.parametrize("word", WANTED)
def test_every_word_of_the_design_is_a_term(word: str) -> None:
    assert any(word.casefold() in term.name.casefold() for term in TERMS)


def test_terms_are_short_whole_sentences_and_named_once() -> None:
    names = [term.name for term in TERMS]
    assert len(set(names)) == len(names)
    for term in TERMS:
        assert term.words.endswith(".") and term.words.count(". ") <= 2, term.name


def test_those_about_the_focused_panel_stand_first() -> None:
    terms = terms_for("decode")
    near = sum("decode" in term.about for term in TERMS)
    assert near > 3 and all("decode" in term.about for term in terms[:near]) and len(terms) == len(TERMS)


def test_every_page_has_words_of_its_own_and_names_only_such_as_there_are() -> None:
    for page in SCREEN_BY_NAME:
        assert is_about(terms_for(page)[0], page), page
    assert {name for names in TERMS_BY_PAGE.values() for name in names} <= {term.name for term in TERMS}


def test_typed_words_find_by_name_first_and_by_other_spellings() -> None:
    assert terms_for(needle="alpha")[0].name == "α, conditional acceptance"
    assert terms_for(needle="ROOFLINE")[0].name == "floor"
    assert terms_for("rounds", "catch up")[0].name == "catch-up"
    assert terms_for(needle="no such word at all") == ()
    found = terms_for(needle="verify")
    first_other = next(i for i, term in enumerate(found) if "verify" not in f"{term.name} {term.also}".casefold())
    assert all("verify" not in term.name.casefold() for term in found[first_other:])


@pytest.mark.parametrize("width", [40, 76, 104])
def test_lines_fit_and_a_line_parts_the_near_from_the_others(width: int) -> None:
    lines = glossary_lines(terms_for("verify"), "verify", width)
    assert all(width_of(spans) <= width for spans in lines)
    assert sum("all other words" in "".join(span.text for span in spans) for spans in lines) == 1
    assert "Clear them" in glossary_lines((), "verify", width)[0][0].text
