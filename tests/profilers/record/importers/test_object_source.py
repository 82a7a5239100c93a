"""What all importers of JSON objects share: contradictions are told, and hostile texts are accounted for."""

from __future__ import annotations

import json
from importlib import import_module

import pytest

from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.importers.object_source import accepted_by_position, contradictions, objects_in
from specview.profilers.record.records import Counters

MODULES = ("mlx_lm_stream", "mlx_dspark", "dflash", "mtplx", "aiperf", "spec_bench", "csv_table")
IMPORTERS = [
    importer for name in MODULES for importer in import_module(f"specview.profilers.record.importers.{name}").IMPORTERS
]
MARKS = '"accepted_from_draft": 3, "verify_calls": 2, "drafted": 1, "accepted": 1, "committed": 2, "from_draft": true'


def counters(**fields):
    """Counters of a stretch of drafting."""
    return Counters(t_ns=0, arm="drafting", source="x", **fields)


def test_positions_are_cumulative_counts_of_what_each_round_kept():
    assert accepted_by_position({0: 3, 1: 4, 3: 1}) == (5, 1, 1)
    assert accepted_by_position({0: 9}) == ()


def test_derived_figures_contradict_nothing():
    assert list(contradictions(counters(drafted=1, accepted=2)))
    assert not list(contradictions(counters(drafted=1, accepted=2, derived=("accepted",))))


def test_figures_that_fit_are_left_alone():
    good = counters(k=3, rounds=10, drafted=30, accepted=13, accepted_by_position=(8, 4, 1), tokens=22)
    assert not list(contradictions(good))


def test_objects_come_outer_ones_first_with_the_names_that_lead_to_them():
    found = list(objects_in({"a": [{"b": {"c": 1}}, 7], "d": {}}))
    assert [path for path, _ in found] == ["", "a", "a.b", "d"]


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.form)
@pytest.mark.parametrize(
    "line",
    [
        '{"a":' * 5000,
        "[" * 5000 + "]" * 5000,
        '{"a": ' * 80 + "{" + MARKS + "}" + "}" * 80,
        "{" + MARKS + ', "cycles": 1e999, "ms": NaN, "num_spec_steps": ' + "9" * 5000 + "}",
        "x" * 200_000,
        "\x1b[31m" + "\x00" * 50,
        "arm,tokens\r\n",
        json.dumps({"choices": [{"accept_lengths": [[1]], "new_tokens": {"a": 1}}], "runs": {"run": [1]}}),
        "\ufeff{}",
        "",
    ],
    ids=["open", "lists", "deep", "infinite", "huge", "controls", "crlf", "types", "mark", "empty"],
)
def test_hostile_lines_give_a_refusal_in_a_sentence(importer, line):
    try:
        made = importer.read([line, "\n"])
    except ImportFailed as failed:
        assert str(failed).endswith(".") and "\n" not in str(failed)
    else:
        tally = made.tally
        assert tally.lines == tally.understood + tally.ignored + tally.not_understood


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.form)
def test_lines_are_taken_one_by_one(importer):
    def lines():
        yield "nothing of use\n"
        yield "\n"

    with pytest.raises(ImportFailed):
        importer.read(lines())
