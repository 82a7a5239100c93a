"""What is wrong with a form, field by field and in one sentence each, before anything is started."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..engine.errors import SpecviewError
from ..engine.limits import LONGEST_DRAFT
from ..profilers.record.plan import parsed_budget
from .setup import Form, Place, is_needed

# as the hub names models; what is no folder and no such name cannot be had
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
PlaceOf = Callable[[str], Place]
MOST = 10**9


def problems(form: Form, place_of: PlaceOf) -> dict[str, str]:
    """A sentence by the name of every field that cannot be; `place_of` says what lies at a path."""
    found = {name: check(form, place_of) for name, check in CHECKS.items() if is_needed(name, form)}
    return {name: sentence for name, sentence in found.items() if sentence}


def _model(text: str, place_of: PlaceOf) -> str:
    text = text.strip()
    if not text:
        return "Name a model: bundled, a folder, or a hub id such as org/name."
    if text == "bundled":
        return ""
    place = place_of(text)
    if place == "folder":
        return "This folder holds no config.json: name the folder that mlx_lm.convert wrote."
    if place == "file":
        return "This is a file: name the folder of the model."
    if place == "nothing" and not HUB_ID.fullmatch(text):
        return "There is no such folder here, and a hub id looks like org/name."
    return ""


def _argument(form: Form, place_of: PlaceOf) -> str:
    text = form.argument.strip()
    if form.drafter == "model":
        return _model(text, place_of) if text else "Name the draft model: a folder, or a hub id such as org/name."
    if form.drafter == "skip" and text:
        return _whole(text, 1, 1000, "layers")
    if form.drafter == "quantised" and text and text not in ("4", "3", "2"):
        return "A copy has 4, 3 or 2 bits."
    if form.drafter == "fixed":
        return _share(text, "the chance of a right draft")
    return ""


def _drafter(form: Form, place_of: PlaceOf) -> str:
    if form.drafter == "fixed" and form.rule != "greedy":
        return "Synthetic drafts foresee the text, and drawn text cannot be foreseen: choose the rule greedy."
    return ""


def _temperature(form: Form, place_of: PlaceOf) -> str:
    number = _number(form.temperature)
    if number is None or not 0 <= number <= 100:
        return "Give a number from 0 on, e.g. 0.7."
    if form.rule == "greedy" and number > 0:
        return "Greedy draws nothing: give 0, or choose the rule rejection or exact."
    if form.rule != "greedy" and number == 0:
        return f"The rule {form.rule} draws tokens: give a temperature above 0, e.g. 0.7."
    return ""


def _top_p(form: Form, place_of: PlaceOf) -> str:
    number = _number(form.top_p)
    return "" if number is not None and 0 < number <= 1 else "Give a share above 0, up to 1."


def _prompt_file(form: Form, place_of: PlaceOf) -> str:
    if not form.prompt_file.strip():
        return "Name a file of prompts."
    return "" if place_of(form.prompt_file.strip()) == "file" else "There is no such file here."


def _policy(form: Form, place_of: PlaceOf) -> str:
    if form.policy == "compiled" and form.kv_bits != "as computed":
        return "Compiled passes need keys and values as computed: choose another policy, or no bits."
    return ""


def _budget(form: Form, place_of: PlaceOf) -> str:
    if not form.budget.strip():
        return ""
    try:
        parsed_budget(form.budget)
    except SpecviewError as error:
        return str(error)
    return ""


def _number(text: str) -> float | None:
    """A plain decimal number; nan, inf and 1_000 are none."""
    return float(text) if re.fullmatch(r"\s*[+-]?\d{0,12}(\d\.?|\.\d)\d{0,12}\s*", text, re.ASCII) else None


def _whole(text: str, least: int, most: int, what: str) -> str:
    if re.fullmatch(r"\s*-?\d{1,18}\s*", text, re.ASCII) and least <= int(text) <= most:
        return ""
    return f"Give a whole number of {what}, {least} to {most}." if most < MOST else (
        f"Give a whole number of {what}, {least} or more."
    )  # fmt: skip


def _share(text: str, what: str) -> str:
    number = _number(text)
    return "" if number is not None and 0 <= number <= 1 else f"Give {what}, from 0 to 1."


CHECKS: dict[str, Callable[[Form, PlaceOf], str]] = {
    "model": lambda form, place_of: _model(form.model, place_of),
    "drafter": _drafter,
    "argument": _argument,
    "k": lambda form, _: _whole(form.k, 0, LONGEST_DRAFT, "tokens"),
    "temperature": _temperature,
    "top_p": _top_p,
    "top_k": lambda form, _: _whole(form.top_k, 0, MOST, "tokens"),
    "min_p": lambda form, _: _share(form.min_p, "a share"),
    "policy": _policy,
    "kv_start": lambda form, _: _whole(form.kv_start, 0, MOST, "positions"),
    "context": lambda form, _: _whole(form.context, 1, MOST, "tokens") if form.context.strip() else "",
    "prompt_file": _prompt_file,
    "limit": lambda form, _: _whole(form.limit, 1, MOST, "prompts") if form.limit.strip() else "",
    "tokens": lambda form, _: _whole(form.tokens, 1, MOST, "tokens"),
    "budget": _budget,
    "duty": lambda form, _: _share(form.duty, "a share of time"),
    "seed": lambda form, _: "" if re.fullmatch(r"\s*\d{1,9}\s*", form.seed, re.ASCII) else "Give a whole number.",
}
