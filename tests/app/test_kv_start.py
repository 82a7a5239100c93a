"""A recording whose keys and values become quantised on the way: its figures are of one side, and it says which."""

from __future__ import annotations

from stub_canary import StubCanary

from specview.app.cli import main
from specview.profilers.judge.ledger import ledger_of
from specview.profilers.judge.numbers import whole_probes
from specview.profilers.judge.sided import one_side
from specview.profilers.judge.visits import switch_of
from specview.profilers.measure import schedule
from specview.profilers.record import recorder as recording
from specview.profilers.record.session import read_session


def test_a_recording_that_crosses_the_start_mixes_nothing(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(schedule, "SEGMENT_TOKENS", 8)
    monkeypatch.setattr(recording, "Canary", StubCanary)
    (tmp_path / "text.txt").write_text("Once upon a time there was")
    out = tmp_path / "a.specview.jsonl"
    options = ("--no-blocks", "--tokens", "48", "--kv-bits", "8", "--kv-start", "30", "--draft", "lookup", "--no-chat")
    assert main(["record", "--prompts", str(tmp_path / "text.txt"), "--out", str(out), *options]) == 0
    said = capsys.readouterr().out
    session = read_session(out)
    switch, kept = switch_of(session), one_side(session)
    before = {r.context < 30 for r in session.rounds if not r.warm_up}
    assert before == {True, False} and len(kept.rounds) < sum(not r.warm_up for r in session.rounds)
    assert len({r.context >= 30 for r in (*kept.rounds, *kept.steps)}) == 1
    assert len({p.context >= 30 for p in kept.probes}) == 1
    widths = whole_probes(session, "verify")
    assert sum(map(len, widths.values())) < sum(len(p.samples_ns) for p in session.probes if p.part == "verify")
    verdict = ledger_of(session).verdict
    assert switch.sentence in verdict.sentence or verdict.reason == switch.reason
    assert verdict.remedy in said
