"""Sentences on why rulers differ say what the numbers say."""

from __future__ import annotations

from dataclasses import replace

from gap_probes import BLOCKS, MS, calibration, fenced, queued, whole
from session_builder import CASES

from specview.profilers.judge.ruler_sentences import ruler_sentences
from specview.profilers.record.records import Probe
from specview.profilers.record.session import session_of

EMPTY = replace(session_of(CASES["interrupted"]), probes=(), calibrations=(), steps=())
FENCE = calibration("fence", 100.0, "us")


def sentences_of(*probes, calibrations=(FENCE,)):
    return ruler_sentences(replace(EMPTY, probes=probes, calibrations=tuple(calibrations)))


def test_without_blocks_there_is_nothing_to_explain():
    assert sentences_of(whole()) == ()


def test_each_ruler_has_its_sentence_with_its_numbers():
    fenced_sentence, hot, cycled = sentences_of(whole(), *BLOCKS)
    assert "31 fences of 100 µs take 3.10 ms" in fenced_sentence and "53.10 ms, -4.90 ms" in fenced_sentence
    assert "below the whole graph" in fenced_sentence
    assert "sum to 21.00 ms" in hot and "take 30.00 ms (-30.0%)" in hot and "is not known" in hot
    assert "50.00 ms, -8.00 ms" in cycled and "(3.00 ms)" in cycled and "5.00 ms more" in cycled


def test_a_fenced_sum_above_the_whole_graph_is_split_into_fences_and_lost_overlap():
    slow = fenced("layers.*.mlp", "MLP", 60.0, layers=30)
    assert "the other 18.90 ms are work" not in sentences_of(whole(), *BLOCKS)[0]
    found = sentences_of(whole(), *(p for p in BLOCKS if p.ruler == "queued"), slow, BLOCKS[4])[0]
    assert "the other 19.00 ms are work that would overlap" in found
    assert "waits for its own end" in sentences_of(whole(), *BLOCKS, calibrations=())[0]


def test_the_cache_is_named_where_its_size_is_known():
    cycled, hot = (replace(p, cached=c) for p, c in zip(BLOCKS[:2], (False, True), strict=True))
    found = sentences_of(whole(), cycled, hot, *BLOCKS[2:])[1]
    assert "in 1 of 1 places, those of all layers in 0" in found and "too low to compare" in found


def test_hot_copies_slower_than_cycled_ones_are_called_unsteady_and_equal_ones_equal():
    slow = queued("layers.*.mlp", "MLP", 1.4, layers=30, arrangement="hot", layer=15)
    alike = queued("layers.*.mlp", "MLP", 1.0, layers=30, arrangement="hot", layer=15)
    assert "should not be slower" in sentences_of(whole(), BLOCKS[0], slow, *BLOCKS[2:])[1]
    assert "no difference to speak of" in sentences_of(whole(), BLOCKS[0], alike, *BLOCKS[2:])[1]


def test_a_queued_sum_above_the_evaluation_is_explained_by_overlap():
    quick = whole(evaluation=(45.0, 45.1, 44.9))
    assert "they overlap" in sentences_of(quick, *BLOCKS)[2]
    even = whole(evaluation=(50.0, 50.1, 49.9))
    assert "which explains the difference" in sentences_of(even, *BLOCKS)[2]


def test_what_pipelining_does_is_said_with_its_sign():
    def piped(ms):
        return Probe(
            t_ns=0, ruler="whole", part="decode", width=1, context=128, samples_ns=(ms * MS,) * 6, pipelined=True
        )

    steady = whole(build=(3.0,) * 6, evaluation=(55.0,) * 6)
    assert "hides part of a synchronous step (+3.00 ms" in sentences_of(steady, piped(55), *BLOCKS)[-1]
    assert "take longer" in sentences_of(steady, piped(60), *BLOCKS)[-1]
    assert "not told apart" in sentences_of(whole(evaluation=(50.0, 55.0, 60.0)), piped(57), *BLOCKS)[-1]
