"""The Compare page as reviewed text. SPECVIEW_SNAPSHOTS=write writes anew."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from compared_sessions import VERIFY, records
from screen_text import snapshot_of, until
from session_builder import written

from specview.app.application import Source, SpecviewApp

SNAPSHOTS = Path(__file__).parent / "snapshots"
LOOKS = ((80, 24, "dark"), (120, 40, "light"), (200, 60, "dark"))
CASES: dict[str, list[dict[str, Any]]] = {
    "dearer": [{"verify": {**VERIFY, 2: VERIFY[2] * 1.1}}],
    "several": [{"k": 3}, {"environment": {"blas": "OpenBLAS"}}, {"others": 0.6}],
    "unlike": [{"environment": {"blas": "OpenBLAS", "mlx": "0.33.0"}}],
}


@pytest.mark.parametrize("case", CASES)
def test_a_comparison_looks_as_reviewed(case: str, tmp_path: Path) -> None:
    base = written(tmp_path, "base", records(1))
    others = [written(tmp_path, f"other{i}", records(i + 2, **each)) for i, each in enumerate(CASES[case])]
    app = SpecviewApp(Source(base), folder=tmp_path)
    found: dict[str, str] = {}

    async def run() -> None:
        async with app.run_test(size=LOOKS[0][:2]) as pilot:
            await until(pilot, lambda: app.settled)
            await app.compare_paths((base, *others))
            await until(pilot, lambda: app.compare_settled, "compared")
            for width, height, theme in LOOKS:
                await pilot.resize_terminal(width, height)
                app.theme = f"specview-{theme}"
                for _ in range(3):
                    await pilot.pause()
                found[f"compare-{case}-{width}x{height}-{theme}.txt"] = snapshot_of(app)

    asyncio.run(run())
    if os.environ.get("SPECVIEW_SNAPSHOTS") == "write":
        for name, text in found.items():
            (SNAPSHOTS / name).write_text(text, encoding="utf-8")
    for name, text in found.items():
        assert text == (SNAPSHOTS / name).read_text(encoding="utf-8"), name
