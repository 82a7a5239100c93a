"""What can be chosen while recording: drafters, acceptance rules and prompt sets."""

from __future__ import annotations

from ..layouts.screens.choice import Choice

DRAFTERS = (
    Choice("mtp", "mtp        ", "the model's own multi-token-prediction head"),
    Choice("lookup", "lookup     ", "copies what followed the same words before"),
    Choice("none", "none       ", "no drafts: what the loop itself costs"),
    Choice("skip", "skip       ", "the model's first layers, a third of them"),
    Choice("quantised:4", "quantised:4", "a copy of the model in 4 bits"),
    Choice("fixed:0.7", "fixed:0.7  ", "synthetic: right with chance 0.7, not measured"),
)
RULES = (
    Choice("greedy 0", "greedy          ", "the likeliest token; the text as without drafts"),
    Choice("rejection 0.7", "rejection at 0.7", "drawn; keeps Σ min(p, q), as much as can be"),
    Choice("rejection 1", "rejection at 1  ", "the same at the model's own temperature"),
    Choice("exact 0.7", "exact at 0.7    ", "drawn; a draft must equal the target's own draw"),
    Choice("exact 1", "exact at 1      ", "the same at the model's own temperature"),
)
PROMPT_SETS = (
    Choice("all", "all    ", "english, chinese and code"),
    Choice("english", "english"),
    Choice("chinese", "chinese"),
    Choice("code", "code"),
)


def rule_choice(rule: str, temperature: float) -> str:
    """The choice among RULES that a rule in a session's words stands for, or a text that is none of them."""
    return f"{rule.partition(' ')[0]} {temperature:g}"


def rule_facts(choice: str) -> dict[str, object]:
    """What the recorder is asked for by a choice among RULES."""
    rule, _, temperature = choice.partition(" ")
    return {"rule": rule, "temperature": float(temperature)}
