"""Every number that a what-if moves, against the division written out by hand; what cannot be asked is a sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from session_builder import CASES, Made, built
from survey_builder import SURVEYS
from survey_records import CONTEXT, MS, footer, header

from specview.engine.errors import SpecviewError
from specview.profilers.judge.asked import asked, recorded_basis
from specview.profilers.judge.asked_costs import CostsBasis
from specview.profilers.judge.batch_table import batch_costs
from specview.profilers.judge.costs_alone import costs_alone
from specview.profilers.judge.ledger import ledger_of
from specview.profilers.judge.question import MEASURED, Question
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of

EXACT = Made(decode=10.0, verify={1: 10.4, 2: 13.0, 3: 17.9, 4: 24.1}, draft=2.0, rest=0.3, p=0.7, noise=0.0)


def ledger(made: Made = EXACT):
    return ledger_of(session_of(built(made)))


def by_batch():
    """T_decode(B) = 1 + 0.1 B, T_verify(B, 2) = 1 + 0.3 B, in ms."""

    def visits(batch: int, part: str, width: int, ms: float) -> list[r.Probe]:
        late = 2 * (part == "decode")
        return [
            r.Probe(
                t_ns=i, ruler="whole", part=part, width=width, context=CONTEXT + late, batch=batch,
                samples_ns=(round(ms * MS),), pipelined=part == "decode",
            )
            for i in range(4)
        ]  # fmt: skip

    probes = [p for b in (1, 2, 4) for p in visits(b, "decode", 1, 1 + 0.1 * b)]
    probes += [p for b in (1, 2, 4) for p in visits(b, "verify", 2, 1 + 0.3 * b)]
    return batch_costs(session_of([header(), *probes, footer()]))


def test_the_numbers_at_k_1_are_the_division_by_hand() -> None:
    found = asked(ledger(), {1: 1.0}, Question(p=0.6))
    # an MTP head takes in accepted + 1 positions: a step costs 2.0 at one, 2.2 at two
    draft = 0.4 * 2.0 + 0.6 * 2.2
    whole = 13.0 + draft + 0.3
    assert (found.k, found.batch, found.tokens) == (1, 1, pytest.approx(1.6))
    assert found.decode_ms == pytest.approx(10.0) and found.verify_ms == pytest.approx(13.0)
    assert found.draft_ms == pytest.approx(draft, rel=0.01) and found.rest_ms == pytest.approx(0.3)
    assert found.round_ms == pytest.approx(whole, rel=0.003)
    assert found.round_steps == pytest.approx(whole / 10.0, rel=0.003)
    assert found.speedup == pytest.approx(1.6 * 10.0 / whole, rel=0.003)
    assert found.tokens_per_second == pytest.approx(1600.0 / whole, rel=0.003)
    assert found.limit_ms == pytest.approx(16.0 - draft - 0.3, rel=0.003)
    assert found.full_steps == pytest.approx((13.0 + 2.2 + 0.3) / 10.0, rel=0.003) and not found.cannot_win
    # (1 + p) · 10 = 13 + 2 + 0.2 p + 0.3 at the break-even p
    assert found.crossing == pytest.approx(5.3 / 9.8, rel=0.02)


def test_t_verify_and_t_draft_move_and_everything_with_them() -> None:
    measured, found = asked(ledger(), {}, MEASURED), asked(ledger(), {}, Question(verify=0.8, draft=0.5))
    assert found.verify_ms == pytest.approx(0.8 * measured.verify_ms)
    assert measured.draft_ms is not None and found.draft_ms == pytest.approx(0.5 * measured.draft_ms)
    assert found.tokens == measured.tokens and found.rest_ms == measured.rest_ms
    whole = 0.8 * measured.verify_ms + 0.5 * measured.draft_ms + (measured.rest_ms or 0.0)
    assert found.round_ms == pytest.approx(whole)
    assert found.speedup == pytest.approx(measured.tokens * measured.decode_ms / whole)
    assert found.limit_ms == pytest.approx(measured.limit_ms + 0.5 * measured.draft_ms)
    assert found.crossing is not None and measured.crossing is not None and found.crossing < measured.crossing


def test_another_k_takes_the_verify_pass_of_its_width_and_more_drafter_steps() -> None:
    found = asked(ledger(), {}, Question(p=0.5, k=3))
    assert found.tokens == pytest.approx(1 + 0.5 + 0.25 + 0.125) and found.verify_ms == pytest.approx(24.1)
    # two further steps of one position, and a first one of 1 + 0.875 positions
    assert found.draft_ms == pytest.approx(2 * 2.0 + 2.0 * (0.9 + 0.1 * 1.875), rel=0.02)
    assert found.most_tokens == 4.0


def test_a_width_that_was_not_measured_is_never_guessed() -> None:
    basis = recorded_basis(ledger(), {})
    assert basis.lengths == (1, 2, 3)
    with pytest.raises(SpecviewError, match="5 positions, which is not measured; it may be a cliff"):
        basis.ask(Question(k=4))
    with pytest.raises(SpecviewError, match="No batch was timed"):
        basis.ask(Question(batch=4))


def test_s_alone_and_the_curve_agree_with_the_rest() -> None:
    basis, question = recorded_basis(ledger(), {}), Question(p=0.4, k=2, verify=0.9)
    found = basis.ask(question)
    assert basis.speedup(question) == pytest.approx(found.speedup)
    limits = basis.limits_ms(question)
    assert len(limits) == 101 and limits[40] == pytest.approx(found.limit_ms)


def test_a_batch_is_of_its_own_passes_with_drafts_for_nothing() -> None:
    basis = recorded_basis(ledger(), {}, by_batch())
    assert basis.batches == (1, 2, 4)
    found = basis.ask(Question(p=0.5, batch=4))
    assert (found.batch, found.draft_ms, found.rest_ms) == (4, None, None)
    assert found.decode_ms == pytest.approx(1.4) and found.verify_ms == pytest.approx(2.2)
    assert found.speedup == pytest.approx(1.5 * 1.4 / 2.2) and "at most" in found.note
    assert found.tokens_per_second == pytest.approx(4000 * 1.5 / 2.2)
    assert found.crossing == pytest.approx(2.2 / 1.4 - 1)
    half = basis.ask(Question(p=0.5, batch=4, verify=0.5))
    assert half.verify_ms == pytest.approx(1.1) and half.speedup == pytest.approx(2 * found.speedup)
    assert basis.limits_ms(Question(batch=4))[100] == pytest.approx(2.8)
    for question, said in (
        (Question(batch=3), "A batch of 3 was not timed, only 1, 2, 4"),
        (Question(batch=2, draft=0.5), "No draft was timed for several"),
        (Question(batch=2, k=2), "3 positions at a batch of 2"),
    ):
        with pytest.raises(SpecviewError, match=said):
            basis.ask(question)


def test_costs_alone_answer_at_most_and_scale_verify_but_not_the_decode_step() -> None:
    costs = costs_alone(session_of(SURVEYS["survey"]))
    assert costs is not None
    basis = CostsBasis(costs=costs, batch_costs={})
    found, half = basis.ask(Question(p=0.5)), basis.ask(Question(p=0.5, verify=0.5))
    assert found.k == 1 and found.draft_ms is None and found.speedup == pytest.approx(1.5 / costs.steps(2))
    assert half.speedup == pytest.approx(2 * found.speedup) and half.decode_ms == found.decode_ms
    with pytest.raises(SpecviewError, match="Nothing was drafted"):
        basis.ask(Question(draft=0.5))
    with pytest.raises(SpecviewError, match="not measured"):
        basis.ask(Question(k=40))


def test_a_time_below_zero_is_refused() -> None:
    with pytest.raises(SpecviewError, match="below zero"):
        asked(ledger(), {}, Question(verify=-0.1))
    line = recorded_basis(ledger(), {})
    undrafted = replace(line, here=replace(line.here, draft=line.here.draft * 0.0))
    with pytest.raises(SpecviewError, match="No draft was timed"):
        undrafted.ask(Question(draft=0.9))


def test_an_adaptive_or_lookup_drafter_is_reckoned_over_the_widths_that_occur() -> None:
    made = replace(EXACT, drafter="lookup", k=2, draft=0.2)
    found = asked(ledger(made), {1: 0.5, 2: 0.5}, Question(p=0.5))
    assert found.tokens == pytest.approx(0.5 * 1.5 + 0.5 * 1.75) and found.most_tokens == pytest.approx(2.5)


def test_every_case_answers_as_measured() -> None:
    for name in ("normal", "cannot-win", "wins"):
        reckoned = ledger_of(session_of(CASES[name]))
        assert asked(reckoned, {}, MEASURED).cannot_win == (reckoned.verdict.kind == "cannot_win"), name
