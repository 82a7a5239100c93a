"""One verdict for every engine: windows in, E, R, S and what is missing out."""

from __future__ import annotations

import july
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from windows_made import drafting, imported_half, plain, requests, session

from specview.profilers.judge.acceptance import AcceptanceKind
from specview.profilers.judge.imported import imported_verdicts
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of

MS = 1_000_000


def judged(*records, **more):
    (found,) = imported_verdicts(session(*records), **more)
    return found


def passes(part, width, ms):
    return r.Probe(
        t_ns=0, ruler="whole", part=part, width=width, context=0, samples_ns=(round(ms * MS),), pipelined=False
    )


def codes(found):
    return {w.code for w in found.warnings}


def test_two_windows_are_enough_for_a_point():
    found = judged(plain(92.0), drafting(65.26, k=1, rounds=1000, drafted=1000, accepted=510))
    assert found.verdict == "unwinnable"  # a round of article A costs 2.13 decode steps and yields two tokens at most
    assert found.numbers["tokens_per_round"] == pytest.approx(1.51)
    assert found.speedup.estimate == pytest.approx(65.26 / 92)
    assert found.numbers["round_steps"] == pytest.approx(1.51 * 92 / 65.26)
    assert "speedup_95" not in found.numbers


def test_repeated_requests_give_the_interval_of_the_log_ratio():
    found = judged(*requests((100.0, 80.0, 90.0, 95.0), (82.0, 66.0, 75.0, 79.0)))
    assert found.verdict == "loses" and found.speeds.pairs
    assert found.speedup.low < found.speedup.estimate < found.speedup.high < 1
    assert found.speedup.n == 4


def test_an_interval_that_holds_one_is_too_close():
    assert judged(*requests((100.0, 80.0, 90.0), (110.0, 70.0, 92.0))).verdict == "too_close"


def test_acceptance_of_every_kind_that_follows():
    found = judged(plain(92.0), drafting(65.0, accepted_by_position=(80, 55, 35)))
    by_kind = {(a.kind, len(a.values)): a for a in found.acceptance}
    assert by_kind[AcceptanceKind.MEAN_ACCEPTED, 1].values[0] == pytest.approx(1.7)
    assert by_kind[AcceptanceKind.PER_DRAFT, 1].values[0] == pytest.approx(170 / 300)
    assert by_kind[AcceptanceKind.CUMULATIVE, 3].values == pytest.approx((0.8, 0.55, 0.35))
    assert by_kind[AcceptanceKind.CONDITIONAL, 3].values == pytest.approx((0.8, 0.55 / 0.8, 0.35 / 0.55))
    assert by_kind[AcceptanceKind.ACCEPTED_PER_GENERATED, 1].values[0] == pytest.approx(1.7 / 2.7)
    assert not by_kind[AcceptanceKind.CUMULATIVE, 3].inferred


def test_counts_give_wilson_on_rounds_because_drafts_of_one_round_hang_together():
    found = judged(plain(92.0), drafting(65.0))
    per_draft = next(a for a in found.acceptance if a.kind is AcceptanceKind.PER_DRAFT)
    assert per_draft.interval.high - per_draft.interval.low == pytest.approx(0.19, abs=0.01)


def test_counts_of_like_windows_are_added():
    found = judged(plain(92.0), drafting(65.0, 1), drafting(66.0, 2))
    assert (found.rounds, found.drafted, found.accepted) == (200, 600, 340)


def test_an_acceptance_by_constant_alpha_is_called_inferred():
    found = judged(plain(92.0), drafting(65.0))
    assert all(a.inferred for a in found.acceptance if len(a.values) > 1)


def test_without_plain_windows_it_says_how_to_get_a_baseline():
    (found,) = imported_verdicts(session_of(imported_half()))
    assert found.verdict is None
    assert found.sentence.startswith("No verdict: There is no plain baseline")
    assert "record a window with drafts off, or give --baseline-tps" in found.missing[0]
    assert found.numbers["tokens_per_round"] == pytest.approx(2.7)


def test_a_given_baseline_stands_for_plain_windows():
    (found,) = imported_verdicts(session_of(imported_half()), baseline_tps=92.0)
    assert found.verdict == "loses" and found.plain.given


def test_a_given_baseline_breaks_pairs():
    found = judged(*requests((100.0, 80.0, 90.0), (82.0, 66.0, 75.0)), baseline_tps=100.0)
    assert not found.speeds.pairs and found.numbers["decode_ms"] == pytest.approx(10.0)


def test_passes_and_the_engines_own_parts_complete_each_other():
    timed = {"draft_ns": 300 * MS, "verify_ns": 2400 * MS, "rest_ns": 100 * MS}
    found = judged(plain(100.0), drafting(None, **timed), passes("verify", 1, 10.0))
    assert found.numbers["round_ms"] == pytest.approx(28.0)
    assert found.numbers["ratios"] == pytest.approx({"1": 1.0, "4": 2.4})


def test_plain_windows_alone_ask_for_drafts():
    found = judged(plain(92.0))
    assert found.verdict is None and found.missing == ("There is no window with drafts: record one with drafts on.",)


def test_no_speed_with_drafts_is_told():
    found = judged(plain(92.0), drafting(None))
    assert found.verdict is None and "no speed with drafts" in found.missing[0]


