"""`specview judge`: a published benchmark's numbers in, a verdict out, as one JSON object or as a ledger."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..layouts import figures
from ..profilers.judge.appraisal import checks
from ..profilers.judge.appraisal.reading import LARGEST_BYTES, FactsError, read_facts, shown
from .terminal import is_terminal

UNUSABLE = 2
NUMBERS = (
    *("decode_tps", "decode_ms", "decode_tps_first", "verify_passes", "block_sum_ms", "wall_ms", "draft_ms"),
    *("draft_step_ms", "overhead_ms", "round_ms", "speculative_tps", "speculative_ms_per_token", "tokens_per_round"),
    "temperature",
)
REPEATED = frozenset({"decode_tps", "decode_ms", "speculative_tps", "speculative_ms_per_token"})
WORDS = ("verify_ruler", "rule", "content")
OF_ACCEPTANCE = ("mean_accepted", "accepted", "drafted", "rounds")
STYLES = {"wins": "bold green", "loses": "bold red", "unwinnable": "bold red", "too_close": "bold yellow"}
ROWS = (
    ("E", "tokens_per_round", "tokens a round, the target's own included"),
    ("T_decode", "decode_ms", "plain decode"),
    ("T_verify", "verify_ms", "verify"),
    ("T_draft", "draft_ms", "draft"),
    ("T_rest", "overhead_ms", "rest of the round"),
    ("T_round", "round_ms", "round"),
    ("R", "round_steps", "the round in decode steps; the tokens it must yield"),
    ("α", "conditional_acceptance", "conditional acceptance"),
    ("α*", "break_even_acceptance", "the conditional acceptance that breaks even"),
    ("per draft", "per_draft", "accepted ÷ drafted"),
    ("T_verify*", "break_even_verify_ms", "the most verify may cost"),
    ("T_verify", "implied_verify_ms", "what verify must have cost, from the speed"),
    ("missing", "unaccounted_ms", "of the round in no known part"),
    ("k = 0", "overhead_of_decode", "the loop without drafts, over plain decode"),
    ("measured", "measured_speedup", "end to end"),
    ("error", "prediction_error", "predicted ÷ measured − 1"),
    ("gap", "gap_ms", "in no block: wall − sum of blocks"),
    ("wrong", "wrong_speedup", "by two rulers"),
    ("right", "right_speedup", "every pass a whole graph"),
    ("p ≤", "acceptance_upper_95", "95% bound, none was accepted"),
    ("safe k", "largest_safe_k", "drafts below the cliff"),
)
LISTS = (
    ("speedup by k", "speedup_by_k"),
    ("α* by k", "break_even_acceptance_by_k"),
    ("T(n) ÷ T(1)", "ratios"),
)

if TYPE_CHECKING:  # heavy: loaded when there is something to judge
    from ..profilers.judge.appraisal.judgement import Answer


def add_judge(parser: argparse.ArgumentParser) -> None:
    """The options of `judge`: a file of facts, or facts as flags; flags overrule the file."""
    add = parser.add_argument
    add("facts", nargs="?", help="a file with one JSON object of facts; - or nothing reads it from stdin")
    add("--json", action="store_true", help="print one JSON object")
    for name in NUMBERS:
        several = " (several, by commas, are repeated runs)" if name in REPEATED else ""
        add(_flag(name), dest=f"fact_{name}", metavar="X", help=f"{name}{several}")
    add("--verify-ms", dest="fact_verify_ms", metavar="N:MS,…", help="verify by positions, 2:21.0,3:24.5, or flat")
    add("--k", dest="fact_k", metavar="K", help="drafted tokens a round: 4, or 1,2,4, or 1-8")
    for name in WORDS:
        add(_flag(name), dest=f"fact_{name}", metavar="WORD", help=name)
    add("--acceptance", dest="acceptance_value", metavar="P", help="an acceptance value; say its kind too")
    add("--acceptance-kind", dest="acceptance_kind", metavar="KIND", help="conditional, per_draft, cumulative, …")
    add("--positions", dest="acceptance_positions", metavar="P,P,…", help="acceptance by position")
    for name in OF_ACCEPTANCE:
        add(_flag(name), dest=f"acceptance_{name}", metavar="N", help=f"{name}, of the acceptance")
    add("--moe", metavar="EXPERTS,ACTIVE[,N-N]", help="a mixture of experts: 256,8,1-8")


def judge_facts(options: argparse.Namespace) -> int:
    """Judge and print; returns 0 where a judgement was given, also a refused one, and 2 for unusable facts."""
    from ..profilers.judge.appraisal import judgement

    try:
        answer = judgement.judge_facts(_facts(options))
    except FactsError as error:
        Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print(f"specview: {error}")
        return UNUSABLE
    if options.json:
        print(json.dumps(answer.to_object(), ensure_ascii=True, allow_nan=False))
    else:
        _print_ledger(answer)
    return 0


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _facts(options: argparse.Namespace) -> dict[str, Any]:
    flags = _from_flags(options)
    if options.facts is None and flags:
        return flags
    facts = read_facts(_source(options.facts))
    acceptance = flags.pop("acceptance", None)
    if acceptance is not None:
        before = facts.get("acceptance")
        facts["acceptance"] = {**(before if isinstance(before, dict) else {}), **acceptance}
    return {**facts, **flags}


def _source(name: str | None) -> bytes:
    """At most one byte more than facts may have, so that what is too long is seen and not kept."""
    if name is None or name == "-":
        if sys.stdin is None or is_terminal(sys.stdin):
            raise FactsError("Give facts as flags, as a file, or as a JSON object on stdin; see specview judge --help.")
        stream = getattr(sys.stdin, "buffer", None)
        return stream.read(LARGEST_BYTES + 1) if stream is not None else sys.stdin.read(LARGEST_BYTES + 1).encode()
    path = Path(name)
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a file name"
        raise FactsError(f"{shown(path.name or str(path))} cannot be read ({why.lower()}).") from None


def _from_flags(options: argparse.Namespace) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name in NUMBERS:
        text = getattr(options, f"fact_{name}")
        if text is not None:
            facts[name] = _numbers(name, text) if name in REPEATED and "," in text else _number(name, text)
    for name in WORDS:
        if (text := getattr(options, f"fact_{name}")) is not None:
            facts[name] = text
    if options.fact_verify_ms is not None:
        facts["verify_ms"] = _verify(options.fact_verify_ms)
    if options.fact_k is not None:
        facts["k"] = _lengths("k", options.fact_k)
    if acceptance := _acceptance(options):
        facts["acceptance"] = acceptance
    if options.moe is not None:
        parts = options.moe.split(",", 2)
        moe = dict(zip(("experts", "active"), (_number("moe", part) for part in parts[:2]), strict=False))
        facts["moe"] = {**moe, "positions": _lengths("moe", parts[2])} if len(parts) > 2 else moe
    return facts


def _acceptance(options: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if options.acceptance_value is not None:
        found["value"] = _number("acceptance", options.acceptance_value)
    if options.acceptance_kind is not None:
        found["kind"] = options.acceptance_kind
    if options.acceptance_positions is not None:
        found["positions"] = _numbers("positions", options.acceptance_positions)
    for name in OF_ACCEPTANCE:
        if (text := getattr(options, f"acceptance_{name}")) is not None:
            found[name] = _number(name, text)
    return found


def _number(name: str, text: str) -> float:
    try:
        return float(text[:64])
    except ValueError:
        raise FactsError(f"{_flag(name)} must be a number, not {shown(text)!r}.") from None


def _numbers(name: str, text: str) -> list[float]:
    return [_number(name, part) for part in text.split(",")]


def _verify(text: str) -> str | dict[str, float]:
    if text == "flat":
        return text
    found: dict[str, float] = {}
    for part in text.split(","):
        width, colon, ms = part.partition(":")
        if not colon or width.strip() in found:
            raise FactsError("--verify-ms is flat, or positions and ms such as 2:21.0,3:24.5, each once.")
        found[width.strip()] = _number("verify_ms", ms)
    return found


def _lengths(name: str, text: str) -> float | list[float]:
    """4, 1,2,4 or 1-8."""
    first, dash, last = text.partition("-")
    if dash and first.strip().isdecimal() and last.strip().isdecimal():
        low, high = int(first[:8]), int(last[:8])
        if not low <= high <= low + checks.MOST_DRAFT_LENGTHS:
            raise FactsError(f"{_flag(name)} {shown(text)} is no range of at most {checks.MOST_DRAFT_LENGTHS} numbers.")
        return [float(n) for n in range(low, high + 1)]
    return _numbers(name, text) if "," in text else _number(name, text)


def _print_ledger(answer: Answer) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(Text(answer.summary, style=STYLES.get(answer.verdict or "", "bold")))
    for line in division_lines(answer.numbers, refused=answer.verdict == "refused"):
        console.print(Text(f"    {line}"))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value, note in ledger_rows(answer):
        table.add_row(Text(name, style="bold"), Text(value), Text(note, style="dim"))
    if table.row_count:
        console.print()
        console.print(table)
    if answer.warnings:
        console.print(Text("\nWarnings", style="bold"))
    for warning in answer.warnings:
        console.print(Text.assemble((f"  {warning.code}  ", "yellow"), warning.message))
    console.print(Text("\nWhat to ask any benchmark", style="bold"))
    for question in answer.questions:
        console.print(Text.assemble((f"  {question.state:<14}", _state_style(question.state)), question.asks))
        console.print(Text(f"  {'':<14}{question.answer}", style="dim"))
    console.print(Text(f"\n→ {answer.advice}", style="bold"))


def division_lines(numbers: Mapping[str, Any], *, refused: bool = False) -> list[str]:
    """The division with the numbers in place; nothing where a part is unknown or the verdict refused."""
    tokens, decode, round_ms, speedup = (
        numbers.get(name) for name in ("tokens_per_round", "decode_ms", "round_ms", "speedup")
    )
    if refused or tokens is None or decode is None or round_ms is None or speedup is None:
        return []
    under = figures.ms(round_ms)
    if numbers.get("round_from") == "parts":
        parts = [figures.bare_ms(numbers.get(name, 0.0)) for name in ("verify_ms", "draft_ms", "overhead_ms")]
        under = f"({' + '.join(parts)}) ms"
    return [
        "S = E · T_decode ÷ T_round",
        f"  = {tokens:.2f} × {figures.ms(decode)} ÷ {under} = {figures.times(speedup)}",
    ]


def ledger_rows(answer: Answer) -> list[tuple[str, str, str]]:
    """Name, value with its unit, and what it is, of every number that was derived."""
    numbers, rows = answer.numbers, list[tuple[str, str, str]]()
    for name, field, note in ROWS:
        if field in numbers:
            sure = "  inferred" if field in answer.inferred else "  assumed" if field in answer.assumed else ""
            rows.append((name, _value(field, numbers[field]), note + sure))
    if "wilson_95" in numbers:
        low, high = numbers["wilson_95"]
        rows.append(("p", f"[{low:.3f}, {high:.3f}]", f"95% over {numbers.get('drafted', '—')} drafts"))
    if "cliff_between" in numbers:
        below, above = numbers["cliff_between"]
        rows.append(("cliff", f"{below} → {above}", "positions between which verify jumps"))
    if "moe_distinct" in numbers:
        rows.append(("experts", " ".join(f"{n:.2f}" for n in numbers["moe_distinct"]), "distinct, independent routing"))
    for name, field in LISTS:
        if field in numbers:
            shares = [f"{k}: {'—' if v is None else f'{v:.2f}'}" for k, v in numbers[field].items()]
            rows.append((name, "  ".join(shares), ""))
    return rows


def _value(field: str, value: Any) -> str:
    if value is None:
        return "none"
    if field.endswith("_ms"):
        return figures.ms(value)
    if field.endswith("speedup"):
        return figures.times(value)
    if field in ("prediction_error", "overhead_of_decode"):
        return figures.percent(value, signed=True)
    if isinstance(value, int):
        return str(value)
    return f"{value:.4f}" if field == "acceptance_upper_95" else figures.ratio(value)


def _state_style(state: str) -> str:
    return {"known": "green", "unknown": "yellow"}.get(state, "red")
