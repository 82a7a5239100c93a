"""The break-even line: the T_verify that breaks even over p, the measured one, and the point where the run is."""

from __future__ import annotations

from typing import ClassVar

from .. import figures
from ..charts import Mark, Plot, plot_lines
from ..lines import Line, line, whole_items, wrapped
from ..view_models import BreakEvenView
from .panel import Panel

LEAST_ROWS = 6
ROOMY = 13


class BreakEvenPanel(Panel[BreakEvenView]):
    """A chart with its legend, and the answer to a what-if in words."""

    NAME: ClassVar[str] = "Break-even line"

    def titles(self, view: BreakEvenView) -> tuple[str, str]:
        """The title says when a what-if is on, the subtitle which keys ask one."""
        if view.what_if is not None or view.what_if_message:
            return f"{self.NAME} · WHAT IF", "← → p ↑ ↓ k -+ verify <> draft · esc"
        return self.NAME, "← → what if p · ↑ ↓ k · - + verify"

    def draw(self, view: BreakEvenView, width: int, height: int) -> list[Line]:
        """Legend, chart, and what it says."""
        if view.curve is None or (not view.unmeasured and (view.p is None or view.limit_ms is None)):
            return wrapped(view.message, width, "quiet")
        words = _words(view, width)
        if height < ROOMY and view.what_if is None and not view.what_if_message:
            words = []
        legend = _legend(view)
        rows = max(LEAST_ROWS, height - len(words) - len(legend))
        return [*(whole_items(each, width) for each in legend), *plot_lines(_plot(view), width, rows), *words]


def named(view: BreakEvenView, k: int) -> str:
    """What the level line stands for at k drafts."""
    return view.level or f"verify({k + 1})"


def _legend(view: BreakEvenView) -> list[Line]:
    assert view.curve is not None
    spread = f" {figures.share(view.p_low)}–{figures.share(view.p_high)}  "
    band = () if view.p_low is None else (("░", "band"), spread)
    point = (
        line(("no point: nothing was accepted here  ", "quiet"), (f"ms over {view.symbol}", "quiet"))
        if view.unmeasured
        else line(
            ("●", "measured-point"),
            f" {view.symbol} {figures.share(view.p)}  ",
            *band,
            (f"ms over {view.symbol}", "quiet"),
        )
    )
    return [
        line(
            ("⠒⠒ ", "limit"),
            "breaks even  ",
            ("── ", "measured"),
            f"{named(view, view.curve.k)} {figures.bare_ms(view.curve.verify_ms)}",
        ),
        point,
    ]


def _words(view: BreakEvenView, width: int) -> list[Line]:
    if view.what_if_message:
        return wrapped(f"what if: {view.what_if_message}", width, "what-if")
    answer = view.what_if
    if answer is None:
        points = " ∘ is one prompt." if view.cloud else ""
        return wrapped((view.note or "Below the dots drafting wins, above it loses.") + points, width, "quiet")
    asked = [f"{view.symbol} {figures.share(answer.p)}"] if answer.p_asked else []
    asked += [f"k {answer.k}"] if answer.k_asked else []
    others = [each for each in answer.moved if each.asked and each.key in ("verify", "draft", "batch")]
    asked += [f"{m.name} {figures.ms(m.now)}" if m.unit == "ms" else f"{m.name} {m.now:.0f}" for m in others]
    text = (
        f"what if {' and '.join(asked)}: {figures.times(answer.speedup)}, "
        f"{named(view, answer.k)} ≤ {figures.bare_ms(answer.limit_ms)}, now {figures.ms(answer.curve.verify_ms)}"
    )
    note = f" ({answer.note})" if answer.note else ""
    return wrapped(text + note, width, "what-if")


def _plot(view: BreakEvenView) -> Plot:
    assert view.curve is not None
    curves = [(view.curve.limits_ms, "limit")]
    levels = [(view.curve.verify_ms, "─", "measured")]
    marks = [] if view.p is None else [Mark(view.p, view.curve.verify_ms, "●", "│", "measured")]
    answer = view.what_if
    if answer is not None:
        if answer.curve.limits_ms != view.curve.limits_ms:
            curves.append((answer.curve.limits_ms, "what-if"))
        if answer.curve.verify_ms != view.curve.verify_ms:
            levels.append((answer.curve.verify_ms, "╌", "what-if"))
        marks.append(Mark(answer.p, answer.curve.verify_ms, "◇", "┊", "what-if"))
    band = None if view.p_low is None or view.p_high is None else (view.p_low, view.p_high)
    return Plot(tuple(curves), tuple(levels), band, tuple(marks), view.cloud)
