"""Batches read from a session: times by batch, never pooled with passes of one sequence; what drafts would give."""

from __future__ import annotations

from dataclasses import replace

import pytest
from survey_records import CONTEXT, MS, footer, header, survey

from specview.engine.errors import SpecviewError
from specview.profilers.judge.batch_table import batch_table, what_if_drafts
from specview.profilers.judge.curve import pooled_curve, verify_curves
from specview.profilers.judge.floor import pipelined_decode
from specview.profilers.judge.gap_times import gap_times
from specview.profilers.judge.ledger_sheets import ledger_sheets
from specview.profilers.judge.numbers import whole_probes
from specview.profilers.judge.readings import shown_wall, whole_passes
from specview.profilers.judge.shown import verify_probes
from specview.profilers.record import records as r
from specview.profilers.record.session import SessionReader, session_of


def visits(batch, part, width, ms, count=4, context=CONTEXT):
    pipelined = part == "decode"
    return [
        r.Probe(
            t_ns=i, ruler="whole", part=part, width=width, context=context + 2 * pipelined, batch=batch,
            samples_ns=(round(ms * MS) + (i - 2) * 100 + 50,), pipelined=pipelined,
        )
        for i in range(count)
    ]  # fmt: skip


def batches(decode, verify, width=2):
    """Two numbers of ms by batch, as records."""
    return [
        probe
        for batch in decode
        for probe in (*visits(batch, "decode", 1, decode[batch]), *visits(batch, "verify", width, verify[batch]))
    ]


def session(*probes):
    return session_of([header(), *probes, footer()])


SIZES = (1, 2, 3, 4, 6)
STRAIGHT = batches({b: 1.0 + 0.1 * b for b in SIZES}, {b: 1.0 + 0.3 * b for b in SIZES})


def test_each_batch_has_its_times_their_quotient_and_its_rate():
    table = batch_table(session(*STRAIGHT))
    assert table is not None and table.context == CONTEXT and [line.batch for line in table.lines] == list(SIZES)
    four = table.lines[3]
    assert four.decode_ms.estimate == pytest.approx(1.4) and four.tokens_per_second == pytest.approx(4000 / 1.4)
    (verify,) = four.verify
    assert (verify.width, verify.ms.estimate) == (2, pytest.approx(2.2))
    assert verify.steps.estimate == pytest.approx(2.2 / 1.4) and verify.steps.low < verify.steps.high
    assert verify.tokens_per_second == pytest.approx(8000 / 2.2)


def test_where_drafts_begin_to_lose_is_said_with_the_acceptance_that_was_asked_for():
    (found,) = what_if_drafts(session(*STRAIGHT), 0.5)
    assert (found.k, found.alpha) == (1, 0.5) and [row.batch for row in found.rows] == list(SIZES)
    assert found.rows[0].speedup == pytest.approx(1.5 * 1.1 / 1.3)
    assert found.loses_from is not None and (found.loses_from.wins_at, found.loses_from.batch) == (3, 4)
    assert found.sentence == (
        "What if: k = 1 at p = 0.5, drafts for nothing: they win at 3 and lose from a batch of 4 (at about 3.3 if "
        "times run straight)."
    )


@pytest.mark.parametrize(
    ("verify", "end"),
    [
        ({1: 1.0, 8: 1.2}, "they win at every batch measured, up to 8."),
        ({1: 3.0, 8: 3.0}, "they lose at every batch measured."),
        ({1: 3.0, 8: 1.2}, "they lose already at 1, the least batch measured; they win again at 8."),
    ],
)
def test_drafts_that_win_or_lose_everywhere_are_told(verify, end):
    (found,) = what_if_drafts(session(*batches({1: 1.0, 8: 1.0}, verify)), 0.5)
    assert found.sentence.endswith(end)


def test_an_acceptance_that_is_none_is_refused():
    with pytest.raises(SpecviewError):
        what_if_drafts(session(*STRAIGHT), 1.5)


def test_a_session_without_batches_has_no_table():
    assert batch_table(session_of(survey())) is None and what_if_drafts(session_of(survey()), 0.5) == ()


def test_a_batch_that_was_timed_once_is_left_out_with_a_remedy():
    table = batch_table(session(*STRAIGHT, *visits(16, "decode", 1, 2.0, 1), *visits(16, "verify", 2, 2.0, 1)))
    assert table is not None and [line.batch for line in table.lines] == list(SIZES)
    assert table.left_out == ("A batch of 16 was timed too rarely to count; ask for more repeats.",)


def test_passes_of_one_sequence_that_say_no_batch_are_not_taken_for_a_batch_of_one():
    with_curve = session(*STRAIGHT, *(replace(p, batch=None, samples_ns=(9 * MS,)) for p in STRAIGHT))
    assert batch_table(with_curve) == batch_table(session(*STRAIGHT))


MANY = [p for b in (2, 8) for p in (*visits(b, "verify", 1, 500.0), *visits(b, "verify", 2, 900.0))]
MANY += visits(8, "decode", 1, 400.0, context=CONTEXT - 2)


def read(*kept):
    reader = SessionReader("some")
    reader.feed(b"".join(map(r.to_line, kept)))
    return reader.session()


@pytest.mark.parametrize("made", [lambda *kept: session_of(kept), read], ids=["in memory", "from a file"])
def test_no_number_of_single_passes_changes_where_batches_were_timed_too(made):
    first, *rest = survey()
    alone, beside = made(first, *rest), made(first, *MANY, *rest)
    assert beside.batch_probes == tuple(MANY) and alone.batch_probes == () and beside.probes == alone.probes
    for ask in (
        lambda s: whole_passes(s, "verify"),
        lambda s: whole_probes(s, "verify"),
        lambda s: shown_wall(s, 1),
        lambda s: verify_probes(s, 2),
        lambda s: gap_times(s, 1),
        verify_curves,
        pooled_curve,
        pipelined_decode,
        lambda s: [row for sheet in ledger_sheets(s) for row in sheet.rows],
    ):
        assert ask(alone) == ask(beside)
