"""Probes of known cost for tests of the gap: whole passes, slopes and fenced samples of a small model, in ms."""

from __future__ import annotations

from specview.profilers.record.records import Calibration, Probe

MS = 1_000_000


def whole(build=(3.0, 3.2, 2.8), evaluation=(55.0, 55.4, 54.6), width=1, **more):
    """Whole passes with these builds and evaluations in ms."""
    builds, evals = ([round(v * MS) for v in values] for values in (build, evaluation))
    return Probe(
        t_ns=0,
        ruler="whole",
        part="verify",
        width=width,
        context=128,
        samples_ns=tuple(b + e for b, e in zip(builds, evals, strict=True)),
        build_ns=tuple(builds),
        eval_ns=tuple(evals),
        pipelined=False,
        **more,
    )


def queued(block, category, ms, layers=1, width=1, spread=0.01, **more):
    """One slope of a place, `ms` a block."""
    ends = {"slope_low_ns": ms * (1 - spread) * MS, "slope_high_ns": ms * (1 + spread) * MS}
    part = "decode" if width == 1 else "verify"
    fields = {"block": block, "category": category, "slope_ns": ms * MS, "layers": layers, **ends, **more}
    return Probe(t_ns=0, ruler="queued", part=part, width=width, context=128, **fields)


def fenced(block, category, ms, layers=1, width=1):
    """Two fenced samples of a place, its evaluation `ms`."""
    ns, part = round(ms * MS), "decode" if width == 1 else "verify"
    return Probe(
        t_ns=0,
        ruler="fenced",
        part=part,
        width=width,
        context=128,
        block=block,
        category=category,
        samples_ns=(ns + 1000, ns + 1000),
        build_ns=(1000, 1000),
        eval_ns=(ns, ns),
        layers=layers,
    )


def calibration(what, value, unit="ns"):
    """A constant with ends a tenth off."""
    return Calibration(what=what, value=value, unit=unit, low=value * 0.9, high=value * 1.1, t_ns=0)


BLOCKS = (
    queued("layers.*.mlp", "MLP", 1.0, layers=30, arrangement="cycled"),
    queued("layers.*.mlp", "MLP", 0.7, layers=30, arrangement="hot", layer=15),
    queued("head", "output head", 20.0),
    fenced("layers.*.mlp", "MLP", 33.0, layers=30),
    fenced("head", "output head", 20.1),
)
