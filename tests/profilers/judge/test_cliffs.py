"""Cliffs and bumps: what real tables show, none in noise, and nothing guessed across one."""

from __future__ import annotations

import random

import pytest

from specview.engine.errors import SpecviewError
from specview.profilers.judge.cliffs import difference, staircase
from specview.profilers.judge.statistics import Interval, t_interval

WIDTHS = (1, 2, 3, 4, 5, 8, 16)
# SmolLM2-135M at context 128 on two shared cores: median ms of a pass over so many positions
MEASURED = {
    "fp32, reference BLAS": (77, 147, 209, 275, 341, 541, 1070),
    "fp32, OpenBLAS": (66, 70, 86, 68, 83, 81, 109),
    "fp16": (206, 254, 300, 348, 395, 535, 913),
    "bf16": (127, 178, 207, 248, 297, 422, 744),
    "4-bit, fp32 scales": (100, 193, 285, 377, 468, 743, 1478),
}


def exact(values_by_width):
    return {width: Interval(ms, ms, ms, 0.95, 9) for width, ms in values_by_width.items()}


def measured(name):
    return staircase(exact(dict(zip(WIDTHS, MEASURED[name], strict=True))))


@pytest.mark.parametrize("name", [name for name in MEASURED if name != "fp32, OpenBLAS"])
def test_weights_read_once_a_position_are_a_line_without_cliffs(name):
    found = measured(name)
    assert found.cliffs == () and found.bumps == ()
    assert found.typical == pytest.approx((MEASURED[name][-1] - MEASURED[name][0]) / 15, rel=0.05)


def test_openblas_at_three_positions_is_dearer_than_at_four_and_jumps_between_four_and_five():
    found = measured("fp32, OpenBLAS")
    assert [(b.width, b.pad_to, b.saved) for b in found.bumps] == [(3, 4, 18)]
    assert [(c.below, c.above) for c in found.cliffs] == [(4, 5)]
    # eight is cheaper than five too, but by too little to be worth the padding
    assert found.cliffs[0].marginal == 15 and found.cliffs[0].extra == pytest.approx(13.25)


def test_a_matrix_that_doubles_at_two_positions_and_stays_there_has_its_cliff_between_one_and_two():
    # ms of a bfloat16 product 5120 → 17408 on an M3 Ultra, as told in github.com/ml-explore/mlx/issues/4265
    found = staircase(exact({1: 0.271, 2: 0.539, 4: 0.538, 7: 0.539, 8: 0.541, 16: 0.541}))
    assert [(c.below, c.above) for c in found.cliffs] == [(1, 2)] and found.bumps == ()


def noisy(cost_by_width, source, relative=0.03, repeats=6):
    return {w: t_interval([ms * (1 + source.gauss(0, relative)) for _ in range(repeats)]) for w, ms in cost_by_width}


@pytest.mark.parametrize("each", [0.0, 1.0, 9.0])
def test_straight_lines_with_noise_have_almost_no_cliffs_and_bumps(each):
    source, cliffs, bumps = random.Random(3), 0, 0
    for _ in range(150):
        found = staircase(noisy([(n, 10.0 + each * (n - 1)) for n in range(1, 17)], source))
        cliffs += bool(found.cliffs)
        bumps += bool(found.bumps)
    assert cliffs <= 1 and bumps <= 4  # of 150 curves


def test_tile_edges_are_found_through_noise():
    source, found = random.Random(4), []
    for _ in range(20):
        costs = noisy([(n, 30.0 + 0.5 * n + 15.0 * ((n - 1) // 4)) for n in range(1, 17)], source)
        found.append(tuple((c.below, c.above) for c in staircase(costs).cliffs))
    assert found.count(((4, 5), (8, 9), (12, 13))) >= 19


def test_a_step_within_its_own_noise_is_no_cliff():
    costs = exact({n: 10.0 + n for n in range(1, 9)})
    costs[5] = Interval(22.0, 10.0, 34.0, 0.95, 3)
    assert staircase(costs).cliffs == ()


def test_a_few_steps_that_agree_by_chance_make_no_cliff_of_one_within_the_usual_noise():
    # ms of a 4-bit product 576 → 576 on a busy machine: 0.19 a position but for what noise added at three
    costs = {
        n: Interval(ms, ms * (1 - half), ms * (1 + half), 0.95, 9)
        for n, ms, half in ((1, 0.228, 0.1), (2, 0.419, 0.12), (3, 0.711, 0.03), (4, 0.894, 0.02), (8, 1.681, 0.58))
    }
    assert staircase(costs).cliffs == ()


def test_a_value_between_widths_is_on_the_line_and_one_across_a_cliff_is_refused():
    costs = exact({1: 10.0, 2: 11.0, 4: 13.0, 8: 57.0, 12: 61.0, 16: 65.0})
    found = staircase(costs)
    assert [(c.below, c.above) for c in found.cliffs] == [(4, 8)]
    assert found.between(4).estimate == 13.0 and found.between(3).estimate == 12.0
    assert found.between(10).estimate == 59.0
    with pytest.raises(SpecviewError, match="6 cannot be guessed across a cliff, and there is one between 4 and 8"):
        found.between(6)
    with pytest.raises(SpecviewError, match="17 lies outside"):
        found.between(17)
    with pytest.raises(SpecviewError, match="Width 3 was not measured"):
        found.at(3)


def test_beside_a_bump_and_with_few_widths_nothing_is_guessed():
    with pytest.raises(SpecviewError, match="up and down between 3 and 5"):
        staircase(exact({1: 10.0, 2: 11.0, 3: 19.0, 5: 12.0, 6: 13.0})).between(4)
    few = staircase(exact({1: 10.0, 4: 13.0}))
    assert few.typical is None and few.cliffs == ()
    with pytest.raises(SpecviewError, match="2 measured widths cannot tell"):
        few.between(2)


def test_a_difference_carries_the_noise_of_both_sides():
    found = difference(Interval(20.0, 16.0, 24.0, 0.95, 5), Interval(10.0, 7.0, 13.0, 0.95, 4), 2)
    assert (found.estimate, found.low, found.high, found.n) == (5.0, 2.5, 7.5, 4)
