"""One division by two rulers: what a block sum over a whole-graph baseline says, beside what one ruler says.

Blocks timed one by one leave out what lies between them. A verify made of such a sum, divided into plain decode of the
whole graph, turned a loss of 20% into a win of 6.6% in article A (July); this shows both results and names the wrong
one. It is the one place where two rulers are divided on purpose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ...engine.errors import SpecviewError
from ..record.session import Session
from .blocks_table import BlocksTable, blocks_table
from .spans import Ruler

How = Literal["measured", "scaled", "passes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Divided:
    """One result of the division: its verify and round in ms, and S."""

    verify_ms: float
    round_ms: float
    speedup: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSums:
    """Σ of the blocks of one pass in ms, fenced or queued; `verify_ms` is that of k + 1 positions where timed.

    `wall_ms` is the whole pass shown beside them, where there is one; like them without what was interrupted.
    """

    ruler: Ruler
    single_ms: float
    verify_ms: float | None = None
    wall_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoRulers:
    """The wrong and the right division of one round, with the gap between the rulers. Times in ms.

    `how` says where the two verifies come from: both measured; one scaled as the other; or k + 1 passes each, where
    neither was measured at that width. `gap_ms` is the whole-graph pass without the blocks' sum.
    """

    k: int
    tokens_per_round: float
    decode_ms: float
    draft_ms: float
    rest_ms: float
    blocks: BlockSums
    wall_ms: float
    how: How
    wrong: Divided
    right: Divided

    @property
    def gap_ms(self) -> float:
        """What lies between the blocks, in ms of one pass; below zero where fences cost more."""
        return self.wall_ms - self.blocks.single_ms

    @property
    def gap_of_sum(self) -> float:
        """The gap as a share of the blocks' sum."""
        return self.gap_ms / self.blocks.single_ms

    @property
    def gap_of_wall(self) -> float:
        """The gap as a share of the whole-graph pass."""
        return self.gap_ms / self.wall_ms

    @property
    def sentence(self) -> str:
        """Which ruler is wrong, and why."""
        turned = ""
        if self.wrong.speedup > 1 >= self.right.speedup:
            turned = " It turns a loss into a win."
        elif self.wrong.speedup < 1 <= self.right.speedup:
            turned = " It turns a win into a loss."
        side = "leave out" if self.gap_ms >= 0 else "add"
        return (
            f"Mixed rulers: a {self.blocks.ruler} block sum for verify is divided into a whole-graph baseline, and "
            f"blocks {side} {abs(self.gap_ms):.3f} ms a pass: the {self.wrong.speedup:.4f}x is wrong.{turned}"
        )

    @property
    def answer(self) -> str:
        """What one ruler on both sides says."""
        steps, most = self.right.round_ms / self.decode_ms, self.k + 1
        said = f"By one ruler it is {self.right.speedup:.4f}x"
        if steps > most:
            return f"{said}, and no draft can win: a round costs {steps:.2f} decode steps and yields at most {most}."
        return f"{said}: a round costs {steps:.2f} decode steps and yields {self.tokens_per_round:.2f} tokens."

    @property
    def origin(self) -> str:
        """Where the two verifies come from."""
        if self.how == "passes":
            return f"No pass over {self.k + 1} positions was timed, so verify counts as {self.k + 1} passes in both."
        if self.how == "scaled":
            return "Verify was timed by one ruler only; the other is scaled by verify ÷ decode of that one."
        return "Both rulers timed verify themselves."


def two_rulers(
    *,
    k: int,
    tokens_per_round: float,
    decode_ms: float,
    wall_ms: float | None,
    blocks: BlockSums,
    verify_ms: float | None,
    draft_ms: float = 0.0,
    rest_ms: float = 0.0,
) -> TwoRulers | None:
    """Both divisions; None without drafts or where a time is none. `wall_ms` defaults to the baseline itself."""
    wall = wall_ms or decode_ms
    if k < 1 or min(tokens_per_round, decode_ms, wall, blocks.single_ms) <= 0:
        return None
    how: How = "measured"
    by_blocks, by_whole = blocks.verify_ms, verify_ms
    if by_blocks is None and by_whole is None:
        how, by_blocks, by_whole = "passes", (k + 1) * blocks.single_ms, (k + 1) * wall
    elif by_blocks is None and by_whole is not None:
        how, by_blocks = "scaled", by_whole / wall * blocks.single_ms
    elif by_whole is None and by_blocks is not None:
        how, by_whole = "scaled", by_blocks / blocks.single_ms * wall
    assert by_blocks is not None and by_whole is not None

    def divided(verify: float) -> Divided:
        whole = verify + draft_ms + rest_ms
        return Divided(verify_ms=verify, round_ms=whole, speedup=tokens_per_round * decode_ms / whole)

    if min(by_blocks, by_whole) <= 0:
        return None
    found = TwoRulers(
        k=k,
        tokens_per_round=tokens_per_round,
        decode_ms=decode_ms,
        draft_ms=draft_ms,
        rest_ms=rest_ms,
        blocks=blocks,
        wall_ms=blocks.wall_ms or wall,
        how=how,
        wrong=divided(by_blocks),
        right=divided(by_whole),
    )
    sound = all(math.isfinite(v) for v in (found.wrong.speedup, found.right.speedup, found.gap_of_sum))
    return found if sound else None


def block_sums(session: Session, width: int) -> BlockSums | None:
    """The block sum of a pass, queued where all places were timed so, else fenced; None without blocks."""
    try:
        table = blocks_table(session, width)
    except (SpecviewError, ArithmeticError, ValueError):  # a file may hold anything
        return None
    if table is None:
        return None
    queued = table.queued is not None
    single = table.queued_ms if queued else table.fenced_ms
    if single is None:
        return None
    at_width = table.width == width and width > 1
    return BlockSums(
        ruler=Ruler.QUEUED if queued else Ruler.FENCED,
        single_ms=single,
        verify_ms=_verify_ms(table, queued=queued) if at_width else None,
        wall_ms=table.wall_ms,
    )


def _verify_ms(table: BlocksTable, *, queued: bool) -> float | None:
    """Σ of the verify blocks, only where every category of the decode pass was timed again."""
    pairs = [
        (row.decode_queued_ms, row.verify_queued_ms) if queued else (row.decode_fenced_ms, row.verify_fenced_ms)
        for row in table.rows
    ]
    needed = [verify for decode, verify in pairs if decode is not None]
    known = [verify for verify in needed if verify is not None]
    return sum(known) if known and len(known) == len(needed) else None
