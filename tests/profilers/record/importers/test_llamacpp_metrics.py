"""llama-server's /metrics page: what it counted since its start, or between two looks."""

from __future__ import annotations

import pytest

from specview.profilers.record.importers.imported import Imported, ImportFailed
from specview.profilers.record.importers.llamacpp_metrics import likely, read
from specview.profilers.record.records import Counters


def page(tokens: int, seconds: float, drafts: int, drafted: int, accepted: int, *positions: int) -> str:
    by_position = "".join(
        f'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{{position="{i}"}} {n}\n'
        for i, n in enumerate(positions)
    )
    return (
        "# HELP llamacpp:tokens_predicted_total Number of generation tokens processed.\n"
        "# TYPE llamacpp:tokens_predicted_total counter\n"
        f"llamacpp:tokens_predicted_total {tokens}\n"
        f"llamacpp:tokens_predicted_seconds_total {seconds}\n"
        "llamacpp:requests_processing 1\n"
        f"llamacpp:spec_decode_num_drafts_total {drafts}\n"
        f"llamacpp:spec_decode_num_draft_tokens_total {drafted}\n"
        f"llamacpp:spec_decode_num_accepted_tokens_total {accepted}\n" + by_position
    )


FIRST, LATER = page(200, 10.0, 100, 200, 100, 70, 30), page(500, 22.0, 250, 500, 250, 175, 75)


def imported(text: str) -> Imported:
    return read(text.splitlines(keepends=True))


def counters(text: str) -> tuple[Counters, ...]:
    return tuple(record for record in imported(text).records if isinstance(record, Counters))


def test_one_look_gives_the_totals() -> None:
    (one,) = counters(FIRST)
    assert one.arm == "drafting"
    assert (one.rounds, one.drafted, one.accepted, one.accepted_by_position) == (100, 200, 100, (70, 30))
    assert (one.tokens, one.elapsed_ns) == (200, 10_000_000_000)


def test_two_looks_give_what_came_in_between() -> None:
    (one,) = counters(FIRST + LATER)
    assert (one.rounds, one.drafted, one.accepted, one.accepted_by_position) == (150, 300, 150, (105, 45))
    assert (one.tokens, one.elapsed_ns) == (300, 12_000_000_000)


def test_older_builds_tell_only_tokens_and_times() -> None:
    (one,) = counters("llamacpp:tokens_predicted_total 200\nllamacpp:tokens_predicted_seconds_total 10\n")
    assert (one.arm, one.tokens, one.elapsed_ns, one.drafted) == ("plain", 200, 10_000_000_000, None)


def test_damaged_samples_are_counted() -> None:
    text = FIRST + "llamacpp:spec_decode_num_drafts_total{ x\nllamacpp:spec_something_new_total 5\n"
    assert imported(text).tally.not_understood == 2


def test_a_page_of_another_server_is_refused() -> None:
    with pytest.raises(ImportFailed):
        imported("vllm:spec_decode_num_drafts_total 5\n")


def test_its_own_signs_are_likely_and_others_are_not() -> None:
    assert likely(FIRST) > 0.9
    assert likely("vllm:spec_decode_num_drafts_total 5\n") == 0
