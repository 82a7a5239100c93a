"""S by batch as measured: pairs of the same texts, the interval over pairs, and where drafts win and lose."""

from __future__ import annotations

import pytest
from survey_records import footer, header

from specview.profilers.judge.batch_drafts import batch_drafts
from specview.profilers.record.records import Batched
from specview.profilers.record.session import session_of

MS = 1_000_000


def stretch(pair, arm, batch, ms, tokens, passes=10, k=2, drafter="mtp", **more):
    return Batched(
        t_ns=pair, pair=pair, arm=arm, batch=batch, drafter="none" if arm == "plain" else drafter,
        k=0 if arm == "plain" else k, context=64, passes=passes, tokens=tokens, elapsed_ns=round(ms * MS), **more,
    )  # fmt: skip


def pairs(batch, speedup, count=4, wobble=0.01, **more):
    """Plain in 100 ms, drafting with that S, a little more or less in turns; 16 tokens of each text."""
    rows = []
    for pair in range(count):
        s = speedup * (1 + wobble * (-1) ** pair)
        rows.append(stretch(pair, "plain", batch, 100.0, 16 * batch, passes=16))
        rows.append(
            stretch(pair, "drafting", batch, 100.0 / s, 16 * batch, drafted=20 * batch, accepted=6 * batch,
                    tested=12 * batch, **more)
        )  # fmt: skip
        rows.append(
            stretch(pair, "split", batch, 120.0, 16 * batch, drafted=20 * batch, accepted=6 * batch, tested=12 * batch,
                    draft_ns=30 * MS, verify_ns=80 * MS, rest_ns=10 * MS, **more)
        )  # fmt: skip
    return rows


def table_of(*rows):
    return batch_drafts(session_of([header(), *rows, footer()]))


def test_s_is_paired_and_a_round_has_its_parts():
    table = table_of(*pairs(1, 1.3), *pairs(4, 1.0, wobble=0.02), *pairs(8, 0.8))
    assert table is not None and (table.drafter, table.k, table.context) == ("mtp", 2, 64) and table.left_out == ()
    assert [line.batch for line in table.lines] == [1, 4, 8]
    one = table.lines[0]
    assert one.speedup.estimate == pytest.approx(1.3, rel=1e-3) and one.pairs == 4
    assert one.plain_tokens_per_second == pytest.approx(160) and one.tokens_per_round == pytest.approx(1.6)
    assert one.drafting_tokens_per_second == pytest.approx(208, rel=1e-3) and one.alpha == pytest.approx(0.5)
    assert (one.draft_ms, one.verify_ms, one.rest_ms) == pytest.approx((3.0, 8.0, 1.0))
    assert one.round_ms == pytest.approx(10.0 / 1.3, rel=1e-3)
    assert table.lines[2].tokens_per_round == pytest.approx(1.6)
    assert [line.standing for line in table.lines] == ["win", "too close", "lose"]


def test_too_few_pairs_are_left_out_and_named():
    table = table_of(*pairs(1, 1.3), *pairs(2, 1.3, count=2))
    assert table is not None and [line.batch for line in table.lines] == [1] and table.left_out == (2,)
    assert table_of(*pairs(2, 1.3, count=2)) is None and table_of() is None


def test_only_the_last_setting_counts():
    table = table_of(*pairs(1, 1.3), *pairs(1, 0.5, drafter="lookup"))
    assert table is not None and table.drafter == "lookup" and table.lines[0].standing == "lose"


def test_phases_that_nobody_timed_and_counts_that_cannot_be_are_not_told():
    rows = [row for row in pairs(1, 1.3) if row.arm != "split"]
    lied = [stretch(p, "drafting", 2, 50, 32, drafted=1, accepted=9, tested=1) for p in range(3)]
    plain = [stretch(p, "plain", 2, 100, 32) for p in range(3)]
    empty = stretch(9, "drafting", 0, 50, 32)
    table = table_of(*rows, empty, *plain, *lied)
    assert table is not None and table.lines[0].draft_ms is None and table.lines[1].alpha is None
    assert len(table.lines) == 2
