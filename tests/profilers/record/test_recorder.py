"""The recorder on a scripted model that continues the alphabet, with a clock and commands that tests wind up."""

from __future__ import annotations

import itertools
import json
from contextlib import suppress

import mlx.core as mx
import mlx.nn as nn
import pytest
from stub_canary import StubCanary

from specview.engine import accept as rules
from specview.engine.drafters.fixed import FixedAcceptance
from specview.engine.errors import SpecviewError
from specview.engine.kv_quantisation import KvQuantisation
from specview.engine.models import Target
from specview.engine.verify_policies import single_passes
from specview.profilers.judge.visits import settings_of, visits_of
from specview.profilers.measure import schedule, whole
from specview.profilers.record import probing
from specview.profilers.record import recorder as recording
from specview.profilers.record.plan import Budget, Plan
from specview.profilers.record.prompts import Prompt, PromptError
from specview.profilers.record.recorder import Recorder, RecorderError
from specview.profilers.record.session import read_session
from specview.profilers.record.steering import Command, Steering
from specview.profilers.record.store import SessionStore

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SEGMENT = 15  # as many tokens as k = 2 needs for five full rounds


class Alphabet(nn.Module):
    """After each letter the next one; keys and values are zeros, so that the cache counts positions."""

    def __init__(self):
        super().__init__()
        self.layers = [nn.Identity()]
        self.weight = mx.roll(mx.eye(len(LETTERS)), 1, axis=1)

    def __call__(self, tokens, cache=None):
        if cache is not None:
            nothing = mx.zeros((1, 1, tokens.shape[1], 8))
            cache[0].update_and_fetch(nothing, nothing)
        return self.weight[tokens]


class Letters:
    """A tokenizer of lower-case letters."""

    def __init__(self, eos=""):
        self.eos_token_ids = {LETTERS.index(c) for c in eos}

    def encode(self, text):
        return [LETTERS.index(c) for c in text]

    def decode(self, ids):
        return "".join(LETTERS[i] for i in ids)

    def get_vocab(self):
        return {c: i for i, c in enumerate(LETTERS)}


class Orders(Steering):
    """Commands by the number of the poll they come at, and those that come during a pause."""

    def __init__(self, by_poll=None, paused=()):
        super().__init__()
        self.by_poll, self.paused, self.polls = by_poll or {}, list(paused), 0

    def poll(self):
        self.polls += 1
        return self.by_poll.get(self.polls)

    def wait(self):
        return self.paused.pop(0)


class Watcher:
    def __init__(self):
        self.seen = []

    def loading(self, what):
        pass

    def advanced(self, prompts_done, prompts_all, rounds):
        self.seen.append((prompts_done, prompts_all, rounds))


