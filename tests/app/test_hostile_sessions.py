"""Session files made to attack: opened and shown as text, or refused in a sentence; never a crash, never an escape."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from mutations import mutated
from session_builder import CASES, Made, built, lines_of
from survey_builder import SURVEYS

from specview.app.pages import SCREEN_BY_NAME, page_facts
from specview.engine.errors import SpecviewError
from specview.layouts.summary import as_object, summary_lines
from specview.layouts.view_models import Live, WhatIf
from specview.layouts.views import dashboard, reckon
from specview.profilers.record.session import SessionReader

EXAMPLES = Path(__file__).resolve().parents[2] / "assets" / "examples"
FILES = (
    lines_of(CASES["one-round"]),
    lines_of(built(Made(prompts=3, segments=1, k=2))),
    lines_of(built(Made(prompts=2, segments=1, footer=None, blocks=False))),
    lines_of(SURVEYS["survey-moe"]),
    (EXAMPLES / "article-a-july.specview.jsonl").read_bytes(),
)
READ, SHOWN = 10_000, 600
ALLOWED = {"\n", "\t", "\u200d", "\ufe0f", "\ufeff"}  # the last three join or mark and turn nothing
TURNING = "\x1b\x9b\r\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def read(data):
    """The session of a file's bytes, or the sentence that refuses it."""
    reader = SessionReader("attack")
    try:
        reader.feed(data)
        return reader.session()
    except SpecviewError as error:
        sentence = str(error)
        assert sentence.isprintable() and sentence.endswith("."), sentence
        return sentence


def texts_of(value):
    """Every text in a view, however deep."""
    if isinstance(value, str):
        yield value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from texts_of(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts_of(key)
            yield from texts_of(item)
    elif isinstance(value, tuple | list | frozenset | set):
        for item in value:
            yield from texts_of(item)


def is_safe(text):
    """Nothing that a terminal would obey: no controls, no escapes, no marks that turn the direction of text."""
    return all(c in ALLOWED or ((c.isprintable() or c.isspace()) and c not in TURNING) for c in text)


def said(session):
    """What `specview show` prints of a session: lines and an object, or the sentence why there is nothing to say."""
    try:
        return summary_lines(session), json.dumps(as_object(session), allow_nan=False)
    except SpecviewError as error:
        return str(error)


def test_ten_thousand_changed_files_are_read_or_refused_in_a_sentence():
    refused = opened = 0
    for data in mutated(FILES, READ):
        session = read(data)
        refused, opened = refused + isinstance(session, str), opened + (not isinstance(session, str))
        if not isinstance(session, str):
            assert all(problem.line >= 0 and problem.text.isprintable() for problem in session.problems)
    assert opened > READ / 3 and refused > READ / 100


def test_what_opens_is_shown_on_every_screen_as_text():
    shown = 0
    for data in mutated(FILES, SHOWN, seed=1):
        session = read(data)
        if isinstance(session, str):
            continue
        reckoning = reckon(session)
        views = [
            dashboard(reckoning, Live("saved", name="attack"), WhatIf()),
            dashboard(reckoning, Live("saved", name="attack"), WhatIf(p=0.3)),
            said(session),
            *(page_facts(name, reckoning) for name in SCREEN_BY_NAME),
        ]
        for view in views:
            for text in texts_of(view):
                assert is_safe(text), repr(text)
        shown += 1
    assert shown > SHOWN / 3


@pytest.mark.parametrize("size", [1_000_000, 10_000_000])
def test_a_line_of_megabytes_is_a_problem_and_the_rest_opens(size):
    lines = FILES[0].splitlines(keepends=True)
    long = b'{"kind":"note","t_ns":1,"text":"' + b"x" * size + b'"}\n'
    session = read(b"".join((lines[0], long, *lines[1:])))
    assert len(session.rounds) == 1
    assert any(problem.line == 2 for problem in session.problems) or len(session.notes) == 1
