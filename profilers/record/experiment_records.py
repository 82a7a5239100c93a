"""The record of one visit to a process of an experiment."""

from __future__ import annotations

from ..measure.experiments import ExperimentArm
from . import records


def experiment_record(arm: ExperimentArm) -> records.Experiment:
    """The visit as the session keeps it."""
    return records.Experiment(
        t_ns=arm.t_ns,
        name=arm.name,
        arm=arm.arm,
        control=arm.control,
        width=arm.width,
        context=arm.context,
        samples_ns=arm.samples_ns,
        peak_bytes=arm.peak_bytes,
        cache_bytes=arm.cache_bytes,
        detail=arm.detail,
    )
