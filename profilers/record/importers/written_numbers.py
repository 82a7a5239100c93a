"""Numbers as programs write them in any locale: decimal commas, thousands separators, other languages' digits."""

from __future__ import annotations

import re
import unicodedata
from math import isfinite

LINE_CHARACTERS = 64 * 1024
LARGEST_COUNT = 10**15
LARGEST_NUMBER = 1e15

# One number: groups joined by single separators, so that a comma before a space ends it.
NUMBER = r"\d+(?:[.,'’\u00a0\u202f]\d+)*(?:[eE][-+]?\d+)?"

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_SEPARATORS = {0x066B: ".", 0x066C: ",", 0xFF0E: ".", 0xFF0C: ","}
_BETWEEN_THOUSANDS = re.compile(r"['’\u00a0\u202f]")
_COMMAS_BETWEEN_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?")


def plain_line(line: str) -> str:
    """The line without colours and its end, every decimal digit of any script as 0 to 9."""
    line = line.rstrip("\r\n")
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    if line.isascii():
        return line
    return "".join(
        _SEPARATORS.get(ord(c)) or (str(unicodedata.decimal(c)) if not c.isascii() and c.isdecimal() else c)
        for c in line
    )


def number(text: str) -> float | None:
    """The number that was written, a single comma being a decimal one; None if it is none, negative or absurd."""
    text = _BETWEEN_THOUSANDS.sub("", text.strip())
    point, comma = text.rfind("."), text.rfind(",")
    if point >= 0 and comma >= 0:
        text = text.replace("," if point > comma else ".", "")
    elif text.count(",") > 1 or text.count(".") > 1:
        text = text.replace(",", "").replace(".", "")
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if isfinite(value) and 0 <= value <= LARGEST_NUMBER else None


def number_with_point(text: str) -> float | None:
    """The number that was written with a decimal point, commas standing between thousands only; else None."""
    if "," in text:
        if not _COMMAS_BETWEEN_THOUSANDS.fullmatch(text.strip()):
            return None
        text = text.replace(",", "")
    return number(text)


def whole(text: str) -> int | None:
    """The count that was written, a separator before three last digits being one of thousands; else None.

    No count begins with 0 and a separator: 0.500 is half of one.
    """
    text = text.strip()
    if re.fullmatch(r"[1-9]\d{0,2}(?:[.,'’\u00a0\u202f]\d{3})+", text):
        text = re.sub(r"\D", "", text)
    value = number(text)
    return int(value) if value is not None and value == int(value) and value <= LARGEST_COUNT else None


def nanoseconds(value: float | None, unit_ns: float) -> int | None:
    """A time in whole nanoseconds, None for none and for what no clock would show."""
    if value is None or not 0 < value * unit_ns < 2**62:
        return None
    return round(value * unit_ns)
