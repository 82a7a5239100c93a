"""mlx-lm: the lines that `mlx_lm.benchmark` prints, and tokens one a line, as docs/own-loop.md shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..codec import LARGEST
from ..records import Counters, Round
from .imported import Imported, Importer
from .object_fields import Fields
from .object_source import ObjectSource, accepted_by_position, brief, objects_in
from .rounds_kept import RoundsKept
from .written_numbers import LINE_CHARACTERS, number, plain_line, whole

ENGINE = "mlx-lm"
BENCHMARK = "mlx-lm benchmark"
STREAM = "mlx-lm stream"

_TRIAL = re.compile(r"\bTrial\s+(\d+)\s*:(.*)")
_AVERAGES = re.compile(r"\bAverages\s*:(.*)")
_TIMING = re.compile(r"\bTiming with\b(.*)")
_PAIR = re.compile(r"(\w+)\s*=\s*(\S+?)(?:,(?=\s|$)|\.?(?=\s|$)|$)")
_KNOWN_PAIRS = frozenset(
    {
        "prompt_tps",
        "generation_tps",
        "peak_memory",
        "total_time",
    }
)
_FIGURES = re.compile(r"generation_tps|tokens-per-sec|prompt_tps")
_TOKEN_FIELDS = frozenset(
    {
        "token",
        "from_draft",
        "t",
        "k",
        "request",
        "arm",
        "text",
    }
)
_TELLING = re.compile(r"draft|accept|_tps$|^k$|num_")


def likely_benchmark(head: str) -> float:
    """Whether the head of a text is a benchmark's output."""
    return 0.95 if re.search(r"(?:Trial\s+\d+|Averages)\s*:.*generation_tps=", head) else 0.0


def likely_stream(head: str) -> float:
    """Whether the head of a text is a stream of tokens."""
    return 0.9 if '"from_draft"' in head and '"token"' in head else 0.0


@dataclass(slots=True)
class _Batch:
    """One run of the benchmark: what it said it would time, and the speeds of its trials."""

    number: int = 0
    tokens: int | None = None
    batch: int | None = None
    speeds: list[float] = field(default_factory=list)


def read_benchmark(lines: Iterable[str]) -> Imported:
    """Read the trials as stretches of plain decoding, prompt processing left out; averages only where trials lack."""
    source, current = ObjectSource(ENGINE, BENCHMARK), _Batch()
    for line in lines:
        plain = plain_line(line[: LINE_CHARACTERS + 1])
        if len(plain) > LINE_CHARACTERS:
            source.tally.puzzle(plain)
        elif found := _TIMING.search(plain):
            pairs = dict(_PAIR.findall(found.group(1)))
            tokens, batch = (whole(pairs.get(name, "")) for name in ("generation_tokens", "batch_size"))
            current = _Batch(current.number + 1, tokens, batch)
            if tokens is None or batch is None:
                source.tally.puzzle(plain)
            else:
                source.tally.understand()
        elif found := _TRIAL.search(plain):
            _read_trial(source, current, plain, f"trial {found.group(1)[:9]}", found.group(2))
        elif found := _AVERAGES.search(plain):
            _read_averages(source, current, plain, found.group(1))
        elif _FIGURES.search(plain):
            source.tally.puzzle(plain)
        else:
            source.tally.ignore()
    source.findings.note("trap", "mlx_lm.benchmark continues random tokens: its speed is that of plain decoding only.")
    return source.imported("give it the lines that mlx_lm.benchmark prints (Trial 1: …).")


def _read_trial(source: ObjectSource, current: _Batch, line: str, label: str, text: str) -> None:
    speed = _speed(source, line, text)
    if speed is None:
        return
    current.speeds.append(speed)
    if len(current.speeds) > 10_000:
        current.speeds.clear()
    if current.number > 1:
        label = f"run {current.number}, {label}"
    _keep_speed(source, current, label, speed)


def _read_averages(source: ObjectSource, current: _Batch, line: str, text: str) -> None:
    speed = _speed(source, line, text)
    if speed is None:
        return
    if not current.speeds:
        _keep_speed(source, current, "averages", speed)
        return
    source.tally.understand()
    mean = sum(current.speeds) / len(current.speeds)
    if abs(mean - speed) > 0.01 + 0.001 * mean:
        source.findings.contradict(
            f"The average is {speed:.3f} tokens per second, that of the {len(current.speeds)} trials before it "
            f"{mean:.3f}."
        )


def _speed(source: ObjectSource, line: str, text: str) -> float | None:
    pairs = dict(_PAIR.findall(text))
    for name, value in pairs.items():
        if name not in _KNOWN_PAIRS or number(value) is None:
            source.tally.puzzle(f"{name}={value}")
    speed = number(pairs.get("generation_tps", ""))
    if not speed:
        source.tally.puzzle(line)
        return None
    return speed


def _keep_speed(source: ObjectSource, current: _Batch, label: str, speed: float) -> None:
    tokens = None
    if current.tokens and current.tokens * (current.batch or 1) < LARGEST:
        tokens = current.tokens * (current.batch or 1)
    elapsed_ns = round(tokens * 1e9 / speed) if tokens else None
    if elapsed_ns is not None and not 0 < elapsed_ns <= LARGEST:
        tokens = elapsed_ns = None
    source.keep(
        Counters(
            t_ns=0,
            arm="plain",
            source=ENGINE,
            label=label,
            batch=current.batch,
            tokens=tokens,
            elapsed_ns=elapsed_ns,
            tokens_per_second=speed,
            derived=("elapsed_ns",) if elapsed_ns else (),
        )
    )


