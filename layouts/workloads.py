"""The Workloads screen: prompt class × sampling × length with p, S and best k or "off"; the prompts of one; batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..engine.errors import SpecviewError
from ..profilers.judge.question import Basis, Question
from ..profilers.judge.statistics import Interval
from ..profilers.judge.visits import Setting
from ..profilers.judge.what_wins import speedups_by_k
from ..profilers.judge.workloads import FEWEST_PROMPTS, LENGTHS, PromptLoad, Workload
from . import figures
from .batches import BatchesView, batches_view
from .imported_loads import ImportedLoad
from .lengths import ranges_of
from .synthetic import drafter_words
from .tables import Column, TableRow, TableView
from .told_rows import remark_of
from .view_models import Tone, WhatIf
from .what_if import question_of
from .workload_facts import WorkloadFacts

WAIT = "Reckoning …"
WAITING = TableView(message=WAIT)
MOST_PROMPTS = 100
SORTS = ("class", "speedup", "p", "tokens", "rounds")
SORT_WORDS = {
    "class": "by class",
    "speedup": "worst S first",
    "p": "lowest p first",
    "tokens": "fewest tokens a round first",
    "rounds": "most rounds first",
}
LOADS = (
    Column("class", "prompts", text=True, least=8),
    Column("sampling", "sampling", 5, text=True, least=8),
    Column("length", "context", 3, text=True, least=7),
    Column("drafter", "drafter", 4, text=True, least=8),
    Column("n", "n", 2),
    Column("rounds", "rounds", 6),
    Column("p", "p", 0),
    Column("p_span", "95%", 5),
    Column("kind", "kind", 8, text=True, least=5),
    Column("tokens", "E", 4),
    Column("decode", "decode ms", 7),
    Column("speedup", "S", 0),
    Column("span", "95%", 3),
    Column("asked", "what if", 0),
    Column("best", "best k", 0, text=True, least=12),
    Column("verdict", "", 0, text=True, least=10),
)
PROMPTS = (
    Column("prompt", "prompt", text=True, least=10),
    Column("rounds", "rounds", 3),
    Column("p", "p", 0),
    Column("tokens", "E", 2),
    Column("speedup", "S", 0),
    Column("span", "95%", 4),
    Column("asked", "what if", 0),
    Column("best", "best k", 1, text=True, least=6),
    Column("verdict", "drafts", 0, text=True, least=8),
)
TONES: dict[str, Tone] = {"wins": "good", "loses": "bad", "cannot win": "bad", "too close": "warn", "too few": ""}


@dataclass(frozen=True, slots=True)
class WorkloadsView:
    """The table of workloads, the prompts of each by its key, what is said of it, and batches where any were timed."""

    title: str = "Workloads"
    subtitle: str = ""
    loads: TableView = WAITING
    prompts_by_key: tuple[tuple[str, TableView], ...] = ()
    remark_by_key: tuple[tuple[str, str], ...] = ()
    batches: BatchesView | None = None
    numbers: tuple[str, ...] = ()

    def prompts(self, key: str | None) -> TableView:
        """The prompts of one workload."""
        return next((table for known, table in self.prompts_by_key if known == key), TableView())

    def remark(self, key: str | None) -> str:
        """What is said of one workload."""
        return remark_of(self.remark_by_key, key)


def workloads_view(facts: WorkloadFacts, what_if: WhatIf, sort: str = SORTS[0]) -> WorkloadsView:
    """The tables; under a what-if each row has S and best k as asked beside what was measured."""
    asked = what_if != WhatIf()
    loads = _sorted(facts.loads, sort)
    columns = tuple(column for column in LOADS if asked or column.key != "asked")
    several = len({load.setting for load in loads}) > 1 or len({load.length for load in loads}) > 1
    rows = [_row(load, facts, what_if, columns) for load in loads]
    rows += [_imported_row(load, columns) for load in facts.imported]
    columns, rows = _without_empty(columns, rows)
    batches = None
    if facts.has_batches and facts.session is not None:
        batches = batches_view(facts.session, what_if, facts.basis)
    remarks = [(load.key, _said(load, facts, what_if)) for load in loads]
    remarks += [(load.key, load.said) for load in facts.imported]
    tables = [(load.key, _prompts(load, facts, what_if)) for load in loads]
    tables += [(load.key, load.windows) for load in facts.imported]
    return WorkloadsView(
        title="Workloads · WHAT IF" if asked else "Workloads",
        subtitle=f"↑ ↓ · v sorts: {SORT_WORDS[sort]}",
        loads=TableView(columns, tuple(rows), sorted_by=sort if sort != "class" else "", message=facts.message or WAIT),
        prompts_by_key=tuple(tables),
        remark_by_key=tuple(remarks),
        batches=batches,
        numbers=tuple(_number(load, facts, several) for load in loads[:8])
        or ((facts.message,) if facts.message else ()),
    )


def _sorted(loads: Sequence[Workload], sort: str) -> list[Workload]:
    if sort == "speedup":
        return sorted(loads, key=lambda load: load.estimate)
    if sort == "p":
        return sorted(loads, key=lambda load: load.alpha.estimate)
    if sort == "tokens":
        return sorted(loads, key=lambda load: load.tokens.estimate)
    if sort == "rounds":
        return sorted(loads, key=lambda load: -load.rounds)
    return sorted(loads, key=lambda load: (load.kind, load.setting.drafter, load.setting.k, load.length))


def length_words(length: int) -> str:
    """A range of context in words."""
    names = [_short(end) for end in LENGTHS]
    if length == 0:
        return f"< {names[0]}"
    return f"> {names[-1]}" if length == len(names) else f"{names[length - 1]}–{names[length]}"


def _short(positions: int) -> str:
    return f"{positions // 1024}k" if positions >= 1024 else str(positions)


def sampling_words(setting: Setting) -> str:
    """Rule, temperature and what else of sampling is not usual."""
    parts = [setting.rule.removesuffix(" match").removesuffix(" sampling")]
    if setting.temperature:
        parts.append(f"T {setting.temperature:g}")
        parts += [f"top-p {setting.top_p:g}"] if setting.top_p < 1 else []
        parts += [f"top-k {setting.top_k}"] if setting.top_k else []
        parts += [f"min-p {setting.min_p:g}"] if setting.min_p else []
    return " ".join(parts)


def _drafter(setting: Setting) -> str:
    return f"{drafter_words(setting.drafter)} {'k≤' if setting.adaptive else 'k='}{setting.k}"


def _row(load: Workload, facts: WorkloadFacts, what_if: WhatIf, columns: Sequence[Column]) -> TableRow:
    doubt = facts.doubted.get(load.setting)
    verdict = _verdict(load, facts)
    basis = facts.basis_by_setting.get(load.setting)
    text = {
        "class": load.kind,
        "sampling": sampling_words(load.setting),
        "length": length_words(load.length),
        "drafter": _drafter(load.setting),
        "n": figures.grouped(len(load.prompts)),
        "rounds": figures.grouped(load.rounds),
        "p": figures.share(load.alpha.estimate),
        "p_span": _clipped(load.alpha),
        "kind": "conditional",
        "tokens": figures.ratio(load.tokens.estimate),
        "decode": figures.bare_ms(load.decode_ms),
        "speedup": figures.NONE if doubt else figures.times(load.estimate),
        "span": "" if doubt else figures.span(load.speedup),
        "asked": _asked(basis, what_if, load.alpha.estimate),
        "best": _best(basis, load.alpha, what_if),
        "verdict": verdict,
    }
    return TableRow(load.key, tuple(text[column.key] for column in columns), TONES.get(verdict, "warn"))


def _verdict(load: Workload, facts: WorkloadFacts) -> str:
    if load.setting in facts.doubted:
        return "no verdict"
    if load.outcome == "loses" and load.setting in facts.hopeless:
        return "cannot win"
    return load.outcome


def _clipped(interval: Interval) -> str:
    return figures.span(replace(interval, low=max(0.0, interval.low), high=min(1.0, interval.high)))


def _asked(basis: Basis | None, what_if: WhatIf, alpha: float) -> str:
    if basis is None or what_if == WhatIf():
        return figures.NONE
    try:
        return figures.times(basis.speedup(_question(what_if, alpha)))
    except (SpecviewError, ArithmeticError, ValueError):
        return "not asked"


def _question(what_if: WhatIf, alpha: float) -> Question:
    """What is asked, at the row's own acceptance unless another one is asked about."""
    question = replace(question_of(what_if), batch=None)
    return question if question.p is not None else replace(question, p=min(1.0, max(0.0, alpha)))


