"""What the runs of a plan are made with: the drafter, the policy of verify passes, and the acceptance rule."""

from __future__ import annotations

from ...engine.accept import AcceptanceRule, acceptance_rule
from ...engine.drafters import Drafter
from ...engine.drafters.adaptive import AdaptiveDrafter, adaptive
from ...engine.drafters.choose import choose_drafter
from ...engine.drafters.fixed import FixedAcceptance
from ...engine.drafters.mtp import MtpDrafter
from ...engine.kv_quantisation import KvQuantisation
from ...engine.models import Target
from ...engine.sampling import Sampling, chosen_sampling
from ...engine.verify_policies import Policy, verify_policy
from ..measure.load import LoadMeter
from .plan import Plan, PlanError
from .prompt_beginning import Beginning

TEXTS_PER_SEED = 1_000_003  # prompts of one seed draw random numbers of their own


def chosen_drafter(plan: Plan, target: Target, longest: int, kv: KvQuantisation | None) -> Drafter:
    """The plan's drafter, loaded, for texts of up to `longest` positions; raises a SpecviewError where there is none.

    `kv` is how the texts' keys and values are kept, which a drafter that foresees them must keep alike.
    """
    drafter = choose_drafter(
        plan.drafter, target, plan.dtype, plan.drafter_dtype, plan.trust_remote_code, longest, plan.seed
    )
    if isinstance(drafter, MtpDrafter):
        drafter.sees_prompt = plan.mtp_sees_prompt
    if isinstance(drafter, FixedAcceptance):
        drafter.kv = kv
    return adaptive(drafter, plan.k) if plan.adaptive else drafter


def fitted(drafter: Drafter, before: Plan, plan: Plan) -> Drafter:
    """The drafter of the plan before, adaptive where this one says so; its weights are not loaded again."""
    if (plan.adaptive, plan.k) == (before.adaptive, before.k):
        return drafter
    if not plan.adaptive:
        return own(drafter)
    known = drafter.costs if isinstance(drafter, AdaptiveDrafter) else None
    return adaptive(own(drafter), plan.k, known)


def own(drafter: Drafter) -> Drafter:
    """The drafter itself, without what chooses its length."""
    return drafter.drafter if isinstance(drafter, AdaptiveDrafter) else drafter


def synthetic_sentence(plan: Plan, drafter: Drafter) -> str | None:
    """That a drafter's acceptance says nothing about any real one's; None for those whose does."""
    if not isinstance(own(drafter), FixedAcceptance):
        return None
    return f"{plan.drafter_name()} is synthetic: its acceptance is chosen, not measured, and its drafts cost nothing."


def policy_of(plan: Plan, target: Target) -> Policy:
    """How verify passes are made; raises a SpecviewError for a policy that cannot be had here."""
    return verify_policy(plan.policy, target, LoadMeter().sample().memory_available_bytes)


def rule_of(plan: Plan, text_number: int) -> AcceptanceRule:
    """The plan's rule, with random numbers of the text's own where tokens are drawn."""
    return acceptance_rule(plan.rule, _sampling(plan, plan.seed * TEXTS_PER_SEED + text_number))  # type: ignore[arg-type]


def check_rule(plan: Plan, drafter: Drafter, beginning: Beginning | None) -> None:
    """Refuse a rule that cannot be, or that the drafter cannot follow, before it comes up in the middle of a run.

    Raises a SpecviewError with what to change.
    """
    acceptance_rule(plan.rule, _sampling(plan))  # type: ignore[arg-type]
    if isinstance(own(drafter), FixedAcceptance) and plan.temperature > 0:
        raise PlanError(
            f"{plan.drafter_name()} is right with a chosen chance about text that it foresees, and drawn text "
            "cannot be foreseen: choose the rule greedy, or another draft."
        )
    if isinstance(own(drafter), FixedAcceptance) and beginning and beginning.cached.tokens is None:
        raise PlanError(
            f"{plan.drafter_name()} must foresee the text, and the prompt cache does not name its tokens: make one "
            "with specview cache-prompt, or choose another draft."
        )


def _sampling(plan: Plan, seed: int = 0) -> Sampling | None:
    return chosen_sampling(plan.temperature, plan.top_p, plan.top_k, plan.min_p, seed)
