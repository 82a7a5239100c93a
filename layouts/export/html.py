"""A report as one HTML file: nothing is fetched, nothing runs, and every text of a session is only text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...profilers.judge.ledger_rows import GROUPS, LedgerRow, LedgerSheet
from .. import figures
from ..ledger import GROUP_TITLES, GROUP_WORDS, SIGNS, interval_text, spread_text, value_text
from ..tables import TableView
from ..view_models import DecodeView, HeadlineKind
from .bars import decode_plot, ratios_plot
from .html_style import style
from .ledger_document import division_sentences
from .plots import break_even_plot, curve_plot, lengths_plot
from .report import Report
from .svg import tag, words

TONES: dict[HeadlineKind, str] = {
    "wins": "good",
    "loses": "bad",
    "cannot_win": "bad",
    "too_close": "warn",
    "refused": "warn",
}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
HATCHED = (
    '<svg class="defs" aria-hidden="true"><defs><pattern id="hatched" width="6" height="6" '
    'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch" width="6" height="6"/>'
    '<line class="hatch-line" x1="0" y1="0" x2="0" y2="6"/></pattern></defs></svg>'
)
TITLES = ("number", "value", "95%", "median ± MAD", "n", "ruler or kind", "source", "remark")


def html_text(report: Report, version: str) -> str:
    """The whole page; `version` is of the specview that writes it."""
    title = report.dashboard.status.title.removeprefix("specview — ") or report.name
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{words(POLICY)}">'
        '<meta name="referrer" content="no-referrer">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{words(f'{report.dashboard.headline.word} · {title} · specview')}</title>"
        f"<style>{style()}</style>"
    )
    body = "\n".join(
        part
        for part in (
            tag("h1", words(f"specview report · {title}")),
            _verdict(report),
            _tiles(report.tiles),
            _section("Doubts", _list(report.cautions)),
            _figures(report),
            _rulers(report),
            _ledger(report),
            _ops(report),
            _section("Environment", _facts(report.facts)),
            _section("Notes", _list(report.notes)),
            _section("Honest limits", _list(report.limits)),
            _footer(report, version),
        )
        if part
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{HATCHED}<main>\n{body}\n</main></body></html>\n'
    )


def _verdict(report: Report) -> str:
    view = report.dashboard.headline
    lines = [tag("p", words(view.word), class_="word"), tag("p", words(view.first), class_="first")]
    lines += [tag("p", words(text), class_=name) for text, name in ((view.second, ""), (view.third, "third")) if text]
    return tag("div", "".join(lines), class_=f"verdict {TONES.get(view.kind, 'plain')}")


def _tiles(tiles: Sequence[tuple[str, LedgerRow]]) -> str:
    made = []
    for title, row in tiles:
        below = " ".join(part for part in (interval_text(row), row.kind) if part)
        value = words(value_text(row)) + _small(below) + _small(_source(row))
        made.append(tag("div", tag("dt", words(title)) + tag("dd", value)))
    return tag("dl", "".join(made), class_="tiles") if made else ""


def _small(text: str) -> str:
    return tag("small", words(text)) if text else ""


def _source(row: LedgerRow) -> str:
    return f"{SIGNS[row.source]} {row.source}"


def _figures(report: Report) -> str:
    view, sweep = report.dashboard, report.sweep
    line, verify = view.break_even, view.verify
    level = "" if line.curve is None else f"{line.level or f'verify({line.curve.k + 1})'}"
    points = f" The band is the 95% interval of {line.symbol}." if line.p_low is not None else ""
    made = [
        _figure(
            "Break-even line",
            break_even_plot(line),
            f"The rising line is the dearest that {level} may be at each acceptance; below it drafting wins.{points}",
        ),
        _figure(
            "A decode step by two rulers",
            decode_plot(view.decode),
            _gap_words(view.decode),
        ),
        _figure(
            f"Verify({verify.width}) ÷ decode by op category",
            ratios_plot("Verify ÷ decode by op category.", verify.categories, dict(report.floors)),
            f"Plain up to one decode, hatched beyond; {verify.ruler} ruler on both sides."
            + (" The mark is the floor: bytes or flops that no kernel can avoid." if report.floors else ""),
        ),
        _figure(
            "Verify(n) ÷ verify(1) by positions",
            ratios_plot("Verify(n) over verify(1) by positions.", verify.widths, {}, "n = "),
            "Whole graph, synchronous. Only measured widths."
            + (f" A cliff before n = {', '.join(verify.cliffs)}." if verify.cliffs else ""),
        ),
        _figure(
            sweep.curve_title,
            curve_plot(sweep.curve, "T_verify over positions.", "positions n in one pass", "ms"),
            " ".join(sweep.sentences),
        ),
        _figure(
            sweep.speed_title,
            curve_plot(sweep.speed, "Speedup by draft length.", "drafts k in a round", "x", _speed_names(report)),
            " ".join(sweep.rulers),
        ),
        _figure(
            "Accepted drafts in a round",
            lengths_plot(report.rounds_by_accepted),
            "How many drafts of a round were kept; the target adds one token of its own each time.",
        ),
    ]
    drawn = "".join(made)
    return _section("Plots", tag("div", drawn, class_="figures")) if drawn else ""


def _gap_words(view: DecodeView) -> str:
    said = "What the whole graph takes beyond the sum of its blocks is in no block: the gap"
    if view.gap_ms is None:
        return f"{said}. {view.waiting}".strip()
    shares = f"{figures.percent(view.gap_of_sum)} of the sum, {figures.percent(view.gap_of_wall)} of the wall"
    parts = ", ".join(f"{part.name} {figures.ms(part.ms)}" for part in view.gap_parts)
    return f"{said}, {figures.ms(view.gap_ms)}, {shares}{f'; it is made of {parts}' if parts else ''}."


def _speed_names(report: Report) -> tuple[str, ...]:
    if report.dashboard.headline.kind == "costs":
        return ("at most, all accepted", "what if")
    return ("formula", "measured")


def _figure(title: str, plot: str, caption: str) -> str:
    if not plot:
        return ""
    return tag("figure", tag("h3", words(title)) + plot + tag("figcaption", words(caption.strip())))


def _rulers(report: Report) -> str:
    """The division with its numbers, and both of them where two rulers met."""
    said = [tag("p", tag("code", words(each))) for each in division_sentences(report.sheets)]
    for sheet in report.sheets:
        if sheet.two_rulers is not None:
            rulers = sheet.two_rulers
            shares = (
                f"{figures.percent(rulers.gap_of_sum)} of the sum, {figures.percent(rulers.gap_of_wall)} of the wall"
            )
            said.append(tag("p", words(f"Between the rulers lie {figures.ms(rulers.gap_ms)} of one pass: {shares}.")))
            said.append(tag("p", words(f"{rulers.sentence} {rulers.answer} {rulers.origin}")))
    return _section("The division", "".join(dict.fromkeys(said)))


def _ledger(report: Report) -> str:
    tables = []
    for sheet in report.sheets:
        if len(report.sheets) > 1:
            tables.append(tag("h3", words(sheet.title)) + tag("p", words(sheet.sentence)))
        if sheet.rows:
            tables.append(tag("div", _sheet(sheet), class_="wide"))
    legend = " · ".join(f"{sign} {source}" for source, sign in SIGNS.items())
    return _section("Ledger", "".join(tables) + tag("p", _small(f"{legend}. Times of two rulers are never divided.")))


def _sheet(sheet: LedgerSheet) -> str:
    head = "".join(tag("th", words(t), class_="number" if 0 < i < 5 else "", scope="col") for i, t in enumerate(TITLES))
    rows = []
    for group in GROUPS:
        held = [row for row in sheet.rows if row.group == group]
        if held:
            title = words(GROUP_TITLES[group]) + " " + _small(GROUP_WORDS[group])
            rows.append(tag("tr", tag("th", title, colspan=str(len(TITLES)), scope="rowgroup")))
            rows += [_row(row) for row in held]
    return tag("table", tag("thead", tag("tr", head)) + tag("tbody", "".join(rows)))


def _row(row: LedgerRow) -> str:
    numbers = (value_text(row), interval_text(row), spread_text(row), "" if row.n is None else f"{row.n:,}")
    cells = [tag("td", words(row.name) or "—")]
    cells += [_cell(text, "number") for text in numbers]
    cells += [_cell(row.ruler or row.kind, ""), _cell(_source(row), "source"), _cell(row.remark, "remark")]
    return tag("tr", "".join(cells))


def _cell(text: str, class_: str) -> str:
    """A cell; an empty one too, so that columns stay under their titles."""
    named = f' class="{class_}"' if class_ else ""
    return f"<td{named}>{words(text)}</td>"


def _ops(report: Report) -> str:
    made = "".join(
        tag("h3", words(title)) + tag("div", _plain_table(view), class_="wide") + "<p></p>"
        for title, view in (
            ("Floors by category, ms", report.floors_table),
            (f"{report.ops_title}: the {figures.count(len(report.ops.rows), 'row')} with most to avoid", report.ops),
        )
        if view.rows
    )
    return _section("What passes are made of", made)


def _plain_table(view: TableView) -> str:
    head = "".join(
        tag("th", words(c.title) or " ", class_="" if c.text else "number", scope="col") for c in view.columns
    )
    rows = "".join(
        tag("tr", "".join(_cell(t, "" if c.text else "number") for t, c in zip(row.cells, view.columns, strict=True)))
        for row in view.rows
    )
    return tag("table", tag("thead", tag("tr", head)) + tag("tbody", rows))


def _section(title: str, content: str) -> str:
    return tag("section", tag("h2", words(title)) + content) if content else ""


def _list(texts: Iterable[str]) -> str:
    items = "".join(tag("li", words(text)) for text in texts if text)
    return tag("ul", items) if items else ""


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    return tag("dl", "".join(tag("dt", words(name)) + tag("dd", words(value)) for name, value in facts), class_="facts")


def _footer(report: Report, version: str) -> str:
    digest = f" SHA-256 of the session file: {report.digest}." if report.digest else ""
    text = f"Written by specview {version} from {report.name}; prompts and generated text are not in it.{digest}"
    return tag("footer", words(text))
