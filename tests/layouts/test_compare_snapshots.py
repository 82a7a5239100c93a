"""The Compare page as reviewed text. SPECVIEW_SNAPSHOTS=write writes anew."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from compared_sessions import VERIFY, records
from reviewed import LOOKS, assert_reviewed, looks_of
from screen_text import until
from session_builder import written

from specview.app.application import Source, SpecviewApp

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
            found.update(await looks_of(pilot, f"compare-{case}"))

    asyncio.run(run())
    assert_reviewed(found)
