"""In which manner a verify pass was made and read: passes of different manners are no samples of one T_verify.

A policy decides how many passes there are and over which weights, an acceptance rule what is computed from their
logits, quantised keys and values what attention reads. No MLX here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..record.records import Probe, Run
from ..record.session import Session
from .visits import Setting

ONE_PASS = "one pass"
REJECTION = "rejection sampling"


@dataclass(frozen=True, slots=True)
class Manner:
    """What must be alike for verify passes to be pooled; None is one pass, greedy choice, and keys as computed.

    `drawn` are temperature, top-p, top-k and min-p where a rule draws; `drafter` counts only under rejection sampling,
    which reads the distributions that drafts were drawn from.
    """

    policy: str | None = None
    rule: str | None = None
    drawn: tuple[float, float, int, float] | None = None
    drafter: str | None = None
    kv_bits: int | None = None
    kv_start: int | None = None


USUAL = Manner()


def manner_of(setting: Setting | Run) -> Manner:
    """How rounds of a setting make and read their verify passes."""
    policy = None if setting.policy == ONE_PASS else setting.policy
    if setting.temperature <= 0:
        return Manner(policy=policy, kv_bits=setting.kv_bits, kv_start=setting.kv_start)
    drawn = (setting.temperature, setting.top_p, setting.top_k or 0, setting.min_p or 0.0)
    drafter = setting.drafter if setting.rule == REJECTION else None
    return Manner(policy, setting.rule, drawn, drafter, setting.kv_bits, setting.kv_start)


def loop_manner(session: Session) -> Manner:
    """That of the drafting that a session did last; the usual one where it did none."""
    last = next((run for run in reversed(session.runs) if run.arm != "plain"), None)
    return USUAL if last is None else manner_of(last)


class Manners:
    """Tells the manner of a session's probes, which name their run."""

    def __init__(self, session: Session) -> None:
        self._runs: Mapping[int, Run] = {run.run: run for run in session.runs}

    def of(self, probe: Probe) -> Manner:
        """How a whole pass was made and read; what a probe does not say is the usual."""
        run = None if probe.run is None else self._runs.get(probe.run)
        if run is None:
            return Manner(policy=probe.policy, rule=probe.rule)
        of_run = manner_of(run)
        if probe.rule is None:  # a greedy choice, whatever its run drew
            return Manner(policy=probe.policy, kv_bits=of_run.kv_bits, kv_start=of_run.kv_start)
        return Manner(probe.policy, probe.rule, of_run.drawn, of_run.drafter, of_run.kv_bits, of_run.kv_start)


def is_usual(probe: Probe) -> bool:
    """Whether a whole pass was made in one go and read greedily, as those are whose blocks are timed."""
    return probe.policy is None and probe.rule is None
