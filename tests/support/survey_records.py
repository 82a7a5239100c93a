"""The records of a whole survey with known costs: two widths by three rulers, a census, demands, routes, replays."""

from __future__ import annotations

from dataclasses import replace

from specview.profilers.record import records as r

MS = 1_000_000
CONTEXT = 128
MLP, EXPERTS, HEAD = "model.layers.*.mlp.a_projection_with_a_long_name", "model.layers.*.moe.experts", "lm_head"
NORM = "model.layers.*.post_attention_layernorm"
# ms a block at one position, blocks, what each further position adds to it
COSTS = {
    (MLP, "MLP", None): (1.0, 30, 0.5),
    (EXPERTS, "MoE", "routed experts"): (0.5, 10, 1.0),
    (HEAD, "output head", None): (5.0, 1, 0.2),
    (NORM, "norms and residuals", None): (0.5, 2, 0.1),
}
WIDTHS = (1, 2)


def header(random_weights: bool = False) -> r.Header:
    model = r.ModelFacts(
        id="org/model", architecture="llama", layers=(("full attention, MLP", 30),), dtype="float32",
        weight_bytes=10**9, vocabulary=100, tokenizer_hash="77aa", random_weights=random_weights,
    )  # fmt: skip
    return r.Header(
        specview="0.1.0", plan="costs only", environment=r.Environment(device="cpu", blas="some BLAS"), model=model,
        started_unix_ns=1, text_kept=False, prompts_kept=False,
    )  # fmt: skip


def cost_ms(place: tuple[str, str, str | None], width: int) -> float:
    """What all blocks of a place take together in one pass."""
    one, blocks, further = COSTS[place]
    return one * blocks * (1 + further * (width - 1))


