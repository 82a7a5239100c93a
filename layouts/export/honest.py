"""What a report does not show: the limits of a session's numbers, said from what the session itself holds."""

from __future__ import annotations

from ...profilers.record.session import Session
from .. import figures
from ..costs_only import is_costs_only
from ..synthetic import CHOSEN, is_synthetic
from ..views import Reckoning

FEW_PASSES = 4


def limits_of(session: Session, known: Reckoning, fewest_passes: int) -> tuple[str, ...]:
    """Sentences about scope, machine, sampling and what is missing; those that apply."""
    header = session.header
    said = []
    if header.source:
        said.append(f"These are figures of {header.source}: specview judged them and measured none of them.")
    if is_costs_only(session):
        said.append("Nothing was generated: this says what passes cost, and nothing of how often drafts are accepted.")
    if header.model.random_weights:
        said.append("The model has random weights at its true dimensions, so acceptance means nothing here.")
    said += _of_ledger(known)
    if fewest_passes and fewest_passes < FEW_PASSES:
        said.append(f"Some widths of the verify curve rest on {figures.count(fewest_passes, 'pass', 'passes')} only.")
    if header.environment.device == "cpu":
        said.append("Measured on a CPU. Other devices read weights differently, so ratios there are others.")
    if session.status != "finished":
        said.append(f"The session did not run to its planned end: {session.status}.")
    if session.problems:
        lines = figures.count(len(session.problems), "line")
        said.append(f"{lines} of the session file could not be read, and the rest is what this rests on.")
    return tuple(said)


def _of_ledger(known: Reckoning) -> list[str]:
    ledger = known.ledger
    if ledger is None:
        return []
    said = []
    if is_synthetic(ledger.setting.drafter):
        said.append(f"The drafter is synthetic: {CHOSEN}.")
    if ledger.verdict.scope == "this prompt only":
        said.append("With fewer than three prompts the interval is over segments: it is of these prompts only.")
    else:
        said.append(
            f"The interval is over {figures.count(ledger.prompts, 'prompt')}, taken as a sample of your workload: "
            "other content may be accepted more or less often."
        )
    if not known.session.header.source:
        said.append("One sequence at a time was recorded; serving several at once changes what verify costs.")
    said.append(
        "The verdict compares drafting with plain decoding of the same text, measured end to end; a prediction, where "
        "there is one, comes from parts timed in other rounds."
    )
    return said
