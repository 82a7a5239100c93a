"""A watched server as a session: restarts, outages, slow and malicious ones, on loopback and by a fake clock."""

from __future__ import annotations

from pathlib import Path

import pytest
from metrics_server import Hand, LlamaServer, MetricsServer, Vllm, reply

from specview.profilers.record.attaching.account import account_of
from specview.profilers.record.attaching.address import parsed_address
from specview.profilers.record.attaching.attach_plan import AttachError, AttachPlan
from specview.profilers.record.attaching.attachment import Attachment
from specview.profilers.record.attaching.fetch import FetchFailed, fetch
from specview.profilers.record.attaching.page import NotMetrics
from specview.profilers.record.attaching.polling import Pace
from specview.profilers.record.plan import Budget
from specview.profilers.record.session import read_session
from specview.profilers.record.steering import Command, Steering
from specview.profilers.record.store import SessionStore


class Script(Steering):
    """Between two looks one step of a script happens; after the last one somebody says stop."""

    def __init__(self, clock, steps, stop=True):
        super().__init__()
        self._clock, self._steps = clock, list(steps)
        self._stop = stop

    def nap(self, seconds):
        self._clock.advance(seconds)
        if self._steps:
            self._steps.pop(0)()
            return super().nap(0)
        if self._stop:
            self.send(Command("stop", reason="the script is over"))
            return super().nap(0)
        return True


class Watch:
    """Attaches to `page` on loopback and records what happens while a script runs."""

    def __init__(self, page, out: Path):
        self.page, self.clock, self.out = page, Hand(), out
        self.server = MetricsServer(self.text)
        self.address = parsed_address(self.server.url)

    def text(self):
        return self.page.text()

    def record(self, *steps, stop=True, **plan):
        plan = AttachPlan(shown=self.address.shown, port=self.address.port, **plan)
        steering = Script(self.clock, steps, stop)
        attachment = Attachment(plan, lambda: fetch(self.address), steering, self.clock)
        with SessionStore.create(self.out) as store:
            self.footer = attachment.record(store, 5)
        session = read_session(self.out)
        assert session.problems == ()
        return session

    def die(self):
        self.server.close()

    def come_back(self):
        self.server = MetricsServer(self.text, port=self.address.port)

    def behave(self, behave):
        self.server.behave = behave


@pytest.fixture
def page():
    page = Vllm()
    page.running = 1
    return page


@pytest.fixture
def watch(page, tmp_path):
    watch = Watch(page, tmp_path / "new.specview.jsonl")
    yield watch
    watch.server.__exit__()


def tags(session):
    return [note.tags[1] for note in session.notes]


def test_a_session_of_the_engine_with_both_arms(page, watch):
    session = watch.record(
        lambda: page.draft(40, 30, 10),
        lambda: None,
        lambda: page.draft(50, 40, 20),
        lambda: page.decode(50),
    )
    header = session.header
    assert (header.source, header.model.id, header.drafter.k) == ("vllm", "org/model", 2)
    assert (header.started_unix_ns, header.text_kept) == (5, False)
    assert [(c.arm, c.rounds, c.tokens) for c in session.counters] == [
        ("drafting", 40, 80),
        ("drafting", 50, 110),
        ("plain", None, 50),
    ]
    assert [round(c.t_ns / 1e9) for c in session.counters] == [1, 3, 4]
    (origin,) = session.origins
    assert origin.form == "vLLM metrics, attached"
    assert origin.understood > 5 and origin.not_understood == 0
    assert (session.footer.status, session.footer.reason) == ("stopped", "the script is over")
    drafting = account_of([c for c in session.counters if c.arm == "drafting"])
    assert (drafting.tokens_per_round, drafting.tokens_per_second) == (pytest.approx(1 + 100 / 90), 95.0)
    assert drafting.accepted_by_position == pytest.approx((70 / 90, 30 / 90))
    assert drafting.per_draft == pytest.approx(100 / 180)


