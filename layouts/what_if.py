"""What-ifs: a question asked of what was measured, its answer with every number that follows, and the next question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..engine.errors import SpecviewError
from ..engine.limits import LONGEST_DRAFT
from ..profilers.judge.floors import Floors, NoFloor
from ..profilers.judge.ledger_rows import GroupName, LedgerRow
from ..profilers.judge.question import MEASURED, Asked, Basis, Question
from . import figures
from .view_models import BreakEvenView, Curve, Moved, RoundsView, VerifyView, WhatIf, WhatIfView

NOTHING_ASKED = WhatIf()
SCALE_STEP = 0.01
SCALES = (0.01, 10.0)
GROUP_BY_KEY: dict[str, GroupName] = {"p": "acceptance", "tokens": "acceptance", "decode": "baseline"}
MARK = "what if"


def question_of(what_if: WhatIf) -> Question:
    """The question as the judge takes it."""
    return Question(p=what_if.p, k=what_if.k, verify=what_if.verify, draft=what_if.draft, batch=what_if.batch)


def answered(
    basis: Basis,
    what_if: WhatIf,
    *,
    measured: float | None = None,
    verdict: bool = True,
    floors: Floors | NoFloor | None = None,
) -> tuple[WhatIfView | None, str]:
    """The answer, or the sentence why there is none; neither where nothing is asked.

    `measured` is the verdict's S; without a `verdict` no S as measured is given, of the formula neither.
    """
    if what_if == NOTHING_ASKED:
        return None, ""
    try:
        question = question_of(what_if)
        found, limits_ms = basis.ask(question), basis.limits_ms(question)
    except (SpecviewError, ArithmeticError, ValueError) as error:
        return None, str(error)
    was = _measured(basis)
    floor = None if not isinstance(floors, Floors) or basis.whole or found.batch > 1 else floors.verify(found.k + 1).ms
    low = "" if floor is None or found.verify_ms >= floor else f"below the floor of verify, {figures.ms(floor)}"
    formula = was.speedup if was is not None and verdict and basis.measured else None
    return WhatIfView(
        p=found.alpha,
        k=found.k,
        p_asked=what_if.p is not None or not basis.measured,
        k_asked=what_if.k is not None,
        curve=Curve(found.k, limits_ms, found.verify_ms, found.crossing),
        limit_ms=found.limit_ms,
        speedup=found.speedup,
        note="; ".join(text for text in (found.note, low) if text),
        was=formula,
        measured=measured if verdict else None,
        moved=_moved(found, was, what_if, basis, formula),
        at_most=found.draft_ms is None,
    ), ""


def _measured(basis: Basis) -> Asked | None:
    try:
        return basis.ask(MEASURED)
    except (SpecviewError, ArithmeticError, ValueError):
        return None


def _moved(now: Asked, was: Asked | None, what_if: WhatIf, basis: Basis, formula: float | None) -> tuple[Moved, ...]:
    symbol = "p" if now.k == 1 else "α"
    point, p_asked = (was if basis.measured else None), what_if.p is not None or not basis.measured
    # of this k and width: another k moves them without a question about their times
    draft_was = None if now.draft_ms is None or what_if.draft <= 0 else now.draft_ms / what_if.draft
    level = "T_round" if basis.whole else f"T_verify({now.k + 1})"

    def moved(key: str, name: str, unit: str, value: float | None, old: float | None, asked: bool = False) -> Moved:
        return Moved(key, name, unit, value, old, asked)

    rows = [
        moved("p", symbol, "", now.alpha, None if point is None else point.alpha, p_asked),
        moved("k", "k", "", float(now.k), None if was is None else float(was.k), what_if.k is not None),
        moved("batch", "batch", "", float(now.batch), 1.0, what_if.batch is not None),
        moved("tokens", "E, tokens per round", "tokens", now.tokens, None if point is None else point.tokens),
        moved("decode", "T_decode", "ms", now.decode_ms, None if was is None else was.decode_ms),
        moved("verify", level, "ms", now.verify_ms, now.verify_ms / what_if.verify, what_if.verify != 1.0),
        moved("draft", "T_draft", "ms", now.draft_ms, draft_was, what_if.draft != 1.0),
        moved("rest", "T_rest", "ms", now.rest_ms, None if was is None else was.rest_ms),
        moved("round", "T_round", "ms", now.round_ms, None if was is None else was.round_ms),
        moved("steps", "R, round in steps", "steps", now.round_steps, None if was is None else was.round_steps),
        moved("speedup", "S, speedup", "x", now.speedup, formula),
        moved("rate", "drafting speed", "tok/s", now.tokens_per_second, _rate(was, formula)),
        moved("limit", "break-even verify", "ms", now.limit_ms, None if point is None else point.limit_ms),
        moved("crossing", f"break-even {symbol}", "", now.crossing, None if was is None else was.crossing),
        moved("full", "R at p = 1", "steps", now.full_steps, None if was is None else was.full_steps),
    ]
    return tuple(row for row in rows if row.key != "batch" or now.batch > 1)


def _rate(was: Asked | None, formula: float | None) -> float | None:
    return None if was is None or formula is None else was.tokens_per_second


# ------------------------------------------------------------------ the next question


def moved_k(k: int, what_if: WhatIf, by: int) -> WhatIf | None:
    """One draft more or less; `k` is the measured one, to which it goes back. None where there is no such k."""
    wish = (k if what_if.k is None else what_if.k) + by
    return replace(what_if, k=None if wish == k else wish) if 1 <= wish <= LONGEST_DRAFT else None


def moved_scale(now: float, by: int) -> float:
    """The next multiple of what was measured, on whole steps of 1%."""
    on_grid = round(now / SCALE_STEP)
    exact = abs(on_grid * SCALE_STEP - now) < 1e-9
    step = on_grid + by if exact or (on_grid * SCALE_STEP - now) * by < 0 else on_grid
    low, high = SCALES
    return min(high, max(low, round(step * SCALE_STEP, 2)))


def moved_batch(batches: Sequence[int], now: int | None, by: int) -> int | None:
    """The next batch that was measured, None for one sequence as measured; the last one stays."""
    known = sorted({1, *batches})
    here = 1 if now is None else now
    after = [each for each in known if (each > here if by > 0 else each < here)]
    wish = here if not after else after[0] if by > 0 else after[-1]
    return None if wish == 1 else wish


# ------------------------------------------------------------------ where the answer is shown

LABELS = {
    "p": "p",
    "p per draft": "p",
    "tokens/round": "tokens",
    "steps/round": "steps",
    "drafting": "rate",
    "decode": "decode",
    "draft": "draft",
    "rest": "rest",
    "round": "round",
}


def value_text(moved: Moved, value: float | None) -> str:
    """One of its numbers with its unit."""
    if value is None:
        return "none" if moved.key == "crossing" else figures.NONE
    if moved.unit == "ms":
        return figures.ms(value)
    if moved.unit == "x":
        return figures.times(value)
    if moved.unit == "tok/s":
        return figures.rate(value)
    if moved.key in ("k", "batch"):
        return f"{value:.0f}"
    return f"{value:.2f} {moved.unit}".strip()


def asked_rounds(view: RoundsView, answer: WhatIfView | None) -> RoundsView:
    """The numbers of the rounds with what a what-if moves, each marked and with the measured one beside it."""
    if answer is None:
        return view
    rows = []
    for row in view.rows:
        key = LABELS.get(row.label) or ("verify" if row.label.startswith("verify(") else "")
        moved = answer.of(key) if key else None
        if moved is None or moved.now is None or not _moves(moved, answer):
            rows.append(row)
            continue
        name = f"verify({answer.k + 1})" if key == "verify" else moved.name if key == "p" else row.label
        value = value_text(moved, moved.now).removesuffix(" tokens").removesuffix(" steps")
        rows.append(replace(row, label=name, value=f"{MARK} {value}", remark=f"measured {row.value}", tone="what-if"))
    return replace(view, rows=tuple(rows))


def _moves(moved: Moved, answer: WhatIfView) -> bool:
    """Whether a number is other than what stands on the screen as measured."""
    return moved.differs or moved.asked or (answer.k_asked and moved.key in ("verify", "draft"))


def asked_verify(view: VerifyView, what_if: WhatIf) -> VerifyView:
    """The widths of the whole graph with T_verify moved; what each op category would take of that is not known."""
    if what_if.verify == 1.0 and what_if.k is None:
        return view
    here = None if what_if.k is None else str(what_if.k + 1)
    bars = tuple(
        replace(
            bar,
            asked=bar.ratio * what_if.verify if what_if.verify != 1.0 and bar.label != "1" else None,
            asked_about=bar.label == here,
        )
        for bar in view.widths
    )
    return replace(view, widths=bars)


def asked_rows(answer: WhatIfView | None) -> list[LedgerRow]:
    """Every number that a what-if sets or moves as a row of the ledger, the measured one in its remark."""
    if answer is None:
        return []
    rows = [
        LedgerRow(
            group="round", name="S, as asked", value=answer.speedup, unit="x", source="what-if",
            remark=_remark_of_speed(answer),
        )
    ]  # fmt: skip
    for moved in answer.moved:
        if moved.key == "speedup" or moved.now is None or not _moves(moved, answer):
            continue
        said = "As asked. " if moved.asked else "Follows. "
        was = "" if moved.was is None else f"As measured: {value_text(moved, moved.was)}."
        kind = "conditional" if moved.key == "p" else ""
        rows.append(
            LedgerRow(
                group=GROUP_BY_KEY.get(moved.key, "round"), name=moved.name, value=moved.now,
                unit=moved.unit, kind=kind, source="what-if", remark=f"{said}{was}".strip(),
            )
        )  # fmt: skip
    return rows


def _remark_of_speed(answer: WhatIfView) -> str:
    asked = [f"{each.name} were {value_text(each, each.now)}" for each in answer.moved if each.asked]
    wish = " and ".join(asked) or f"p were {answer.p:.2f}"
    was = "" if answer.was is None else f" As measured the same formula gives {figures.times(answer.was)}."
    note = f" {answer.note[:1].upper()}{answer.note[1:]}." if answer.note else ""
    return f"What if {wish} at k = {answer.k}.{was}{note}"


def with_answer(view: BreakEvenView, answer: WhatIfView | None, refusal: str, batches: Sequence[int]) -> BreakEvenView:
    """The break-even line with the answer beside it."""
    return replace(view, what_if=answer, what_if_message=refusal, batches=tuple(batches))
