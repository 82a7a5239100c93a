"""Single prompts against the break-even line."""

import pytest
from session_builder import CASES, Made, built, lines_of

from specview.profilers.judge.cloud import cloud_of
from specview.profilers.judge.visits import settings_of, visits_of
from specview.profilers.record.session import SessionReader


def session_of(records):
    reader = SessionReader("made")
    reader.feed(lines_of(records))
    return reader.session()


def test_every_prompt_is_a_point_near_the_whole():
    session = session_of(built(Made(prompts=6, segments=2, k=1, p=0.65)))
    cloud = cloud_of(session, settings_of(visits_of(session))[-1])
    assert len(cloud) == 6
    assert sum(p for p, _ in cloud) / 6 == pytest.approx(0.65, abs=0.1)
    assert all(ms == pytest.approx(21.88, rel=0.05) for _, ms in cloud)


def test_prompts_with_hardly_a_round_are_left_out():
    session = session_of(CASES["one-round"])
    assert cloud_of(session, settings_of(visits_of(session))[-1]) == ()