def test_a_session_names_no_host_and_no_query(page, watch):
    watch.address = parsed_address(watch.server.url + "/metrics?key=secret")
    page.model = "/home/someone/models/big-one"
    session = watch.record(watch.die, lambda: None, lambda: None)
    text = watch.out.read_text()
    assert "127.0.0.1" not in text and "secret" not in text and "/home" not in text
    assert session.header.model.id == "big-one"
    assert "Nothing listens at the server" in session.notes[0].text


def test_a_restart_opens_a_new_window_and_nothing_is_negative(page, watch):
    def restart():
        page.restart()
        page.running = 1
        page.draft(3, 1, 1)

    session = watch.record(
        lambda: page.draft(40, 30, 10), restart, lambda: page.draft(8, 4, 2), restart, lambda: page.draft(9, 4, 2)
    )
    assert [c.rounds for c in session.counters] == [40, 8, 9]
    assert tags(session) == ["restart", "restart"]


def test_a_server_that_dies_and_comes_back_goes_on_with_one_note_each(page, watch):
    def come_back():
        page.restart()
        page.running = 1
        page.draft(3, 1, 1)
        watch.come_back()

    nothing = [lambda: None] * 4
    session = watch.record(lambda: page.draft(40, 30, 10), watch.die, *nothing, come_back, lambda: page.draft(8, 4, 2))
    assert [c.rounds for c in session.counters] == [40, 8]
    assert tags(session) == ["outage", "outage", "restart"]
    assert "Nothing listens" in session.notes[0].text
    assert "answers again" in session.notes[1].text


def test_a_server_restarted_without_drafts_gives_the_plain_window(page, watch):
    def come_back():
        watch.page = Vllm(drafts=False)
        watch.page.running = 1
        watch.come_back()

    session = watch.record(
        lambda: page.draft(40, 30, 10),
        watch.die,
        come_back,
        lambda: watch.page.decode(50),
        lambda: watch.page.decode(55),
    )
    assert [(c.arm, c.tokens, c.tokens_per_second) for c in session.counters] == [
        ("drafting", 80, 80.0),
        ("plain", 50, 50.0),
        ("plain", 55, 55.0),
    ]
    assert tags(session) == ["outage", "outage", "restart"]


def test_a_server_that_stays_away_ends_the_session(watch):
    session = watch.record(watch.die, stop=False, pace=Pace(patience_s=100))
    assert (session.footer.status, session.footer.reason) == ("stopped", "The server did not answer for 2 minutes.")
    assert tags(session) == ["outage"]


def test_a_slow_server_is_still_counted_right(page, watch):
    def slowly(handler):
        watch.clock.advance(0.5)  # half before the counters are read, half after
        body = page.text()
        watch.clock.advance(0.5)
        reply(handler, body)

    watch.behave(slowly)
    session = watch.record(lambda: page.draft(40, 30, 10), lambda: page.draft(400, 300, 100))
    first, second = session.counters
    assert (first.rounds, first.elapsed_ns) == (40, None)
    assert (second.rounds, second.elapsed_ns) == (400, 10_000_000_000)


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ("<html>", 200, "is a web page"),
        ("{}", 200, "answers in JSON"),
        ("", 200, "is an empty page"),
        ("", 401, "wants a key"),
        ("", 404, "no metrics page"),
        ("", 500, "fails"),
    ],
)
def test_a_server_that_never_answers_properly_leaves_no_file(watch, body, status, sentence):
    watch.behave(lambda handler: reply(handler, body, status))
    with pytest.raises((FetchFailed, NotMetrics), match=sentence):
        watch.record()
    assert not watch.out.exists()


def test_a_server_that_begins_to_talk_nonsense_is_an_outage(page, watch):
    session = watch.record(
        lambda: page.draft(40, 30, 10),
        lambda: watch.behave(lambda handler: reply(handler, "<html>\x1b[31m", 200)),
        lambda: watch.behave(lambda handler: handler.wfile.write(b"x" * 100)),
        lambda: None,
    )
    assert [c.rounds for c in session.counters] == [40]
    assert tags(session) == ["outage"]


