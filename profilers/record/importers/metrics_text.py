"""Metrics texts of a server, looked at once or several times, as what was counted in between."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from .counter_differences import Reset
from .findings import Findings
from .imported import Imported, ImportFailed, Tally
from .log_clock import LONGEST_S
from .prometheus import (
    Engine,
    EngineCounters,
    Key,
    Sample,
    counted_between,
    counters_of,
    cumulative,
    is_metric,
    matters,
    samples_of_line,
)
from .served_counters import counters_from
from .stretches import Stretches
from .written_numbers import LINE_CHARACTERS, plain_line

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(\.\d{1,6})?")
_UNIX_TIME = re.compile(r"^\W*(?:t=|time[=:]\s*|ts[=:]\s*)?(1\d{9}(?:\.\d+)?|1\d{12})\W*$")
_FAMILY = re.compile(r"^# (?:HELP|TYPE) (\S+)")
# metrics that sound like drafting and are not known must not vanish
_LIKE_DRAFTING = re.compile(r"spec|draft|accept", re.IGNORECASE)
_KNOWN_NOISE = re.compile(r"_(?:bucket|created)$|num_draft_tokens_per_pos")


@dataclass(slots=True)
class Snapshot:
    """One look at the counters: samples by key, and when it was taken in Unix seconds, if that is known."""

    samples: dict[Key, Sample] = field(default_factory=dict)
    families: set[str] = field(default_factory=set)
    time_s: float | None = None


def snapshots_in(lines: Iterable[str], engine: Engine, tally: Tally, findings: Findings) -> Iterator[Snapshot]:
    """Yield the looks a text holds: a new one begins where a sample, or its heading, comes a second time.

    A line with a date or a Unix time between two looks says when the next one was taken.
    """
    now, last = Snapshot(), None
    prefix = "llamacpp" if engine == "llama.cpp" else engine
    for raw in lines:
        if len(raw) > LINE_CHARACTERS:
            tally.puzzle(raw[:LINE_CHARACTERS])
            continue
        line = plain_line(raw).strip().removeprefix("\ufeff")
        if not is_metric(line):
            heading = _FAMILY.match(line)
            if heading and prefix in heading[1]:
                if heading[0] in now.families and now.samples:
                    yield now
                    now = Snapshot()
                now.families.add(heading[0])
            elif not heading and (time_s := _time_in(line)) is not None:
                if now.samples:
                    yield now
                now = Snapshot(time_s=time_s)
            tally.ignore()
            continue
        samples = samples_of_line(line)
        if samples is None:
            tally.puzzle(line)
            continue
        for sample in samples:
            if not matters(sample) or not sample.name.startswith(f"{prefix}:"):
                if _LIKE_DRAFTING.search(sample.name) and not _KNOWN_NOISE.search(sample.name):
                    tally.puzzle(line)
                else:
                    tally.ignore()
                continue
            if sample.key in now.samples:
                if now.samples[sample.key] == sample == last:
                    # the same line twice says nothing new
                    tally.ignore()
                    continue
                yield now
                now = Snapshot()
            now.samples[sample.key] = last = sample
            now.time_s = now.time_s if sample.time_s is None else sample.time_s
            tally.understand()
    if now.samples:
        yield now


def read_metrics(lines: Iterable[str], *, engine: Engine, form: str) -> Imported:
    """Return what an engine counted: since its start for one look, between neighbouring looks for several."""
    tally, findings, stretches = Tally(), Findings(), Stretches()
    before: Snapshot | None = None
    first_s: float | None = None
    looks, last, t_ns = 0, None, 0
    for snapshot in snapshots_in(lines, engine, tally, findings):
        looks += 1
        if first_s is None:
            first_s = snapshot.time_s
        if first_s is not None and snapshot.time_s is not None and snapshot.time_s - first_s < LONGEST_S:
            t_ns = max(t_ns, round((snapshot.time_s - first_s) * 1e9))
        samples = tuple(snapshot.samples.values())
        last = counters_of(samples, engine)
        if before is not None:
            counted = counted_between(before.samples.values(), samples, engine)
            missing = cumulative(before.samples.values(), engine).keys() - cumulative(samples, engine).keys()
            if missing:
                name = min(missing)[0]
                findings.note(
                    "cut_off", f"A later look lacks {name}, which an earlier one has: it may be cut off, save it again."
                )
            seconds = _seconds_between(before, snapshot)
            if isinstance(counted, Reset):
                findings.note(
                    "restart",
                    f"The server was restarted between two looks ({counted.keys[0][0]} fell): the later look counts "
                    "from that start, warm-up included.",
                )
                stretches.add(counters_from(last, t_ns, None, findings))
            elif cumulative(samples, engine) != cumulative(before.samples.values(), engine):
                stretches.add(counters_from(counted, t_ns, seconds, findings))
        before = snapshot
    if last is None:
        raise ImportFailed(
            f"No counter of {engine} is in this text; save the server's /metrics page while it runs and import that."
        )
    if looks == 1:
        findings.note(
            "warm_up",
            "These are totals since the server's start, warm-up included; save /metrics twice, before and after the "
            "work of interest, and import both in that order to get what was counted in between.",
        )
        stretches.add(counters_from(last, t_ns, None, findings))
    elif not stretches.all():
        findings.note("idle", "Nothing was counted between the looks: the server was idle.")
    _about_source(last, stretches, findings)
    counters = stretches.all()
    return Imported(
        engine=engine,
        form=form,
        records=(*counters, *findings.notes(t_ns)),
        tally=tally,
        model=", ".join(last.models) or None,
        k=next((one.k for one in counters if one.k), None),
    )


def _about_source(last: EngineCounters, stretches: Stretches, findings: Findings) -> None:
    if last.workers > 1:
        findings.note("added_up", f"The counters of {last.workers} engines were added up.")
    if len(last.models) > 1:
        findings.note("mixed", f"The counters of {len(last.models)} models were added up: {', '.join(last.models)}.")
    if stretches.merged:
        findings.note("merged", "There were so many stretches that neighbours which are alike were merged.")
    if stretches.dropped:
        findings.note("merged", f"{stretches.dropped:,} stretches, too many of different kinds, were left out.")


def _seconds_between(before: Snapshot, after: Snapshot) -> float | None:
    if before.time_s is None or after.time_s is None:
        return None
    seconds = after.time_s - before.time_s
    return seconds if 0 < seconds < LONGEST_S else None


def _time_in(line: str) -> float | None:
    unix = _UNIX_TIME.match(line)
    if unix:
        return float(unix[1]) / (1000 if len(unix[1]) == 13 else 1)
    date = _DATE.search(line)
    if not date:
        return None
    year, month, day, hour, minute, second = (int(part) for part in date.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return moment.timestamp() + float(date[7] or 0)