def best_length(basis: Basis, alpha: float, what_if: WhatIf) -> int:
    """The measured k with the largest S at an acceptance, 0 for off."""
    found = speedups_by_k(basis, replace(_question(what_if, alpha), k=None))
    best = max(found, key=lambda k: found[k], default=0)
    return best if found.get(best, 0.0) > 1 else 0


def _best(basis: Basis | None, alpha: Interval, what_if: WhatIf) -> str:
    """Best k or off, and what it would be at the ends of the interval where that differs."""
    if basis is None:
        return figures.NONE
    best, *ends = (best_length(basis, each, what_if) for each in (alpha.estimate, alpha.low, alpha.high))
    mark = "" if what_if == WhatIf() else "? "
    others = [_k(end) for end in ends if end != best]
    return f"{mark}{_k(best)}" + (f" ({' or '.join(dict.fromkeys(others))})" if others else "")


def _k(k: int) -> str:
    return "off" if k == 0 else str(k)


def _said(load: Workload, facts: WorkloadFacts, what_if: WhatIf) -> str:
    """What a row means, and what to do."""
    doubt = facts.doubted.get(load.setting)
    if doubt:
        return f"No verdict: {doubt}"
    parts = []
    if load.more_prompts:
        count = figures.count(load.more_prompts, "more prompt")
        parts.append(
            f"Too few prompts for a verdict ({len(load.prompts)} of {FEWEST_PROMPTS}): record {count} of {load.kind}."
        )
    elif load.outcome == "too close":
        parts.append(f"The interval of S holds 1: record more prompts of {load.kind}.")
    elif load.setting in facts.hopeless and load.outcome == "loses":
        parts.append("Even with every draft accepted a round costs more than it yields: off, or a cheaper verify.")
    elif load.outcome == "loses":
        parts.append(f"Drafts slow {load.kind} prompts down: run them without.")
    else:
        parts.append(f"Drafts speed {load.kind} prompts up: keep them on.")
    losing = [each.name for each in load.prompts if each.estimate < 1]
    if losing and len(losing) < len(load.prompts):
        parts.append(f"Slower with drafts: {', '.join(losing[:4])}{' …' if len(losing) > 4 else ''}.")
    basis = facts.basis_by_setting.get(load.setting)
    if basis is not None:
        best = best_length(basis, load.alpha.estimate, WhatIf())
        tried = ranges_of(basis.lengths)
        parts.append(
            f"Of the measured k ({tried}) " + (f"{best} is best" if best else "none wins") + " at this p: "
            "T_verify and T_draft are those of the whole session."
        )
    else:
        parts.append("Best k takes split rounds and probes, which were not measured.")
    return " ".join(parts)


