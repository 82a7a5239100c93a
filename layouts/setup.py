"""A recording as a form: what is chosen, field by field, and what stands beside each field."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

NO, YES = "no", "yes"
DRAFTERS = ("mtp", "lookup", "none", "skip", "quantised", "fixed", "model")
FROM_FILE = "a file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """All fields as text, as they are typed; `rest` are options that have no field and stay as they were given."""

    model: str = "bundled"
    dtype: str = "as stored"
    drafter: str = "mtp"
    argument: str = ""
    k: str = "1"
    adaptive: str = NO
    rule: str = "greedy"
    temperature: str = "0"
    top_p: str = "1"
    top_k: str = "0"
    min_p: str = "0"
    policy: str = "one pass"
    prompts: str = "all"
    prompt_file: str = ""
    limit: str = ""
    tokens: str = "64"
    budget: str = ""
    context: str = ""
    kv_bits: str = "as computed"
    kv_start: str = "0"
    duty: str = "0.15"
    blocks: str = YES
    seed: str = "0"
    chat: str = YES
    keep_prompts: str = NO
    text: str = YES
    trust: str = NO
    rest: tuple[str, ...] = ()

    def value(self, name: str) -> str:
        """What a field holds."""
        held = getattr(self, name)
        assert isinstance(held, str)
        return held

    def with_value(self, name: str, value: str) -> Form:
        """The form with another value in one field."""
        assert name in FIELD_BY_NAME
        return replace(self, **{name: value})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Field:
    """One line of the form, typed where it has no `choices`; `only_with` are what it belongs to."""

    name: str
    label: str
    hint: str
    choices: tuple[str, ...] = ()
    group: str = ""
    only_with: tuple[str, ...] = ()


FIELDS = (
    Field("model", "Model", "bundled, a folder that mlx_lm wrote, or a hub id: org/name", group="Model"),
    Field("dtype", "Weights", "cast them, dequantising", ("as stored", "float32", "float16", "bfloat16")),
    Field("trust", "Its own code", "let a model run code that it brings", (NO, YES)),
    Field("drafter", "Drafter", "", DRAFTERS, "Drafts"),
    Field("argument", "  with", "", only_with=("skip", "quantised", "fixed", "model")),
    Field("k", "k", "tokens a round drafts at most, 0 to 64; 0: the loop without drafts"),
    Field("adaptive", "Adaptive", "each round chooses its draft length, up to k", (NO, YES)),
    Field("rule", "Acceptance rule", "", ("greedy", "rejection", "exact"), "Sampling"),
    Field("temperature", "Temperature", "0 takes the likeliest token"),
    Field("top_p", "Top-p", "keep the likeliest that hold this much; 1: all"),
    Field("top_k", "Top-k", "keep so many of the likeliest; 0: all"),
    Field("min_p", "Min-p", "keep those this likely against the likeliest; 0: all"),
    Field("policy", "Verify policy", "how verify passes are made",
          ("one pass", "single passes", "dense", "dense on the fly", "compiled"), "Verify and cache"),
    Field("kv_bits", "Keys and values", "in so many bits", ("as computed", "8", "6", "5", "4", "3", "2")),
    Field("kv_start", "  from position", "quantise from this position on"),
    Field("context", "Context", "longest text in tokens, prompt included; empty: the model's, at most 4096"),
    Field("prompts", "Prompts", "", ("all", "english", "chinese", "code", FROM_FILE), "Prompts"),
    Field("prompt_file", "  file", "a text, or .jsonl with one {\"text\": …} a line", only_with=(FROM_FILE,)),
    Field("limit", "Limit", "use only the first so many prompts; empty: all"),
    Field("tokens", "Tokens", "to generate for each prompt"),
    Field("chat", "Chat template", "wrap prompts in the model's own", (YES, NO)),
    Field("budget", "Budget", "stop after 30s, 5m, 1h, or a number of rounds; empty: all prompts", group="Measuring"),
    Field("duty", "Probe duty", "share of time for verify passes of other widths, 0 to 1"),
    Field("blocks", "Time blocks", "between segments: the decode panel and the floors need them", (YES, NO)),
    Field("seed", "Seed", "of the order of arms and of drawn tokens"),
    Field("keep_prompts", "Keep prompts", "store their text, not only a hash", (NO, YES), "The session file"),
    Field("text", "Keep text", "store generated text, so that the stream can be replayed", (YES, NO)),
)  # fmt: skip
FIELD_BY_NAME = {each.name: each for each in FIELDS}
assert {each.name for each in fields(Form)} == {*FIELD_BY_NAME, "rest"}

DRAFTER_HINTS = {
    "mtp": "the model's own multi-token-prediction head",
    "lookup": "copies what followed the same words before",
    "none": "no drafts: what the loop itself costs",
    "skip": "the model's first layers",
    "quantised": "a copy of the model in fewer bits",
    "fixed": "synthetic: right with a chosen chance, not measured",
    "model": "a smaller model with the same tokens",
}
ARGUMENT_HINTS = {
    "skip": "how many layers; empty: a third of them",
    "quantised": "bits: 4, 3 or 2; empty: 4",
    "fixed": "the chance, 0 to 1",
    "model": "its folder, or a hub id: org/name",
}
RULE_HINTS = {
    "greedy": "the likeliest token; the text as without drafts",
    "rejection": "drawn; keeps Σ min(p, q), as much as can be",
    "exact": "drawn; a draft must equal the target's own draw",
}
PROMPT_HINTS = {"all": "english, chinese and code in turn", FROM_FILE: "your own"}
Place = Literal["model", "folder", "file", "nothing"]


def hint_of(name: str, form: Form) -> str:
    """What stands beside a field, for what is chosen now."""
    by_choice = {"drafter": DRAFTER_HINTS, "rule": RULE_HINTS, "prompts": PROMPT_HINTS}
    if name in by_choice:
        return by_choice[name].get(form.value(name), "")
    return ARGUMENT_HINTS.get(form.drafter, "") if name == "argument" else FIELD_BY_NAME[name].hint


def is_needed(name: str, form: Form) -> bool:
    """Whether a field means something with what is chosen now."""
    if name == "argument":
        return form.drafter in FIELD_BY_NAME[name].only_with
    if name == "prompt_file":
        return form.prompts == FROM_FILE
    if name == "kv_start":
        return form.kv_bits != "as computed"
    if name in ("top_p", "top_k", "min_p"):
        return form.rule != "greedy"
    return True
