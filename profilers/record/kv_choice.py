"""How a recording keeps keys and values: as its plan asks, unless the prompt cache it goes on from settles it."""

from __future__ import annotations

from dataclasses import replace

from ...engine.kv_quantisation import KvQuantisation
from .plan import COMPILED, Plan, PlanError
from .prompt_beginning import Beginning


def as_cached(plan: Plan, beginning: Beginning | None) -> Plan:
    """The plan with keys and values kept as the prompt cache has them; raises PlanError where it asks for others."""
    kept = None if beginning is None else beginning.cached.kv
    if beginning is None or kept is None:
        return plan
    if plan.kv_bits not in (None, kept.bits):
        raise PlanError(
            f"The prompt cache keeps keys and values in {kept.bits} bits: leave --kv-bits out, or make it anew."
        )
    if plan.kv_start > beginning.positions:
        raise PlanError("The prompt cache is quantised already: leave --kv-start out, or make it anew.")
    if plan.policy == COMPILED:
        raise PlanError(
            f"The prompt cache keeps keys and values in {kept.bits} bits, and --policy compiled needs them as they "
            "are: leave the policy out, or make it anew."
        )
    return replace(plan, kv_bits=kept.bits)


def kv_of(plan: Plan, beginning: Beginning | None) -> KvQuantisation | None:
    """How keys and values are kept: in groups as a prompt cache has them, else as mlx-lm makes them."""
    if plan.kv_bits is None:
        return None
    kept = None if beginning is None else beginning.cached.kv
    asked = KvQuantisation(bits=plan.kv_bits, start=plan.kv_start)
    return asked if kept is None else replace(asked, group_size=kept.group_size)
