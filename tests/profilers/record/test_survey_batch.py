"""Batches in a session: a note with the memory first, visits as probes with their batch, a refusal in one sentence."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest
from survey_records import footer, header
from tiny_models import tiny_target

from specview.engine.batch_cache import BatchError
from specview.engine.drafters.fixed import FixedAcceptance
from specview.engine.drafters.lookup import PromptLookup
from specview.engine.shapes import random_prompt
from specview.profilers.judge.batch_drafts import batch_drafts
from specview.profilers.judge.batch_table import batch_table
from specview.profilers.record import records as r
from specview.profilers.record import survey_batch
from specview.profilers.record.session import session_of
from specview.profilers.record.survey_batch import batch_records, batched_records, longest_text
from specview.profilers.record.survey_plan import SurveyError

TARGET = tiny_target("llama")


def recorded(available_bytes=None, batches=(1, 3), text=lambda count: random_prompt(TARGET, count, 0)):
    clock = itertools.count(0, 1000).__next__
    return batch_records(
        TARGET, text, 5, batches, (1, 2), 2, clock, random.Random(1), available_bytes, lambda done, total: None
    )


def test_memory_comes_first_and_every_visit_is_a_probe_with_its_batch():
    note, *probes = recorded()
    assert isinstance(note, r.Note) and note.tags == ("batch",)
    assert note.text.startswith("Batches of 1, 3 and the one they are copied from are held")
    assert "for 7 sequences needs" in note.text
    assert Counter((p.batch, p.part, p.width) for p in probes) == {
        (b, *rest): 4 for b in (1, 3) for rest in (("decode", 1), ("verify", 1), ("verify", 2))
    }
    for probe in probes:
        assert probe.ruler == "whole" and probe.pipelined == (probe.part == "decode")
        assert (probe.eval_ns is None) == (probe.part == "decode")
    verify = next(p for p in probes if p.part == "verify")
    assert (verify.samples_ns, verify.build_ns, verify.eval_ns) == ((2000,), (1000,), (1000,))


def test_the_judge_reads_what_was_recorded():
    table = batch_table(session_of([header(), *recorded(), footer()]))
    assert table is not None and table.context == 5 and [line.batch for line in table.lines] == [1, 3]
    three = table.lines[1]
    assert three.decode_ms.estimate == pytest.approx(0.001) and three.verify[1].ms.estimate == pytest.approx(0.002)
    assert three.tokens_per_second == pytest.approx(3 * 1e6) and three.verify[1].steps.estimate == pytest.approx(2)


def test_every_sequence_has_a_text_of_its_own(monkeypatch):
    prompts = []
    monkeypatch.setattr(survey_batch, "start_batch", lambda target, rows: prompts.extend(rows))
    monkeypatch.setattr(survey_batch, "batch_timings", lambda *_, **__: iter(()))
    list(recorded(text=lambda count: list(range(count))))
    assert [len(row) for row in prompts] == [6, 6, 6] and len({token for row in prompts for token in row}) == 18


def test_batches_that_do_not_fit_are_refused_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(survey_batch, "start_batch", lambda *_: pytest.fail("it read the prompts"))
    with pytest.raises(SurveyError, match=r"are held at once: .* needs .*; 0\.0 GB are free: name smaller --batches"):
        list(recorded(available_bytes=1000))


def generated(drafter=None, name="lookup", available_bytes=None, text=lambda count: random_prompt(TARGET, count, 0)):
    clock = itertools.count(0, 1000).__next__
    return batched_records(
        TARGET, text, 5, (1, 3), drafter or PromptLookup(), name, 2, 8, 3, clock, random.Random(1), 7, available_bytes,
        lambda done, total: None,
    )  # fmt: skip


def test_texts_with_drafts_and_without_are_read_by_the_judge():
    note, *rows = generated()
    assert isinstance(note, r.Note) and note.text.startswith("Generating 3 texts at once") and note.tags == ("batch",)
    assert Counter((row.batch, row.arm, row.drafter) for row in rows) == {
        (b, arm, "none" if arm == "plain" else "lookup"): 3 for b in (1, 3) for arm in ("plain", "drafting", "split")
    }
    table = batch_drafts(session_of([header(), *rows, footer()]))
    assert table is not None and table.k == 2 and [line.pairs for line in table.lines] == [3, 3]


def test_every_pair_of_stretches_has_texts_of_its_own(monkeypatch):
    asked = []
    monkeypatch.setattr(survey_batch, "stretches", lambda target, texts, *_: asked.extend(map(texts, range(3))) or ())
    list(generated(text=lambda count: list(range(count))))
    rows = [row for texts in asked for row in texts]
    assert [len(row) for row in rows] == [6] * 9 and len({token for row in rows for token in row}) == 54


def test_synthetic_drafts_are_right_at_places_of_their_own_in_every_text(monkeypatch):
    made = []
    monkeypatch.setattr(survey_batch, "stretches", lambda target, texts, drafters, *_: made.extend(drafters) or ())
    list(generated(FixedAcceptance(TARGET, 0.5, 7), "fixed:0.5"))
    for drafter in made:
        drafter.begin([1, 2, 3], None)
    drafts = [tuple(drafter.draft([1, 2, 3], 8).tokens.tolist()) for drafter in made]
    assert len(made) == 3 and len(set(drafts)) == 3


def test_a_model_that_cannot_run_ragged_rows_leaves_a_note(monkeypatch):
    def refuse(*_):
        raise BatchError("rows differ: give one sequence.")
        yield

    monkeypatch.setattr(survey_batch, "stretches", refuse)
    assert list(generated())[-1].text == "No drafts in batches: rows differ: give one sequence."


def test_texts_that_do_not_fit_are_refused_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(survey_batch, "stretches", lambda *_: pytest.fail("it read the texts"))
    with pytest.raises(SurveyError, match=r"Generating 3 texts at once.*; 0\.0 GB are free: name smaller --batches"):
        list(generated(available_bytes=1000))
    assert longest_text(2, 8) == 30
