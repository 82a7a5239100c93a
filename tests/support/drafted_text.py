"""Greedy text written plainly and with a drafter, to compare."""

from __future__ import annotations

from specview.engine.decode import decode, speculate, start
from specview.engine.probe import FreeProbe

TINY = ("llama", "qwen3_next", "mamba2", "gemma3_text")
PROMPT = (5, 17, 3, 80, 41, 5, 17, 3, 22, 9)  # longer than the window of 8 that tiny models with one have


def plain_text(target, prompt, count):
    """The tokens plain greedy decoding writes after the prompt."""
    return [step.token for step in decode(start(target, list(prompt)), count, lambda: 0)]


def rounds_with(target, drafter, prompt, k, count):
    """The rounds of at most k drafts that write at least `count` tokens."""
    generation = start(target, list(prompt), drafter)
    return list(speculate(generation, drafter, k, count, FreeProbe(lambda: 0)))


def text_of(rounds, count):
    """The first `count` tokens that rounds committed."""
    return [token for played in rounds for token in played.tokens][:count]


def mean_tokens(rounds):
    """E."""
    return sum(len(played.tokens) for played in rounds) / len(rounds)
