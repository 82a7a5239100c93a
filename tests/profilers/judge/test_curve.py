"""The verify curve of a session: means by context, marginal costs in ms and in decode steps."""

from __future__ import annotations

import pytest

from specview.engine.errors import SpecviewError
from specview.profilers.judge.curve import pooled_curve, verify_curves
from specview.profilers.record.records import Probe


def add(build, context, ms_by_width, part="verify", pipelined=False):
    """Five passes of each width, a per cent around their mean."""
    for width, ms in ms_by_width.items():
        samples = tuple(round(ms * 1e6 * (1 + spread)) for spread in (-0.01, 0.01, 0.0, 0.01, -0.01))
        build.made.append(
            Probe(
                t_ns=1, ruler="whole", part=part, width=width, context=context, samples_ns=samples, pipelined=pipelined
            )
        )


STAIRS = {1: 10.0, 2: 10.4, 3: 10.8, 4: 11.2, 5: 20.0, 6: 20.4, 8: 21.2}


def test_each_context_has_its_curve_with_ratios_and_marginal_costs(build):
    add(build, 128, STAIRS)
    add(build, 2048, {width: 2 * ms for width, ms in STAIRS.items()})
    short, long = verify_curves(build.session())
    assert (short.contexts, long.contexts) == ((128, 128), (2048, 2048))
    by_width = {point.width: point for point in long.points}
    assert by_width[1].ratio.estimate == 1.0 and by_width[1].marginal_ms is None
    assert by_width[5].ms.mean.estimate == pytest.approx(40.0) and by_width[5].ms.spread.n == 5
    assert by_width[5].ratio.estimate == pytest.approx(2.0)
    assert by_width[5].ratio.low < 2.0 < by_width[5].ratio.high
    assert by_width[8].after == 6 and by_width[8].marginal_ms.estimate == pytest.approx(0.8)
    assert by_width[8].marginal_steps is None
    assert [(c.below, c.above) for c in short.cliffs] == [(4, 5)] and short.bumps == ()
    assert short.between(7).estimate == pytest.approx(20.8)
    with pytest.raises(SpecviewError, match="outside"):
        short.between(9)


def test_marginal_costs_are_told_in_decode_steps_where_plain_decoding_was_timed(build):
    run = build.open_run("plain")
    for i in range(8):
        build.step(run, i, 0, 8.0 + 0.01 * i, warm_up=False)
        build.step(run, i, 0, 800.0, warm_up=True)
        build.step(run, i, 0, 900.0, pipelined=False)
    add(build, 128, {1: 10.0, 2: 12.0, 3: 8.0})
    [curve] = verify_curves(build.session())
    up, down = curve.points[1].marginal_steps, curve.points[2].marginal_steps
    assert up.estimate == pytest.approx(2.0 / 8.035) and up.low < up.estimate < up.high
    assert down.estimate == pytest.approx(-4.0 / 8.035) and down.low < down.estimate < down.high < 0


def test_passes_of_other_parts_and_contexts_without_one_position_give_no_curve(build):
    add(build, 128, {1: 10.0, 2: 11.0}, part="draft")
    add(build, 256, {1: 10.0, 2: 11.0}, pipelined=True)
    add(build, 512, {2: 11.0, 3: 12.0})
    add(build, 1024, {1: 10.0})
    assert verify_curves(build.session()) == ()


def test_a_live_run_pools_its_contexts_into_one_curve(build):
    for context in (40, 72, 104):
        for width, ms in ((1, 10.0), (2, 11.0), (4, 12.0)):
            build.made.append(
                Probe(
                    t_ns=1, ruler="whole", part="verify", width=width, context=context,
                    samples_ns=(round((ms + context / 1000) * 1e6),), pipelined=False,
                )
            )  # fmt: skip
    session = build.session()
    assert verify_curves(session) == ()
    pooled = pooled_curve(session)
    assert pooled.contexts == (40, 104) and [p.width for p in pooled.points] == [1, 2, 4]
    assert pooled.points[0].ms.mean.estimate == pytest.approx(10.072)


def test_the_probe_is_the_unit_where_there_are_three_and_noise_below_zero_still_has_a_ratio(build):
    for width, times in ((1, ((1, 3), (9, 11), (19, 21))), (2, ((20, 20), (21, 21), (22, 22)))):
        for pair in times:
            build.made.append(
                Probe(
                    t_ns=1, ruler="whole", part="verify", width=width, context=9,
                    samples_ns=tuple(ms * 1_000_000 for ms in pair), pipelined=False,
                )
            )  # fmt: skip
    [curve] = verify_curves(build.session())
    one, two = curve.points
    assert one.ms.mean.n == 3 and one.ms.spread.n == 6 and one.ms.mean.low < 0
    assert two.ms.mean.estimate == pytest.approx(21.0) and two.ms.mean.low == pytest.approx(
        21 - 4.303 / 3**0.5, abs=0.01
    )
    assert two.ratio.estimate == pytest.approx(21 / (32 / 3)) and two.ratio.low < 0 < two.ratio.high
