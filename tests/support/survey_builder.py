"""Surveys built in code: what passes cost, place by place, with census, floors, replays and curve, and no text."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from specview.profilers.record import records as r

MS = 1_000_000
MOST_CONTEXT = 512


@dataclass(frozen=True)
class Spot:
    """One place of blocks: ms of a decode pass over all its layers, how that grows with n, and what it weighs."""

    block: str
    category: str
    ms: float
    per_position: float  # of one pass, for each further position
    weight_bytes: int
    layers: int = 4
    detail: str | None = None
    primitive: str = "QuantizedMatmul"
    matrix: str | None = "up_proj"
    experts: int | None = None


DENSE = (
    Spot("model.layers.*.self_attn", "full attention", 2.2, 0.4, 20_000_000, matrix="q_proj"),
    Spot("model.layers.*.mlp", "MLP", 5.1, 0.9, 60_000_000),
    Spot("model.layers.*.input_layernorm", "norms and residuals", 0.3, 0.1, 8_000, primitive="RMSNorm", matrix=None),
    Spot("lm_head", "output head", 1.4, 1.0, 16_000_000, layers=1, matrix=None),
)
MOE = (
    Spot("model.layers.*.linear_attn", "linear attention", 3.4, 1.0, 22_000_000, 6, "gated delta", matrix="in_proj"),
    Spot("model.layers.*.self_attn", "full attention", 1.1, 0.4, 9_000_000, 2, "global", matrix="q_proj"),
    Spot(
        "model.layers.*.mlp.switch_mlp",
        "MoE",
        4.2,
        0.95,
        512_000_000,
        8,
        "routed experts",
        "GatherQMM",
        "down_proj",
        64,
    ),
    Spot("model.layers.*.mlp.gate", "MoE", 0.3, 0.6, 400_000, 8, "router", "Matmul", None),
    Spot("lm_head", "output head", 1.0, 0.9, 12_000_000, layers=1, matrix=None),
)


@dataclass(frozen=True)
class Surveyed:
    """What a built survey measures. Across `cliff` every further position costs three more milliseconds at once."""

    spots: tuple[Spot, ...] = DENSE
    widths: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)
    contexts: tuple[int, ...] = (128,)
    cliff: int = 5
    gap: float = 1.6
    noise: float = 0.004
    random_weights: bool = False
    layers: tuple[tuple[str, int], ...] = (("full attention", 4),)
    layers_in_full: tuple[tuple[str, int], ...] | None = None
    census: bool = True
    blocks: bool = True
    hostile: str = ""
    footer: bool = True
    experiments: tuple[str, ...] = field(default=())


class _Builder:
    def __init__(self, made: Surveyed) -> None:
        self.made, self.random, self.t_ns = made, random.Random(5), 0

    def ns(self, ms: float) -> int:
        return max(1, round(ms * (1 + self.made.noise * self.random.uniform(-1.5, 1.5)) * MS))

    def at(self) -> int:
        self.t_ns += MS
        return self.t_ns

    def whole_ms(self, width: int, context: int) -> float:
        """A pass: its places, the gap, attention that grows with the context, and the cliff."""
        places = sum(self.place_ms(spot, width) for spot in self.made.spots)
        jump = 3.0 if width >= self.made.cliff else 0.0
        return places + self.made.gap + jump + context / MOST_CONTEXT * width * 0.3

    def place_ms(self, spot: Spot, width: int) -> float:
        return spot.ms * (1 + spot.per_position * (width - 1))

    def whole(self) -> Iterator[r.Probe]:
        for context in self.made.contexts:
            for _ in range(4):
                for width in self.made.widths:
                    ns = self.ns(self.whole_ms(width, context))
                    yield r.Probe(
                        t_ns=self.at(), ruler="whole", part="verify", width=width, context=context,
                        samples_ns=(ns,), build_ns=(ns // 10,), eval_ns=(ns - ns // 10,), pipelined=False,
                        submit_ns=(ns // 3,),
                    )  # fmt: skip
                yield r.Probe(
                    t_ns=self.at(), ruler="whole", part="decode", width=1, context=context,
                    samples_ns=(self.ns(self.whole_ms(1, context) * 0.94),), pipelined=True,
                )  # fmt: skip

    def timed(self) -> Iterator[r.Probe]:
        context = self.made.contexts[0]
        for width in (1, 2):
            part = "decode" if width == 1 else "verify"
            for spot in self.made.spots:
                each = self.place_ms(spot, width) * MS / spot.layers
                for arrangement, factor in (("hot", 0.82), ("cycled", 1.0)):
                    slope = each * (factor if spot.layers > 1 else 1.0)
                    yield r.Probe(
                        t_ns=self.at(), ruler="queued", part=part, width=width, context=context, block=spot.block,
                        category=spot.category, detail=spot.detail, layers=spot.layers, arrangement=arrangement,
                        slope_ns=slope, slope_low_ns=slope * 0.99, slope_high_ns=slope * 1.01,
                        cached=arrangement == "hot",
                    )  # fmt: skip
            for _ in range(3):
                stamp = self.at()
                for spot in self.made.spots:
                    ns = self.ns(self.place_ms(spot, width) * 1.16)
                    yield r.Probe(
                        t_ns=stamp, ruler="fenced", part=part, width=width, context=context, block=spot.block,
                        category=spot.category, detail=spot.detail, layers=spot.layers,
                        samples_ns=(ns,), build_ns=(ns // 9,), eval_ns=(ns - ns // 9,),
                    )  # fmt: skip

    def counted(self) -> Iterator[r.Record]:
        context = self.made.contexts[0]
        for width in (1, 2):
            for spot in self.made.spots:
                name = self.made.hostile or spot.block
                for primitive, calls in ((spot.primitive, 3), ("Reshape", 4), ("Multiply", 5)):
                    heavy = primitive == spot.primitive
                    yield r.Census(
                        width=width, block=spot.block if heavy else name, category=spot.category, detail=spot.detail,
                        primitive=primitive, count=calls * spot.layers, layers=spot.layers, context=context,
                        bytes_read=spot.weight_bytes if heavy else 4096 * width,
                        bytes_written=8192 * width, flops=spot.weight_bytes * 2 * width if heavy else 512 * width,
                        coverage=0.99, inputs=(f"float32[1,{width},64]", "uint32[64,16]"),
                        outputs=(f"float32[1,{width},64]",), method="exported",
                    )  # fmt: skip
        for spot in self.made.spots:
            routed = spot.experts is not None
            yield r.Demand(
                block=spot.block, category=spot.category, detail=spot.detail, layers=spot.layers, context=context,
                dtype="float32", weight_bytes=0 if routed else spot.weight_bytes,
                expert_bytes=spot.weight_bytes if routed else 0, experts=spot.experts, active=8 if routed else None,
                flops=spot.weight_bytes // 4,
            )  # fmt: skip
            if spot.experts is not None:
                for width in (1, 2):
                    yield r.Routes(
                        t_ns=self.at(), block=spot.block, width=width, experts=spot.experts, active=8,
                        distinct=tuple(8 * width - self.random.randrange(3) * (width - 1) for _ in range(16)),
                    )  # fmt: skip

    def replays(self) -> Iterator[r.Replay]:
        for spot in self.made.spots:
            weight = spot.block if spot.matrix is None else f"{spot.block}.{spot.matrix}"
            for width in (1, 2, 3, 4, 6, 8):
                jump = 0.5 if width >= self.made.cliff else 0.0
                share = 1 if spot.experts is None else 8 * width / spot.experts
                slope = spot.ms * 0.8 / spot.layers * (1 + spot.per_position * (width - 1) + jump) * MS
                yield r.Replay(
                    t_ns=self.at(), primitive=spot.primitive, weight=weight, category=spot.category,
                    detail=spot.detail, shape="256→768", dtype="4-bit, groups of 64, float32", width=width,
                    count=spot.layers, bytes_read=round(spot.weight_bytes * share) // spot.layers, slope_ns=slope,
                    slope_low_ns=slope * 0.99, slope_high_ns=slope * 1.01, cached=False,
                )  # fmt: skip

    def calibrations(self) -> Iterator[r.Calibration]:
        for what, dtype, value, unit in (
            ("bandwidth", None, 40e9, "B/s"),
            ("cache bandwidth", None, 120e9, "B/s"),
            ("cache size", None, 1e6, "B"),
            ("peak", "float32", 400e9, "flop/s"),
            ("fence", None, 0.02, "ms"),
        ):
            yield r.Calibration(
                what=what, dtype=dtype, value=value, unit=unit, low=value * 0.97, high=value * 1.03, t_ns=self.at()
            )

    def tried(self) -> Iterator[r.Experiment]:
        """A switch that halves the speed, one that does nothing, and two controls that hardly differ."""
        arms = {"as it is": 1.0, "as it is, another process": 1.004}
        for name in self.made.experiments:
            slow = {"compile": ("compile off", 1.5), "blas": ("OpenBLAS, one thread", 1.001)}[name]
            for _ in range(6):
                for arm, factor in (*arms.items(), slow):
                    for width in (1, 2):
                        yield r.Experiment(
                            t_ns=self.at(), name=name, arm=arm, control=arm in arms, width=width, context=128,
                            samples_ns=(self.ns(10.0 * width * factor),), detail=None,
                            peak_bytes=200_000_000 + (30_000_000 if arm == slow[0] else 0), cache_bytes=5_000_000,
                        )  # fmt: skip


def surveyed(made: Surveyed) -> tuple[r.Record, ...]:
    """All records of a survey."""
    b = _Builder(made)
    parts = "experiment" if made.experiments else "calibration, whole, blocks, census, routes, replays, curve"
    header = r.Header(
        specview="0.1.0",
        plan=f"costs only ({parts}), widths 1, 2, context 128, 4 repeats, seed 0; nothing generated",
        environment=r.Environment(chip="EPYC", os="Linux", mlx="0.32.0", device="cpu", blas="reference BLAS"),
        model=r.ModelFacts(
            id="35b-a3b" if made.random_weights else "small-4bit", architecture="qwen3_next", layers=made.layers,
            quantisation="4-bit", dtype="float32", weight_bytes=96_000_000, vocabulary=4096, tokenizer_hash="sha256:bb",
            random_weights=made.random_weights, layers_in_full=made.layers_in_full,
        ),
        started_unix_ns=1_783_000_000_000_000_000,
        text_kept=False,
        prompts_kept=False,
    )  # fmt: skip
    out: list[r.Record] = [header]
    if not made.experiments:
        out += [*b.calibrations(), *b.whole()]
        out += b.timed() if made.blocks else ()
        out += [*b.counted(), *b.replays()] if made.census else ()
    out += b.tried()
    out.append(
        r.Memory(t_ns=b.t_ns, active_bytes=97_000_000, peak_bytes=120_000_000, cache_bytes=5_000_000, swap_used_bytes=0)
    )
    if made.footer:
        out.append(r.Footer(status="finished", rounds=0, steps=0, tokens=0, t_ns=b.t_ns))
    return tuple(out)


SURVEYS: dict[str, tuple[r.Record, ...]] = {
    "survey": surveyed(Surveyed()),
    "survey-moe": surveyed(
        Surveyed(
            spots=MOE,
            contexts=(128, 512),
            random_weights=True,
            layers=(("linear attention, MoE", 6), ("full attention, MoE", 2)),
            layers_in_full=(("linear attention, MoE", 30), ("full attention, MoE", 10)),
        )
    ),
    "curve-only": surveyed(Surveyed(census=False, blocks=False)),
    "experiments": surveyed(Surveyed(experiments=("compile", "blas"))),
}
