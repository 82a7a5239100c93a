"""What can be exported in which form, and how a file is called that nobody has named."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, get_args

Form = Literal["svg", "png", "md", "csv", "json", "html", "trace", "session"]
FORMS: tuple[Form, ...] = get_args(Form)
PICTURES: tuple[Form, ...] = ("svg", "png")
TEXTS: tuple[Form, ...] = ("md", "csv", "json")
DASHBOARD, LEDGER, REPORT, EVENTS = "dashboard", "ledger", "report", "events"
SUFFIX_BY_FORM: dict[Form, str] = {
    "svg": ".svg",
    "png": ".png",
    "md": ".md",
    "csv": ".csv",
    "json": ".json",
    "html": ".html",
    "trace": ".trace.json",
    "session": ".specview.jsonl",
}
WORDS_BY_FORM: dict[Form, str] = {
    "svg": "SVG picture, its font inside",
    "png": "PNG picture",
    "md": "Markdown",
    "csv": "CSV, raw numbers",
    "json": "JSON, raw numbers",
    "html": "HTML, one file with the plots",
    "trace": "Chrome trace, for Perfetto",
    "session": "session file without texts",
}
SESSION_SUFFIX = ".specview.jsonl"
LONGEST_STEM = 80
ENDINGS = tuple(sorted(SUFFIX_BY_FORM.values(), key=len, reverse=True))


def usual_screen(form: Form) -> str:
    """What a form shows where nothing else is asked for."""
    if form in PICTURES:
        return DASHBOARD
    if form in TEXTS:
        return LEDGER
    return EVENTS if form == "trace" else REPORT


def forms_of(screen: str) -> tuple[Form, ...]:
    """The forms that a screen, or a whole session by one of the names above, can take."""
    if screen == REPORT:
        return ("html", "md", "json")
    if screen == EVENTS:
        return ("csv", "trace")
    return (*PICTURES, *TEXTS)


def stem_of(session_name: str | None) -> str:
    """The name of a session without its ending, in characters that every system takes."""
    name = "specview" if session_name is None else session_name.removesuffix(SESSION_SUFFIX)
    return re.sub(r"[^\w.-]+", "-", name)[:LONGEST_STEM].strip("-.") or "specview"


def suggested_name(session_name: str | None, screen: str, form: Form, size: tuple[int, int] | None = None) -> str:
    """`NAME-SCREEN.ending`; a picture says its size too, a redacted session that it is one."""
    stem = stem_of(session_name)
    if form == "session":
        return f"{stem}-redacted{SUFFIX_BY_FORM[form]}"
    what = "" if form == "trace" else f"-{screen}"
    sized = f"-{size[0]}x{size[1]}" if size is not None and form in PICTURES else ""
    return f"{stem}{what}{sized}{SUFFIX_BY_FORM[form]}"


def free_name(name: str, taken: Callable[[str], bool]) -> str:
    """The name, or with a number before its ending the first one that is not taken."""
    ending = next((each for each in ENDINGS if name.endswith(each)), "")
    if not ending and "." in name.lstrip("."):
        ending = f".{name.rsplit('.', 1)[1]}"
    stem = name.removesuffix(ending)
    number, free = 2, name
    while taken(free):
        free, number = f"{stem}-{number}{ending}", number + 1
    return free
