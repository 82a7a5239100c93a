"""Stretches from looks: which arm, how many, and a time only where one is right; never a negative count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metrics_server import LlamaServer, Sglang, Vllm

from specview.profilers.record.attaching.counting import Counting
from specview.profilers.record.attaching.page import look_at
from specview.profilers.record.records import to_line

S = 1_000_000_000


class Watched:
    """A page that is looked at once a second."""

    def __init__(self, page):
        self.page, self.t_ns = page, 0
        self.counting = Counting(look_at(page.text(), "", 0))

    def look(self, seconds=1.0, slack_s=0.0):
        self.t_ns += round(seconds * S)
        return self.counting.take(look_at(self.page.text(), "", self.t_ns, round(slack_s * S)))

    def resume(self):
        self.t_ns += S
        self.counting.resume(look_at(self.page.text(), "", self.t_ns))


@pytest.fixture
def vllm():
    page = Vllm()
    page.draft(1000, 900, 800)  # before anybody looked
    page.finish(2700, 27.0)
    page.running = 1
    return page


@pytest.fixture
def watched(vllm):
    return Watched(vllm)


def test_what_was_counted_before_the_first_look_is_left_out(vllm, watched):
    vllm.draft(40, 30, 10)
    counters = watched.look().counters
    assert (counters.arm, counters.source, counters.k) == ("drafting", "vllm", 2)
    assert (counters.rounds, counters.drafted, counters.accepted) == (40, 80, 40)
    assert counters.accepted_by_position == (30, 10)
    assert counters.tokens_per_round == 2.0
    assert (counters.tokens, counters.elapsed_ns, counters.tokens_per_second) == (80, S, 80.0)
    assert counters.batch == 1
    assert set(counters.derived) == {"tokens_per_round", "tokens_per_second"}


def test_an_idle_look_gives_nothing_and_its_time_counts_nowhere(vllm, watched):
    vllm.running = 0
    for _ in range(3):
        assert watched.look().counters is None
    vllm.running = 1
    assert watched.look().counters is None
    vllm.draft(40, 30, 10)
    assert watched.look().counters.elapsed_ns == S


def test_a_stretch_without_drafts_is_plain(vllm, watched):
    vllm.decode(50)
    counted = watched.look()
    assert (counted.counters.arm, counted.counters.tokens, counted.counters.elapsed_ns) == ("plain", 50, S)
    assert counted.counters.rounds is counted.counters.k is counted.counters.accepted is None
    assert [note.tags for note in counted.notes] == [("attach", "drafts_off")]


def test_without_any_counters_of_drafts_plain_needs_no_remark():
    page = Vllm(drafts=False)
    page.running = 1
    watched = Watched(page)
    page.decode(50)
    counted = watched.look()
    assert (counted.counters.arm, counted.notes) == ("plain", ())


def test_tokens_outside_of_rounds_are_remarked(vllm, watched):
    vllm.draft(10, 5, 5)
    vllm.decode(60)
    assert ("attach", "mixed") in [note.tags for note in watched.look().notes]


def test_a_prompt_inside_the_stretch_leaves_no_time(vllm, watched):
    vllm.prompt += 500
    vllm.draft(40, 30, 10)
    counters = watched.look().counters
    assert (counters.tokens, counters.elapsed_ns, counters.tokens_per_second) == (80, None, None)


def test_a_request_that_ended_inside_the_stretch_leaves_no_time(vllm, watched):
    vllm.draft(40, 30, 10)
    vllm.running = 0
    vllm.finish(900, 9.0)
    counters = watched.look().counters
    assert (counters.tokens, counters.elapsed_ns) == (80, None)


def test_short_requests_are_timed_by_the_engine(vllm, watched):
    vllm.running = 0
    watched.look()
    vllm.prompt += 100
    vllm.draft(20, 15, 5)
    vllm.finish(41, 0.5)
    counters = watched.look().counters
    assert (counters.tokens, counters.elapsed_ns, counters.tokens_per_second) == (40, S // 2, 80.0)


def test_a_request_that_the_clock_told_of_is_not_timed_twice(vllm, watched):
    vllm.draft(40, 30, 10)
    assert watched.look().counters.elapsed_ns == S
    vllm.draft(10, 5, 5)
    vllm.finish(101, 1.2)
    vllm.prompt += 9
    assert watched.look().counters.elapsed_ns is None
    # the next one began after that, and ends before the clock could tell of it
    vllm.draft(20, 10, 10)
    vllm.finish(41, 0.5)
    vllm.prompt += 9
    assert watched.look().counters.elapsed_ns == S // 2


def test_several_requests_have_the_clock_of_the_whole_server(vllm, watched):
    vllm.running = 3
    vllm.prompt += 9
    vllm.draft(120, 90, 30)
    vllm.finish(90, 3.0)
    counted = watched.look()
    assert (counted.running, counted.counters.batch) == (3, 3)
    assert (counted.counters.tokens, counted.counters.elapsed_ns) == (240, S)


def test_a_slow_answer_leaves_no_time(vllm, watched):
    vllm.draft(40, 30, 10)
    assert watched.look(slack_s=0.25).counters.elapsed_ns is None


def test_counters_that_fell_begin_anew_and_nothing_is_negative(vllm, watched):
    vllm.draft(40, 30, 10)
    watched.look()
    vllm.restart()
    vllm.running = 1
    vllm.draft(5, 3, 1)
    counted = watched.look()
    assert (counted.counters, counted.restarted) == (None, True)
    vllm.draft(7, 4, 2)
    counters = watched.look().counters
    assert (counters.rounds, counters.accepted) == (7, 6)


def test_a_restart_is_seen_where_the_counters_overtook_what_they_were(vllm):
    vllm.born = 100.0
    watched = Watched(vllm)
    vllm.draft(5000, 4000, 3000)
    vllm.born = 200.0
    assert watched.look().restarted


def test_a_figure_that_a_page_leaves_out_once_does_not_begin_at_0(vllm, watched):
    whole = vllm.text
    vllm.text = lambda: "\n".join(line for line in whole().split("\n") if "num_drafts_total" not in line)
    vllm.draft(40, 30, 10)
    watched.look()
    vllm.text = whole
    vllm.draft(40, 30, 10)
    assert watched.look().counters.rounds == 80


def test_after_a_gap_what_was_counted_meanwhile_is_left_out(vllm, watched):
    vllm.draft(40, 30, 10)
    watched.resume()
    vllm.draft(7, 4, 2)
    assert watched.look().counters.rounds == 7


def test_two_engines_of_one_server_are_added_up(vllm):
    other = Vllm()
    text = vllm.text
    vllm.text = lambda: text() + other.text().replace('engine="0"', 'engine="1"')
    watched = Watched(vllm)
    vllm.draft(40, 30, 10)
    other.draft(10, 5, 5)
    counters = watched.look().counters
    assert (counters.rounds, counters.accepted, counters.label) == (50, 50, "2 engines added up")


def test_llama_server_is_timed_by_its_decode_times():
    page = LlamaServer()
    watched = Watched(page)
    page.running = 1
    for _ in range(5):
        assert watched.look().counters is None
    page.running = 0
    page.finish(101, 2.0, rounds=50, drafted=90, by_position=(35, 15))
    counters = watched.look().counters
    assert (counters.arm, counters.rounds, counters.drafted, counters.accepted) == ("drafting", 50, 90, 50)
    assert (counters.accepted_by_position, counters.tokens_per_round) == ((35, 15), 2.0)
    assert (counters.tokens, counters.elapsed_ns, counters.tokens_per_second, counters.batch) == (101, 2 * S, 50.5, 1)
    page.finish(60, 1.5)
    counters = watched.look().counters
    assert (counters.arm, counters.tokens_per_second) == ("plain", 40.0)
    # it came and went between two looks
    assert (counters.batch, counters.derived) == (2, ("batch", "tokens_per_second"))


@pytest.mark.parametrize(("running", "seconds", "batch"), [(0, 0.9, 1), (0, 1.5, 2), (1, 1.9, 1), (1, 2.5, 2)])
def test_requests_between_looks_ran_at_once_if_they_took_longer_than_went_by(running, seconds, batch):
    page = LlamaServer()
    watched = Watched(page)
    watched.look()
    page.finish(60, 0.5)
    page.running = running  # the next one may have begun right after the look before
    watched.look()
    page.running = 0
    page.finish(60, seconds)
    counted = watched.look()
    assert (counted.counters.batch, counted.running) == (batch, batch)
    assert ("batch" in counted.counters.derived) == (batch > 1 or not running)


def test_a_long_request_ran_alone(vllm):
    vllm.running = 0
    watched = Watched(vllm)
    vllm.running = 1
    for _ in range(5):
        vllm.draft(40, 30, 10)
        assert watched.look().counters.batch == 1
    vllm.running = 0
    vllm.finish(401, 4.9)
    vllm.draft(1, 0, 0)
    assert watched.look().counters.batch == 1


def test_k_stays_what_it_was_where_short_rounds_show_less():
    page = LlamaServer()
    watched = Watched(page)
    page.finish(20, 0.1, rounds=10, drafted=40)
    assert watched.look().counters.k == 4
    page.finish(20, 0.1, rounds=10, drafted=37)
    assert watched.look().counters.k == 4
    page.finish(20, 0.1, rounds=10, drafted=10)
    assert watched.look().counters.k == 4
    page.finish(20, 0.1, rounds=10, drafted=80)
    assert watched.look().counters.k == 8


def test_rounds_that_llama_server_shows_before_the_end_wait_for_their_tokens():
    page = LlamaServer()
    watched = Watched(page)
    page.rounds, page.drafted = 30, 60
    assert watched.look().counters is None
    page.finish(61, 1.0, rounds=10, drafted=20, by_position=(21,))
    assert watched.look().counters.rounds == 40


def test_sglang_tells_rounds_at_the_end_and_speed_meanwhile():
    page = Sglang(positions=4)
    page.finish(500, 200)
    watched = Watched(page)
    page.running, page.speed = 1, 90.0
    assert watched.look().counters is None
    page.speed = 110.0
    assert watched.look().counters is None
    page.running, page.speed = 0, 999.0
    page.finish(120, 60)
    counters = watched.look().counters
    assert (counters.arm, counters.k, counters.rounds, counters.accepted) == ("drafting", 3, 60, 60)
    assert (counters.tokens, counters.tokens_per_round) == (120, 2.0)
    assert (counters.elapsed_ns, counters.tokens_per_second) == (None, 100.0)
    page.finish(40, 20)
    assert watched.look().counters.tokens_per_second is None


def test_an_sglang_that_counts_no_calls_tells_its_length():
    page = Sglang(positions=4)
    page.length = 2.5
    page.finish(10, 0)
    watched = Watched(page)
    page.finish(50, 0)
    counters = watched.look().counters
    assert (counters.arm, counters.rounds, counters.tokens_per_round) == ("drafting", None, 2.5)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 10**12), st.floats(0.001, 5)), max_size=30))
def test_whatever_a_server_shows_no_record_is_impossible(moves):
    page = Vllm()
    watched = Watched(page)
    for field, value, seconds in moves:
        if field == 9:
            page.restart()
        elif field == 8:
            watched.resume()
        else:
            name = ("rounds", "generated", "prompt", "running", "finished", "decoded", "decode_seconds", "born")[field]
            setattr(page, name, value)
        counted = watched.look(seconds)
        for record in (*counted.notes, *([counted.counters] if counted.counters else [])):
            to_line(record)
