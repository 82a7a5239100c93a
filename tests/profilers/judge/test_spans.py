"""A value's ruler is part of its type: what may not be divided neither type-checks nor runs."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import pytest

from specview.profilers.judge.spans import Fenced, Pipelined, Queued, RulerError, Span, Synchronous, combined, ratio

ROOT = Path(__file__).resolve().parents[3]

SNIPPET = """\
from specview.profilers.judge.economics import gap, round_in_decode_steps, width_ratio
from specview.profilers.judge.ledger import Ledger
from specview.profilers.judge.parts import Part
from specview.profilers.judge.prediction import PredictionParts
from specview.profilers.judge.readings import pipelined_steps, waited_for
from specview.profilers.judge.spans import Fenced, Pipelined, Queued, R, Span, Synchronous, combined, ratio

whole = Span(20.0, Synchronous)
plain = Span(10.0, Pipelined)
fenced = Span(11.0, Fenced)
queued = Span(8.0, Queued)
tokens = Part(1.5, 0.1, 60)

steps: float = whole / whole
shorter: Span[Fenced] = fenced / 2.0 + 3 * fenced - fenced
r: float = round_in_decode_steps(whole, plain)
share: float = gap(whole, queued).of_wall
widths: float = width_ratio(queued, queued)
total: Span[Queued] = combined([(1.0, queued), (2.0, queued)])
parts = PredictionParts(whole, whole, whole, tokens, plain)

def generic(top: Span[R], bottom: Span[R]) -> float:
    return top / bottom

def of(ledger: Ledger) -> float | None:
    verify, decode = ledger.verify, ledger.decode
    return None if verify is None or decode is None else round_in_decode_steps(verify.span, decode.span)

whole / plain  # refused
fenced / queued  # refused
plain / whole  # refused
whole + fenced  # refused
whole - queued  # refused
width_ratio(whole, plain)  # refused
ratio(fenced, whole)  # refused
combined([(1.0, whole), (1.0, queued)])  # refused
round_in_decode_steps(whole, whole)  # refused
round_in_decode_steps(fenced, plain)  # refused
gap(plain, queued)  # refused
gap(whole, fenced)  # refused
PredictionParts(whole, whole, whole, tokens, whole)  # refused
generic(whole, queued)  # refused
waited_for([1, 2]).span() / plain  # refused
whole < plain  # refused

def mixed(either: Span[Fenced] | Span[Queued]) -> float:
    return either / queued  # refused

def unknown(ledger: Ledger) -> float:
    assert ledger.verify is not None and ledger.decode is not None
    return ledger.verify.span / ledger.decode.span  # refused
"""


def test_only_the_two_allowed_pairs_of_rulers_type_check(tmp_path: Path) -> None:
    from mypy import api

    (tmp_path / "specview").symlink_to(ROOT, target_is_directory=True)
    (tmp_path / "snippet.py").write_text(SNIPPET)
    # The libraries below are left out for speed; what is looked at here is our own types.
    (tmp_path / "mypy.ini").write_text(
        f"[mypy]\nstrict = True\nmypy_path = {tmp_path}\nfollow_imports = silent\nexplicit_package_bases = True\n"
        "[mypy-numpy.*,scipy.*]\nfollow_imports = skip\n"
    )
    config, cache = str(tmp_path / "mypy.ini"), str(tmp_path / "cache")
    found, problems, _ = api.run(
        ["--config-file", config, "--cache-dir", cache, "--no-error-summary", str(tmp_path / "snippet.py")]
    )
    assert not problems
    lines = SNIPPET.splitlines()
    refused = {number for number, line in enumerate(lines, 1) if line.endswith("# refused")}
    errors = {int(line.split(":")[1]) for line in found.splitlines() if ": error:" in line}
    assert {lines[n - 1] for n in errors ^ refused} == set(), found


@pytest.mark.parametrize(
    "mix",
    [
        lambda a, b: a / b,
        lambda a, b: a + b,
        lambda a, b: a - b,
        ratio,
        lambda a, b: combined([(1.0, a), (1.0, b)]),
    ],
)
def test_two_rulers_do_not_mix_when_it_runs_either(mix) -> None:
    for other in (Pipelined, Fenced, Queued):
        with pytest.raises(RulerError, match="two rulers"):
            mix(Span(20.0, Synchronous), Span(10.0, other))


def test_one_ruler_divides_by_itself_and_by_numbers() -> None:
    wide, single = Span(20.0, Queued, 0.6, 9), Span(10.0, Queued, 0.8, 9)
    assert wide / single == 2.0
    assert (wide / 4.0, 0.25 * wide) == (Span(5.0, Queued, 0.15, 9), Span(5.0, Queued, 0.15, 9))
    assert ((wide + single).ms, (wide + single).se_ms) == pytest.approx((30.0, 1.0))
    assert ((wide - single).ms, (wide - single).se_ms) == pytest.approx((10.0, 1.0))
    assert ratio(wide, single).estimate == 2.0


def test_a_span_whose_error_is_unknown_has_no_interval_and_spoils_that_of_a_sum() -> None:
    known, single = Span(1.0, Fenced, 0.1, 9), Span(2.0, Fenced)
    assert known.interval() is not None and single.interval() is None
    assert math.isnan((known + single).se_ms) and (known + single).interval() is None


def test_a_sum_of_nothing_has_no_ruler() -> None:
    with pytest.raises(RulerError, match="measure something"):
        combined([])


def test_bare_milliseconds_are_divided_by_each_other_only_where_two_rulers_may_meet() -> None:
    """`.ms` gets round the types, so no code that handles spans may divide two of them."""
    allowed = {("spans.py", "__truediv__"), ("economics.py", "round_in_decode_steps")}
    floors = {("floor.py", "floor_ratio")}  # what must move at least was timed by no ruler
    found = set()
    for folder in ("profilers/judge", "layouts"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            if folder == "profilers/judge" and path.name != "spans.py" and "from .spans import" not in text:
                continue  # its times in ms are no spans
            for function in (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)):
                divisions = (n for n in ast.walk(function) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div))
                if any(_bare(d.left) and _bare(d.right) for d in divisions):
                    found.add((path.name, function.name))
    assert found - floors == allowed


def _bare(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr == "ms" for n in ast.walk(node))
