"""A session whose every text tries to be something else: markup, a script, a formula, a terminal escape."""

from __future__ import annotations

from dataclasses import replace

from session_builder import CASES, lines_of

from specview.profilers.record import records as r
from specview.profilers.record.session import Session, SessionReader

SCRIPT = "</script></title></style><script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)>"
FORMULA = "=HYPERLINK(1)"
ESCAPE = "\x1b[31mred\x1b]52;c;aGk=\x07"
MARKDOWN = "[link](http://evil.example) | **bold** `code`"
HOSTILE = f"{SCRIPT} {MARKDOWN} {ESCAPE} [bold red]x[/]"


def hostile_records() -> tuple[r.Record, ...]:
    """A whole recording with such texts in header, runs, guards and notes."""
    made: list[r.Record] = []
    for record in CASES["wins"]:
        if isinstance(record, r.Header):
            environment = replace(record.environment, chip=HOSTILE, blas=FORMULA)
            model = replace(record.model, id=HOSTILE, architecture=SCRIPT)
            record = replace(record, plan=HOSTILE, model=model, environment=environment)
        elif isinstance(record, r.Run) and record.arm != "plain":
            record = replace(record, drafter=f"{FORMULA} {SCRIPT}")
        made.append(record)
    footer = made.pop() if isinstance(made[-1], r.Footer) else None
    made += [
        r.Guard(t_ns=10, code=FORMULA, message=HOSTILE, remedy=SCRIPT),
        r.Note(t_ns=20, text=HOSTILE),
        r.Note(t_ns=30, text=FORMULA),
    ]
    return (*made, *([footer] if footer is not None else []))


def hostile_session() -> Session:
    """The same as it is read back."""
    reader = SessionReader("hostile")
    reader.feed(lines_of(hostile_records()))
    return reader.session()