PROMPTS = (
    Prompt("letters", 0, "english", "uvwxyzabcd"),
    Prompt("letters", 1, "code", "fghijfghij"),
    Prompt("letters", 2, "english", "aaaaa"),
)


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Records by a plan; returns the session and its lines in order."""
    numbers = itertools.count()

    def record(
        steering=None,
        prompts=PROMPTS,
        eos="",
        longest=512,
        undecided=lambda records: (),
        clock=None,
        watcher=None,
        canary=StubCanary,
        **plan,
    ):
        target = Target("alphabet", "alphabet", tmp_path, Alphabet(), Letters(eos), {"model_type": "scripted"})
        target.config["max_position_embeddings"] = longest
        monkeypatch.setattr(recording, "load_target", lambda *_: target)
        monkeypatch.setattr(recording, "load_prompts", lambda wish, stdin=None: prompts)
        monkeypatch.setattr(recording, "Canary", canary)
        monkeypatch.setattr(schedule, "SEGMENT_TOKENS", SEGMENT)
        ticks = itertools.count(0, 1_000_000)
        wishes = {"drafter": "lookup", "k": 2, "limit": 1, "tokens": 16, "widest": 4, **plan}
        made = Recorder(
            Plan(**wishes),
            watcher or Watcher(),
            steering or Orders(),
            undecided,
            clock or (lambda: next(ticks)),
        )
        path = tmp_path / f"{next(numbers)}.specview.jsonl"
        with SessionStore.create(path) as store:
            try:
                made.record(store)
            finally:
                record.path = path
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        return read_session(path), lines

    return record


def visits_of_arms(lines, segment=0):
    """Arms in the order they ran in one segment, with the lines of each visit."""
    arms = {line["run"]: line["arm"] for line in lines if line["kind"] == "run"}
    events = [x for x in lines if x["kind"] in ("round", "step") and x["segment"] == segment]
    visits = []
    for line in events:
        arm, place = arms[line["run"]], line["context"]
        # a visit begins at another arm, or where the same arm starts again
        if not visits or visits[-1][0] != arm or place <= visits[-1][1][-1]["context"]:
            visits.append((arm, []))
        visits[-1][1].append(line)
    return visits


def shown_text(lines):
    """What a stream shows: pieces of steps and committed pieces of rounds, replays left out."""
    text = ""
    for line in lines:
        if line["kind"] in ("round", "step") and not line.get("replay") and "pieces" in line:
            pieces = line["pieces"]
            text += "".join(pieces["committed"] if isinstance(pieces, dict) else pieces)
    return text


def follows(text, prompt):
    return all((LETTERS.index(b) - LETTERS.index(a)) % 26 == 1 for a, b in itertools.pairwise(prompt[-1] + text))


@pytest.mark.parametrize("seed", range(4))
def test_arms_run_a_b_b_a_with_split_rounds_at_an_edge(record, seed):
    _, lines = record(seed=seed)
    arms = [arm for arm, _ in visits_of_arms(lines)]
    assert arms.count("split") == 1
    assert arms.index("split") in (0, 2, 4)
    pairs = [arm for arm in arms if arm != "split"]
    assert pairs in (["plain", "drafting", "drafting", "plain"], ["drafting", "plain", "plain", "drafting"])


def test_the_order_of_arms_follows_the_seed(record):
    orders = {seed: [[a for a, _ in visits_of_arms(record(seed=seed)[1], s)] for s in (0, 1)] for seed in (1, 2, 3, 4)}
    again = [[a for a, _ in visits_of_arms(record(seed=1)[1], s)] for s in (0, 1)]
    assert orders[1] == again
    assert len({str(order) for order in orders.values()}) > 1


def test_half_of_the_segments_hold_split_rounds(record):
    _, lines = record(tokens=32, k=1)
    held = ["split" in [a for a, _ in visits_of_arms(lines, segment)] for segment in range(4)]
    assert held == [True, False, True, False]


@pytest.mark.parametrize("k", [0, 1, 2, 4])
def test_the_first_two_events_and_the_last_plain_step_of_every_visit_are_dropped(record, k):
    _, lines = record(k=k)
    for arm, events in visits_of_arms(lines):
        flags = [e["warm_up"] for e in events]
        assert flags == [n < 2 or (arm == "plain" and n == len(flags) - 1) for n in range(len(flags))], arm
        assert not all(flags), arm


def test_the_share_of_split_segments_is_kept_over_prompts(record):
    session, _ = record(limit=3, tokens=8, split=0.5)
    assert [r.prompt.index for r in session.runs if r.arm == "plain"] == [0, 1, 2]
    assert [r.prompt.index for r in session.runs if r.arm == "split"] == [0, 2]


def test_all_arms_of_a_segment_start_at_the_same_place(record):
    _, lines = record()
    for segment in (0, 1):
        assert len({events[0]["context"] for _, events in visits_of_arms(lines, segment)}) == 1


def test_every_arm_writes_a_segment_of_tokens(record):
    _, lines = record()
    for _, events in visits_of_arms(lines):
        assert SEGMENT <= sum(e["tokens"] for e in events) <= SEGMENT + 2


@pytest.mark.parametrize("k", [2, 7, 16])
def test_long_drafts_that_are_all_accepted_leave_rounds_to_count(record, k):
    _, lines = record(k=k, prompts=(Prompt("letters", 0, "english", LETTERS * 2 + "abc"),))
    for arm, events in visits_of_arms(lines):
        assert sum(not e["warm_up"] for e in events) >= 2, arm


def test_the_text_is_shown_once(record):
    session, lines = record(tokens=40)
    text = shown_text(lines)
    assert 40 <= len(text) <= 50
    assert follows(text, PROMPTS[0].text)
    assert all(step.replay and step.pieces is None for step in session.steps)


def test_only_the_first_drafting_visit_is_no_replay(record):
    _, lines = record()
    drafting = [events for arm, events in visits_of_arms(lines) if arm == "drafting"]
    assert [all(e["replay"] for e in events) for events in drafting] == [False, True]
    assert not any(e["replay"] for e in drafting[0])


def test_events_of_a_run_are_numbered_without_gaps(record):
    session, _ = record(limit=3)
    for run in session.runs:
        events = [e for e in (*session.steps, *session.rounds) if e.run == run.run]
        assert sorted(e.i for e in events) == list(range(len(events)))


def test_every_prompt_opens_its_own_runs_plain_first(record):
    session, _ = record(limit=2)
    assert [(r.prompt.index, r.arm) for r in session.runs] == [
        (0, "plain"),
        (0, "drafting"),
        (0, "split"),
        (1, "plain"),
        (1, "drafting"),
        (1, "split"),
    ]
    assert [r.run for r in session.runs] == list(range(6))


def test_plain_runs_name_no_drafter(record):
    session, _ = record()
    assert {(r.arm, r.drafter, r.k) for r in session.runs} == {
        ("plain", "none", 0),
        ("drafting", "lookup", 2),
        ("split", "lookup", 2),
    }


def test_k_0_is_the_drafting_loop_without_drafts(record):
    session, _ = record(k=0)
    assert {r.arm for r in session.runs} == {"plain", "k0", "split"}
    assert {(r.drafted, r.tokens, r.width) for r in session.rounds} == {(0, 1, 1)}
    assert session.footer.status == "finished"


def test_split_rounds_carry_phases_and_free_rounds_none(record):
    session, _ = record()
    arm = {r.run: r.arm for r in session.runs}
    for played in session.rounds:
        phases = (played.draft_ns, played.verify_ns, played.rest_ns, played.rewind_ns)
        assert all((p is not None) == (arm[played.run] == "split") for p in phases)


def test_the_widths_a_verdict_needs_are_probed_after_every_segment(record):
    session, _ = record(tokens=32, duty=0.0, blocks_duty=0.0)
    widths = [p.width for p in session.probes if p.part == "verify"]
    segments = len({e.segment for e in session.steps})
    assert sorted(widths) == [1] * segments + [3] * segments
    assert {(p.ruler, p.pipelined) for p in session.probes} == {("whole", False)}
    for p in session.probes:
        assert p.samples_ns == tuple(b + e for b, e in zip(p.build_ns, p.eval_ns, strict=True))


def test_the_canary_and_memory_are_read_once_a_segment(record):
    session, _ = record(tokens=32)
    segments = len({e.segment for e in session.steps})
    assert len(session.memory) == segments
    assert [c.what for c in session.calibrations] == ["canary", "fence"] + ["canary"] * segments


def test_blocks_are_timed_at_both_widths_by_both_rulers(record):
    session, _ = record(tokens=64)
    blocks = [p for p in session.probes if p.block is not None]
    assert {(p.ruler, p.part, p.width) for p in blocks} >= {("fenced", "decode", 1), ("fenced", "verify", 3)}
    assert any(p.ruler == "queued" for p in blocks)
    assert all(p.category and p.layers for p in blocks)


def test_output_is_compared_in_the_first_segment(record):
    session, _ = record(tokens=32)
    assert [(o.judged, o.first_difference, o.margin) for o in session.outputs] == [("equal", None, None)]
    assert session.outputs[0].tokens_compared >= SEGMENT


def test_a_wrongly_accepted_token_is_called_a_bug(record, monkeypatch):
    right = rules.accept_greedy

    def wrong(drafted, choices):
        accepted, tokens = right(drafted, choices)
        return accepted, (*tokens[:-1], (tokens[-1] + 3) % 26)

    monkeypatch.setattr(rules, "accept_greedy", wrong)
    session, _ = record()
    assert {o.judged for o in session.outputs} == {"bug"}
    assert session.outputs[0].first_difference == 0
    assert session.outputs[0].margin == pytest.approx(1.0)


def test_the_footer_counts_what_is_there(record):
    session, _ = record(limit=2)
    footer = session.footer
    assert footer.status == "finished" and footer.reason is None
    assert footer.rounds == len(session.rounds) and footer.steps == len(session.steps)
    assert footer.tokens == sum(e.tokens for e in (*session.rounds, *session.steps))


def test_without_text_no_piece_is_kept(record):
    session, _ = record(keep_text=False)
    assert not session.header.text_kept
    assert all(e.pieces is None for e in (*session.rounds, *session.steps))


@pytest.mark.parametrize("keep", [True, False])
def test_prompts_are_kept_only_when_asked_for(record, keep):
    session, lines = record(keep_prompts=keep)
    assert {r.prompt.text for r in session.runs} == {PROMPTS[0].text if keep else None}
    assert session.header.prompts_kept is keep
    if not keep:
        assert PROMPTS[0].text not in str(lines)


def test_an_end_of_text_token_ends_the_prompt_and_not_the_session(record):
    session, lines = record(eos="m", prompts=(PROMPTS[0], PROMPTS[2]), limit=2, tokens=64)
    first, second = (shown_text([x for x in lines if x.get("run") in runs]) for runs in ((0, 1, 2), (3, 4, 5)))
    assert first.endswith("m") or "m" in first[-2:]
    assert second[:11] == "bcdefghijkl"
    assert session.footer.status == "finished"


def test_a_round_that_holds_the_end_of_text_is_the_last_and_does_not_count(record):
    # every draft is accepted: d-g, h-k, l-o, and "q" is the second of p-s
    whole = (Prompt("letters", 0, "english", LETTERS * 2 + "abc"),)
    session, lines = record(eos="q", k=3, prompts=whole, tokens=64)
    for arm, events in visits_of_arms(lines):
        if arm == "plain":
            assert [e["tokens"] for e in events] == [1] * 14, "d to q"
        else:
            assert [e["tokens"] for e in events] == [4] * 4
        assert [e["warm_up"] for e in events] == [n < 2 or n == len(events) - 1 for n in range(len(events))]
    assert {e.segment for e in (*session.rounds, *session.steps)} == {0}
    assert [o.judged for o in session.outputs] == ["equal"]
    assert session.footer.status == "finished"


def test_a_change_of_settings_starts_ended_texts_again(record):
    orders = Orders()

    class Changing(Watcher):
        def advanced(self, prompts_done, prompts_all, rounds):
            if not self.seen:  # the first text has ended; the second is in its first segment
                orders.by_poll[orders.polls + 3] = Command("change", k=1)
            super().advanced(prompts_done, prompts_all, rounds)

    session, lines = record(orders, eos="m", limit=2, tokens=30, watcher=Changing())
    drafting = [(r.prompt.index, r.k) for r in session.runs if r.arm == "drafting"]
    assert drafting == [(0, 2), (1, 2), (0, 1), (1, 1)]
    again = next(r for r in session.runs if (r.arm, r.prompt.index, r.k) == ("drafting", 0, 1))
    events = [x for x in lines if x["kind"] == "round" and x["run"] == again.run]
    assert events[0]["context"] == len(PROMPTS[0].text) - 1
    assert shown_text(events).startswith("efghijkl")
    assert session.footer.status == "finished"


def test_a_text_that_goes_on_after_a_change_is_not_started_again(record):
    session, lines = record(Orders({25: Command("change", k=1)}), tokens=40)
    changed = [r.run for r in session.runs if r.k == 1]
    assert changed
    assert follows(shown_text(lines), PROMPTS[0].text)


def test_a_text_stops_before_the_context_is_full(record):
    session, _ = record(context=60, tokens=16, budget=Budget(rounds=10_000), undecided=lambda _: ("english",))
    assert session.footer.status == "finished"
    assert max(e.context for e in (*session.rounds, *session.steps)) < 60
    assert len(session.steps) > 16


def test_a_prompt_that_just_fits_gets_its_segment(record):
    room = 64 - SEGMENT - 2 - 4
    session, _ = record(longest=64, tokens=3, prompts=(Prompt("p", 0, "text", "a" * room),))
    assert session.rounds and session.steps


def test_a_prompt_too_long_is_refused_before_anything_is_written(record, tmp_path):
    room = 64 - SEGMENT - 2 - 4
    with pytest.raises(PromptError, match=f"has {room + 1} tokens, more than the {room} this run has room for"):
        record(longest=64, tokens=3, prompts=(Prompt("p", 0, "text", "a" * (room + 1)),))
    assert not list(tmp_path.glob("*.jsonl"))


@pytest.mark.parametrize(
    ("longest", "context", "advice"),
    [(64, None, "the model reads no longer text"), (64, 64, "the model reads no longer text"), (512, 64, "--context")],
)
def test_a_prompt_too_long_is_told_what_would_help(record, longest, context, advice):
    with pytest.raises(PromptError, match=f"this run has room for: .*{advice}"):
        record(longest=longest, context=context, tokens=3, prompts=(Prompt("p", 0, "text", "a" * 60),))


# ------------------------------------------------------------------ commands


def test_stop_ends_with_a_footer_that_says_why(record):
    session, _ = record(Orders({7: Command("stop", reason="q was pressed")}))
    assert (session.footer.status, session.footer.reason) == ("stopped", "q was pressed")
    assert len(session.rounds) + len(session.steps) == 7


def test_change_of_k_opens_new_runs(record):
    session, _ = record(Orders({25: Command("change", k=1)}))
    assert [r.k for r in session.runs if r.arm == "drafting"] == [2, 1]
    new = max(r.run for r in session.runs if r.arm == "drafting")
    assert all(e.drafted <= 1 for e in session.rounds if e.run >= new)
    assert session.footer.status == "finished"


def test_change_of_drafter_opens_new_runs(record):
    session, _ = record(Orders({25: Command("change", drafter="none")}))
    assert [r.drafter for r in session.runs if r.arm == "drafting"] == ["lookup", "none"]


def test_a_refused_change_becomes_a_note_and_changes_nothing(record):
    orders = Orders({60: Command("change", k=1000)})
    session, lines = record(orders, limit=2)
    assert ["k = 1000" in note.text for note in session.notes] == [True]
    assert session.notes[0].tags == ("refused",)
    assert {r.k for r in session.runs if r.arm != "plain"} == {2}
    after = lines.index(next(x for x in lines if x["kind"] == "note"))
    before_it = [x["prompt"]["index"] for x in lines[:after] if x["kind"] == "run"]
    after_it = [x["prompt"]["index"] for x in lines[after:] if x["kind"] == "run"]
    assert after_it[0] == before_it[-1], "it goes on with the prompt it was at"


def drafting(session):
    return [run for run in session.runs if run.arm == "drafting"]


@pytest.mark.parametrize(("rule", "name"), [("rejection", "rejection sampling"), ("exact", "exact match")])
def test_change_of_the_rule_opens_new_runs_that_name_rule_and_temperature(record, rule, name):
    session, _ = record(Orders({25: Command("change", rule=rule, temperature=0.7, top_p=0.9)}))
    assert [(r.rule, r.temperature, r.top_p) for r in drafting(session)] == [
        ("greedy match", 0.0, 1.0),
        (name, 0.7, 0.9),
    ]
    assert [r.temperature for r in session.runs if r.arm == "plain"] == [0.0, 0.7]
    assert session.footer.status == "finished" and not session.notes
    assert len(settings_of(visits_of(session))) == 2, "unlike runs are never pooled"


def test_the_rule_can_be_switched_back(record):
    session, _ = record(Orders({25: Command("change", rule="greedy")}), rule="rejection", temperature=0.7)
    assert [(r.rule, r.temperature) for r in drafting(session)] == [("rejection sampling", 0.7), ("greedy match", 0.0)]


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"rule": "rejection"}, "temperature"),
        ({"rule": "dance"}, "'dance'"),
        ({"temperature": -1.0}, "temperature"),
        ({"temperature": 0.7, "top_p": 0.0}, "top-p"),
        ({"policy": "backwards"}, "'backwards'"),
        ({"drafter": "fixed:0.5", "temperature": 0.7}, "fixed:0.5"),
    ],
)
def test_a_rule_or_policy_that_cannot_be_is_a_note_and_changes_nothing(record, wish, words):
    session, _ = record(Orders({25: Command("change", **wish)}))
    assert [note.tags for note in session.notes] == [("refused",)]
    assert words in session.notes[0].text
    assert len(settings_of(visits_of(session))) == 1
    assert session.footer.status == "finished"


def test_change_of_the_policy_opens_new_runs(record):
    session, _ = record(Orders({25: Command("change", policy="single passes")}))
    assert [r.policy for r in drafting(session)] == [None, "single passes"]
    assert session.footer.status == "finished"


def test_an_adaptive_length_can_be_switched_on_made_longer_and_switched_off(record):
    changes = {
        25: Command("change", adaptive=True),
        50: Command("change", k=4),
        75: Command("change", adaptive=False),
    }
    session, _ = record(Orders(changes), tokens=48)
    assert [(r.k, r.adaptive) for r in drafting(session)] == [(2, False), (2, True), (4, True), (4, False)]
    third = drafting(session)[2].run
    assert max(e.drafted for e in session.rounds if e.run == third) > 2, "the new k is the longest one"


def test_a_synthetic_drafter_is_noted_where_it_begins(record):
    session, lines = record(Orders({25: Command("change", drafter="fixed:1")}))
    assert [(note.tags, "fixed:1 is synthetic" in note.text) for note in session.notes] == [(("synthetic",), True)]
    note = next(i for i, line in enumerate(lines) if line["kind"] == "note")
    assert [x["drafter"] for x in lines[:note] if x.get("arm") == "drafting"] == ["lookup"]
    session, _ = record(drafter="fixed:1")
    assert [note.tags for note in session.notes] == [("synthetic",)]


def test_a_synthetic_drafter_foresees_on_caches_kept_as_the_texts_own(record, monkeypatch):
    seen = []
    monkeypatch.setattr(recording, "check_quantisable", lambda target, kv: None)
    monkeypatch.setattr(FixedAcceptance, "begin", lambda self, tokens, hidden: seen.append(self.kv))
    with suppress(SpecviewError):
        record(drafter="fixed:0.5", kv_bits=8, kv_start=400)
    assert seen == [KvQuantisation(bits=8, start=400)]


def test_a_synthetic_drafter_is_refused_for_drawn_text_before_anything_is_written(record, tmp_path):
    with pytest.raises(SpecviewError, match="choose the rule greedy"):
        record(drafter="fixed:1", temperature=0.7)
    assert not list(tmp_path.glob("*.jsonl"))


def test_a_refused_change_names_no_path(record):
    session, lines = record(Orders({5: Command("change", drafter="/home/someone/models/draft")}))
    assert session.notes
    assert "someone" not in str(lines)


def test_pause_waits_and_resume_goes_on_where_it_was(record):
    orders = Orders({30: Command("pause")}, paused=[Command("resume")])
    session, lines = record(orders, tokens=24)
    text = shown_text(lines)
    assert follows(text, PROMPTS[0].text), "no token is shown twice or left out"
    assert 24 <= len(text) <= 24 + SEGMENT + 4
    assert len({r.run for r in session.runs if r.arm == "drafting"}) == 2
    assert session.footer.status == "finished"


@pytest.mark.parametrize("poll", range(1, 60, 6))
def test_a_pause_at_any_moment_shows_no_token_twice(record, poll):
    _, lines = record(Orders({poll: Command("pause")}, paused=[Command("resume")]), tokens=24, k=3)
    assert follows(shown_text(lines), PROMPTS[0].text)


def test_a_paused_recording_can_be_stopped(record):
    orders = Orders({10: Command("pause")}, paused=[Command("pause"), Command("stop", reason="gone")])
    session, _ = record(orders)
    assert (session.footer.status, session.footer.reason) == ("stopped", "gone")


def test_a_change_during_a_pause_waits_for_resume(record):
    orders = Orders({10: Command("pause")}, paused=[Command("change", k=1), Command("resume")])
    session, _ = record(orders)
    assert orders.paused == []
    assert [r.k for r in session.runs if r.arm == "drafting"] == [2, 1]


def test_next_prompt_during_a_pause_counts(record):
    orders = Orders({10: Command("pause")}, paused=[Command("next_prompt"), Command("resume")])
    session, _ = record(orders, limit=2)
    assert [r.prompt.index for r in session.runs if r.arm == "drafting"] == [0, 1]


def test_resume_without_a_pause_gives_nothing_up(record):
    calm, _ = record()
    session, _ = record(Orders({10: Command("resume")}))
    assert len(session.runs) == len(calm.runs)
    assert len(session.rounds) == len(calm.rounds)


def test_next_prompt_goes_on_with_the_next(record):
    session, _ = record(Orders({5: Command("next_prompt")}), limit=2, tokens=32)
    assert [r.prompt.index for r in session.runs if r.arm == "plain"] == [0, 1]
    assert sum(e.run < 2 for e in (*session.rounds, *session.steps)) == 5
    assert session.footer.status == "finished"


def test_a_command_wakes_a_recorder_that_waits_for_the_machine_to_cool(record):
    steering, naps = Steering(), []

    class Hot(StubCanary):
        def cool_down(self, base_ns, longest_s, nap):
            steering.send(Command("stop", reason="q was pressed"))
            naps.append(nap(3600.0))
            return 0.5

    session, _ = record(steering, tokens=64, canary=Hot)
    assert naps == [False]
    assert (session.footer.status, session.footer.reason) == ("stopped", "q was pressed")
    assert [(g.code, g.value) for g in session.guards] == [("cooling", 0.5)]


# ------------------------------------------------------------------- budgets


def test_a_budget_of_rounds_ends_after_the_segment_that_spends_it(record):
    session, _ = record(limit=3, tokens=64, budget=Budget(rounds=20))
    assert 20 <= session.footer.rounds <= 20 + 3 * SEGMENT
    assert session.footer.status == "finished"


def test_a_budget_of_seconds_is_kept(record):
    session, _ = record(limit=3, tokens=400, longest=4096, budget=Budget(seconds=1.0))
    last = max(e.t_ns for e in session.rounds)
    assert session.footer.status == "finished"
    assert last < 1.5e9
    assert session.footer.t_ns >= 1e9


def test_a_pause_costs_no_budget(record):
    now = itertools.count(0, 1_000_000)
    late = [0]

    class Slow(Orders):
        def wait(self):
            late[0] += 10**12
            return super().wait()

    orders = Slow({10: Command("pause")}, paused=[Command("resume")])
    session, _ = record(orders, tokens=64, budget=Budget(seconds=1.0), clock=lambda: next(now) + late[0])
    assert len(session.rounds) > 30


def test_a_budget_goes_on_with_undecided_kinds_only(record):
    asked = []

    def undecided(so_far):
        asked.append(len(so_far))
        return ("code",) if len(asked) < 3 else ()

    session, _ = record(limit=3, tokens=8, budget=Budget(rounds=10_000), undecided=undecided)
    assert [r.prompt.index for r in session.runs if r.arm == "plain"] == [0, 1, 2, 1, 1]
    assert len(asked) == 3


def test_a_later_pass_continues_the_text(record):
    again = iter([("english",), ()])
    _, lines = record(tokens=8, budget=Budget(rounds=10_000), undecided=lambda _: next(again))
    text = shown_text(lines)
    assert len(text) >= 16
    assert follows(text, PROMPTS[0].text)


# -------------------------------------------------------------------- endings


def test_a_failure_leaves_a_footer_without_paths(record):
    class Broken(Watcher):
        def advanced(self, *_):
            raise FileNotFoundError(2, "No such file", "/home/someone/secret/file.txt")

    with pytest.raises(RecorderError, match=r"^MLX broke off \(.* 'file\.txt'\): everything up to there is saved\.$"):
        record(watcher=Broken())
    session = read_session(record.path)
    assert session.footer.status == "failed"
    assert "file.txt" in session.footer.reason and "someone" not in session.footer.reason
    assert session.rounds


def test_mlx_breaking_off_is_one_sentence_and_loses_nothing(record):
    class Broken(Watcher):
        def advanced(self, *_):
            raise RuntimeError("[metal::malloc] Attempting to allocate too much.")

    with pytest.raises(
        RecorderError, match=r"^MLX broke off \(\[metal::malloc\] .* too much\): everything up to there"
    ):
        record(watcher=Broken())
    session = read_session(record.path)
    assert session.footer.status == "failed" and session.rounds


@pytest.mark.parametrize("error", [SpecviewError("No room."), KeyboardInterrupt()])
def test_what_mlx_did_not_break_keeps_its_own_words(record, error):
    class Broken(Watcher):
        def advanced(self, *_):
            raise error

    with pytest.raises(type(error)) as raised:
        record(watcher=Broken())
    assert raised.value is error
    assert read_session(record.path).footer.status == "failed"


def test_progress_reaches_the_number_of_prompts(record):
    watcher = Watcher()
    record(limit=2, watcher=watcher)
    done = [d for d, _, _ in watcher.seen]
    assert done == sorted(done) and done[-1] == 2.0
    assert {n for _, n, _ in watcher.seen} == {2}


def test_the_header_says_what_runs_and_names_no_folder(record, tmp_path):
    session, lines = record()
    header = session.header
    assert (header.model.id, header.model.architecture, header.model.vocabulary) == ("alphabet", "scripted", 26)
    assert (header.drafter.kind, header.drafter.k) == ("lookup", 2)
    assert "lookup k=2" in header.plan
    assert str(tmp_path) not in str(lines)


def widths_by_manner(session):
    found = {}
    for p in session.probes:
        if p.part in ("verify", "round", "round after all") and p.ruler == "whole":
            found.setdefault((p.part, p.policy, p.rule), set()).add(p.width)
    return found


def test_usual_passes_say_nothing_of_their_manner(record):
    session, _ = record(tokens=32, blocks_duty=0.0, duty=0.0)
    assert widths_by_manner(session) == {("verify", None, None): {1, 3}}


def test_probes_are_made_by_the_plans_policy_and_say_so(record, monkeypatch):
    made = []

    def counted(generation, tokens, clock, manner=whole.PLAIN):
        made.append((len(tokens), manner.policy is single_passes))
        return whole.verify_pass(generation, tokens, clock, manner)

    monkeypatch.setattr(probing, "verify_pass", counted)
    session, _ = record(policy="single passes", tokens=32, blocks_duty=0.0, duty=0.0)
    assert widths_by_manner(session) == {("verify", "single passes", None): {1, 3}, ("verify", None, None): {1}}
    assert {width for width, own in made if own} == {1, 3} and {width for width, own in made if not own} == {1}


def test_probes_are_read_by_the_plans_rule_and_say_so(record):
    session, _ = record(temperature=0.5, top_p=0.9, tokens=32, blocks_duty=0.0, duty=0.0)
    manners = widths_by_manner(session)
    assert manners == {("verify", None, "rejection sampling"): {1, 3}, ("verify", None, None): {1}}
    exact, _ = record(temperature=0.5, rule="exact", tokens=32, blocks_duty=0.0, duty=0.0)
    assert ("verify", None, "exact match") in widths_by_manner(exact)


def test_where_blocks_are_timed_the_passes_they_are_parts_of_are_too(record):
    session, _ = record(policy="single passes", tokens=64)
    usual = widths_by_manner(session)["verify", None, None]
    assert {p.width for p in session.probes if p.block is not None} <= usual == {1, 3}


def test_a_changed_policy_is_that_of_the_probes_after_it(record):
    change = Command("change", policy="single passes")
    session, _ = record(Orders({80: change}), tokens=64, blocks_duty=0.0, duty=0.0)
    policy_by_run = {run.run: run.policy for run in session.runs if run.arm != "plain"}
    wide = [p for p in session.probes if p.part == "verify" and p.width == 3]
    assert {p.policy for p in wide} == {None, "single passes"}
    assert all(policy_by_run[p.run] == p.policy for p in wide)
