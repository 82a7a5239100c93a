"""Every warning a judgement can carry: its code, when it is given, and whether it forbids a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

AGREEMENT = 0.05  # two facts that say the same thing may differ by so much
DRIFT = 0.05
LOOP_OVERHEAD = 0.05
UNACCOUNTED = 0.10
FEWEST_ROUNDS = 128
BUG_DRAFTS = 100
FEWEST_RUNS = 3
SLOW_BASELINE = 1.10
ROUNDING = 0.005  # of a published share
SAME = 1e-6  # relative: what arithmetic alone may add


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """A warning code: when it is given, and whether the verdict is refused then."""

    code: str
    when: str
    refuses: bool = False


CAUTIONS = {
    caution.code: caution
    for caution in (
        Caution(
            code="mixed_rulers",
            when="a verify made of block sums is divided into a whole-graph baseline",
            refuses=True,
        ),
        Caution(
            code="acceptance_kind_unknown",
            when="k > 1, an acceptance value without a kind, and conditional or per draft give different verdicts",
            refuses=True,
        ),
        Caution(
            code="impossible_win",
            when="the speedup is above E (above k + 1 where E is unknown): not even a free draft could do that",
            refuses=True,
        ),
        Caution(
            code="impossible_facts",
            when="E is below 1 or above k + 1, or more drafts were accepted than drafted or generated",
            refuses=True,
        ),
        Caution(code="zero_acceptance", when=f"none accepted of at least {BUG_DRAFTS} drafts"),
        Caution(
            code="overhead_without_drafts",
            when=f"k = 0 and a round costs more than {LOOP_OVERHEAD:.0%} over plain decode",
        ),
        Caution(
            code="unaccounted_time", when=f"the known parts fall short of the round by more than {UNACCOUNTED:.0%}"
        ),
        Caution(code="parts_exceed_round", when=f"the known parts exceed the round by more than {UNACCOUNTED:.0%}"),
        Caution(code="too_few_rounds", when=f"the acceptance rests on fewer than {FEWEST_ROUNDS} rounds"),
        Caution(code="few_runs", when=f"an interval rests on fewer than {FEWEST_RUNS} repeated runs"),
        Caution(code="baseline_drift", when=f"the first and the last baseline differ by more than {DRIFT:.0%}"),
        Caution(
            code="slow_baseline",
            when=f"plain decode is more than {SLOW_BASELINE - 1:.0%} slower than one pass over one position",
        ),
        Caution(code="block_sum_baseline", when="the only baseline is itself a block sum"),
        Caution(code="negative_gap", when="the sum of the blocks is above the wall of the whole graph"),
        Caution(code="k0_baseline", when="k = 0 and no plain baseline: the loop without drafts is none"),
        Caution(
            code="contradictory_facts",
            when=f"two facts that say the same thing differ by more than {AGREEMENT:.0%}, "
            "or a greedy rule comes with a temperature above 0",
        ),
        Caution(
            code="prediction_disagrees",
            when="the parts predict a win and the measured speed is a loss, or the other way round",
        ),
        Caution(
            code="kind_unsaid",
            when="an acceptance value without a kind where k is not 1, and no verdict depends on it",
        ),
        Caution(
            code="percent_rate",
            when="an acceptance from 2 to 100 is read as a percentage",
        ),
        Caution(
            code="k_counts_positions",
            when="verify widths or acceptance by position fit k - 1 drafts, so k may count positions",
        ),
        Caution(code="width_missing", when="verify was measured, but not at k + 1 positions"),
        Caution(
            code="facts_of_one_k",
            when="k is a list and a round, a speed, E, or an acceptance that is not conditional holds at one k only",
        ),
        Caution(code="drafts_vary", when=f"rounds draft on average more than {AGREEMENT:.0%} fewer tokens than k"),
        Caution(code="past_cliff", when="k + 1 positions lie beyond the cliff of the verify curve"),
        Caution(code="batched_speed", when="the speed was measured with more than one request at a time"),
        Caution(code="random_prompts", when="the content is named as random tokens"),
        Caution(code="unknown_fact", when="a field is not known here; it was not used"),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """One warning of one judgement."""

    code: str
    message: str


@dataclass(slots=True)
class Notes:
    """What a judgement collects on its way: inputs derived, inputs assumed, warnings; each once, in order."""

    inferred: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)

    def infer(self, name: str) -> None:
        """Say that this input was derived from others."""
        if name not in self.inferred:
            self.inferred.append(name)

    def assume(self, name: str) -> None:
        """Say that this input was not given and what stands for it is the default."""
        if name not in self.assumed:
            self.assumed.append(name)

    def warn(self, code: str, message: str) -> None:
        """Add a warning whose code is in CAUTIONS."""
        warned = Warned(code=CAUTIONS[code].code, message=message)
        if warned not in self.warnings:
            self.warnings.append(warned)

    def has(self, code: str) -> bool:
        """Whether this code was warned of."""
        return any(warned.code == code for warned in self.warnings)

    @property
    def refused(self) -> bool:
        """Whether a warning forbids a verdict."""
        return any(CAUTIONS[warned.code].refuses for warned in self.warnings)


def agree(one: float, other: float, within: float = AGREEMENT) -> bool:
    """Whether two numbers that should be the same are, relative to the second."""
    return abs(one - other) <= within * abs(other) + SAME
