"""Article A's July ledger as a session: its published figures and nothing else; assets/examples holds the file.

`python tests/support/july.py FILE` writes it anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

from specview.profilers.record import records as r

CATEGORIES_MS = (
    ("linear attention", 4.356),
    ("full attention", 1.424),
    ("MoE", 1.266),
    ("output head", 0.902),
    ("misc", 0.18),
)
PLAIN_TOKENS_PER_SECOND = 91.4
ACCEPTANCE = 0.6457
DRAFT_MS = 0.643
NAME = "article-a-july.specview.jsonl"


def records() -> tuple[r.Record, ...]:
    """The records of the session, in order."""
    source = "article A"
    blocks = tuple(
        r.Probe(
            t_ns=0, ruler="fenced", part="decode", width=1, context=0, block=name, category=name,
            samples_ns=(round(ms * 1e6),),
        )
        for name, ms in CATEGORIES_MS
    )  # fmt: skip
    notes = (
        "These are the figures that article A published of its July ledger. specview measured none of them.",
        "The article does not say how its blocks were timed; they stand here as fenced, each block by itself.",
        "Verify over two positions was not measured in July: the article takes it as two passes over one position, "
        "with the same p = 0.6457 in both divisions. How many rounds that share rests on it does not say.",
        "First division, wrong: 1.6457 ÷ (2 × 8.128 + 0.643) ms over 91.4 tok/s = 1.066x. "
        "The same evening, right: 1.6457 ÷ (2 × 10.941 + 0.643) ms = 0.799x.",
    )
    return (
        r.Header(
            specview="0.1.0",
            plan="published figures",
            environment=r.Environment(chip="Apple M1 Max"),
            model=r.ModelFacts(
                id="35B MoE", architecture="unknown", layers=(("linear attention", 30), ("full attention", 10)),
                quantisation="4-bit", dtype="unknown", weight_bytes=0, vocabulary=0, tokenizer_hash="unknown",
            ),
            drafter=r.DrafterFacts(kind="mtp", k=1),
            started_unix_ns=0,
            text_kept=False,
            prompts_kept=False,
            source=source,
        ),
        *(r.Note(t_ns=0, text=text, tags=("article",)) for text in notes),
        r.Counters(
            t_ns=0, arm="plain", source=source, label="whole graph", batch=1,
            tokens_per_second=PLAIN_TOKENS_PER_SECOND,
        ),
        *blocks,
        r.Counters(
            t_ns=0, arm="drafting", source=source, drafter="mtp", k=1, batch=1, tokens_per_round=1 + ACCEPTANCE,
            rule="greedy", derived=("tokens_per_round",),
        ),
        r.Probe(
            t_ns=0, ruler="whole", part="draft", width=1, context=0, samples_ns=(round(DRAFT_MS * 1e6),),
            pipelined=False,
        ),
        r.Footer(status="finished", rounds=0, steps=0, tokens=0, t_ns=0),
    )  # fmt: skip


def lines() -> bytes:
    """The file."""
    return b"".join(r.to_line(record) for record in records())


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(lines())
