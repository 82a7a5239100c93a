"""What single lines of llama.cpp's programs say, old and new builds; whatever stands before the message is skipped."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .llamacpp_request import MS_NS
from .written_numbers import NUMBER, nanoseconds, number, whole

N = f"({NUMBER})"
WHERE = re.compile(r"\bid\s+(\d+)\s*\|\s*task\s+(-?\d+)\s*\|")
EVAL = re.compile(rf"(?<!prompt )\beval time\s*=\s*{N}\s*ms\s*/\s*{N}\s*(?:tokens|runs)\b")
ACCEPTANCE = re.compile(
    rf"draft acceptance(?: rate)?\s*=\s*{N}\s*(%?)\s*\(\s*{N} accepted\s*/\s*{N} generated\)"
    rf"(?:,\s*mean len\s*=\s*{N})?"
)
BY_POSITION = re.compile(r"acc per pos\s*=\s*\(([^)]*)\)")
STATISTICS = re.compile(r"\bstatistics\s+([\w.+-]+)\s*:\s*(#.*)$")
ONE_ROUND = re.compile(r"\baccepted\s+(\d+)\s*/\s*(\d+) draft tokens")
RATES = re.compile(rf"\[\s*Prompt:\s*{NUMBER}\s*t/s\s*\|\s*Generation:\s*{N}\s*t/s\s*\]")
DECODED = re.compile(rf"\bdecoded\s+{N} tokens in\s+{N} seconds, speed:")
SUMMED = re.compile(rf"^[^=,]*?\b(n_draft|n_predict|n_drafted|n_accept|accept)\s*=\s*{N}\s*(%?)\s*$")
STARTED = re.compile(r"\bsystem_info:|\bbuild\s*[:=]\s*\d+ \(|\bbuild_info:")
DRAFTER_LOADED = re.compile(
    r"adding speculative implementation|speculative decoding (?:context|is|will)|loading draft model", re.IGNORECASE
)
MODEL_NAME = re.compile(r"general\.name\s+(?:str\s*)?=\s*(.+?)\s*$")
MODEL_FILE = re.compile(r"loading model:?\s+['\"]?(?:.*[/\\])?([^/\\'\"]+?\.gguf)", re.IGNORECASE)
DEVICE = re.compile(r"using device (\S+ \([^)]*\))")

# lines with figures that say nothing of decoding, and progress that the final figures repeat
OTHER_FIGURES = re.compile(
    r"prompt eval time|prompt processing|total time\s*=|sampl(?:e|ing|ers) time|load time|unaccounted time"
    r"|\bencoded\s+\d|\bn_gen\s*=|graphs reused|\bn_decoded\s*=|\bn_past\b"
)
LIKE_FIGURES = re.compile(
    r"draft acceptance|acc per pos|statistics\s+\S+\s*:\s*#|\beval time|#gen tokens|n_drafted\s*=|n_accept\s*="
    r"|accepted\s*/|\bdecoded\s+\S+ tokens|draft tokens|tokens per second|Generation:.*t/s|\bmean (?:acc )?len\b"
)
# most lines of a log have none of these words, and one search is cheap
WORTH_READING = re.compile(
    r"accept|eval time|print_timing|statistics|n_draft|n_predict|decoded|tokens per second|mean (?:acc )?len"
    r"|Generation:|acc per pos|#gen|draft tokens|general\.name|loading|using device|build|system_info|speculative"
)

_CALLS = re.compile(r"#calls\s*(?:\(([a-z,]+)\))?\s*=\s*(\d+(?:\s+\d+)*)")
_TIMES = re.compile(rf"dur\s*\(([a-z,]+)\)\s*=\s*({NUMBER}(?:,\s+{NUMBER})*)\s*ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """A `statistics` line of one drafter: all it did since it was made, over all requests.

    `begins` are requests, None in older builds; `calls` ask for a draft, `drafts` are those that came of it.
    """

    name: str
    begins: int | None
    calls: int
    drafts: int
    drafted: int
    accepted: int
    draft_ns: int | None


def read_statistics(name: str, text: str) -> Statistics | None:
    """The figures after `statistics NAME:`, or None where one of the counts is missing."""
    calls = _CALLS.search(text)
    drafts, drafted, accepted = (_counted(text, field) for field in (r"#gen drafts", r"#gen tokens", r"#acc tokens"))
    if calls is None or drafts is None or drafted is None or accepted is None:
        return None
    counts = dict(zip((calls[1] or "g").split(","), map(whole, calls[2].split()), strict=False))
    asked = counts.get("g")
    if asked is None:
        return None
    times = _TIMES.search(text)
    spent = None
    if times is not None:
        spent = dict(zip(times[1].split(","), re.split(r",\s+", times[2]), strict=False)).get("g")
    return Statistics(
        name=name,
        begins=counts.get("b"),
        calls=asked,
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        draft_ns=None if spent is None else nanoseconds(number(spent), MS_NS),
    )


def read_shares(text: str) -> tuple[float, ...] | None:
    """The shares between the brackets of `acc per pos`, as fractions; None if one is none."""
    found = []
    for part in re.split(r",\s+", text.strip()):
        percent = part.endswith("%")
        value = number(part.rstrip("% "))
        if value is None or value > (100 if percent else 1):
            return None
        found.append(value / 100 if percent else value)
    return tuple(found)


def _counted(text: str, field: str) -> int | None:
    found = re.search(rf"{field}\s*=\s*{N}", text)
    return None if found is None else whole(found[1])
