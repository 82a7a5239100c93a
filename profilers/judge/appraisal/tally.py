"""What an engine counted about its drafts: rounds, drafted, accepted, and what follows from the counts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from ..counted import counted
from .cautions import ROUNDING, Notes, agree


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts of one run and the rates its engine printed; None or empty where it printed none.

    `histogram[i]` rounds accepted i drafts. `positions` is cumulative acceptance, a share of rounds by position;
    `accepted_at` the same as counts. `tokens_per_round` is E, `per_draft` and `per_generated` are shares.
    `generated` counts tokens of the run, `ms_per_token` is its end-to-end time, `width` the positions of a round where
    the engine counts those. Rounds derived from drafted ÷ k need not be whole.
    """

    rounds: float | None = None
    drafted: int | None = None
    accepted: int | None = None
    generated: int | None = None
    tokens_per_round: float | None = None
    per_draft: float | None = None
    per_generated: float | None = None
    positions: tuple[float, ...] = ()
    accepted_at: tuple[int, ...] = ()
    histogram: tuple[int, ...] = ()
    k: int | None = None
    width: int | None = None
    ms_per_token: float | None = None
    concurrency: float | None = None

    @property
    def drafting(self) -> bool:
        """Whether anything here speaks of drafts."""
        return bool(
            self.positions
            or self.accepted_at
            or self.histogram
            or any(
                value is not None
                for value in (self.rounds, self.drafted, self.accepted, self.tokens_per_round, self.per_draft)
            )
        )

    @property
    def mean_drafted(self) -> float | None:
        """Tokens drafted in a round, mean over rounds."""
        return self.drafted / self.rounds if self.drafted is not None and self.rounds else None

    @property
    def counted_tokens(self) -> float | None:
        """E = 1 + accepted ÷ rounds."""
        return 1 + self.accepted / self.rounds if self.accepted is not None and self.rounds else None


def completed(tally: Tally, k: int | None, notes: Notes) -> Tally:
    """The tally with the counts that follow from others; impossible and contradictory counts are noted.

    From a histogram: rounds, accepted, cumulative acceptance. From generated tokens: rounds = generated − accepted,
    since each round adds one token of the target's own. From k: rounds = drafted ÷ k.
    """
    tally = _from_histogram(tally, notes)
    if tally.accepted is None and tally.accepted_at:
        tally = replace(tally, accepted=sum(tally.accepted_at))
        notes.infer("accepted")
    if tally.rounds is None and tally.generated is not None and tally.accepted is not None:
        rounds = tally.generated - tally.accepted
        if rounds > 0:
            tally = replace(tally, rounds=rounds)
            notes.infer("rounds")
        else:
            notes.warn(
                "impossible_facts",
                f"{tally.accepted} drafts accepted of {tally.generated} tokens generated leave no round: every round "
                "adds a token of the target's own.",
            )
    if tally.rounds is None and tally.drafted is not None and k:
        tally = replace(tally, rounds=max(1.0, tally.drafted / k))
        notes.infer("rounds")
    if tally.drafted is None and tally.rounds is not None and k and tally.accepted is not None:
        tally = replace(tally, drafted=round(tally.rounds * k))
        notes.infer("drafted")
    if tally.accepted_at and tally.rounds and not tally.positions:
        tally = replace(tally, positions=tuple(min(1.0, count / tally.rounds) for count in tally.accepted_at))
    _check(tally, k, notes)
    return tally


def histogram_of(accepted_by_round: Sequence[int]) -> tuple[int, ...]:
    """How many rounds accepted 0, 1, 2 … drafts."""
    counts = [0] * (max(accepted_by_round) + 1)
    for accepted in accepted_by_round:
        counts[accepted] += 1
    return tuple(counts)


def _from_histogram(tally: Tally, notes: Notes) -> Tally:
    histogram = tally.histogram
    rounds, accepted = sum(histogram), sum(i * n for i, n in enumerate(histogram))
    if not rounds:
        return tally
    for name, printed, held in (
        ("rounds", tally.rounds, rounds),
        ("accepted drafts", tally.accepted, accepted),
    ):
        if printed is not None and not agree(printed, held, 0.01):
            notes.warn("contradictory_facts", f"The histogram holds {held} {name}, and {printed:g} are named.")
    if tally.rounds is None:
        notes.infer("rounds")
    if tally.accepted is None:
        notes.infer("accepted")
    at_least = list(accumulate(reversed(histogram)))[::-1][1:]
    drafted = round(tally.drafted / tally.rounds) if tally.drafted and tally.rounds else 0
    k = max(tally.k or 0, drafted if drafted <= 1024 else 0)
    # A histogram may leave out the counts that never occurred; k says how many positions there were.
    at_least += [0] * (k - len(at_least))
    return replace(
        tally,
        rounds=rounds if tally.rounds is None else tally.rounds,
        accepted=accepted if tally.accepted is None else tally.accepted,
        positions=tally.positions or tuple(count / rounds for count in at_least),
    )


def _check(tally: Tally, k: int | None, notes: Notes) -> None:
    rounds, drafted, accepted = tally.rounds, tally.drafted, tally.accepted
    if drafted is not None and accepted is not None and accepted > drafted:
        notes.warn("impossible_facts", f"{accepted} drafts were accepted of only {drafted} drafted.")
    if rounds and drafted is not None and k is not None and drafted > k * rounds * (1 + ROUNDING):
        notes.warn(
            "contradictory_facts",
            f"{drafted} drafted tokens in {counted(rounds, 'round')} are {drafted / rounds:.3g} a round, "
            f"more than k = {k}.",
        )
    tokens = tally.counted_tokens
    if tokens is not None and tally.tokens_per_round is not None and not agree(tally.tokens_per_round, tokens, 0.01):
        notes.warn(
            "contradictory_facts",
            f"The counts give {tokens:.3f} tokens per round, and the engine printed {tally.tokens_per_round:.3f}.",
        )
    if drafted and accepted is not None and tally.per_draft is not None:
        rate = accepted / drafted
        if abs(rate - tally.per_draft) > ROUNDING + 0.01 * rate:
            notes.warn(
                "contradictory_facts",
                f"{accepted} of {drafted} drafts are {rate:.3f}, and the engine printed {tally.per_draft:.3f}.",
            )
