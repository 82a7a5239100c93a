"""How a verify pass over n positions is run: one pass, n single ones, with dense copies of the weights, or compiled.

Every policy gives the same logits up to rounding and leaves the caches as one pass does, so that a round may rewind
them. What a policy is worth is measured (see `profilers.measure.policies`), never assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import mlx.core as mx

from .compiled_pass import CompiledPass
from .dense_pass import DensePass
from .errors import SpecviewError
from .models import Target

Policy: TypeAlias = Callable[[Target, mx.array, list[Any], bool], tuple[mx.array | None, mx.array]]
"""(target, positions [1, n], caches, keep_hidden) to (hidden [1, n, D] or None, logits [1, n, vocabulary]); lazy."""

PolicyMaker: TypeAlias = Callable[[Target, int | None], Policy]

ONE_PASS = "one pass"


class PolicyError(SpecviewError):
    """A verify policy that there is not."""


def one_pass(
    target: Target, positions: mx.array, caches: list[Any], keep_hidden: bool
) -> tuple[mx.array | None, mx.array]:
    """All positions in one pass, as a round does by itself."""
    if not keep_hidden:
        return None, target.logits(positions, caches)
    return target.with_hidden(positions, caches)


def single_passes(
    target: Target, positions: mx.array, caches: list[Any], keep_hidden: bool
) -> tuple[mx.array | None, mx.array]:
    """One pass for each position, submitted one after another without waiting: what drafting must beat.

    Bit-identical to plain decoding of the same tokens. A tape that runs holds all of these passes.
    """
    passes = []
    for at in range(positions.shape[1]):
        hidden, logits = one_pass(target, positions[:, at : at + 1], caches, keep_hidden)
        mx.async_eval(logits)
        passes.append((hidden, logits))
    states = [hidden for hidden, _ in passes if hidden is not None]
    return mx.concatenate(states, axis=1) if states else None, mx.concatenate([logits for _, logits in passes], axis=1)


def _half(available_bytes: int | None) -> int | None:
    return None if available_bytes is None else available_bytes // 2


# "dense always" is no way to draft: at one position it tells what plain decoding would cost on the same copies, without
# which a dense verify pass is compared with a decode step that is slower than it need be.
POLICIES: Mapping[str, PolicyMaker] = {
    ONE_PASS: lambda target, available_bytes: one_pass,
    "single passes": lambda target, available_bytes: single_passes,
    "dense": lambda target, available_bytes: DensePass(target, _half(available_bytes)),
    "dense always": lambda target, available_bytes: DensePass(target, _half(available_bytes), least=1),
    "dense on the fly": lambda target, available_bytes: DensePass(target, keep=False),
    "compiled": lambda target, available_bytes: CompiledPass(target),
}


def verify_policy(name: str, target: Target, available_bytes: int | None = None) -> Policy:
    """The policy of that name for one target.

    "dense" keeps at most half of `available_bytes`, the largest layers first; None bounds nothing.
    Raises PolicyError for a name there is not, and a SpecviewError with the reason for a policy that the target
    cannot run.
    """
    if name not in POLICIES:
        raise PolicyError(f"There is no verify policy {name!r}: choose one of {', '.join(POLICIES)}.")
    return POLICIES[name](target, available_bytes)


def policies_for(
    target: Target, available_bytes: int | None = None, names: Sequence[str] = tuple(POLICIES)
) -> tuple[dict[str, Policy], dict[str, str]]:
    """The policies that a target can run, and for each of the others the sentence why not, both by name."""
    policies, reasons = {}, {}
    for name in names:
        try:
            policies[name] = verify_policy(name, target, available_bytes)
        except PolicyError:
            raise
        except SpecviewError as error:
            reasons[name] = str(error)
    return policies, reasons