def test_malicious_labels_end_as_text(page, watch):
    page.model = "\x1b]0;owned\x07[bold red]\u202egnp.exe"
    session = watch.record(lambda: page.draft(40, 30, 10))
    assert session.header.model.id == "]0;owned[bold red]gnp.exe"
    assert b"\x1b" not in watch.out.read_bytes() and b"\\u001b" not in watch.out.read_bytes()


def test_several_requests_at_once_are_guarded_once(page, watch):
    def several():
        page.running = 4
        page.draft(40, 30, 10)

    session = watch.record(lambda: page.draft(40, 30, 10), several, several)
    assert [c.batch for c in session.counters] == [1, 4, 4]
    assert [(guard.code, guard.value) for guard in session.guards] == [("several_requests", 4.0)]


def test_a_baseline_of_the_command_line_is_marked_as_one(page, watch):
    session = watch.record(lambda: page.draft(40, 30, 10), baseline_tps=61.5)
    given = session.counters[0]
    assert (given.arm, given.tokens_per_second, given.tokens) == ("plain", 61.5, None)
    assert (given.label, given.derived) == ("given on the command line", ("tokens_per_second",))


def test_another_model_ends_the_session(page, watch):
    def other():
        page.restart()
        page.model = "org/other"

    session = watch.record(lambda: page.draft(40, 30, 10), other, lambda: page.draft(9, 4, 2))
    assert [c.rounds for c in session.counters] == [40]
    assert "another model now, org/other; attach again" in session.footer.reason


def test_another_engine_ends_the_session(watch):
    def other():
        watch.page = LlamaServer()

    assert "Another engine answers there now, llama.cpp" in watch.record(other).footer.reason


def test_an_old_llama_server_is_guarded(watch):
    watch.page = LlamaServer(drafts=False)
    session = watch.record(lambda: watch.page.finish(45, 0.9))
    assert [guard.code for guard in session.guards] == ["drafts_not_counted"]
    assert session.counters[0].tokens_per_second == 50.0


def test_a_budget_of_rounds_ends_it(page, watch):
    session = watch.record(*[lambda: page.draft(40, 30, 10)] * 9, budget=Budget(rounds=100))
    assert sum(c.rounds for c in session.counters) == 120
    assert (session.footer.status, session.footer.reason) == ("finished", None)


def test_a_budget_of_seconds_ends_it(page, watch):
    session = watch.record(*[lambda: page.draft(40, 30, 10)] * 9, stop=False, budget=Budget(seconds=2.5))
    assert [round(c.t_ns / 1e8) for c in session.counters] == [10, 20, 25]
    assert session.footer.status == "finished"


def test_a_pause_is_a_gap(page, watch):
    steps = []
    steering = Script(watch.clock, steps)

    def pause():
        steering.send(Command("pause"))
        page.draft(1000, 1, 1)
        steering.send(Command("resume"))

    steering._steps += [lambda: page.draft(40, 30, 10), pause, lambda: None, lambda: page.draft(9, 4, 2)]
    plan = AttachPlan(shown=watch.address.shown, port=1)
    with SessionStore.create(watch.out) as store:
        Attachment(plan, lambda: fetch(watch.address), steering, watch.clock).record(store, 5)
    assert [c.rounds for c in read_session(watch.out).counters] == [40, 9]


def test_remarks_do_not_fill_the_file(page, watch):
    def mixed():
        page.draft(10, 5, 5)
        page.decode(60)

    assert tags(watch.record(*[mixed] * 20)) == ["mixed"]


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        ({"pace": Pace(interval_s=0)}, "--interval 0 is no pace"),
        ({"pace": Pace(interval_s=1e9)}, "is no pace"),
        ({"pace": Pace(interval_s=float("nan"))}, "is no pace"),
        ({"baseline_tps": 0.0}, "--baseline-tps 0 is no speed"),
        ({"baseline_tps": float("nan")}, "is no speed"),
        ({"baseline_tps": float("inf")}, "is no speed"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(plan, sentence):
    with pytest.raises(AttachError, match=sentence):
        AttachPlan(shown="x", port=1, **plan).checked()