@dataclass(slots=True)
class _Stream:
    """The tokens of one request as they came: rounds end with a token that is the model's own."""

    request: str
    k: int | None
    arm: str | None
    began_s: float | None = None
    last_s: float | None = None
    drafts: int = 0
    rounds: int = 0
    tokens: int = 0
    any_draft: bool = False
    kept: Counter[int] = field(default_factory=Counter)


@dataclass(slots=True)
class _Streams:
    source: ObjectSource
    rounds: RoundsKept
    current: _Stream | None = None
    count: int = 0

    def take(self, item: dict[str, Any]) -> None:
        """One token; another request, or a clock that goes back, begins another stream."""
        fields = Fields(item)
        t, k = fields.number("t"), fields.count("k")
        request, arm, own = item.get("request"), fields.text("arm"), item.get("from_draft")
        if not isinstance(own, bool):
            self.source.tally.puzzle(brief(item))
            return
        self.source.tally.understand()
        self.source.puzzle_fields(fields, _TOKEN_FIELDS, _TELLING)
        if k is not None and k > 10**6:
            k = None
        current = self.current
        name = None if request is None else str(request)[:200]
        back = current is not None and t is not None and current.last_s is not None and t < current.last_s
        if (
            current is None
            or back
            or (name is not None and name != current.request)
            or k != current.k
            or (arm is not None and arm != current.arm)
        ):
            self.end()
            self.count += 1
            current = self.current = _Stream(name or f"request {self.count}", k, arm)
        self._token(current, from_draft=own, t=t)

    def _token(self, stream: _Stream, *, from_draft: bool, t: float | None) -> None:
        if from_draft:
            stream.any_draft = True
            stream.drafts += 1
            return
        accepted, stream.drafts = stream.drafts, 0
        first = stream.rounds == 0
        round_ns = 0
        if t is not None and stream.last_s is not None:
            round_ns = min(round((t - stream.last_s) * 1e9), LARGEST)
        if stream.k is not None and stream.arm != "plain":
            made = Round(
                run=0,
                i=stream.rounds,
                segment=0,
                t_ns=round(t * 1e9) if t is not None and t < LARGEST / 1e9 else 0,
                context=0,
                drafted=max(stream.k, accepted),
                accepted=accepted,
                width=max(stream.k, accepted) + 1,
                tokens=accepted + 1,
                round_ns=round_ns,
                warm_up=first,
            )
            if accepted > stream.k:
                self.source.findings.contradict(f"A round kept {accepted} drafts where k is {stream.k}.")
            self.rounds.add(stream.request, "model", stream.k, made, timed=round_ns > 0 or first)
        elif not first:
            # the first round holds the prompt, so it has neither a beginning nor a place in the counts
            stream.tokens += accepted + 1
            stream.kept[accepted] += 1
        stream.rounds += 1
        stream.last_s = t if t is not None else stream.last_s
        stream.began_s = stream.began_s if stream.began_s is not None else t

    def end(self) -> None:
        """Close the stream that is open; what follows its last round is no whole round and is left out."""
        stream, self.current = self.current, None
        if stream is None or not stream.tokens:
            return
        elapsed_ns = None
        if stream.began_s is not None and stream.last_s is not None:
            elapsed_ns = round((stream.last_s - stream.began_s) * 1e9)
            elapsed_ns = elapsed_ns if 0 < elapsed_ns <= LARGEST else None
        plain = stream.arm == "plain" or (stream.arm is None and not stream.any_draft)
        if plain and stream.arm is None:
            self.source.findings.note(
                "trap", "A stream without any accepted draft is taken for plain decoding: give it k, or an arm."
            )
        speed = stream.tokens * 1e9 / elapsed_ns if elapsed_ns else None
        rounds = sum(stream.kept.values())
        accepted = stream.tokens - rounds
        self.source.t_ns = min(self.source.t_ns + (elapsed_ns or 0), LARGEST)
        timed = ("tokens_per_second",) if speed else ()
        self.source.stretches.add(
            Counters(
                t_ns=self.source.t_ns,
                arm="plain" if plain else "drafting",
                source=ENGINE,
                label=stream.request,
                drafter=None if plain else "model",
                rounds=None if plain else rounds,
                accepted=None if plain else accepted,
                accepted_by_position=None if plain else accepted_by_position(stream.kept) or (0,),
                tokens=stream.tokens,
                elapsed_ns=elapsed_ns,
                tokens_per_second=speed,
                tokens_per_round=None if plain else 1 + accepted / rounds,
                derived=timed if plain else ("rounds", "accepted", "accepted_by_position", "tokens_per_round", *timed),
            )
        )


def read_stream(lines: Iterable[str]) -> Imported:
    """Read tokens one a line: rounds one by one where `k` is given, else counts of them, for drafted is not known.

    `t` is in seconds. The time of a round is that from its predecessor's last token to its own.
    """
    source = ObjectSource(ENGINE, STREAM)
    streams = _Streams(source, RoundsKept(ENGINE))
    for value in source.documents(lines):
        found = False
        for _, item in objects_in(value):
            if "from_draft" in item:
                found = True
                streams.take(item)
        if not found:
            source.tally.ignore()
    streams.end()
    for counters in streams.rounds.counted(source.t_ns):
        source.stretches.add(counters)
    return source.imported(
        "write one JSON object a token, as docs/own-loop.md shows for mlx-lm.", streams.rounds.records()
    )


IMPORTERS: tuple[Importer, ...] = (
    Importer(form=BENCHMARK, engine=ENGINE, likely=likely_benchmark, read=read_benchmark),
    Importer(form=STREAM, engine=ENGINE, likely=likely_stream, read=read_stream),
)
