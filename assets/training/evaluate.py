"""Prints the figures of the model card, with intervals, from the held-out text beside this file.

    python assets/training/evaluate.py [--model bundled] [--dtype float32] [--prompts 12] [--tokens 64]

Runs in specview's own environment. Per kind of content: held-out loss against
a unigram model of the training text; greedy MTP acceptance at k = 1 against
always guessing the most frequent next token of the generated text itself; and
the acceptance of prompt lookup on text that repeats itself. Intervals are 95%
t intervals over windows or prompts.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import mlx.core as mx

from specview.engine.decode import speculate, start
from specview.engine.drafters import Drafter
from specview.engine.drafters.lookup import PromptLookup
from specview.engine.drafters.mtp import MtpDrafter, load_mtp_head
from specview.engine.models import Target, load_target
from specview.engine.probe import FreeProbe
from specview.profilers.judge.statistics import Interval, t_interval

HERE = Path(__file__).resolve().parent
KINDS = ("english", "chinese", "code")
WINDOW, PROMPT, REPEATED = 256, 48, 3


def held_out(target: Target, kind: str) -> list[int]:
    """Token ids of the held-out text of a kind."""
    text = (HERE / "heldout" / f"{kind}.txt").read_text(encoding="utf8")
    return list(target.tokenizer.encode(text))


def windows(ids: list[int], length: int, count: int) -> Iterator[list[int]]:
    """`count` stretches of `length` tokens, spread evenly over the text."""
    stride = (len(ids) - length) // count
    for i in range(count):
        yield ids[i * stride : i * stride + length]


def losses(target: Target, ids: list[int], unigram: list[int]) -> tuple[Interval, Interval]:
    """Nats per token of the model and of the unigram model (counts plus one) over windows of 256."""
    total = sum(unigram) + len(unigram)
    costs = [-math.log((count + 1) / total) for count in unigram]
    own, plain = [], []
    for window in windows(ids, WINDOW + 1, 48):
        logits = target.logits(mx.array(window[:-1])[None], [None] * len(target.model.layers))[0].astype(mx.float32)
        picked = mx.take_along_axis(logits, mx.array(window[1:])[:, None], axis=1)[:, 0]
        own.append(float((mx.logsumexp(logits, axis=-1) - picked).mean().item()))
        plain.append(sum(costs[token] for token in window[1:]) / WINDOW)
    return t_interval(own), t_interval(plain)


def rounds(target: Target, drafter: Drafter, prompt: list[int], k: int, count: int) -> tuple[int, int, list[int]]:
    """Drafted, accepted and the tokens of one prompt's greedy continuation."""
    generation = start(target, prompt, drafter)
    clock = itertools.count().__next__
    played = list(speculate(generation, drafter, k, count, FreeProbe(clock)))
    return (
        sum(len(r.drafted) for r in played),
        sum(r.accepted for r in played),
        [token for r in played for token in r.tokens],
    )


def shown(name: str, interval: Interval) -> str:
    return f"{name} {interval.estimate:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--dtype")
    parser.add_argument("--prompts", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=64)
    options = parser.parse_args()
    target = load_target(options.model, options.dtype)
    unigram = json.loads((HERE / "unigram.json").read_text())
    for kind in KINDS:
        ids = held_out(target, kind)
        own, plain = losses(target, ids, unigram[kind])
        print(f"{kind}: {shown('loss', own)} nats per token; {shown('unigram', plain)}")
        mtp = MtpDrafter(target, load_mtp_head(target, options.dtype))
        accepted, frequent, looked = [], [], []
        for prompt in windows(ids, PROMPT, options.prompts):
            drafted, kept, tokens = rounds(target, mtp, prompt, 1, options.tokens)
            accepted.append(kept / drafted)
            frequent.append(Counter(tokens).most_common(1)[0][1] / len(tokens))
            drafted, kept, _ = rounds(target, PromptLookup(), prompt * REPEATED, 4, options.tokens)
            looked.append(kept / drafted if drafted else 0.0)
        margin = t_interval([a - f for a, f in zip(accepted, frequent, strict=True)])
        print(
            f"  MTP k=1, greedy: {shown('per draft', t_interval(accepted))}; "
            f"{shown('most frequent token', t_interval(frequent))}; {shown('above it', margin)}"
        )
        print(f"  lookup k=4, prompt repeated {REPEATED} times: {shown('per draft', t_interval(looked))}")


if __name__ == "__main__":
    main()
