"""Sessions as DataFrames: rows, units, types, and what empty sessions give."""

from pathlib import Path

import pytest

import specview
from specview.engine.errors import SpecviewError

EXAMPLES = Path(specview.__file__).parent / "assets" / "examples"


@pytest.fixture(scope="module")
def recorded():
    return specview.open(EXAMPLES / "bundled-mtp.specview.jsonl")


@pytest.fixture(scope="module")
def survey():
    return specview.open(EXAMPLES / "shape-35b-a3b.specview.jsonl")


@pytest.fixture(scope="module")
def imported():
    return specview.open(str(EXAMPLES / "article-a-july.specview.jsonl"))


def test_a_round_is_a_row_with_the_facts_of_its_run(recorded):
    assert len(recorded.rounds) == len(recorded.session.rounds)
    first, run = recorded.rounds.iloc[0], recorded.session.runs[1]
    assert (first["arm"], first["prompt_kind"]) == ("drafting", run.prompt.kind)
    assert recorded.rounds["round_ns"].sum() == sum(r.round_ns for r in recorded.session.rounds)
    assert set(recorded.steps["arm"]) == {"plain"}


def test_parts_are_missing_in_free_rounds_and_whole_numbers_in_split_ones(recorded):
    split = recorded.rounds[recorded.rounds["arm"] == "split"]
    assert split["verify_ns"].notna().all() and str(split["verify_ns"].dtype) == "Int64"
    assert recorded.rounds[recorded.rounds["arm"] == "drafting"]["verify_ns"].isna().all()


def test_the_speed_of_the_ledger_is_that_of_the_rounds(recorded):
    free = recorded.rounds.query("arm == 'drafting' and not warm_up")
    measured = free["committed_tokens"].sum() / free["round_ns"].sum() * 1e9
    ledger = recorded.ledger
    told = ledger[(ledger["unit"] == "tok/s") & (ledger["group"] == "round") & (ledger["source"] == "measured")]
    assert any(value == pytest.approx(measured, rel=0.02) for value in told["value"])


def test_every_column_of_times_and_counts_names_its_unit(recorded):
    plain = {"run", "arm", "drafter", "rule", "temperature", "prompt_kind", "prompt_index", "i", "segment"}
    flags = {"warm_up", "replay", "pipelined"}
    units = ("_ns", "_tokens", "_positions")
    for frame in (recorded.rounds, recorded.steps):
        assert [name for name in frame if name not in plain | flags and not name.endswith(units)] == []


def test_blocks_compare_one_ruler_with_itself(recorded, survey):
    for opened in (recorded, survey):
        blocks = opened.blocks.dropna(subset="ratio")
        assert len(blocks) > 3 and set(blocks["ratio_ruler"]) <= {"queued", "fenced"}


def test_columns_keep_their_types_where_nothing_is_in_them(recorded, survey, imported):
    for one, other in ((recorded, survey), (recorded, imported)):
        for name in ("rounds", "steps", "probes", "batched", "blocks", "census", "ledger"):
            assert dict(getattr(one, name).dtypes) == dict(getattr(other, name).dtypes), name


def test_a_survey_has_a_census_in_bytes(survey):
    assert {"read_bytes", "written_bytes", "flops"} <= set(survey.census)
    assert survey.census["read_bytes"].sum() > 0


def test_an_imported_ledger_says_where_its_numbers_come_from(imported):
    assert "imported" in set(imported.ledger["source"])
    assert any("Mixed rulers" in sentence for sentence in imported.verdicts)


def test_what_is_no_session_is_told_in_a_sentence(tmp_path):
    (tmp_path / "not.txt").write_text("hello")
    with pytest.raises(SpecviewError, match=r"not\.txt"):
        specview.open(tmp_path / "not.txt")


def test_the_worked_example_of_the_documentation_runs():
    text = (EXAMPLES.parents[1] / "docs" / "notebook.md").read_text(encoding="utf-8")
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    opened = f"specview.open({str(EXAMPLES / 'bundled-mtp.specview.jsonl')!r})"
    code = "\n".join(
        line if not line.startswith("session = specview.open") else f"session = {opened}" for line in lines
    )
    found = {}
    exec(code, found)
    assert found["by_prompt"]["S"].between(0.3, 3).all()
