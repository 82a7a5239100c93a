"""A table with a header becomes stretches, in the ways that spreadsheets of several countries write it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from served_samples import damaged, stretches, survives

from specview.profilers.record.importers.csv_table import likely, read
from specview.profilers.record.importers.imported import ImportFailed
from specview.profilers.record.records import Note

TABLE = """# my engine, 14 July
arm,source,label,drafter,k,rounds,drafted,accepted,accepted_by_position,tokens,elapsed_s,draft_ms,temperature
plain,mine,essay,,,,,,,200,10.0,,0
drafting,mine,essay,mtp,2,80,160,120,70 50,200,8.0,800.5,0
"""


def test_each_row_is_a_stretch_with_means_derived():
    made = read(TABLE.splitlines(keepends=True))
    plain, drafting = stretches(made)
    assert (plain.arm, plain.tokens, plain.tokens_per_second, plain.k) == ("plain", 200, 20.0, None)
    assert (drafting.drafter, drafting.k, drafting.rounds, drafting.accepted_by_position) == ("mtp", 2, 80, (70, 50))
    assert drafting.elapsed_ns == 8_000_000_000 and drafting.draft_ns == 800_500_000
    assert drafting.tokens_per_round == 2.5 and drafting.tokens_per_second == 25.0
    assert drafting.derived == ("tokens_per_second", "tokens_per_round")
    assert made.engine == "mine" and (made.tally.understood, made.tally.ignored) == (3, 1)


def test_semicolons_with_decimal_commas_and_tabs_read_the_same():
    semicolons = TABLE.replace(",", ";").replace("10.0", "10,0").replace("8.0;", "8,0;").replace("800.5", "800,5")
    for text in (semicolons.replace("# my engine; 14 July", "# x"), TABLE.replace(",", "\t")):
        assert stretches(read(text.splitlines(keepends=True))) == stretches(read(TABLE.splitlines(keepends=True)))


def test_a_byte_order_mark_crlf_quotes_capitals_and_empty_lines_do_no_harm():
    text = '\ufeff"Arm","Tokens","Elapsed S"\r\n\r\nPlain,"1,200",2\r\n'
    (only,) = stretches(read(text.splitlines(keepends=True)))
    assert (only.tokens, only.elapsed_ns) == (1200, 2_000_000_000)


def test_accepted_is_the_sum_of_positions_where_it_is_missing():
    (only,) = stretches(read(["arm;rounds;accepted_by_position\n", "drafting;10;8|4|1\n"]))
    assert (only.accepted, only.derived) == (13, ("accepted", "tokens_per_round"))


@pytest.mark.parametrize("shares", ["0.800 0.500", "0.800|0.500", "81 50", "1.000 1.000"])
def test_shares_of_acceptance_and_counts_above_the_rounds_are_no_counts_by_position(shares):
    made = read(["arm,rounds,accepted_by_position\n", f"drafting,80,{shares}\n"])
    (only,) = stretches(made)
    assert (only.rounds, only.accepted_by_position, only.accepted, only.tokens_per_round) == (80, None, None, None)
    assert made.tally.not_understood == 1 and made.tally.examples[0].startswith("accepted_by_position: ")


def test_commas_separate_thousands_where_they_separate_columns_and_are_decimal_elsewhere():
    (quoted,) = stretches(read(["arm,tokens_per_second,elapsed_s\n", 'plain,"1,234","1,234.5"\n']))
    assert (quoted.tokens_per_second, quoted.elapsed_ns) == (1234.0, 1_234_500_000_000)
    (decimal,) = stretches(read(["arm;tokens_per_second\n", "plain;1,234\n"]))
    assert decimal.tokens_per_second == 1.234
    made = read(["arm,tokens,tokens_per_second\n", 'plain,10,"8,5"\n'])
    assert stretches(made)[0].tokens_per_second is None and made.tally.examples == ["tokens_per_second: 8,5"]


def test_a_drafter_has_no_path():
    (only,) = stretches(read(["arm,tokens,drafter\n", "drafting,10,/home/Some One/models/draft-1b\n"]))
    assert only.drafter == "draft-1b"


def test_a_row_that_contradicts_itself_is_told():
    made = read(["arm,rounds,drafted,accepted\n", "drafting,10,20,30\n"])
    assert [note.tags for note in made.records if isinstance(note, Note)] == [("import", "contradiction")]


@pytest.mark.parametrize("bad", ["-1", "NaN", "1e30", "12%", "many", "12.5"])
def test_a_cell_of_no_use_is_puzzled_and_the_rest_of_the_row_used(bad):
    made = read(["arm,tokens,tokens_per_second\n", f"plain,{bad},20\n"])
    (only,) = stretches(made)
    assert (only.tokens, only.tokens_per_second) == (None, 20.0)
    assert made.tally.not_understood == 1 and made.tally.examples == [f"tokens: {bad}"]


def test_columns_and_rows_that_are_not_known_are_puzzled():
    lines = ["arm,tokens,luck\n", "plain,10,3\n", "baseline,10,3\n", "plain,,3\n", "plain,1,2,3,4\n", "x" * 70_000]
    made = read(lines)
    assert len(stretches(made)) == 1
    assert made.tally.not_understood == 5 and made.tally.examples[0] == "column luck"


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ("tokens,elapsed_s", "no column named arm"),
        ("arm,tokens,tokens", "more than one column named tokens"),
        ("arm,elapsed_s,elapsed_ms", "the time elapsed in more than one unit"),
        ("# nothing", "is empty"),
        ("arm,tokens", "each row needs its arm"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_in_a_sentence(header, why):
    with pytest.raises(ImportFailed, match=why):
        read([header])


def test_the_header_tells_it():
    assert likely(TABLE) > 0.8
    assert likely("name,tokens\n") == 0 and likely("arm\n") == 0 and likely('{"arm": 1}') == 0


@settings(max_examples=100, deadline=None)
@given(damaged(TABLE))
def test_damage_is_never_more_than_a_refusal(text):
    survives(read, text)
