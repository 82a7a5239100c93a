"""mlx-dspark: the rounds that its server streams (`GET /events`), and the JSON of its benchmark."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..records import Counters, Round
from .imported import Imported, Importer
from .model_names import name_without_path
from .object_fields import Fields
from .object_source import ObjectSource, brief, objects_in
from .rounds_kept import RoundsKept

ENGINE = "mlx-dspark"
EVENTS = "mlx-dspark events"
BENCHMARK = "mlx-dspark benchmark"

_EVENT_FIELDS = frozenset(
    {
        "req",
        "mode",
        "i",
        "drafted",
        "accepted",
        "committed",
        "cap",
        "source",
        "ms",
        "seq",
        "t",
    }
)
_RUN_FIELDS = frozenset(
    {
        "run",
        "tok_s",
        "decode_tok_s",
        "accept",
        "per_prompt",
        "prompt",
    }
)
_TELLING = re.compile(r"accept|draft|commit|cap|_ms|_s$|round|verify")
_PLAIN = re.compile(r"base|plain|vanilla|autoregressive|\bar\b|\bnone\b|\boff\b|no[-_ ]?(?:spec|draft)", re.IGNORECASE)
_RECENT = 8192


def likely_events(head: str) -> float:
    """Whether the head of a text is a stream of rounds."""
    names = ('"drafted"', '"accepted"', '"committed"', '"seq"', '"req"')
    return 0.95 if all(name in head for name in names) else 0.0


def likely_benchmark(head: str) -> float:
    """Whether the head of a text is a benchmark's result."""
    names = ('"runs"', '"decode_tok_s"', '"accept"')
    return 0.85 if all(name in head for name in names) else 0.0


@dataclass(slots=True)
class _Sequence:
    """The server's numbers of its rounds: those seen twice (overlapping looks), and how many are missing."""

    last: int | None = None
    missing: int = 0
    restarts: int = 0
    _recent: OrderedDict[int, str] = field(default_factory=OrderedDict)

    def is_new(self, number: int | None, event: dict[str, Any]) -> bool:
        if number is None:
            return True
        text = json.dumps(event, sort_keys=True, default=str)
        if self._recent.get(number) == text:
            return False
        if self.last is not None and number <= self.last:
            self.restarts += 1
            self._recent.clear()
        elif self.last is not None:
            self.missing += number - self.last - 1
        self.last = number
        self._recent[number] = text
        if len(self._recent) > _RECENT:
            self._recent.popitem(last=False)
        return True


def read_events(lines: Iterable[str]) -> Imported:
    """Read one JSON object a round, of any number of interleaved requests; `ms` is the whole round.

    The first round of a request holds its prompt and counts as warm-up. `committed` counts the bonus token.
    """
    source = ObjectSource(ENGINE, EVENTS)
    rounds, sequence = RoundsKept(ENGINE), _Sequence()
    for value in source.documents(lines):
        for _, event in objects_in(value):
            if not {"drafted", "accepted", "committed"} <= event.keys():
                if event is value and not any(isinstance(part, dict | list) for part in event.values()):
                    _account(source, event)
            elif sequence.is_new(Fields(event).count("seq"), event):
                _read_event(source, rounds, event)
            else:
                source.tally.ignore()
    if sequence.missing:
        source.findings.note("gap", f"{sequence.missing:,} rounds are missing: the server drops what is not read soon.")
    if sequence.restarts:
        source.findings.note("reset", f"The numbering of the rounds began anew {sequence.restarts:,} times.")
    if rounds.count >= rounds.most:
        source.findings.note("merged", f"Only the first {rounds.most:,} rounds are kept one by one, the rest counted.")
    for counters in rounds.counted(source.t_ns):
        source.stretches.add(counters)
    return source.imported("save what its /events streams, one JSON object a line.", rounds.records())


def _account(source: ObjectSource, event: dict[str, Any]) -> None:
    """An object that is no round: half of one is a puzzle, anything else says nothing."""
    if {"drafted", "accepted", "committed"} & event.keys():
        source.tally.puzzle(brief(event))
    else:
        source.tally.ignore()


