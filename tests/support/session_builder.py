"""Sessions built in code: a few numbers in, the records of a whole recording out, the same every time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from specview.profilers.record import records as r

MS = 1_000_000
WORDS = (
    "def",
    " merge",
    "_sort",
    "(items",
    "):\n",
    "    if",
    " len",
    "(items)",
    " <= 1:\n",
    "  return",
    " [x]",
    " 以\n",
)


@dataclass(frozen=True)
class Made:
    """What a built session measures, in ms; `noise` is the relative spread of every time.

    `draft` is of a round without catch-up; a drafter step is a part of it, a tenth dearer for each further position.
    """

    prompts: int = 6
    segments: int = 2
    k: int = 1
    p: float = 0.65
    decode: float = 10.94
    verify: dict[int, float] = field(default_factory=lambda: {1: 10.94, 2: 21.88, 3: 26.0, 4: 33.9, 8: 51.4, 9: 68.0})
    draft: float = 0.64
    rest: float = 0.10
    noise: float = 0.004
    drafter: str = "mtp"
    blocks: bool = True
    footer: str | None = "finished"
    canary: float = 1.01
    others: float = 0.03
    text_kept: bool = True
    seed: int = 11


LINEAR, FULL, MOE, HEAD, MISC = 4.356, 1.424, 1.266, 0.902, 0.18
BLOCKS = (("linear attention", LINEAR), ("full attention", FULL), ("MoE", MOE), ("output head", HEAD), ("misc", MISC))


class _Builder:
    def __init__(self, made: Made) -> None:
        self.made = made
        self.random = random.Random(made.seed)
        self.t_ns = 0
        self.run = 0
        self.word = 0
        self.deck: list[bool] = []

    def hit(self) -> bool:
        """Whether a draft is accepted: from a shuffled deck with the right share, so that prompts are alike."""
        if not self.deck:
            self.deck = [i < round(20 * self.made.p) for i in range(20)]
            self.random.shuffle(self.deck)
        return self.deck.pop()

    def step_ms(self, width: int) -> float:
        """One drafter step, `width` positions wide."""
        return self.made.draft / max(1, self.made.k) * (0.9 + 0.1 * width)

    def draft_ms(self, first: int) -> float:
        """The draft of a round whose first step is `first` positions wide; lookup has no steps."""
        if self.made.drafter != "mtp":
            return self.made.draft
        return (self.made.k - 1) * self.step_ms(1) + self.step_ms(first)

    def ns(self, ms: float) -> int:
        return max(1, round(ms * (1 + self.made.noise * self.random.uniform(-1.5, 1.5)) * MS))

    def at(self, ns: int) -> int:
        self.t_ns += ns
        return self.t_ns

    def piece(self) -> str:
        self.word += 1
        return WORDS[self.word % len(WORDS)]

    def facts(self, prompt: int) -> r.PromptFacts:
        kind = ("english", "chinese", "code")[prompt % 3]
        return r.PromptFacts(suite=kind, index=prompt // 3, kind=kind, hash=f"{prompt:016x}", tokens=33)

    def opened(self, arm: str, prompt: int) -> r.Run:
        plain = arm == "plain"
        self.run += 1
        return r.Run(
            run=self.run,
            arm=arm,  # type: ignore[arg-type]
            drafter="none" if plain else self.made.drafter,
            k=0 if plain else self.made.k,
            rule="greedy match",
            temperature=0.0,
            top_p=1.0,
            seed=0,
            prompt=self.facts(prompt),
            started_ns=self.t_ns,
        )

    def steps(self, run: int, segment: int, context: int) -> Iterator[r.Step]:
        for i in range(32):
            ns = self.ns(self.made.decode)
            yield r.Step(
                run=run, i=segment * 32 + i, segment=segment, t_ns=self.at(ns), context=context + i, tokens=1,
                step_ns=ns, pipelined=True, warm_up=i < 2, replay=True,
            )  # fmt: skip

    def acceptances(self) -> tuple[int, ...]:
        """How many drafts each round of one segment accepts; every arm reads the same text."""
        found: list[int] = []
        while sum(found) + len(found) < 32:
            accepted = 0
            while accepted < self.made.k and self.hit():
                accepted += 1
            found.append(accepted)
        return tuple(found)

    def rounds(
        self, run: int, segment: int, context: int, acceptances: tuple[int, ...], split: bool
    ) -> Iterator[r.Round]:
        made, done, first = self.made, 0, 1
        for i, accepted in enumerate(acceptances):
            times = (self.draft_ms(first), made.verify[made.k + 1], made.rest)
            draft, verify, rest = (self.ns(ms) for ms in times)
            committed = tuple(self.piece() for _ in range(accepted + 1))
            rejected = tuple(" guess" for _ in range(made.k - accepted))
            parts = {"draft_ns": draft, "verify_ns": verify, "rest_ns": rest, "rewind_ns": rest // 4} if split else {}
            yield r.Round(
                run=run, i=i, segment=segment, t_ns=self.at(draft + verify + rest), context=context + done,
                drafted=made.k, accepted=accepted, width=made.k + 1, tokens=accepted + 1,
                pieces=None if split or not made.text_kept else r.Pieces(committed, rejected),
                round_ns=draft + verify + rest, catch_up_width=first, warm_up=i < 2, replay=split, **parts,
            )  # fmt: skip
            done += accepted + 1
            first = accepted + 1

    def probes(self, run: int) -> Iterator[r.Probe]:
        for width, ms in self.made.verify.items():
            ns = self.ns(ms)
            yield r.Probe(
                t_ns=self.at(ns), ruler="whole", part="verify", width=width, context=64, samples_ns=(ns,),
                build_ns=(ns // 9,), eval_ns=(ns - ns // 9,), pipelined=False, run=run,
            )  # fmt: skip
        for width in range(1, self.made.k + 2) if self.made.drafter == "mtp" else ():
            ns = self.ns(self.step_ms(width))
            yield r.Probe(
                t_ns=self.at(ns), ruler="whole", part="draft", width=width, context=64, samples_ns=(ns,),
                build_ns=(ns // 9,), eval_ns=(ns - ns // 9,), pipelined=False, run=run,
            )  # fmt: skip

    def block_probes(self) -> Iterator[r.Probe | r.Calibration]:
        verify = self.made.verify[self.made.k + 1] / self.made.verify[1]
        for part, width, factor in (("decode", 1, 1.0), ("verify", self.made.k + 1, verify)):
            for category, ms in BLOCKS:
                slope = ms * factor * MS
                yield r.Probe(
                    t_ns=self.at(1000), ruler="queued", part=part, width=width, context=64, block=category,
                    category=category, slope_ns=slope, slope_low_ns=slope * 0.98, slope_high_ns=slope * 1.02,
                )  # fmt: skip
                yield r.Probe(
                    t_ns=self.at(1000), ruler="fenced", part=part, width=width, context=64, block=category,
                    category=category, samples_ns=(round(slope * 1.15), round(slope * 1.17)),
                )  # fmt: skip
        yield r.Calibration(what="fence", value=0.4, unit="ms", t_ns=self.t_ns)


def built(made: Made) -> tuple[r.Record, ...]:
    """All records of a session."""
    b = _Builder(made)
    out: list[r.Record] = [
        r.Header(
            specview="0.1.0",
            plan=f"{made.drafter} k={made.k}, built",
            environment=r.Environment(chip="Apple M1 Max", os="macOS", mlx="0.32.0", device="metal", blas="Accelerate"),
            model=r.ModelFacts(
                id="35B-A3B", architecture="qwen3_next", layers=(("linear attention", 30), ("full attention", 10)),
                quantisation="4-bit", dtype="bfloat16", weight_bytes=19_500_000_000, vocabulary=151_936,
                tokenizer_hash="sha256:aa",
            ),
            drafter=r.DrafterFacts(kind=made.drafter, k=made.k),
            started_unix_ns=1_783_000_000_000_000_000,
            text_kept=made.text_kept,
            prompts_kept=False,
        ),
        r.Calibration(what="canary", dtype="float32", value=1_000_000.0, unit="ns", t_ns=0),
    ]  # fmt: skip
    for prompt in range(made.prompts):
        runs = {arm: b.opened(arm, prompt) for arm in ("plain", "drafting", "split")}
        out += runs.values()
        for segment in range(made.segments):
            context = 33 + 32 * segment
            out += b.steps(runs["plain"].run, segment, context)
            acceptances = b.acceptances()
            out += b.rounds(runs["drafting"].run, segment, context, acceptances, False)
            out += b.rounds(runs["split"].run, segment, context, acceptances, True)
            out += b.probes(runs["drafting"].run)
            out.append(r.Calibration(what="canary", dtype="float32", value=1e6 * made.canary, unit="ns", t_ns=b.t_ns))
            out.append(
                r.Memory(
                    t_ns=b.t_ns,
                    active_bytes=19_700_000_000,
                    peak_bytes=20_100_000_000,
                    cache_bytes=75_000_000,
                    others_cpu_fraction=made.others,
                    swap_used_bytes=0,
                    available_bytes=8_000_000_000,
                )
            )
            out.append(
                r.Comparison(
                    t_ns=b.t_ns, run=runs["drafting"].run, prompt_index=prompt, tokens_compared=32, judged="equal"
                )
            )
        if made.blocks and prompt == 0:
            out += b.block_probes()
    if made.footer is not None:
        rounds, steps = (sum(isinstance(x, kind) for x in out) for kind in (r.Round, r.Step))
        out.append(
            r.Footer(status=made.footer, rounds=rounds, steps=steps, tokens=steps + rounds, t_ns=b.t_ns)  # type: ignore[arg-type]
        )
    return tuple(out)


def one_round() -> tuple[r.Record, ...]:
    """A session that has just begun: one step and one round."""
    records = built(Made(prompts=1, segments=1, footer=None, blocks=False))
    runs = [x for x in records if isinstance(x, r.Run)]
    step = next(x for x in records if isinstance(x, r.Step) and not x.warm_up)
    first = next(x for x in records if isinstance(x, r.Round) and not x.warm_up)
    return (*records[:2], *runs[:2], step, first)


CASES: dict[str, tuple[r.Record, ...]] = {
    "one-round": one_round(),
    "normal": built(
        Made(decode=10.0, verify={1: 10.4, 2: 13.0, 3: 17.9, 4: 24.1, 8: 39.9}, draft=4.9, rest=0.3, p=0.7)
    ),
    "interrupted": built(Made(prompts=4, footer=None, blocks=False)),
    "cannot-win": built(Made()),
    "wins": built(
        Made(k=3, p=0.85, verify={1: 11.3, 2: 12.4, 3: 13.6, 4: 14.9, 5: 27.8, 6: 28.9, 7: 30.1, 8: 31.0}, draft=3.3)
    ),
}


def lines_of(records: tuple[r.Record, ...]) -> bytes:
    """The file of these records."""
    return b"".join(r.to_line(record) for record in records)


def written(folder: Path, name: str, records: tuple[r.Record, ...] | None = None) -> Path:
    """A session file of a case (or of other records) in a folder."""
    path = folder / f"{name}.specview.jsonl"
    path.write_bytes(lines_of(CASES[name] if records is None else records))
    return path
