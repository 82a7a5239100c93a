"""A redacted copy holds what was measured and nothing that its author said or asked."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from session_builder import CASES

from specview.profilers.record import records as r
from specview.profilers.record.plan import Plan
from specview.profilers.record.redaction import Redaction, shipped_hashes
from specview.profilers.record.session import session_of

SECRET = "my-secret"
PROMPT = r.PromptFacts(suite=f"{SECRET}.jsonl", index=3, kind=SECRET, hash="77aa", tokens=9, text=SECRET)


def redacted(*records: r.Record, **options) -> list[r.Record]:
    redaction = Redaction(b"salt", **options)
    return [made for each in records if (made := redaction.record(each)) is not None]


def run_of(prompt: r.PromptFacts) -> r.Run:
    return r.Run(
        run=0, arm="plain", drafter="none", k=0, rule="greedy", temperature=0, top_p=1, prompt=prompt, started_ns=0
    )


def header(plan: str) -> r.Header:
    first = CASES["wins"][0]
    assert isinstance(first, r.Header)
    return replace(first, plan=plan, text_kept=True, prompts_kept=True)


def test_nothing_secret_is_left_in_any_record() -> None:
    records = (
        header(f"mtp k=1, prompts {SECRET}.jsonl, 64 tokens each"),
        run_of(PROMPT),
        r.Round(run=0, i=0, segment=0, t_ns=1, context=1, drafted=1, accepted=1, width=2, tokens=2, round_ns=1,
                pieces=r.Pieces((SECRET,), (SECRET,))),
        r.Step(run=0, i=0, segment=0, t_ns=1, context=1, tokens=1, step_ns=1, pipelined=True, pieces=(SECRET,)),
        r.Note(t_ns=1, text=SECRET),
        r.Counters(t_ns=1, arm="plain", source="engine", label=f"{SECRET}, repetition 2"),
        r.Origin(t_ns=1, form="csv", name=f"{SECRET}.csv", lines=1, understood=0, ignored=0, not_understood=1,
                 examples=(SECRET,)),
        r.Guard(t_ns=1, code="busy", message="Read /home/someone/secret/file.txt."),
        r.Footer(status="failed", reason=SECRET, rounds=1, steps=1, tokens=3, t_ns=2),
    )  # fmt: skip
    made = redacted(*records)
    text = b"".join(map(r.to_line, made)).decode()
    assert SECRET not in text and "/home" not in text and PROMPT.hash not in text
    assert len(made) == len(records) - 1  # the note
    first = json.loads(text.splitlines()[0])
    assert first["text_kept"] is False and first["prompts_kept"] is False
    assert "prompts of a file, 64 tokens each" in first["plan"]
    assert first["model"]["id"] == header("").model.id
    assert session_of(made).footer is not None


def test_the_same_prompt_stays_the_same_in_one_copy_and_differs_in_another() -> None:
    one, two = (Redaction(salt).record(run_of(PROMPT)) for salt in (b"a", b"b"))
    again = Redaction(b"a").record(run_of(replace(PROMPT, index=4)))
    assert isinstance(one, r.Run) and isinstance(two, r.Run) and isinstance(again, r.Run)
    assert one.prompt.hash == again.prompt.hash != two.prompt.hash


def test_prompts_that_everybody_has_stay_comparable() -> None:
    known = next(iter(shipped_hashes()))
    (made,) = redacted(
        run_of(replace(PROMPT, suite="english", kind="english", hash=known)), known_hashes=shipped_hashes()
    )
    assert isinstance(made, r.Run)
    assert (made.prompt.hash, made.prompt.suite, made.prompt.kind) == (known, "english", "english")


@pytest.mark.parametrize(
    "plan", ["mtp k=1, prompts all, 64 tokens each", "mtp k=1, prompts english,code, 8 tokens each"]
)
def test_a_plan_over_shipped_prompts_is_kept(plan: str) -> None:
    (made,) = redacted(header(plan))
    assert isinstance(made, r.Header) and made.plan == plan


def test_notes_stay_where_that_is_asked_for() -> None:
    (made,) = redacted(r.Note(t_ns=1, text="quiet room, model in /home/someone/models/x"), keep_notes=True)
    assert isinstance(made, r.Note) and made.text == "quiet room, model in x"


def test_repetitions_stay_repetitions_of_one_condition() -> None:
    labels = (
        "tg128, repetition 1",
        "tg128, repetition 2",
        "tg128 at 512, repetition 1",
        "prompt text, repetition of it",
    )
    made = redacted(*(r.Counters(t_ns=1, arm="plain", source="e", label=label) for label in labels))
    assert [each.label for each in made if isinstance(each, r.Counters)] == [
        "window 1, repetition 1", "window 1, repetition 2", "window 2, repetition 1", "window 3",
    ]  # fmt: skip


def test_a_reason_stays_a_reason_so_that_the_verdict_is_the_same() -> None:
    stopped = r.Footer(status="stopped", reason="stopped by hand", rounds=0, steps=0, tokens=0, t_ns=1)
    assert redacted(stopped) == [stopped]
    assert redacted(replace(stopped, reason=None))[0].reason is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "name",
    [
        "Merger ACME.txt",
        "Merger, ACME.txt",
        "all, ACME.txt",
        "english,code ACME",
        "Merger, 64 tokens each ACME.txt",
        "split share 0.5, ACME",
    ],
)
def test_no_name_of_a_file_is_left_in_a_plan(name: str) -> None:
    plan = Plan(prompts=f"/data/{name}", prompt_cache=f"/data/behind, split share {name}").checked().sentence()
    (made,) = redacted(header(plan))
    assert isinstance(made, r.Header) and "ACME" not in made.plan
    assert made.plan == (
        "mtp k=1, prompts of a file, 64 tokens each, behind a prompt cache, split share 0.5, probe duty 0.15, "
        "block duty 0.2, seed 0"
    )


def test_a_prompt_cache_is_not_named_where_the_prompts_are_shipped() -> None:
    (made,) = redacted(header(Plan(prompts="english,code", prompt_cache="Merger ACME.safetensors").sentence()))
    assert isinstance(made, r.Header)
    assert made.plan.startswith("mtp k=1, prompts english,code, 64 tokens each, behind a prompt cache, split share 0.5")


def test_remedies_and_drafters_of_tables_keep_no_folders() -> None:
    guard = r.Guard(t_ns=1, code="busy", message="Busy.", remedy="Stop what reads /home/someone/ACME/file.txt.")
    counters = [
        r.Counters(t_ns=1, arm="drafting", source="table", drafter=drafter)
        for drafter in ("/home/Some One/ACME/draft-1b", "C:\\ACME\\draft-1b", "org/draft-1b", None)
    ]
    remedied, *counted = redacted(guard, *counters)
    assert isinstance(remedied, r.Guard) and remedied.remedy == "Stop what reads file.txt."
    assert [c.drafter for c in counted if isinstance(c, r.Counters)] == ["draft-1b", "draft-1b", "org/draft-1b", None]
