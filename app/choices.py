"""What can be chosen while recording: drafters and prompt sets."""

from __future__ import annotations

from ..layouts.screens.choice import Choice

DRAFTERS = (
    Choice("mtp", "mtp   ", "the model's own multi-token-prediction head"),
    Choice("lookup", "lookup", "copies what followed the same words before"),
    Choice("none", "none  ", "no drafts: what the loop itself costs"),
)
PROMPT_SETS = (
    Choice("all", "all    ", "english, chinese and code"),
    Choice("english", "english"),
    Choice("chinese", "chinese"),
    Choice("code", "code"),
)
