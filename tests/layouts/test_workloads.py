"""The Workloads view: best k or off at each row's p, what-if columns, prompts worst first, batches, other engines."""

from __future__ import annotations

from dataclasses import replace

import july
import pytest
from session_builder import CASES, Made, built
from survey_builder import SURVEYS
from survey_records import CONTEXT, MS, footer, header
from windows_made import imported_half

from specview.layouts.bases import basis_of
from specview.layouts.view_models import WhatIf
from specview.layouts.views import reckon
from specview.layouts.workload_facts import workload_facts
from specview.layouts.workloads import SORTS, workloads_view
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of

NINE = Made(prompts=9, decode=10.0, verify={1: 10.4, 2: 13.0, 3: 17.0}, draft=2.0, rest=0.3, p=0.7, blocks=False)


def view_of(records, what_if: WhatIf = WhatIf(), sort: str = "class"):  # noqa: B008
    reckoning = reckon(session_of(records))
    return workloads_view(workload_facts(reckoning, basis_of(reckoning)), what_if, sort)


def cells(view, key: str) -> list[str]:
    at = [column.key for column in view.loads.columns].index(key)
    return [row.cells[at] for row in view.loads.rows]


def test_a_row_says_p_with_its_kind_speedup_best_k_and_verdict() -> None:
    view = view_of(built(NINE))
    assert cells(view, "class") == ["chinese", "code", "english"] and set(cells(view, "kind")) == {"conditional"}
    assert cells(view, "drafter") == ["mtp k=1"] * 3 and cells(view, "length") == ["< 256"] * 3
    assert all(best[0] in "12o" for best in cells(view, "best"))
    assert set(cells(view, "verdict")) <= {"wins", "loses", "too close"}


def test_a_losing_workload_is_off_and_says_what_to_do() -> None:
    view = view_of(built(replace(NINE, verify={1: 10.4, 2: 21.9})))
    assert set(cells(view, "best")) == {"off"} and set(cells(view, "verdict")) == {"cannot win"}
    remark = view.remark(view.loads.rows[0].key)
    assert "Even with every draft accepted" in remark and "none wins" in remark
    prompts = view.prompts(view.loads.rows[0].key)
    assert len(prompts.rows) == 3 and all(row.cells[-1].startswith("off") for row in prompts.rows)


def test_too_few_says_how_many_prompts_to_record() -> None:
    view = view_of(built(replace(NINE, prompts=3)))
    assert set(cells(view, "verdict")) == {"too few"}
    assert "record 2 more prompts of" in view.remark(view.loads.rows[0].key)


def test_a_what_if_moves_marked_columns_only() -> None:
    plain, asked = view_of(built(NINE)), view_of(built(NINE), WhatIf(verify=0.5))
    assert "WHAT IF" in asked.title and "asked" not in [c.key for c in plain.loads.columns]
    for key in ("p", "speedup", "tokens", "verdict"):
        assert cells(plain, key) == cells(asked, key)
    assert all(text.endswith("x") for text in cells(asked, "asked"))
    assert all(text.startswith("? ") for text in cells(asked, "best"))
    assert set(cells(view_of(built(NINE), WhatIf(k=9)), "asked")) == {"not asked"}


def test_rows_are_sorted_as_asked() -> None:
    for sort in SORTS:
        view = view_of(built(NINE), sort=sort)
        assert len(view.loads.rows) == 3 and view.subtitle.startswith("↑ ↓ · v sorts")
    worst = [float(text.removesuffix("x")) for text in cells(view_of(built(NINE), sort="speedup"), "speedup")]
    assert worst == sorted(worst)


def test_a_refused_verdict_shows_no_speed_of_a_workload() -> None:
    view = view_of(built(replace(NINE, others=0.6)))
    assert set(cells(view, "speedup")) == {"—"} and set(cells(view, "verdict")) == {"no verdict"}
    assert "No verdict" in view.remark(view.loads.rows[0].key)


