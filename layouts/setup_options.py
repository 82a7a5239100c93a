"""A form as options of a recorder and back, and as the command line that does the same."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from .setup import DRAFTERS, FROM_FILE, NO, YES, Form, is_needed

FLAG_BY_FIELD = {
    "model": "--model",
    "dtype": "--dtype",
    "k": "--k",
    "rule": "--rule",
    "temperature": "--temperature",
    "top_p": "--top-p",
    "top_k": "--top-k",
    "min_p": "--min-p",
    "policy": "--policy",
    "kv_bits": "--kv-bits",
    "kv_start": "--kv-start",
    "context": "--context",
    "limit": "--limit",
    "tokens": "--tokens",
    "budget": "--budget",
    "duty": "--duty",
    "seed": "--seed",
}
# the flag, and the value of the field that it stands for
SWITCHES = {
    "trust": ("--trust-remote-code", YES),
    "adaptive": ("--adaptive", YES),
    "chat": ("--no-chat", NO),
    "blocks": ("--no-blocks", NO),
    "keep_prompts": ("--keep-prompts", YES),
    "text": ("--no-text", NO),
}
SETS = ("all", "english", "chinese", "code")
NUMBERS = ("temperature", "top_p", "min_p", "duty")
MOST_REST = 64


def form_of(options: Sequence[str]) -> Form:
    """The form of a recorder's options as `recorder_options` makes them; those without a field are its `rest`."""
    found: dict[str, Any] = {}
    rest: list[str] = []
    field_by_flag = {flag: name for name, flag in FLAG_BY_FIELD.items()}
    field_by_switch = {flag: (name, value) for name, (flag, value) in SWITCHES.items()}
    waiting = list(options)
    while waiting:
        flag, equals, value = waiting.pop(0).partition("=")
        if flag in field_by_switch:
            name, found[name] = field_by_switch[flag]
            continue
        follows = not equals and bool(waiting) and not waiting[0].startswith("--")
        if follows:
            value = waiting.pop(0)
        if flag in field_by_flag:
            name = field_by_flag[flag]
            found[name] = _plain(value) if name in NUMBERS else value
        elif flag == "--draft":
            found["drafter"], found["argument"] = _drafter(value)
        elif flag == "--prompts":
            found.update({"prompts": value} if value in SETS else {"prompts": FROM_FILE, "prompt_file": value})
        elif len(rest) < MOST_REST:
            rest += [f"{flag}={value}"] if equals else [flag, value] if follows else [flag]
    if "drafter" not in found:
        found["drafter"] = "mtp" if found.get("model", "bundled") == "bundled" else "lookup"
    if "rule" not in found and found.get("temperature", "0") != "0":
        found["rule"] = "rejection"
    return Form(**found, rest=tuple(rest))


def _drafter(wish: str) -> tuple[str, str]:
    name, _, argument = wish.partition(":")
    if name in DRAFTERS and name != "model":
        return name, argument
    return "model", wish


def _plain(number: str) -> str:
    """0.0 as 0, 1.0 as 1."""
    return number[:-2] if number.endswith(".0") else number


def options_of(form: Form) -> tuple[str, ...]:
    """The recorder's options: the model, the drafter, and whatever is not as it would be anyway."""
    usual = Form()
    options = ["--model", form.model.strip(), "--draft", draft_of(form)]
    for name, flag in FLAG_BY_FIELD.items():
        value = form.value(name).strip()
        if name != "model" and value and value != usual.value(name) and is_needed(name, form):
            options += [flag, value]
    if form.prompts != "all":
        options += ["--prompts", form.prompt_file.strip() if form.prompts == FROM_FILE else form.prompts]
    options += [flag for name, (flag, value) in SWITCHES.items() if form.value(name) == value]
    return (*options, *form.rest)


def draft_of(form: Form) -> str:
    """The drafter as --draft takes it."""
    argument = form.argument.strip()
    if form.drafter == "model":
        return argument
    return f"{form.drafter}:{argument}" if argument and is_needed("argument", form) else form.drafter


def command_line(form: Form) -> str:
    """What to type to get the same recording; for the bundled model as short as it can be."""
    options = list(options_of(form))
    if options[:2] == ["--model", "bundled"]:
        del options[:2]
    return shlex.join(["specview", *options])
