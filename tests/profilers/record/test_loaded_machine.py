"""A machine that others keep busy: the recorder sees it, and the verdict is refused with its remedy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from specview.app.cli import main
from specview.profilers.judge.ledger import ledger_of
from specview.profilers.measure.load import cpu_ticks
from specview.profilers.record.session import read_session


@pytest.mark.skipif(cpu_ticks() is None, reason="this system does not tell what others use")
def test_busy_processes_on_every_core_refuse_the_verdict(tmp_path: Path) -> None:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    out = tmp_path / "loaded.specview.jsonl"
    try:
        assert main(["record", "--limit", "3", "--tokens", "32", "--out", str(out)]) == 0
    finally:
        for process in busy:
            process.kill()
            process.wait()
    verdict = ledger_of(read_session(out)).verdict
    assert verdict.kind == "refused"
    assert verdict.speedup is None
    assert "machine_loaded" in {finding.code for finding in verdict.findings}
    assert any("Stop them" in finding.remedy for finding in verdict.findings)
