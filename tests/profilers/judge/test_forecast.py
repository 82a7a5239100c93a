"""T_round from parts timed alone: exact on built sessions, and wrong where the parts are wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specview.profilers.judge.forecast import cumulative_of
from specview.profilers.judge.ledger import ledger_of
from specview.profilers.judge.visits import visits_of
from specview.profilers.record.records import Run

PROMPTS = ("p0", "p1", "p2")
# Of four rounds one accepts both drafts, two accept one, one accepts none: r = (3/4, 1/4), E = 2.
MEASURED = 80.0  # tok/s of free rounds of 25 ms


def probed(build, part, ms_by_width, run=None):
    for width, ms in ms_by_width.items():
        build.probe(part, width, ms, run)
        build.probe(part, width, ms, run)


def round_ms(ledger):
    return ledger.prediction.round_ms.estimate


@pytest.fixture
def mtp(build):
    for prompt in PROMPTS:
        build.visit(prompt)
    return build


def test_without_probes_the_parts_come_from_split_rounds(mtp):
    assert round_ms(ledger_of(mtp.finished())) == pytest.approx(6 + 14 + 5)


def test_verify_comes_from_passes_timed_alone(mtp):
    probed(mtp, "verify", {3: 12.0})
    ledger = ledger_of(mtp.finished())
    assert round_ms(ledger) == pytest.approx(6 + 12 + 5)
    assert ledger.prediction.tokens_per_second.estimate == pytest.approx(2000 / 23)
    assert ledger.prediction_error.error == pytest.approx(25 / 23 - 1)
    assert ledger.prediction_error.measured == pytest.approx(MEASURED)


@pytest.mark.parametrize("verify", [8.0, 12.0, 30.0])
def test_a_prediction_follows_its_probes_and_not_the_rounds_it_is_compared_with(build, verify):
    for prompt in PROMPTS:
        build.visit(prompt, round_ms=40.0)
    probed(build, "verify", {3: verify})
    ledger = ledger_of(build.finished())
    assert round_ms(ledger) == pytest.approx(6 + verify + 5)
    assert ledger.prediction_error.error == pytest.approx(40 / (11 + verify) - 1)


def test_free_rounds_move_the_error_and_never_the_prediction(build):
    for prompt in PROMPTS:
        build.visit(prompt, round_ms=50.0)
    assert round_ms(ledger_of(build.finished())) == pytest.approx(25.0)
    assert ledger_of(build.session()).prediction_error.error == pytest.approx(1.0)


def test_an_mtp_head_takes_in_what_was_accepted(mtp):
    probed(mtp, "draft", {1: 2.0, 2: 3.0, 3: 5.0}, 1)
    ledger = ledger_of(mtp.finished())
    draft = 1.25 * 2.0 + 0.5 * 3.0 + 0.25 * 5.0
    assert round_ms(ledger) == pytest.approx(draft + 14 + 5)
    assert ledger.catch_up_ms == pytest.approx(draft - 2 * 2.0)


def with_two_heads(build):
    build.made[:] = [
        replace(made, heads=2) if isinstance(made, Run) and made.arm != "plain" else made for made in build.made
    ]


def test_each_of_several_mtp_heads_takes_in_one_position_more(mtp):
    """Rounds accept 0, 1, 2 in shares 1/4, 1/2, 1/4: head 0 takes in 1, 2, 3 positions and head 1 takes in 2, 3, 4."""
    with_two_heads(mtp)
    probed(mtp, "draft", {1: 2.0, 2: 3.0, 3: 5.0, 4: 9.0}, 1)
    ledger = ledger_of(mtp.finished())
    draft = 0.25 * (2.0 + 3.0) + 0.5 * (3.0 + 5.0) + 0.25 * (5.0 + 9.0)
    assert round_ms(ledger) == pytest.approx(draft + 14 + 5)
    assert ledger.catch_up_ms == pytest.approx(draft - 2 * 2.0)


def test_what_several_heads_hide_is_reckoned_with_their_own_widths(mtp):
    with_two_heads(mtp)
    probed(mtp, "verify", {3: 12.0})
    probed(mtp, "draft", {1: 2.0, 2: 3.0, 3: 5.0, 4: 9.0}, 1)
    probed(mtp, "round", {3: 14.0}, 1)
    assert ledger_of(mtp.finished()).overlap_ms == pytest.approx(12 + (2 + 3) - 14)


def test_a_draft_model_is_two_wide_after_full_acceptance(build):
    for prompt in PROMPTS:
        _, run, _ = build.visit(prompt, drafter="org/draft")
        probed(build, "draft", {1: 2.0, 2: 3.0}, run)
    ledger = ledger_of(build.finished())
    assert round_ms(ledger) == pytest.approx(1.75 * 2.0 + 0.25 * 3.0 + 14 + 5)
    assert ledger.catch_up_ms == pytest.approx(0.25)


def test_a_step_width_without_probes_sends_the_draft_back_to_split_rounds(mtp):
    probed(mtp, "draft", {1: 2.0, 3: 5.0}, 1)
    ledger = ledger_of(mtp.finished())
    assert round_ms(ledger) == pytest.approx(6 + 14 + 5)
    assert ledger.catch_up_ms is None


def test_full_acceptance_is_built_from_the_same_parts_at_its_own_catch_up(mtp):
    probed(mtp, "verify", {3: 12.0})
    probed(mtp, "draft", {1: 2.0, 2: 3.0, 3: 5.0}, 1)
    ledger = ledger_of(mtp.finished())
    assert ledger.round_steps_full.estimate == pytest.approx((12 + (2 + 5) + (5 - 1)) / 10)
    assert ledger.most_tokens == 3


def test_what_draft_and_verify_hide_behind_each_other_is_taken_off(mtp):
    probed(mtp, "verify", {1: 11.0, 3: 12.0})
    probed(mtp, "draft", {1: 2.0, 2: 3.0, 3: 5.0}, 1)
    without = ledger_of(mtp.session())
    probed(mtp, "round", {3: 14.0}, 1)
    ledger = ledger_of(mtp.finished())
    assert (without.overlap_ms, ledger.overlap_ms) == (None, pytest.approx(12 + 2 * 2 - 14))
    assert round_ms(ledger) == pytest.approx(round_ms(without) - 2.0)
    assert ledger.round_steps_full.estimate == pytest.approx(without.round_steps_full.estimate - 0.2)


def test_what_is_hidden_after_full_acceptance_counts_as_often_as_such_catch_ups_occur(mtp):
    """After none: 14 less 2 + 2; after all: 18 less 2 + 5; half of all drafts are accepted, so verify is 10.5."""
    probed(mtp, "verify", {1: 11.0, 3: 12.0})
    probed(mtp, "draft", {1: 2.0, 2: 3.0, 3: 5.0}, 1)
    probed(mtp, "round", {3: 14.0}, 1)
    probed(mtp, "round after all", {3: 18.0}, 1)
    ledger = ledger_of(mtp.finished())
    draft = 1.25 * 2.0 + 0.5 * 3.0 + 0.25 * 5.0
    assert round_ms(ledger) == pytest.approx(10.5 + draft + 5)
    assert ledger.overlap_ms == pytest.approx(12 - 10.5)
    assert ledger.round_steps_full.estimate == pytest.approx((18 + (5 - 1)) / 10)


def test_a_draft_models_rounds_after_full_acceptance_are_those_that_catch_up(build):
    for prompt in PROMPTS:
        _, run, _ = build.visit(prompt, drafter="org/draft")
        probed(build, "draft", {1: 2.0, 2: 3.0}, run)
        probed(build, "round", {3: 14.0}, run)
        probed(build, "round after all", {3: 16.0}, run)
    probed(build, "verify", {3: 12.0})
    assert round_ms(ledger_of(build.finished())) == pytest.approx(0.75 * 14 + 0.25 * 16 + 5)


def test_rounds_played_together_by_another_drafter_hide_nothing_here(mtp):
    probed(mtp, "verify", {3: 12.0})
    probed(mtp, "draft", {1: 2.0, 2: 3.0, 3: 5.0}, 1)
    probed(mtp, "round", {3: 3.0}, 77)
    assert ledger_of(mtp.finished()).overlap_ms is None


def test_lookup_is_weighed_over_the_widths_that_occur(build):
    for prompt in PROMPTS:
        plain, drafting, split = (build.open_run(arm, "lookup", 4, prompt) for arm in ("plain", "drafting", "split"))
        for n in range(12):
            drafted = (0, 0, 4)[n % 3]
            build.step(plain, n, 0, 10.0)
            build.round(drafting, n, 0, 20.0, drafted, drafted)
            build.round(split, n, 0, 21.0, drafted, drafted, (0.5, (9.0, 9.0, 30.0)[n % 3], 2.0, 0.5))
    session = build.finished()
    assert round_ms(ledger_of(session)) == pytest.approx(0.5 + (2 * 9 + 30) / 3 + 2)
    probed(build, "verify", {1: 11.0, 3: 99.0, 5: 26.0})
    ledger = ledger_of(build.session())
    assert round_ms(ledger) == pytest.approx(0.5 + (2 * 11 + 26) / 3 + 2)
    assert ledger.most_tokens == pytest.approx(4 / 3 + 1)
    assert ledger.round_steps_full.estimate == pytest.approx((0.5 + 16 + 1.5) / 10)


def test_a_width_without_probes_comes_from_split_rounds(build):
    for prompt in PROMPTS:
        plain, drafting, split = (build.open_run(arm, "lookup", 4, prompt) for arm in ("plain", "drafting", "split"))
        for n in range(8):
            drafted = (0, 4)[n % 2]
            build.step(plain, n, 0, 10.0)
            build.round(drafting, n, 0, 20.0, drafted, drafted)
            build.round(split, n, 0, 21.0, drafted, drafted, (0.0, (9.0, 30.0)[n % 2], 2.0, 0.5))
    probed(build, "verify", {1: 11.0})
    assert round_ms(ledger_of(build.finished())) == pytest.approx((11 + 30) / 2 + 2)


def test_free_rounds_of_segments_without_split_ones_are_not_compared(build):
    for prompt in PROMPTS:
        _, drafting, _ = build.visit(prompt)
        for n in range(8):
            build.step(drafting - 1, 30 + n, 7, 10.0)
            build.round(drafting, 30 + n, 7, 99.0, 2, 1)
    ledger = ledger_of(build.finished())
    assert ledger.prediction_error.measured == pytest.approx(MEASURED)
    assert ledger.split_cost == pytest.approx(0.0)


def test_a_few_unsteady_rounds_have_a_ledger_all_the_same(build):
    plain, drafting, split = (build.open_run(arm, "lookup", 1) for arm in ("plain", "drafting", "split"))
    for n, ms in enumerate((8.0, 9.0, 60.0)):
        build.step(plain, n, 0, 8.0)
        build.round(drafting, n, 0, ms, 1, 1)
        build.round(split, n, 0, ms, 1, 1, (0.1, ms - 0.3, 0.2, 0.1))
    error = ledger_of(build.finished()).prediction_error
    assert error.low < error.error < error.high
    assert error.error == pytest.approx(0.0, abs=1e-9)


def test_the_error_is_as_uncertain_as_the_free_rounds(build):
    for n, prompt in enumerate(PROMPTS):
        build.visit(prompt, round_ms=(24.0, 25.0, 26.0)[n])
    error = ledger_of(build.finished()).prediction_error
    assert error.low < 0 < error.high
    assert error.error == pytest.approx(0.0, abs=1e-9)


def test_without_drafts_there_is_no_full_acceptance(build):
    for prompt in PROMPTS:
        plain, k0, split = (build.open_run(arm, "none", 0, prompt) for arm in ("plain", "k0", "split"))
        for n in range(8):
            build.step(plain, n, 0, 10.0)
            build.round(k0, n, 0, 11.0, 0, 0, catch_up=0)
            build.round(split, n, 0, 11.0, 0, 0, (0.0, 10.6, 0.4, 0.1), catch_up=0)
    ledger = ledger_of(build.finished())
    assert (ledger.round_steps_full, ledger.most_tokens) == (None, None)
    assert round_ms(ledger) == pytest.approx(11.0)


def test_acceptance_by_position_reaches_to_k(build):
    build.visit("p0", k=4, accepted=(1, 0))
    (segment, _) = visits_of(build.session())[0].pairs()
    assert cumulative_of(segment.splits, 4) == (0.5, 0.0, 0.0, 0.0)
