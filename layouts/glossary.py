"""The glossary: which terms stand first for a panel, and which a few typed letters find."""

from __future__ import annotations

from .glossary_terms import TERMS, Term
from .lines import EMPTY, Line, line, wrapped

INDENT = 2
# pages that show what belongs to several panels
TERMS_BY_PAGE = {
    "advice": ("break-even", "floor", "avoidable", "T_verify(n)", "k, draft length", "what if", "S, speedup"),
    "workloads": ("p, acceptance", "α, conditional acceptance", "E, tokens per round", "S, speedup", "k, draft length"),
    "compare": ("S, speedup", "E, tokens per round", "T_decode, pipelined", "T_verify(n)", "T_draft", "interval"),
    "sessions": ("verdict", "S, speedup", "too close", "cannot win", "survey", "drafter", "k, draft length"),
    "experiments": ("whole graph", "interval", "T_verify(n)", "T_decode, synchronous"),
}


def terms_for(about: str = "", needle: str = "") -> tuple[Term, ...]:
    """The terms that hold all typed words, those about a panel or page first; by name before by what they say."""
    words = needle.casefold().split()
    found = [term for term in TERMS if all(word in _haystack(term) for word in words)]

    def rank(term: Term) -> tuple[bool, bool]:
        named = bool(words) and not all(word in _names(term) for word in words)
        return (named, not is_about(term, about))

    return tuple(sorted(found, key=rank))


def is_about(term: Term, about: str) -> bool:
    """Whether a term belongs to this panel or page."""
    return about in term.about or term.name in TERMS_BY_PAGE.get(about, ())


def _names(term: Term) -> str:
    return " ".join((term.name, *term.also)).casefold()


def _haystack(term: Term) -> str:
    return f"{_names(term)} {term.words} {term.formula} {term.source}".casefold()


def glossary_lines(terms: tuple[Term, ...], about: str, width: int) -> list[Line]:
    """The terms in full, one under the other; a line parts those about this panel from the others."""
    if not terms:
        return wrapped("No term holds these words. Clear them to see all.", width, "quiet")
    lines: list[Line] = []
    near = [term for term in terms if about and is_about(term, about)]
    for number, term in enumerate(terms):
        if near and number == len(near) and not any(is_about(each, about) for each in terms[number:]):
            lines += [line(("· all other words ", "quiet"), ("·" * max(0, width - 18), "quiet")), EMPTY]
        lines += term_lines(term, width)
        lines.append(EMPTY)
    return lines


def term_lines(term: Term, width: int) -> list[Line]:
    """One term: its name, what it means, its formula, its source."""
    inner = max(10, width - INDENT)
    pad = " " * INDENT
    lines = [line((term.name, "strong"))]
    lines += [line(pad, *spans) for spans in wrapped(term.words, inner)]
    lines += [line(pad, *spans) for spans in wrapped(term.formula, inner, "what-if")]
    if term.source != "specview":
        lines += [line(pad, *spans) for spans in wrapped(f"from {term.source}", inner, "quiet")]
    return lines
