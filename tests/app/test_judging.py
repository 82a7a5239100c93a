"""`specview judge`: what it reads, prints and returns."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest

from specview.app.cli import main
from specview.profilers.judge.appraisal import cautions, engine_fields, facts

HERE = Path(__file__).parent
CASES = [
    json.loads(line)
    for line in (HERE.parent / "profilers/judge/appraisal/public_reports.jsonl").read_text().splitlines()
]
DOCS = HERE.parents[1] / "docs"
FACTS_SCHEMA = json.loads((DOCS / "schemas/facts.schema.json").read_text())
ANSWER_SCHEMA = json.loads((DOCS / "schemas/answer.schema.json").read_text())
OCTOBER = ["--decode-tps", "92", "--verify-ms", "2:21.0", "--draft-ms", "2.6", "--k", "1"]
OCTOBER += ["--acceptance", "0.51", "--acceptance-kind", "conditional"]


class Stdin(io.TextIOWrapper):
    """A stdin that is no terminal and holds these bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")


@pytest.fixture
def judge(monkeypatch, capsys):
    """Run the command; returns its status and what it printed on both streams."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr("sys.stdin", Stdin(stdin))
        status = main(["judge", *map(str, arguments)])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


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
def test_a_public_report_on_stdin_gives_the_right_answer(judge, case):
    status, out, err = judge("--json", stdin=json.dumps(case["facts"]).encode())
    assert (status, err, out.count("\n")) == (0, "", 1)
    answer, wanted = json.loads(out), dict(case["expect"])
    tolerance = wanted.pop("tolerance", 0.02)
    warning = wanted.pop("warning", None)
    assert warning is None or warning in [warned["code"] for warned in answer["warnings"]]
    assert all(close(answer[name], value, tolerance) for name, value in wanted.items())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_facts_and_answers_keep_to_the_published_schemas(judge, case):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(case["facts"], FACTS_SCHEMA)
    jsonschema.validate(json.loads(judge("--json", stdin=json.dumps(case["facts"]).encode())[1]), ANSWER_SCHEMA)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_every_report_has_a_ledger(judge, case):
    status, out, _ = judge(stdin=json.dumps(case["facts"]).encode())
    assert status == 0
    assert "What to ask any benchmark" in out


def test_codes_are_the_same_in_code_docs_and_schema():
    published = ANSWER_SCHEMA["properties"]["warnings"]["items"]["properties"]["code"]["oneOf"]
    assert [each["const"] for each in published] == list(cautions.CAUTIONS)
    page = (DOCS / "judge.md").read_text()
    for caution in cautions.CAUTIONS.values():
        assert f"| `{caution.code}` | {caution.when} | {'yes' if caution.refuses else ''} |" in page
    said = {each["const"]: each["description"] for each in published}
    assert all(caution.when in said[caution.code] for caution in cautions.CAUTIONS.values())


def test_the_schema_of_facts_names_every_field_that_is_read():
    assert set(FACTS_SCHEMA["properties"]) == facts.FIELDS | engine_fields.known_fields()
    assert set(FACTS_SCHEMA["properties"]["acceptance"]["anyOf"][0]["anyOf"][1]["properties"]) == set(
        facts.ACCEPTANCE_FIELDS
    )


def test_the_ledger_writes_the_division_out(judge):
    status, out, err = judge(*OCTOBER, "--speculative-tps", 65.26)
    assert (status, err) == (0, "")
    assert out.startswith("Cannot win: a round costs 2.17 decode steps and yields at most 2 tokens")
    assert "S = E · T_decode ÷ T_round" in out
    assert "= 1.51 × 10.87 ms ÷ (21.00 + 2.60 + 0.00) ms = 0.70x" in out
    assert "→ Turn drafting off" in out


def test_a_refused_verdict_has_status_0_and_no_division(judge):
    status, out, _ = judge("--decode-tps", 50, "--speculative-tps", 155, "--k", 1, "--tokens-per-round", 1.9)
    assert status == 0
    assert out.startswith("No verdict: ")
    assert "S = E" not in out


def test_flags_say_what_an_object_says(judge, tmp_path):
    path = tmp_path / "facts.json"
    path.write_text(
        json.dumps(
            {
                "decode_ms": 1,
                "verify_ms": "flat",
                "draft_step_ms": 0.12,
                "k": list(range(1, 17)),
                "acceptance": {"value": 0.71, "kind": "conditional"},
                "moe": {"experts": 256, "active": 8, "positions": [1, 2]},
            }
        )
    )
    flags = ["--decode-ms", 1, "--verify-ms", "flat", "--draft-step-ms", 0.12, "--k", "1-16"]
    flags += ["--acceptance", 0.71, "--acceptance-kind", "conditional", "--moe", "256,8,1,2"]
    assert json.loads(judge("--json", *flags)[1]) == json.loads(judge("--json", path)[1])


def test_flags_overrule_the_file(judge, tmp_path):
    path = tmp_path / "facts.json"
    path.write_text('{"decode_ms": 10, "round_ms": 15, "k": 1, "acceptance": {"value": 0.4, "kind": "conditional"}}')
    assert json.loads(judge("--json", path)[1])["verdict"] == "loses"
    assert json.loads(judge("--json", path, "--acceptance", 0.6)[1])["verdict"] == "wins"


def test_repeated_runs_come_by_commas(judge):
    answer = json.loads(judge("--json", "--decode-tps", "50,51,52", "--speculative-tps", "40,41,42")[1])
    assert answer["basis"] == "interval"


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        ((), b""),
        ((), b"not json"),
        ((), b'{"k": NaN}'),
        ((), b'{"decode_ms": -1}'),
        ((), b'{"decode_ms": 1, "decode_ms": 2}'),
        ((), b"[" * 10_000),
        ((), b" " * (1 << 21)),
        (("/no/such/file.json",), b""),
        (("a\0b",), b""),
        (("--decode-tps", "fast"), b""),
        (("--decode-tps", "nan"), b""),
        (("--decode-tps", "inf"), b""),
        (("--verify-ms", "21"), b""),
        (("--verify-ms", "2:1,2:3"), b""),
        (("--k", "1-9999999"), b""),
        (("--k", "two"), b""),
        (("--moe", "8"), b""),
    ],
)
def test_unusable_facts_are_one_sentence_and_status_2(judge, arguments, stdin):
    status, out, err = judge(*arguments, stdin=stdin)
    assert (status, out) == (2, "")
    assert err.startswith("specview: ")
    assert err.count("\n") == 1


def test_a_terminal_is_not_waited_for(judge, monkeypatch):
    monkeypatch.setattr(Stdin, "isatty", lambda _: True)
    status, _, err = judge()
    assert status == 2
    assert "specview judge --help" in err


def test_texts_from_facts_are_never_markup_or_control(judge):
    given = {"k": 1, "content": "[bold red]no[/] \x1b[31mcolour\x07", "a\x1b[2J": 1}
    _, out, _ = judge(stdin=json.dumps(given).encode())
    assert "Content: [bold red]no[/] [31mcolour" in out
    assert "\x1b" not in out and "\x07" not in out
