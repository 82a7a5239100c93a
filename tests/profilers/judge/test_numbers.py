"""Nanoseconds as numbers of a ledger, and which probes they come from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specview.profilers.judge.numbers import number, numbers, whole_probes

MS = 1_000_000


def test_a_number_has_a_mean_to_divide_and_a_median_to_show():
    found = number([10 * MS, 10 * MS, 16 * MS])
    assert found.mean.estimate == pytest.approx(12.0)
    assert (found.spread.median, found.spread.mad, found.n) == (10.0, 0.0, 3)


@pytest.mark.parametrize("values", [[], [10 * MS], [None, 10 * MS, None]])
def test_fewer_than_two_values_are_no_number(values):
    assert number(values) is None


def test_what_was_not_measured_is_left_out():
    assert number([None, 10 * MS, 12 * MS]).mean.estimate == pytest.approx(11.0)


def test_widths_come_in_order_and_thin_ones_not_at_all():
    assert list(numbers({9: [MS, MS], 1: [MS, MS], 4: [MS]})) == [1, 9]


def test_probes_are_whole_passes_that_were_waited_for(build):
    build.probe("verify", 3, 15.0)
    session = build.session()
    (right,) = session.probes
    others = (
        replace(right, ruler="fenced"),
        replace(right, ruler="queued"),
        replace(right, pipelined=True),
        replace(right, part="draft"),
    )
    session = replace(session, probes=(right, *others))
    assert whole_probes(session, "verify") == {3: [15 * MS]}


def test_probes_of_other_runs_are_left_out_where_the_drafter_matters(build):
    for run, ms in ((1, 2.0), (4, 20.0), (None, 3.0)):
        build.probe("draft", 1, ms, run)
    assert whole_probes(build.session(), "draft", {1}) == {1: [2 * MS, 3 * MS]}
    assert whole_probes(build.session(), "draft") == {1: [2 * MS, 20 * MS, 3 * MS]}


def test_a_probe_without_samples_adds_none(build):
    build.probe("verify", 3, 15.0)
    session = build.session()
    session = replace(session, probes=(replace(session.probes[0], samples_ns=None),))
    assert whole_probes(session, "verify") == {3: []}
    assert numbers(whole_probes(session, "verify")) == {}


def test_a_pass_that_took_no_time_was_none(build):
    for ms in (0.0, 11.0, 0.0):
        build.probe("verify", 1, ms)
    assert whole_probes(build.session(), "verify") == {1: [11 * MS]}