def _read_event(source: ObjectSource, rounds: RoundsKept, event: dict[str, Any]) -> None:
    fields = Fields(event)
    drafted, accepted, committed = (fields.count(name) for name in ("drafted", "accepted", "committed"))
    i, cap, ms, t = fields.count("i"), fields.count("cap"), fields.number("ms"), fields.number("t")
    if drafted is None or accepted is None or committed is None or accepted > drafted or drafted > 10**6:
        source.tally.puzzle(brief(event))
        return
    source.tally.understand()
    source.puzzle_fields(fields, _EVENT_FIELDS, _TELLING)
    if committed > accepted + 1:
        source.findings.contradict(f"A round accepted {accepted} drafts and committed {committed} tokens.")
    request = str(event.get("req", ""))[:200]
    manner = fields.text("mode") or "unknown"
    if fields.text("source") == "lookup" and "lookup" not in manner:
        # drafts of another kind, and of another cost
        manner = f"{manner}+lookup"
    t_ns = round(t * 1e6) if t is not None and t < 1e12 else source.t_ns
    source.t_ns = max(source.t_ns, t_ns)
    round_ns = round(ms * 1e6) if ms and ms < 1e12 else 0
    made = Round(
        run=0,
        i=i or 0,
        segment=0,
        t_ns=t_ns,
        context=0,
        drafted=drafted,
        accepted=accepted,
        width=drafted + 1,
        tokens=committed,
        round_ns=round_ns,
        warm_up=i == 0,
    )
    longest = cap if cap is not None and cap <= 10**6 else drafted
    rounds.add(request, manner[:200], longest, made, timed=round_ns > 0)


def read_benchmark(lines: Iterable[str]) -> Imported:
    """Read `runs`, of which `accept` is a mean length (the bonus token counted) and speeds are tokens per second."""
    source = ObjectSource(ENGINE, BENCHMARK)
    for value in source.documents(lines):
        found = False
        for _, item in objects_in(value):
            for name in ("model", "target", "target_model"):
                source.name_model(Fields(item).text(name))
            runs = item.get("runs")
            if isinstance(runs, list):
                found = True
                for run in runs:
                    _read_run(source, run)
        if not found:
            source.tally.ignore()
    return source.imported("give it the JSON that its benchmark writes, with a list of runs.")


def _read_run(source: ObjectSource, run: Any) -> None:
    if not isinstance(run, dict):
        source.tally.puzzle(brief(run))
        return
    fields = Fields(run)
    name = str(run.get("run") or "run")[:200]
    prompts = run.get("per_prompt")
    if isinstance(prompts, list) and prompts and all(isinstance(p, dict) and _has_speed(p) for p in prompts):
        for number, prompt in enumerate(prompts):
            label = prompt.get("prompt")
            label = name_without_path(label) if isinstance(label, str) else f"prompt {number + 1}"
            _read_speeds(source, Fields(prompt), name, f"{name}: {label}"[:300])
        return
    if prompts:
        source.tally.puzzle(f"per_prompt: {brief(prompts)}")
    _read_speeds(source, fields, name, name)


def _has_speed(item: dict[str, Any]) -> bool:
    fields = Fields(item)
    return bool(fields.number("decode_tok_s") or fields.number("tok_s"))


def _read_speeds(source: ObjectSource, fields: Fields, name: str, label: str) -> None:
    speed, whole, mean = fields.number("decode_tok_s"), fields.number("tok_s"), fields.number("accept")
    source.puzzle_fields(fields, _RUN_FIELDS, _TELLING)
    # what was counted overrules a name: "database" and "explain" hold the words for plain decoding too
    plain = mean is None or (mean <= 1 and bool(_PLAIN.search(name)))
    if mean is not None and mean < 1:
        source.findings.contradict(f"The mean length of {label} is {mean:g}, and no round yields less than one token.")
        mean = None
    if not speed and whole:
        speed = whole
        source.findings.note("trap", f"The speed of {label} holds the time of its prompt.")
    if not speed and mean is None:
        source.tally.puzzle(brief(fields.values))
        return
    source.keep(
        Counters(
            t_ns=0,
            arm="plain" if plain else "drafting",
            source=ENGINE,
            label=label,
            drafter=None if plain else name,
            tokens_per_second=speed or None,
            tokens_per_round=None if plain else mean,
        )
    )


IMPORTERS: tuple[Importer, ...] = (
    Importer(form=EVENTS, engine=ENGINE, likely=likely_events, read=read_events),
    Importer(form=BENCHMARK, engine=ENGINE, likely=likely_benchmark, read=read_benchmark),
)
