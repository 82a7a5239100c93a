"""A session as a Chrome trace, event by event: rounds with their phases, plain steps, probes, counters, guards.

The form is the trace event format's JSON object with `traceEvents`; Perfetto and chrome://tracing open it. Times are
microseconds with three decimals, written from whole nanoseconds. An event's record says when it ended; on one track no
event begins before the one before it has ended, so that where clocks overlap (a pipelined step is submitted before the
last one is read) an event moves later, and keeps its length.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from ...profilers.record.records import Guard, Memory, Note, Probe, Round, Run, Step
from ...profilers.record.session import Session
from .document import one_line

PROCESS = 1
FREE, SPLIT, LOOP, PLAIN, PROBES, BATCHES, MARKS = 1, 2, 3, 4, 5, 6, 7
TRACK_NAMES = {
    FREE: "rounds, free",
    SPLIT: "rounds, split: draft, verify, rest",
    LOOP: "rounds without drafts (k = 0)",
    PLAIN: "plain steps",
    PROBES: "probes",
    BATCHES: "probes of several sequences",
    MARKS: "guards and notes",
}
TRACK_BY_ARM = {"drafting": FREE, "split": SPLIT, "k0": LOOP, "plain": PLAIN}
WINDOW = 32  # rounds that the acceptance counter looks back on
ORIGIN = "specview"


def trace_lines(session: Session, name: str) -> Iterator[str]:
    """The pieces of the file in order; no more than one event is held at a time, however long the session is."""
    yield '{"displayTimeUnit":"ms","otherData":' + _json(_about(session, name)) + ',"traceEvents":[\n'
    first = True
    for event in _events(session, name):
        yield event if first else f",\n{event}"
        first = False
    yield "\n]}\n"


def _about(session: Session, name: str) -> dict[str, str]:
    header = session.header
    return {
        "session": one_line(name),
        "written by": f"specview {one_line(header.specview)}",
        "model": one_line(header.model.id),
        "plan": one_line(header.plan),
        "times": "Lengths are as recorded. Places are ends of events, moved later where events of a track overlap.",
    }


def _events(session: Session, name: str) -> Iterator[str]:
    yield from _names(session, name)
    runs = {run.run: run for run in session.runs}
    yield from _rounds(session.rounds, runs)
    yield from _steps(session.steps, runs)
    yield from _probes(session.probes, PROBES)
    yield from _probes(session.batch_probes, BATCHES)
    for memory in session.memory:
        yield _memory(memory)
    yield from map(_mark, session.guards)
    yield from map(_mark, session.notes)


def _names(session: Session, name: str) -> Iterator[str]:
    yield _json(
        {
            "ph": "M",
            "name": "process_name",
            "pid": PROCESS,
            "tid": 0,
            "ts": 0,
            "args": {"name": f"{one_line(session.header.model.id)} · {one_line(name)}"},
        }
    )
    arms = {run.arm for run in session.runs}
    held: dict[int, object] = {
        FREE: "drafting" in arms or (session.rounds and not arms - {"plain"}),
        SPLIT: "split" in arms,
        LOOP: "k0" in arms,
        PLAIN: session.steps,
        PROBES: session.probes,
        BATCHES: session.batch_probes,
        MARKS: session.guards or session.notes,
    }
    for track, title in TRACK_NAMES.items():
        if not held[track]:
            continue
        for kind, value in (("thread_name", {"name": title}), ("thread_sort_index", {"sort_index": track})):
            yield _json({"ph": "M", "name": kind, "pid": PROCESS, "tid": track, "ts": 0, "args": value})


# ------------------------------------------------------------------ rounds and steps


def _rounds(rounds: Sequence[Round], runs: Mapping[int, Run]) -> Iterator[str]:
    ends = dict.fromkeys(TRACK_NAMES, 0)
    recent: list[tuple[int, int]] = []
    for each in rounds:
        run = runs.get(each.run)
        track = FREE if run is None else TRACK_BY_ARM[run.arm]
        if track == PLAIN:
            track = FREE
        begin = max(each.t_ns - each.round_ns, ends[track])
        ends[track] = begin + each.round_ns
        args = {**_of_run(each.run, run), **_of_round(each)}
        yield _slice(f"round {each.accepted}/{each.drafted}", "round", track, begin, each.round_ns, args)
        yield from _phases(each, track, begin)
        if not each.warm_up and each.drafted:
            recent = [*recent[1 - WINDOW :], (each.drafted, each.accepted)]
            share = sum(kept for _, kept in recent) / sum(drafted for drafted, _ in recent)
            series = {"accepted ÷ drafted": round(share, 4)}
            yield _counter(f"acceptance, last {WINDOW} rounds", begin + each.round_ns, series)


def _phases(each: Round, track: int, begin_ns: int) -> Iterator[str]:
    """Draft, verify and rest one after the other inside their round; whatever a file says, none leaves it."""
    end_ns, at_ns = begin_ns + each.round_ns, begin_ns
    for name, length in (("draft", each.draft_ns), ("verify", each.verify_ns), ("rest", each.rest_ns)):
        if length is None:
            continue
        length = min(length, end_ns - at_ns)
        args = {"positions": each.width} if name == "verify" else {}
        if name == "draft" and each.catch_up_width is not None:
            args = {"first step, positions": each.catch_up_width}
        yield _slice(name, "phase", track, at_ns, length, args)
        if name == "rest" and each.rewind_ns is not None:
            inside = min(each.rewind_ns, length)
            yield _slice("rewind", "phase", track, at_ns, inside, {"place within rest": "not recorded"})
        at_ns += length


def _of_round(each: Round) -> dict[str, Any]:
    found: dict[str, Any] = {
        "drafted": each.drafted,
        "accepted": each.accepted,
        "tokens": each.tokens,
        "context": each.context,
        "segment": each.segment,
        "ended_ns": each.t_ns,
    }
    return {**found, "warm_up": True} if each.warm_up else found


def _of_run(number: int, run: Run | None) -> dict[str, Any]:
    if run is None:
        return {"run": number}
    return {
        "run": number,
        "drafter": one_line(run.drafter),
        "k": run.k,
        "prompt": f"{one_line(run.prompt.kind)} {run.prompt.index}",
    }


def _steps(steps: Sequence[Step], runs: Mapping[int, Run]) -> Iterator[str]:
    end_ns = 0
    for each in steps:
        begin = max(each.t_ns - each.step_ns, end_ns)
        end_ns = begin + each.step_ns
        run = runs.get(each.run)
        args: dict[str, Any] = {
            "run": each.run,
            "prompt": "" if run is None else f"{one_line(run.prompt.kind)} {run.prompt.index}",
            "tokens": each.tokens,
            "context": each.context,
            "pipelined": each.pipelined,
            "ended_ns": each.t_ns,
        }
        yield _slice("step", "step", PLAIN, begin, each.step_ns, {**args, "warm_up": True} if each.warm_up else args)


# ------------------------------------------------------------------ probes


def _probes(probes: Sequence[Probe], track: int) -> Iterator[str]:
    """Samples of a probe one after the other, up to when it was written; a slope is no stretch of time, so a mark."""
    end_ns = 0
    for t_ns, together in groupby(probes, key=lambda probe: probe.t_ns):
        held = list(together)
        begin = max(t_ns - sum(_length(probe) for probe in held), end_ns)
        for probe in held:
            length = _length(probe)
            args = _of_probe(probe)
            if probe.samples_ns:
                yield _slice(_probe_name(probe), "probe", track, begin, length, args)
                at_ns = begin
                for i, sample in enumerate(probe.samples_ns if len(probe.samples_ns) > 1 else ()):
                    yield _slice(f"pass {i + 1}", "probe", track, at_ns, sample, {})
                    at_ns += sample
            else:
                yield _instant(_probe_name(probe), "probe", track, max(t_ns, end_ns), args)
            begin += length
        end_ns = begin


def _length(probe: Probe) -> int:
    return sum(probe.samples_ns or ())


def _probe_name(probe: Probe) -> str:
    what = probe.block or probe.part
    return one_line(f"{what} ({probe.width}) {probe.ruler}")


def _of_probe(probe: Probe) -> dict[str, Any]:
    named = {
        "part": probe.part,
        "category": probe.category,
        "detail": probe.detail,
        "layers": probe.layers,
        "context": probe.context,
        "arrangement": probe.arrangement,
        "slope_ms": None if probe.slope_ns is None else round(probe.slope_ns / 1e6, 6),
        "run": probe.run,
    }
    return {key: one_line(v) if isinstance(v, str) else v for key, v in named.items() if v is not None}


# ------------------------------------------------------------------ counters and marks


def _memory(memory: Memory) -> str:
    series = {"active": memory.active_bytes / 1e6, "cache": memory.cache_bytes / 1e6}
    return _counter("memory of MLX, MB", memory.t_ns, {name: round(value, 3) for name, value in series.items()})


def _mark(mark: Guard | Note) -> str:
    if isinstance(mark, Guard):
        args: dict[str, Any] = {"message": one_line(mark.message), "remedy": one_line(mark.remedy or "")}
        return _instant(f"guard: {one_line(mark.code)}", "guard", MARKS, mark.t_ns, args)
    return _instant("note", "note", MARKS, mark.t_ns, {"text": one_line(mark.text)})


def _slice(name: str, category: str, track: int, begin_ns: int, length_ns: int, args: Mapping[str, Any]) -> str:
    return (
        f'{{"ph":"X","name":{_json(name)},"cat":"{category}","pid":{PROCESS},"tid":{track},'
        f'"ts":{_us(begin_ns)},"dur":{_us(length_ns)},"args":{_json(args)}}}'
    )


def _instant(name: str, category: str, track: int, at_ns: int, args: Mapping[str, Any]) -> str:
    return (
        f'{{"ph":"i","s":"t","name":{_json(name)},"cat":"{category}","pid":{PROCESS},"tid":{track},'
        f'"ts":{_us(at_ns)},"args":{_json(args)}}}'
    )


def _counter(name: str, at_ns: int, series: Mapping[str, float]) -> str:
    return f'{{"ph":"C","name":{_json(name)},"pid":{PROCESS},"tid":0,"ts":{_us(at_ns)},"args":{_json(series)}}}'


def _us(ns: int) -> str:
    """Nanoseconds as microseconds, exactly."""
    whole, rest = divmod(ns, 1000)
    return f"{whole}.{rest:03d}" if rest else str(whole)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
