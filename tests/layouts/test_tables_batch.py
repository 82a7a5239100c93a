"""Batches and verify policies as tables: what is what-if says so, refusals are told, every answer is JSON."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from survey_records import CONTEXT, MS, footer, header

from specview.layouts.survey_tables import as_drawn, as_object
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of


def drawn(question, session, p=None, columns=80):
    text = io.StringIO()
    console = Console(file=text, width=columns, highlight=False, markup=False, color_system=None)
    for drawing in as_drawn(question, session, p):
        console.print(drawing, soft_wrap=True)
    return text.getvalue()


def probe(batch, part, width, ms, i):
    return r.Probe(
        t_ns=i, ruler="whole", part=part, width=width, context=CONTEXT, batch=batch,
        samples_ns=(round(ms * MS) + 100 * i,), pipelined=part == "decode",
    )  # fmt: skip


def policy(arm, ms, i, control=False):
    return r.Experiment(
        t_ns=i, name="verify policy", arm=arm, control=control, width=2, context=CONTEXT,
        samples_ns=(round(ms * MS) + 100 * i,), peak_bytes=10**8, cache_bytes=0, detail="the same tokens",
    )  # fmt: skip


TIMES = [("decode", 1, 1.0, 0.1), ("verify", 1, 1.0, 0.1), ("verify", 2, 1.0, 0.3)]
BATCHES = session_of(
    [
        header(),
        r.Note(t_ns=0, text="Batches need 1 GB.", tags=("batch",)),
        *(probe(b, part, n, ms + more * b, i) for b in (1, 2, 4, 8) for part, n, ms, more in TIMES for i in range(4)),
        footer(),
    ]
)


def drafted(batch, speedup, pair):
    return [
        r.Batched(
            t_ns=pair, pair=pair, arm=arm, batch=batch, drafter="none" if arm == "plain" else "fixed:0.7",
            k=0 if arm == "plain" else 1, context=CONTEXT, passes=16, tokens=16 * batch,
            elapsed_ns=round((100 + pair) * MS / (speedup if arm == "drafting" else 1.0)),
            **({"draft_ns": 30 * MS, "verify_ns": 60 * MS, "rest_ns": 10 * MS} if arm == "split" else {}),
        )
        for arm in ("plain", "drafting", "split")
    ]  # fmt: skip


DRAFTED = session_of(
    [
        header(),
        *(probe(b, part, n, ms + more * b, i) for b in (1, 8) for part, n, ms, more in TIMES for i in range(4)),
        *(row for pair in range(3) for b, s in ((1, 1.3), (8, 0.8)) for row in drafted(b, s, pair)),
        footer(),
    ]
)
POLICIES = session_of(
    [
        header(),
        r.Note(t_ns=0, text="Policy 'dense' was not tried: no.", tags=("policies",)),
        *(
            policy(arm, ms, i, control)
            for i in range(5)
            for arm, ms, control in (
                ("one pass", 2.0, True),
                ("one pass, again", 2.0, True),
                ("single passes", 3.0, False),
            )
        ),
        footer(),
    ]
)


def test_batches_are_a_table_with_the_memory_on_top():
    text = drawn("batch", BATCHES)
    assert text.index("Batches need 1 GB.") < text.index("Passes of B sequences, n positions of each")
    assert "what-if" not in text and "--p 0.7" in text
    rows = [line.split() for line in text.splitlines()]
    assert any(row[:3] == ["8", "decode", "1.80"] for row in rows)


def test_a_speedup_at_an_acceptance_is_marked_as_what_if():
    text = drawn("batch", BATCHES, 0.7)
    assert "Speedup by batch at p = 0.7 (what-if: p was asked for, not measured" in text
    assert "What if: k = 1 at p = 0.7, drafts for nothing: they win at 4 and lose from a batch of 8" in text


def test_policies_stand_against_one_pass_and_refusals_are_told():
    text = drawn("policies", POLICIES)
    assert "single passes: +50.0%" in text and "real: slower; the same tokens." in text
    assert "One pass timed twice differs by" in text and "Policy 'dense' was not tried: no." in text
    assert "verify policy: passes under a setting" in drawn("experiment", POLICIES)


@pytest.mark.parametrize("columns", [80, 120])
def test_texts_with_drafts_say_where_drafts_win_and_what_drafting_costs(columns):
    text = drawn("batch", DRAFTED, columns=columns)
    assert "B texts at once with drafts of 1 by fixed:0.7 (synthetic) and without" in text
    assert "1.30x [1.30, 1.30]" in text and "0.80x [0.80, 0.80]" in text
    assert ("phases are of fenced rounds" in text) == ("verify" in text.split("B texts")[1]) == (columns > 80)
    assert "win at a batch of 1, lose at a batch of 8." in text
    assert "At a batch of 8 drafting is 30% of a round, because each text drafts after the other" in text
    found = as_object("batch", DRAFTED)["drafted"]
    assert [line["batch"] for line in found["lines"]] == [1, 8] and len(found["sentences"]) == 2
    assert as_object("batch", BATCHES)["drafted"] is None


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(("question", "session"), [("batch", BATCHES), ("batch", DRAFTED), ("policies", POLICIES)])
def test_no_number_is_cut_off(question, session, columns):
    lines = [line for line in drawn(question, session, 0.7, columns).splitlines() if line.startswith(" ")]
    assert all(len(line) <= columns and "…" not in line for line in lines)


@pytest.mark.parametrize("session", [BATCHES, POLICIES, session_of([header(), footer()])])
@pytest.mark.parametrize("question", ["batch", "policies"])
def test_every_answer_is_json(question, session):
    found = json.loads(json.dumps(as_object(question, session, 0.7), allow_nan=False))
    assert found["status"] == "finished"
    if question == "batch" and session is BATCHES:
        assert [line["batch"] for line in found["batch"]["lines"]] == [1, 2, 4, 8]
        assert found["what_if"][0]["loses_from"]["batch"] == 8 and found["what_if"][0]["sentence"]
        assert as_object("batch", session)["what_if"] is None


def test_a_session_without_says_what_measures_them():
    empty = session_of([header(), footer()])
    assert "specview batch times them" in drawn("batch", empty) and "specview policies" in drawn("policies", empty)
