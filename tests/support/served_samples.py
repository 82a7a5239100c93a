"""What the tests of importers of servers share: damage to a sample, and a look at what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hypothesis import strategies as st

from specview.profilers.record.importers.imported import Imported, ImportFailed
from specview.profilers.record.records import Counters, Note, to_line

HOSTILE = (
    "NaN",
    "-1",
    "Infinity",
    "1e400",
    "1000000000000000000",
    "9" * 400,
    "0",
    '"x"',
    "null",
    "{",
    "[" * 70,
    "]",
    "\x1b[31m",
    "٣",
    ",",
    "\r\n",
    "\x00",
    "%",
)


def stretches(imported: Imported) -> list[Counters]:
    """The counters of an import, each a record that a session can hold."""
    for record in imported.records:
        assert to_line(record)
    return [record for record in imported.records if isinstance(record, Counters)]


def notes(imported: Imported, tag: str) -> list[str]:
    """The texts of the notes with a tag."""
    return [one.text for one in imported.records if isinstance(one, Note) and tag in one.tags]


@st.composite
def damaged(draw: st.DrawFn, sample: str) -> str:
    """A sample with a few places cut out, doubled, or replaced by something hostile."""
    text = sample
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        middle = draw(st.sampled_from([*HOSTILE, "", text[start:end] * 2]))
        text = text[:start] + middle + text[end:]
    return text


def survives(read: Callable[[Iterable[str]], Imported], text: str) -> None:
    """Reading gives records that can be written, or the one sentence why not; each line is accounted for."""
    try:
        imported = read(text.splitlines(keepends=True))
    except ImportFailed as failed:
        assert str(failed).endswith(".")
        return
    tally = imported.tally
    assert tally.lines == tally.understood + tally.ignored + tally.not_understood
    assert stretches(imported)