def test_another_engine_shows_what_it_counted() -> None:
    view = view_of(july.records())
    assert cells(view, "class") == ["article A"] and "conditional" in cells(view, "kind")
    half = view_of(imported_half())
    assert half.loads.rows and half.prompts(half.loads.rows[0].key).rows


def test_a_session_without_rounds_says_how_to_get_them() -> None:
    assert "r records with drafts" in view_of(CASES["one-round"][:3]).loads.message
    assert "r records with drafts" in view_of(SURVEYS["survey"]).loads.message


def by_batch():
    def visits(batch: int, part: str, width: int, ms: float) -> list[r.Probe]:
        late = 2 * (part == "decode")
        return [
            r.Probe(
                t_ns=i, ruler="whole", part=part, width=width, context=CONTEXT + late, batch=batch,
                samples_ns=(round(ms * MS) + 50 * i,), pipelined=part == "decode",
            )
            for i in range(4)
        ]  # fmt: skip

    sizes = (1, 2, 4, 8)
    probes = [p for b in sizes for w in (1, 2) for p in visits(b, "verify", w, (1 + 0.3 * b) if w == 2 else 1.1)]
    return (header(), *[p for b in sizes for p in visits(b, "decode", 1, 1 + 0.1 * b)], *probes, footer())


def test_batches_show_from_where_drafts_lose_and_move_with_a_what_if() -> None:
    view = view_of(by_batch())
    assert view.batches is not None and [row.cells[0] for row in view.batches.table.rows] == ["1", "2", "4", "8"]
    assert any("with every draft accepted" in text for text in view.batches.sentences)
    at = [c.key for c in view.batches.table.columns].index("needed")
    assert [row.cells[at] for row in view.batches.table.rows] == ["0.18", "0.33", "0.57", "0.89"]
    asked = view_of(by_batch(), WhatIf(p=0.5)).batches
    assert asked is not None and any("What if:" in t and "win up to a batch of 2" in t for t in asked.sentences)
    column = [c.key for c in asked.table.columns].index("asked")
    assert asked.table.rows[2].cells[column] == f"{1.5 * 1.4 / 2.2:.2f}x"
    assert len(asked.chart.series) == 2 and len(view.batches.chart.series) == 1
    assert view_of(built(NINE)).batches is None


def test_a_measured_speedup_stands_beside_what_there_could_be() -> None:
    def stretch(batch: int, arm: str, pair: int, ms: float) -> r.Batched:
        return r.Batched(
            t_ns=pair, pair=pair, arm=arm, batch=batch, drafter="mtp", k=1, context=CONTEXT, passes=16,  # type: ignore[arg-type]
            tokens=16 * batch, elapsed_ns=round((ms + 0.1 * pair) * MS),
        )  # fmt: skip

    rows = [
        stretch(b, arm, pair, 100.0 if arm == "plain" else 60.0 * b)
        for b in (1, 2, 4) for arm in ("plain", "drafting") for pair in range(3)
    ]  # fmt: skip
    *before, end = by_batch()
    batches = view_of((*before, *rows, end)).batches
    assert batches is not None and batches.title.endswith("as measured")
    at = [c.key for c in batches.table.columns].index("measured")
    assert [row.cells[at] for row in batches.table.rows] == ["1.67x", "0.83x", "0.42x", "—"]
    assert batches.sentences[0] == "Measured: drafts of 1 by mtp win at a batch of 1, lose at batches of 2 and 4."
    assert [len(series.points) for series in batches.chart.series] == [4, 3]
    assert "S measured" in "".join(span.text for span in batches.legend)
    other = view_of((*before, *rows, end), WhatIf(k=9)).batches
    assert other is not None and [c.key for c in other.table.columns].count("measured") == 1


def test_no_number_is_lost_at_the_ends_of_the_interval() -> None:
    view = view_of(built(NINE))
    assert view.numbers and all("p 0." in text for text in view.numbers)
    assert pytest.approx(len(view.numbers)) == 3
