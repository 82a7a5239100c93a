"""The records of a comparison of verify policies: an experiment beside those of switches, and a note for each refusal.

Experiments of switches run in processes of their own; policies take turns in this one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from ...engine.decode import Generation
from ...engine.verify_policies import policies_for
from ..measure.policies import EXPERIMENT, PolicyTiming, compare_policies
from . import records


def policy_record(timing: PolicyTiming, t_ns: int) -> records.Experiment:
    """A visit as the session keeps it."""
    return records.Experiment(
        t_ns=t_ns,
        name=EXPERIMENT,
        arm=timing.policy,
        control=timing.control,
        width=timing.width,
        context=timing.context,
        samples_ns=timing.samples_ns,
        peak_bytes=timing.peak_bytes,
        cache_bytes=timing.cache_bytes,
        detail=timing.detail,
    )


def policy_records(
    generation: Generation,
    coming: Sequence[int],
    widths: Sequence[int],
    repeats: int,
    clock: Callable[[], int],
    random_source: random.Random,
    available_bytes: int | None,
    progress: Callable[[int, int], None],
) -> Iterator[records.Record]:
    """Compare all policies that the target can run, dense copies within `available_bytes`; the reasons come first."""
    tried, reasons = policies_for(generation.target, available_bytes)
    for name, reason in reasons.items():
        yield records.Note(t_ns=clock(), text=f"Policy {name!r} was not tried: {reason}", tags=("policies",))
    timings = compare_policies(
        generation, coming, widths, repeats, clock, random_source, policies=tried, progress=progress
    )
    for timing in timings:
        yield policy_record(timing, timing.t_ns)
