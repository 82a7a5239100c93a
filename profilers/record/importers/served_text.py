"""Lines of a server's log made plain, and numbers in them read whatever the locale that printed them."""

from __future__ import annotations

import re
import unicodedata
from math import isfinite

from ..codec import LARGEST

LINE_CHARACTERS = 64 * 1024

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
# separators that other locales print: Arabic decimal and thousands, full-width comma, colon, point, percent, minus
_SEPARATORS = str.maketrans("٫٬,:.%−", ".,,:.%-")
_SPACED_GROUPS = re.compile(r"^\d{1,3}(?:[ _'’\u00a0\u2009\u202f]\d{3})+(?=$|[.,])")
_GROUPS = re.compile(r"^\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*$")
_PLAIN = re.compile(r"^\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?$|^\.\d+(?:[eE][+-]?\d{1,3})?$")


def plain_line(line: str) -> str | None:
    """Return a line without line ends, colours and controls, its digits ASCII; None if it is too long to be a line."""
    if len(line) > LINE_CHARACTERS:
        return None
    line = line.rstrip("\r\n")
    if line.isascii():
        return _CONTROLS.sub("", _ESCAPES.sub("", line)) if not line.isprintable() else line
    line = _CONTROLS.sub("", _ESCAPES.sub("", line)).translate(_SEPARATORS)
    return "".join(str(unicodedata.decimal(one)) if one.isdecimal() else one for one in line)


def number_in(text: str, decimals: int) -> float | None:
    """Return the number of a text that was printed with `decimals` decimals, None if there is no usable one.

    A comma or point before exactly that many last digits is the decimal one; else groups of three are thousands.
    NaN, infinity, negative numbers and numbers beyond 64 bits are not usable.
    """
    text = text.strip().rstrip("%").rstrip().strip("\"'")
    spaced = _SPACED_GROUPS.match(text)
    if spaced:
        text = re.sub(r"\D", "", spaced.group()) + text[spaced.end() :]
    comma, point = text.rfind(","), text.rfind(".")
    if comma >= 0 and point >= 0:
        decimal, group = (",", ".") if comma > point else (".", ",")
        text = text.replace(group, "").replace(decimal, ".")
    elif comma >= 0:
        fraction = len(text) - comma - 1
        many = text.count(",") > 1
        grouped = _GROUPS.match(text) is not None and not text.startswith("0")
        text = text.replace(",", "" if many or (grouped and fraction != decimals) else ".")
    elif text.count(".") > 1 or (decimals == 0 and point >= 0 and _GROUPS.match(text) and not text.startswith("0")):
        text = text.replace(".", "") if _GROUPS.match(text) else text
    if not _PLAIN.match(text):
        return None
    number = float(text)
    return number if isfinite(number) and number <= LARGEST else None


def count_in(text: str) -> int | None:
    """Return a whole number of a text, None if there is no usable one."""
    number = number_in(text, 0)
    return int(number) if number is not None and number == int(number) and number < LARGEST else None


def name_without_path(name: str) -> str:
    """Return a model's name; of a path on somebody's disk only the last part, because paths are never kept."""
    name = name.strip().strip("\"'")
    if re.match(r"^(?:[/~.\\]|[A-Za-z]:[\\/])", name):
        name = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    return name[:200]
