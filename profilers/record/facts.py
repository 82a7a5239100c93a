"""What a session's header says of models, drafter and machine."""

from __future__ import annotations

from ...engine.drafters import Drafter
from ...engine.drafters.adaptive import AdaptiveDrafter
from ...engine.drafters.model import DraftModel
from ...engine.models import Target, describe
from ..measure.environment import EnvironmentFacts, environment
from . import records
from .plan import Plan


def header_of(plan: Plan, target: Target, drafter: Drafter, started_unix_ns: int) -> records.Header:
    """The first record of a session: what runs, on what."""
    from ... import __version__

    drafting = drafter.drafter if isinstance(drafter, AdaptiveDrafter) else drafter
    return records.Header(
        specview=__version__,
        plan=plan.sentence(),
        environment=environment_record(environment()),
        model=model_facts(target),
        drafter=records.DrafterFacts(
            kind=drafter.kind,
            model=model_facts(drafting.model) if isinstance(drafting, DraftModel) else None,
            k=plan.k,
        ),
        started_unix_ns=started_unix_ns,
        text_kept=plan.keep_text,
        prompts_kept=plan.keep_prompts,
    )


def model_facts(target: Target) -> records.ModelFacts:
    """A model's facts as the header stores them."""
    facts = describe(target)
    return records.ModelFacts(
        id=facts.name,
        architecture=facts.architecture,
        layers=facts.layers,
        quantisation=facts.quantisation,
        dtype=facts.dtype,
        weight_bytes=facts.weight_bytes,
        parameters=facts.parameters,
        vocabulary=facts.vocabulary,
        tokenizer_hash=facts.tokenizer_hash,
        random_weights=facts.random_weights,
        layers_in_full=facts.layers_in_full,
    )


def environment_record(facts: EnvironmentFacts) -> records.Environment:
    """The machine's facts as the header stores them."""
    return records.Environment(
        chip=facts.chip,
        os=facts.os,
        python=facts.python,
        mlx=facts.mlx,
        mlx_lm=facts.mlx_lm,
        device=facts.device,
        blas=facts.blas,
        memory_bytes=facts.memory_bytes,
        power=facts.power,
    )
