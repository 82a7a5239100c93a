"""Every timed event as a row of one table."""

from __future__ import annotations

import csv
import io

from specview.layouts.export.csv_text import csv_lines
from specview.layouts.export.events import KEYS, event_rows


def test_every_round_step_and_probe_is_a_row_in_order_without_text(build) -> None:
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt)
    build.probe("verify", 2, 20.0)
    session = build.finished()
    rows = list(csv.DictReader(io.StringIO("".join(csv_lines(KEYS, event_rows(session))))))
    assert len(rows) == len(session.rounds) + len(session.steps) + len(session.probes)
    times = [int(row["t_ns"]) for row in rows]
    assert times == sorted(times)
    assert {row["arm"] for row in rows if row["event"] == "step"} == {"plain"}
    assert [row["samples_ns"] for row in rows if row["event"] == "probe"] == ["20000000"]
    assert "pieces" not in rows[0] and rows[0]["prompt_kind"] == "english"
