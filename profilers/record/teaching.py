"""What an adaptive drafter learns of costs from the records of its own recording: a mean a width, as they come."""

from __future__ import annotations

from statistics import fmean

from ...engine.drafters.adaptive import AdaptiveDrafter
from . import records

Manner = tuple[str | None, str | None]


def teach(drafter: AdaptiveDrafter, record: records.Record, manner: Manner = (None, None)) -> None:
    """Hand on what a probe or a split round cost; anything else says nothing about costs.

    Of verify passes only those made and read in the rounds' own manner, `policy` and `rule` as probes name them.
    """
    if isinstance(record, records.Probe) and record.ruler == "whole" and record.samples_ns and not record.of_many:
        mean_by_width = {record.width: fmean(record.samples_ns)}
        if record.part == "verify" and (record.policy, record.rule) == manner:
            drafter.learn(verify_ns_by_width=mean_by_width)
        elif record.part == "draft":
            drafter.learn(step_ns_by_width=mean_by_width)
    elif isinstance(record, records.Round) and record.rest_ns is not None and not record.warm_up:
        drafter.learn(rest_ns=float(record.rest_ns))