def _prompts(load: Workload, facts: WorkloadFacts, what_if: WhatIf) -> TableView:
    """The prompts of a workload, the worst first."""
    asked = what_if != WhatIf()
    columns = tuple(column for column in PROMPTS if asked or column.key != "asked")
    basis, doubt = facts.basis_by_setting.get(load.setting), load.setting in facts.doubted
    rows, best_by_p = [], {}
    for each in load.prompts[:MOST_PROMPTS]:
        advice, tone = ("no verdict", "") if doubt else _advice(each)
        rounded = round(each.alpha, 3)  # so that prompts alike are reckoned once
        if basis is not None and rounded not in best_by_p:
            best_by_p[rounded] = _k(best_length(basis, rounded, what_if))
        best = best_by_p.get(rounded, figures.NONE)
        text = {
            "prompt": each.name,
            "rounds": figures.grouped(each.rounds),
            "p": figures.share(each.alpha),
            "tokens": figures.ratio(each.tokens),
            "speedup": figures.NONE if doubt else figures.times(each.estimate),
            "span": "" if doubt else figures.span(each.speedup),
            "asked": _asked(basis, what_if, each.alpha),
            "best": f"? {best}" if asked else best,
            "verdict": advice,
        }
        rows.append(TableRow(each.prompt, tuple(text[column.key] for column in columns), tone))
    return TableView(*_frozen(columns, rows))


def _frozen(columns: Sequence[Column], rows: Sequence[TableRow]) -> tuple[tuple[Column, ...], tuple[TableRow, ...]]:
    kept, left = _without_empty(columns, rows)
    return kept, tuple(left)


def _advice(prompt: PromptLoad) -> tuple[str, Tone]:
    """Whether a prompt should run with drafts, by its own segments; without an interval it is only likely."""
    if prompt.speedup is not None and not prompt.speedup.holds(1.0):
        return ("on", "good") if prompt.speedup.low > 1 else ("off", "bad")
    if prompt.estimate < 1:
        return "off, likely", "warn"
    return "on, likely", ""


def _number(load: Workload, facts: WorkloadFacts, several: bool) -> str:
    what = f"{load.kind}, {length_words(load.length)}, {_drafter(load.setting)}" if several else load.kind
    speed = (
        "no verdict"
        if load.setting in facts.doubted
        else f"{figures.times(load.estimate)} {figures.span(load.speedup)}".strip()
    )
    alpha = f"{figures.share(load.alpha.estimate)} {_clipped(load.alpha)}"
    tokens = figures.ratio(load.tokens.estimate)
    return f"{what}: p {alpha}, E {tokens}, S {speed}, {figures.count(len(load.prompts), 'prompt')}"


def _imported_row(load: ImportedLoad, columns: Sequence[Column]) -> TableRow:
    return TableRow(load.key, tuple(load.cells.get(column.key, "") for column in columns), load.tone)


def _without_empty(columns: Sequence[Column], rows: Sequence[TableRow]) -> tuple[tuple[Column, ...], list[TableRow]]:
    """Only columns in which something stands."""
    kept = [i for i, _ in enumerate(columns) if not rows or any(row.cells[i] for row in rows)]
    slim = [replace(row, cells=tuple(row.cells[i] for i in kept)) for row in rows]
    return tuple(columns[i] for i in kept), slim
