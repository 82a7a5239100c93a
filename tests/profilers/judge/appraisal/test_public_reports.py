"""Numbers from articles and public threads, each with the right answer."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from specview.profilers.judge.appraisal.judgement import judge_facts

CASES = [json.loads(line) for line in Path(__file__).with_name("public_reports.jsonl").read_text().splitlines()]


def close(found, wanted, tolerance):
    """Within the tolerance, relative; shares from 0.05 to 1 also within 0.005; lists and objects by element."""
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(close(f, w, tolerance) for f, w in zip(found, wanted, strict=True))
    if isinstance(wanted, dict):
        return all(close(found[name], value, tolerance) for name, value in wanted.items())
    if wanted is None or isinstance(wanted, str):
        return found == wanted
    return math.isclose(found, wanted, rel_tol=tolerance) or (0.05 <= abs(wanted) <= 1 and abs(found - wanted) <= 0.005)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_answer_is_the_right_one(case):
    answer = judge_facts(case["facts"]).to_object()
    wanted = dict(case["expect"])
    tolerance = wanted.pop("tolerance", 0.02)
    warning = wanted.pop("warning", None)
    assert warning is None or warning in [warned["code"] for warned in answer["warnings"]]
    for name, value in wanted.items():
        assert name in answer
        assert close(answer[name], value, tolerance), (name, answer[name], value)


def test_all_cases_are_there():
    assert len(CASES) == 33