def whole(width: int, ms: float, pipelined: bool = False) -> r.Probe:
    total, build = round(ms * MS), 2 * MS
    times = tuple(total + turn * MS // 50 for turn in range(-2, 3))
    stretches = {} if pipelined else {"build_ns": (build,) * 5, "eval_ns": tuple(t - build for t in times)}
    part = "decode" if pipelined else "verify"
    return r.Probe(
        t_ns=0, ruler="whole", part=part, width=width, context=CONTEXT, samples_ns=times, pipelined=pipelined,
        **stretches,
    )  # fmt: skip


def blocks(width: int) -> list[r.Probe]:
    """Two fenced passes, and every place by slope with layers cycled and with one hot."""
    found = []
    for (block, category, detail), (_, layers, _) in COSTS.items():
        ms = cost_ms((block, category, detail), width)
        probe = r.Probe(
            t_ns=0, ruler="fenced", part="decode" if width == 1 else "verify", width=width, context=CONTEXT,
            block=block, category=category, detail=detail, layers=layers,
        )  # fmt: skip
        for turn in (0, 1):
            ns = round(ms * 1.1 * MS) + turn * 1000
            found.append(replace(probe, t_ns=turn, samples_ns=(ns,), build_ns=(1000,), eval_ns=(ns - 1000,)))
        for how, factor in (("cycled", 1.0), ("hot", 0.8)):
            slope = ms / layers * factor * MS
            ends = {"slope_ns": slope, "slope_low_ns": slope * 0.99, "slope_high_ns": slope * 1.01}
            found.append(replace(probe, t_ns=2, ruler="queued", arrangement=how, cached=False, **ends))
    return found


def census(width: int) -> list[r.Census]:
    shapes = ("float32[1,2,1536]", "uint32[49152,192]", "float32[49152,24]", "float32[49152,24]")
    rows = [
        r.Census(
            width=width, block=block, category=category, detail=detail, primitive="QuantizedMatmul", count=layers,
            bytes_read=layers * 10**6, bytes_written=4096 * width, flops=layers * 2 * 10**6 * width, coverage=0.98,
            context=CONTEXT, layers=layers, inputs=shapes, outputs=("float32[1,2,49152]",), method="exported",
        )
        for (block, category, detail), (_, layers, _) in COSTS.items()
    ]  # fmt: skip
    view = r.Census(
        width=width, block=HEAD, category="output head", primitive="Reshape", count=7, bytes_read=0, bytes_written=0,
        flops=0, coverage=0.98, context=CONTEXT, layers=1, method="exported",
    )  # fmt: skip
    nameless = r.Census(
        width=width, block=HEAD, category="output head", primitive="Contiguous", count=2, bytes_read=0,
        bytes_written=0, flops=0, coverage=0.98, context=CONTEXT, layers=1, method="names",
    )  # fmt: skip
    return [*rows, view, nameless]


def demands() -> list[r.Demand]:
    routed = {"weight_bytes": 0, "expert_bytes": 8 * 10**7, "experts": 8, "active": 2}
    return [
        r.Demand(
            block=block, category=category, detail=detail, layers=layers, context=CONTEXT, dtype="float32",
            flops=10**6, **(routed if category == "MoE" else {"weight_bytes": 10**8}),
        )
        for (block, category, detail), (_, layers, _) in COSTS.items()
    ]  # fmt: skip


def calibrations() -> list[r.Calibration]:
    bandwidth = r.Calibration(what="bandwidth", value=1e10, unit="B/s", low=0.9e10, high=1.1e10, t_ns=0)
    peak = r.Calibration(what="peak", dtype="float32", value=1e12, unit="flop/s", low=0.9e12, high=1.1e12, t_ns=0)
    fence = r.Calibration(what="fence", value=20_000.0, unit="ns", low=19_000.0, high=21_000.0, t_ns=0)
    boundary = r.Calibration(what="boundary", value=2_000.0, unit="ns", low=1_900.0, high=2_100.0, t_ns=0)
    return [bandwidth, peak, fence, boundary]


def replays() -> list[r.Replay]:
    return [
        r.Replay(
            t_ns=0, primitive="QuantizedMatmul", weight=MLP, category="MLP", shape="1536→49152 × 8 experts",
            dtype="8-bit, groups of 64, float32", width=width, count=30, bytes_read=10**6, slope_ns=ms * MS,
            slope_low_ns=ms * 0.99 * MS, slope_high_ns=ms * 1.01 * MS, cached=False,
        )
        for width, ms in ((1, 1.0), (2, 1.1), (4, 1.2), (6, 1.3), (8, 5.0), (16, 5.6))
    ]  # fmt: skip


def experiments() -> list[r.Experiment]:
    arms = (("as it is", True, 10.0), ("as it is, another process", True, 10.1), ("compile off", False, 13.0))
    return [
        r.Experiment(
            t_ns=visit, name="compile", arm=arm, control=control, width=1, context=CONTEXT,
            samples_ns=(round(ms * MS) + visit * 1000,), peak_bytes=10**8, cache_bytes=0,
        )
        for visit in range(5)
        for arm, control, ms in arms
    ]  # fmt: skip


def footer(status: str = "finished", reason: str | None = None) -> r.Footer:
    return r.Footer(status=status, reason=reason, rounds=0, steps=0, tokens=0, t_ns=9)  # type: ignore[arg-type]


def survey(random_weights: bool = False) -> list[r.Record]:
    """All of it: the whole graph takes 6 ms more than its blocks, pipelined a millisecond less."""
    passes = [whole(width, 6 + sum(cost_ms(place, width) for place in COSTS)) for width in WIDTHS]
    decode = whole(1, 5 + sum(cost_ms(place, 1) for place in COSTS), pipelined=True)
    routes = r.Routes(t_ns=0, block=EXPERTS, width=2, experts=8, active=2, distinct=(2, 3, 4, 3))
    timed = [probe for width in WIDTHS for probe in blocks(width)]
    counted = [row for width in WIDTHS for row in census(width)]
    return [
        header(random_weights), *calibrations(), *passes, decode, *timed, *counted, *demands(), routes, *replays(),
        *experiments(), footer(),
    ]  # fmt: skip
