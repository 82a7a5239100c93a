"""The answer to `specview curve`: T_verify(n), what each position more costs, and cliffs."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from ..profilers.judge.curve import VerifyCurve, pooled_curve, verify_curves
from ..profilers.record.session import Session
from . import figures
from .drawn import Drawn, head, spread, table_of, titled
from .plain import plain


def curve(session: Session) -> Drawn:
    """T_verify(n) at every context; of a recording, whose contexts grow all the time, at all of them together."""
    curves = _curves(session)
    if not curves:
        return [
            head(session),
            Text("No curve: it takes passes over one position and over more, at least two each; specview curve."),
        ]
    return [head(session), *(drawing for each in curves for drawing in _curve(each))]


def curve_object(session: Session) -> dict[str, Any]:
    """The same."""
    return {"curves": plain(_curves(session))}


def _curves(session: Session) -> tuple[VerifyCurve, ...]:
    if not session.runs:
        return verify_curves(session)
    pooled = pooled_curve(session)
    return () if pooled is None else (pooled,)


def _curve(found: VerifyCurve) -> Drawn:
    low, high = found.contexts
    where = str(low) if low == high else f"{low} to {high}"
    drawn = table_of("n", "ms", "÷ T(1)", "each position more, ms", "passes")
    for point in found.points:
        marginal = point.marginal_ms
        drawn.add_row(
            str(point.width),
            f"{figures.bare_ms(point.ms.mean.estimate)}{spread(point.ms.mean)}",
            figures.with_span(point.ratio),
            figures.NONE if marginal is None else figures.with_span(marginal),
            str(point.ms.n),
        )
    sentences = [
        f"Cliff between {c.below} and {c.above}: {figures.ms(c.marginal)} a position, else {figures.ms(c.typical)}."
        for c in found.cliffs
    ]
    sentences += [
        f"{b.width} positions cost more than {b.pad_to}: pad to {b.pad_to} and save {figures.ms(b.saved)}."
        for b in found.bumps
    ]
    if found.stairs.typical is None:
        sentences.append("Too few widths to tell a cliff: ask for more, such as --widths 1-16.")
    if found.left_out:
        sentences.append(found.left_out)
    title = f"T_verify(n), synchronous whole passes, {where} positions in the cache"
    return [*titled(title, drawn), *(Text(sentence) for sentence in sentences)]