def test_the_speed_of_several_requests_at_once_is_refused():
    found = judged(plain(400.0, batch=8), drafting(500.0, batch=8))
    assert found.verdict == "refused" and "batched_speed" in codes(found)
    assert "8 requests at once" in found.sentence
    assert found.throughput == pytest.approx(1.25)
    assert found.speedup is None and "decode_ms" not in found.numbers


def test_counts_of_several_requests_at_once_still_give_acceptance():
    found = judged(plain(400.0, batch=8), drafting(500.0, batch=8))
    assert found.numbers["tokens_per_round"] == pytest.approx(2.7)


def test_a_verify_curve_is_used_as_parts():
    probes = (passes("verify", 1, 10.0), passes("verify", 4, 24.0), passes("draft", 1, 1.0))
    found = judged(plain(100.0), drafting(None), *probes)
    assert found.numbers["verify_steps"] == pytest.approx(2.4)
    assert found.numbers["round_ms"] == pytest.approx(27.0)
    assert found.numbers["speedup"] == pytest.approx(1.0)


def test_a_measured_speed_decides_and_the_prediction_stands_beside_it():
    probes = (passes("verify", 1, 10.0), passes("verify", 4, 24.0), passes("draft", 1, 1.0))
    found = judged(plain(100.0), drafting(80.0), *probes)
    assert found.speedup.estimate == pytest.approx(0.8)
    assert found.predicted.numbers["tokens_per_second"] == pytest.approx(100.0)
    assert found.prediction_error == pytest.approx(0.25)


def test_parts_by_the_engines_own_clock_are_means_over_rounds_and_no_prediction():
    timed = {"draft_ns": 300 * MS, "verify_ns": 2000 * MS, "rest_ns": 100 * MS, "tokens": 270, "elapsed_ns": 2400 * MS}
    found = judged(plain(92.0), drafting(None, **timed, derived=("rest_ns",)))
    assert {p.name: (p.ms, p.derived) for p in found.parts} == {
        "draft": (3.0, False),
        "verify": (20.0, False),
        "rest": (1.0, True),
        "round": (24.0, False),
    }
    assert found.predicted is None
    assert found.derived == ("rest_ns",)


def test_parts_without_a_speed_give_the_round():
    found = judged(plain(100.0), drafting(None, draft_ns=300 * MS, verify_ns=2000 * MS, rest_ns=100 * MS))
    assert found.numbers["round_ms"] == pytest.approx(24.0)


def test_the_july_mistake_is_refused_with_both_results_beside_each_other():
    (found,) = imported_verdicts(session_of(july.records()))
    assert found.verdict == "refused" and "mixed_rulers" in codes(found)
    assert found.numbers["wrong_speedup"] == pytest.approx(found.two_rulers.wrong.speedup)
    assert found.numbers["right_speedup"] == pytest.approx(found.two_rulers.right.speedup)
    assert found.two_rulers.right.speedup == pytest.approx(0.7994, abs=1e-4)
    assert found.sentence.startswith("Mixed rulers")


def test_figures_that_cannot_be_are_a_sentence():
    found = judged(plain(92.0), drafting(65.0, k=5000))
    assert found.verdict is None and found.sentence == "No verdict: k must lie between 0 and 1024, not 5000."
    impossible = judged(plain(92.0), drafting(65.0, accepted=400))
    assert impossible.verdict == "refused" and impossible.acceptance == ()


def test_more_windows_than_fit_are_bounded():
    windows = [drafting(70.0 + (i * 7919 % 13) / 10, i, label=f"r{i}") for i in range(3000)]
    found = judged(*[plain(90.0 + (i % 7) / 10, i) for i in range(3000)], *windows)
    assert found.verdict == "loses" and len(found.speeds.drafting) <= 1000


COUNT = st.none() | st.integers(0, 10**15)
SPEED = st.none() | st.floats(0, 1e12, allow_nan=False)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(
        st.builds(
            r.Counters,
            t_ns=st.integers(0, 10**15),
            arm=st.sampled_from(("plain", "drafting")),
            source=st.sampled_from(("a", "b")),
            label=st.sampled_from((None, "x", "y")),
            drafter=st.none() | st.just("mtp"),
            k=st.none() | st.integers(0, 10**6),
            batch=st.none() | st.integers(0, 9),
            rounds=COUNT,
            drafted=COUNT,
            accepted=COUNT,
            accepted_by_position=st.none() | st.lists(st.integers(0, 10**15), max_size=4).map(tuple),
            tokens=COUNT,
            elapsed_ns=COUNT,
            draft_ns=COUNT,
            verify_ns=COUNT,
            rest_ns=COUNT,
            tokens_per_second=SPEED,
            tokens_per_round=SPEED,
            temperature=SPEED,
            rule=st.none() | st.just("greedy"),
        ),
        max_size=8,
    ),
    st.lists(st.tuples(st.sampled_from(("verify", "draft")), st.integers(1, 6), st.integers(0, 10**15)), max_size=4),
)
def test_whatever_a_file_holds_it_gives_sentences(windows, timed):
    probes = [
        r.Probe(t_ns=0, ruler="whole", part=part, width=width, context=0, samples_ns=(ns,)) for part, width, ns in timed
    ]
    for found in imported_verdicts(session(*windows, *probes)):
        assert found.sentence
        assert found.verdict in (None, "wins", "loses", "unwinnable", "too_close", "refused")
