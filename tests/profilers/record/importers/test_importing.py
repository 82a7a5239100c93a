"""Several files become one session that opens, keeps no path, and says where its figures are from."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specview.profilers.record import records as r
from specview.profilers.record.importers.imported import Imported, Importer, ImportFailed, Tally
from specview.profilers.record.importers.importing import ImportedSession, import_source
from specview.profilers.record.importers.reading import read_files
from specview.profilers.record.importers.registry import IMPORTER_BY_KIND
from specview.profilers.record.session import read_session
from specview.profilers.record.store import StoreError

STARTED = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
PLAIN = "        eval time =    4000.00 ms /   100 runs   (   40.00 ms per token)\n"
DRAFTING = (
    "        eval time =    3000.00 ms /   150 tokens (   20.00 ms per token)\n"
    "draft acceptance = 0.50000 (   50 accepted /   100 generated), mean len =  1.50\n"
    "draft acceptance of /home/someone/secret/model.gguf and C:\\Users\\someone\\x.gguf = nan\n"
)


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def imported(folder: Path, paths: Sequence[Path], **options: Any) -> ImportedSession:
    options.setdefault("importers", IMPORTER_BY_KIND)
    return import_source(paths, folder=folder / "sessions", started=STARTED, **options)


def test_plain_and_drafting_runs_become_one_session(tmp_path: Path) -> None:
    made = imported(tmp_path, [put(tmp_path, "plain.log", PLAIN), put(tmp_path, "spec.log", DRAFTING)])
    session = read_session(made.path)
    assert session.problems == ()
    assert [one.arm for one in session.counters] == ["plain", "drafting"]
    assert session.counters[0].t_ns < session.counters[1].t_ns
    assert session.header.source == made.engine == "llama.cpp"
    assert session.header.model.id == "unknown"
    assert session.header.drafter is not None
    assert session.status == "finished"
    assert made.path.name == "llama.cpp-plain-20260501-120000.specview.jsonl"


def test_every_file_has_its_account(tmp_path: Path) -> None:
    made = imported(tmp_path, [put(tmp_path, "plain.log", PLAIN), put(tmp_path, "spec.log", DRAFTING)])
    plain, drafting = read_session(made.path).origins
    assert (plain.name, plain.form, plain.lines, plain.understood) == ("plain.log", "llama.cpp log", 1, 1)
    assert (drafting.lines, drafting.understood, drafting.not_understood) == (3, 2, 1)
    assert made.origins == (plain, drafting)


def test_no_path_of_anybody_s_disk_gets_into_the_session(tmp_path: Path) -> None:
    answer = {"model": "/home/someone/m.gguf", "timings": {"predicted_n": 5, "predicted_ms": 5.0}}
    made = imported(tmp_path, [put(tmp_path, "spec.log", DRAFTING), put(tmp_path, "answer.json", json.dumps(answer))])
    text = made.path.read_text()
    assert "someone" not in text and str(tmp_path) not in text
    assert "model.gguf" in text and read_session(made.path).header.model.id == "m.gguf"


def test_plain_figures_alone_name_no_drafter(tmp_path: Path) -> None:
    made = imported(tmp_path, [put(tmp_path, "plain.log", PLAIN)])
    assert read_session(made.path).header.drafter is None


def test_a_packed_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "plain.log.gz"
    path.write_bytes(gzip.compress(PLAIN.encode()))
    assert len(read_session(imported(tmp_path, [path]).path).counters) == 1


def test_out_names_the_file_and_is_never_overwritten(tmp_path: Path) -> None:
    plain, out = put(tmp_path, "plain.log", PLAIN), tmp_path / "my.specview.jsonl"
    assert imported(tmp_path, [plain], out=out).path == out
    with pytest.raises(StoreError, match="exists already"):
        imported(tmp_path, [plain], out=out)


def test_a_file_of_no_use_is_told_and_the_others_are_used(tmp_path: Path) -> None:
    bad = put(tmp_path, "notes.txt", "nothing here\n")
    made = imported(tmp_path, [bad, put(tmp_path, "plain.log", PLAIN)])
    assert made.files[0].failure is not None and "notes.txt" in made.files[0].failure
    assert [origin.name for origin in made.origins] == ["plain.log"]


def test_nothing_usable_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match=r"notes\.txt"):
        imported(tmp_path, [put(tmp_path, "notes.txt", "nothing here\n")])
    with pytest.raises(ImportFailed, match="is empty"):
        imported(tmp_path, [put(tmp_path, "empty.log", "\n")])
    assert not (tmp_path / "sessions").exists()


def test_a_kind_that_is_named_is_believed(tmp_path: Path) -> None:
    path = put(tmp_path, "any.txt", "noise\n" * 20_000 + PLAIN)
    with pytest.raises(ImportFailed, match="--kind"):
        imported(tmp_path, [path])
    assert len(read_session(imported(tmp_path, [path], kind="llama.cpp log").path).counters) == 1
    with pytest.raises(ImportFailed, match=r"^plain\.log: "):
        imported(tmp_path, [put(tmp_path, "plain.log", PLAIN)], kind="llama-bench")


def test_a_session_is_not_imported(tmp_path: Path) -> None:
    made = imported(tmp_path, [put(tmp_path, "plain.log", PLAIN)])
    with pytest.raises(ImportFailed, match="is a session of specview"):
        imported(tmp_path, [made.path])


def importer(engine: str, sign: str, *found: Any, **facts: Any) -> Importer:
    return Importer(
        form=f"form {sign}",
        engine=engine,
        likely=lambda head: 0.9 if sign in head else 0.0,
        read=lambda lines: Imported(
            engine=engine, form=f"form {sign}", records=found, tally=Tally(lines=len(list(lines))), **facts
        ),
    )


COUNTERS = r.Counters(t_ns=7, arm="plain", source="s", tokens=5, elapsed_ns=5)
RUN = r.Run(
    run=0, arm="drafting", drafter="d", k=1, rule="greedy", temperature=0.0, top_p=1.0, started_ns=0,
    prompt=r.PromptFacts(suite="s", index=0, kind="k", hash="0", tokens=1),
)  # fmt: skip
ROUND = r.Round(
    run=0, i=0, segment=0, t_ns=9, context=1, drafted=1, accepted=1, width=2, tokens=2, round_ns=9,
    pieces=r.Pieces(("a", "b"), ()),
)  # fmt: skip


def test_files_of_two_engines_are_refused(tmp_path: Path) -> None:
    importers = {"a": importer("one", "A", COUNTERS), "b": importer("other", "B", COUNTERS)}
    paths = [put(tmp_path, "a.log", "A"), put(tmp_path, "b.log", "B")]
    with pytest.raises(ImportFailed, match=r"a\.log of one and b\.log of other"):
        imported(tmp_path, paths, importers=importers)


def test_a_source_that_names_no_engine_goes_with_any(tmp_path: Path) -> None:
    importers = {"a": importer("a table", "A", COUNTERS), "b": importer("other", "B", COUNTERS)}
    paths = [put(tmp_path, "a.csv", "A"), put(tmp_path, "b.log", "B")]
    assert imported(tmp_path, paths, importers=importers).engine == "other"
    assert imported(tmp_path, paths[:1], importers=importers).engine == "a table"


def test_runs_of_several_files_get_numbers_and_times_of_their_own(tmp_path: Path) -> None:
    importers = {"a": importer("e", "A", RUN, ROUND)}
    paths = [put(tmp_path, "1.log", "A"), put(tmp_path, "2.log", "A")]
    session = read_session(imported(tmp_path, paths, importers=importers).path)
    assert [run.run for run in session.runs] == [one.run for one in session.rounds] == [0, 1]
    assert [one.t_ns for one in session.rounds] == [9, 18]
    assert session.header.text_kept
    assert session.footer is not None
    assert (session.footer.rounds, session.footer.tokens) == (2, 4)


def test_two_names_of_the_model_are_told(tmp_path: Path) -> None:
    importers = {"a": importer("e", "A", COUNTERS, model="m1"), "b": importer("e", "B", COUNTERS, model="m2")}
    paths = [put(tmp_path, "a.log", "A"), put(tmp_path, "b.log", "B")]
    (note,) = read_session(imported(tmp_path, paths, importers=importers).path).notes
    assert note.tags == ("import", "models")


def test_records_that_no_session_may_hold_count_as_not_understood(tmp_path: Path) -> None:
    bad = r.Counters(t_ns=7, arm="plain", source="s", tokens=-5, elapsed_ns=5)
    importers = {"a": importer("e", "A", bad, COUNTERS), "b": importer("e", "B", bad)}
    made = imported(tmp_path, [put(tmp_path, "a.log", "A")], importers=importers)
    assert made.origins[0].not_understood == 1
    with pytest.raises(ImportFailed, match="Nothing in it could be used"):
        imported(tmp_path, [put(tmp_path, "b.log", "B")], importers=importers)


def page(tokens: int, seconds: int, start: str = "") -> str:
    return f"{start}llamacpp:tokens_predicted_total {tokens}\nllamacpp:tokens_predicted_seconds_total {seconds}\n"


def test_two_pages_of_one_server_give_what_it_counted_in_between(tmp_path: Path) -> None:
    paths = [put(tmp_path, "before.prom", page(100, 10)), put(tmp_path, "after.prom", page(400, 20))]
    session = read_session(imported(tmp_path, paths).path)
    assert [(one.tokens, one.elapsed_ns) for one in session.counters] == [(300, 10_000_000_000)]
    assert [origin.name for origin in session.origins] == ["before.prom, after.prom"]


def test_pages_of_two_servers_are_two_stretches(tmp_path: Path) -> None:
    drafting = page(400, 20) + "llamacpp:spec_decode_num_drafts_total 100\n"
    drafting += "llamacpp:spec_decode_num_draft_tokens_total 300\nllamacpp:spec_decode_num_accepted_tokens_total 300\n"
    paths = [put(tmp_path, "plain.prom", page(100, 10)), put(tmp_path, "spec.prom", drafting)]
    session = read_session(imported(tmp_path, paths).path)
    assert [(one.arm, one.tokens) for one in session.counters] == [("plain", 100), ("drafting", 400)]
    starts = ("process_start_time_seconds 1.7e9\n", "process_start_time_seconds 1.8e9\n")
    paths = [put(tmp_path, f"{i}.prom", page(100 + i, 10 + i, start)) for i, start in enumerate(starts)]
    assert [one.tokens for one in read_session(imported(tmp_path, paths).path).counters] == [100, 101]


def test_a_file_given_twice_is_used_once(tmp_path: Path) -> None:
    plain = put(tmp_path, "plain.log", PLAIN)
    made = imported(tmp_path, [plain, tmp_path / "." / "plain.log"])
    assert [file.failure for file in made.files] == [None, "plain.log is given twice; it is used once."]
    assert len(read_session(made.path).counters) == 1


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(sorted(IMPORTER_BY_KIND)))
def test_any_bytes_as_any_kind_end_in_figures_or_a_sentence(data: bytes, kind: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "any"
        path.write_bytes(data)
        (one,) = read_files([path], IMPORTER_BY_KIND, kind)
    assert (one.imported is None) is (one.failure is not None)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_damaged_samples_of_every_kind_end_in_figures_or_a_sentence(data: st.DataObject) -> None:
    samples = json.loads(Path(__file__).with_name("one_of_each_kind.json").read_text(encoding="utf-8"))
    kind = data.draw(st.sampled_from(sorted(samples)))
    text = samples[kind]
    at = data.draw(st.integers(0, len(text)))
    new = data.draw(st.text(max_size=5) | st.sampled_from(["-", "9" * 40, "NaN", "1e400", "[" * 80, "{", '"', ","]))
    text = text[:at] + new + text[at + data.draw(st.integers(0, 9)) :]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "any"
        path.write_text(text, encoding="utf-8", errors="replace")
        (one,) = read_files([path], IMPORTER_BY_KIND, kind)
    assert (one.imported is None) is (one.failure is not None)
