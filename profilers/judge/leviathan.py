"""The closed forms of Leviathan, Kalman and Matias (2023): a flat verify pass, drafts at c of a step each, one α.

They hold where a pass over γ + 1 positions costs what one over a single position does, and nothing else costs
anything; `economics` drops both. γ is k here, and c = t_draft(1) ÷ T_decode.
"""

from __future__ import annotations

from ...engine.limits import LONGEST_DRAFT
from .acceptance import tokens_from_alpha


def walltime_improvement(alpha: float, k: int, draft_steps: float) -> float:
    """S = (1 − α^(k+1)) ÷ ((1 − α)(k·c + 1)), c in decode steps (theorem 3.8)."""
    return tokens_from_alpha(alpha, k) / (k * draft_steps + 1.0)


def more_operations(alpha: float, k: int, draft_share: float) -> float:
    """Arithmetic operations with drafts ÷ without: (k·ĉ + k + 1) ÷ E, ĉ the drafter's per token (theorem 3.11)."""
    return (k * draft_share + k + 1.0) / tokens_from_alpha(alpha, k)


def best_draft_length(alpha: float, draft_steps: float, most: int = LONGEST_DRAFT) -> int:
    """The k up to `most` with the largest `walltime_improvement`; 0 where drafting never pays (α ≤ c)."""
    return max(range(most + 1), key=lambda k: walltime_improvement(alpha, k, draft_steps))
