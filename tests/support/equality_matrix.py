"""The equality matrix: greedy text with drafts against plain greedy, for every target, drafter, length and policy.

A target stands for a class of caches. What a target refuses is known beforehand, and asked in the tests.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
from tiny_models import tiny_target, vocabulary

from specview.engine.cache import new_cache, prefill, restore, take_snapshot
from specview.engine.decode import Generation, decode, speculate
from specview.engine.drafters import Drafter
from specview.engine.drafters.adaptive import DraftingCosts, adaptive
from specview.engine.drafters.choose import choose_drafter
from specview.engine.drafters.fixed import FixedAcceptance
from specview.engine.drafters.model import DraftModel
from specview.engine.drafters.quantised import copied, dequantised
from specview.engine.errors import SpecviewError
from specview.engine.events import Round
from specview.engine.kv_quantisation import KvQuantisation, quantise_caches
from specview.engine.models import Target, load_target
from specview.engine.probe import FreeProbe
from specview.engine.trees import named_arrays
from specview.engine.verify_policies import POLICIES, Policy, verify_policy
from specview.profilers.measure.equality import OutputComparison, compare_outputs

LENGTHS = tuple(range(1, 9))
DRAFTERS = ("none", "lookup", "same model", "sibling", "skip", "quantised:4", "fixed:0.7", "adaptive", "mtp")
FOR_ALL = ("one pass", "single passes")
DENSE = ("dense", "dense always", "dense on the fly")
KINDS = ("english", "code", "chinese")
SUITE = Path(__file__).parents[2] / "assets" / "prompts"

SIBLING_NOISE = 0.1  # relative: a model that is often right and often wrong
LOOK_AHEAD = 32  # tokens: all of a text, for less time than the usual
# Invented, so that the length changes from round to round: they steer the choice and are no result.
STEERING = DraftingCosts(
    verify_ns_by_width={n: 10.0 + 2 * n for n in range(1, 10)}, step_ns_by_width={1: 2.0, 2: 2.5}, rest_ns=1.0
)

Cell = tuple[str, str, int, str]
"""Target, drafter, k, policy, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A target of the matrix: which caches it stands for, and which policies and drafters it does not refuse."""

    caches: str
    make: Callable[[], Target]
    policies: tuple[str, ...] = FOR_ALL
    drafters: tuple[str, ...] = DRAFTERS[:-1]
    kv: KvQuantisation | None = None


def _packed() -> Target:
    target = tiny_target("llama")
    nn.quantize(target.model, group_size=32, bits=8)
    mx.eval(target.model.parameters())
    return target


BUNDLED = partial(load_target, dtype="float32")
SUBJECTS: dict[str, Subject] = {
    "llama": Subject(caches="KV", make=partial(tiny_target, "llama"), policies=(*FOR_ALL, "compiled")),
    "llama in 8 bits": Subject(caches="KV", make=_packed, policies=(*FOR_ALL, *DENSE, "compiled")),
    "gemma3_text": Subject(caches="KV and full rotating windows", make=partial(tiny_target, "gemma3_text")),
    "qwen3_next": Subject(caches="KV and gated delta", make=partial(tiny_target, "qwen3_next")),
    "mamba2": Subject(caches="Mamba", make=partial(tiny_target, "mamba2")),
    "lfm2": Subject(caches="KV and short convolutions", make=partial(tiny_target, "lfm2")),
    "falcon_h1": Subject(caches="CacheList of Mamba and KV", make=partial(tiny_target, "falcon_h1")),
    "llama4": Subject(caches="chunked KV", make=partial(tiny_target, "llama4")),
    "bundled": Subject(caches="KV and gated delta", make=BUNDLED, drafters=DRAFTERS),
    "bundled as stored": Subject(
        caches="KV and gated delta", make=load_target, policies=(*FOR_ALL, *DENSE), drafters=DRAFTERS
    ),
    "bundled, KV in 8 bits": Subject(
        caches="quantised KV and gated delta", make=BUNDLED, drafters=DRAFTERS, kv=KvQuantisation(bits=8)
    ),
}


def cells_of(subjects: dict[str, Subject]) -> Iterator[Cell]:
    """Every cell that no target refuses; a drafter that never drafts has one length."""
    for name, subject in subjects.items():
        for drafter in subject.drafters:
            for policy in subject.policies:
                for k in LENGTHS[:1] if drafter == "none" else LENGTHS:
                    yield name, drafter, k, policy


def prompt_for(target: Target, number: int) -> list[int]:
    """The prompt of that number: of the suite, whole (0…17) or cut to two thirds or one; random ids for a tiny model.

    Random ones hold more positions than a tiny window, and a part that comes twice.
    """
    if target.tokenizer is None:
        drawn = random.Random(number)
        ids = [drawn.randrange(vocabulary(target.name)) for _ in range(drawn.randint(6, 12))]
        return [*ids, drawn.randrange(vocabulary(target.name)), *ids[:4]]
    texts = suite_texts()
    tokens = list(target.tokenizer.encode(texts[number % len(texts)]))
    return tokens[: max(2, len(tokens) * (3 - number // len(texts) % 3) // 3)]


def suite_texts() -> list[str]:
    """The 18 texts of the bundled suite, kinds in turn."""
    by_kind = [
        [json.loads(line)["text"] for line in (SUITE / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()]
        for kind in KINDS
    ]
    return [text for group in zip(*by_kind, strict=True) for text in group]


class Bench:
    """One target with what its cells share: policies, drafters, the prompt's caches and its plain text."""

    def __init__(self, subject: Subject) -> None:
        self.target = subject.make()
        self.rounds: list[Round] = []  # of the latest comparison
        self._kv = subject.kv
        self._keeps_hidden = "mtp" in subject.drafters
        self._policies: dict[str, Policy] = {}
        self._drafters: dict[str, Drafter] = {}
        self._prompt: list[int] = []
        self._marks: dict[str, object] = {}
        self._plain: list[int] = []

    def policy(self, name: str) -> Policy:
        """Made once; raises a SpecviewError where the target refuses it."""
        if name not in self._policies:
            self._policies[name] = verify_policy(name, self.target)
        return self._policies[name]

    def drafter(self, name: str) -> Drafter:
        """Made once; raises a SpecviewError where the target refuses it."""
        if name not in self._drafters:
            self._drafters[name] = self._made(name)
        return self._drafters[name]

    def _made(self, name: str) -> Drafter:
        if name == "same model":
            return DraftModel(self.target)
        if name == "sibling":
            return DraftModel(sibling(self.target))
        if name == "adaptive":
            return adaptive(DraftModel(sibling(self.target)), max(LENGTHS), STEERING)
        if name == "fixed:0.7":
            return FixedAcceptance(self.target, 0.7, ahead=LOOK_AHEAD)
        return choose_drafter(name, self.target)

    def compare(self, drafter: str, k: int, policy: str, prompt: Sequence[int], count: int) -> OutputComparison:
        """`count` tokens after the prompt, with drafts and plainly; a first difference is judged by its margin."""
        self._at(prompt, count)
        chosen = self.drafter(drafter)
        if drafter in self._marks:
            chosen.restore(self._marks[drafter])
        else:
            chosen.begin(prompt, self._hidden)
            self._marks[drafter] = chosen.mark()
        probe = FreeProbe(lambda: 0)
        generation = self._generation(prompt)
        self.rounds = list(speculate(generation, chosen, k, count, probe, policy=self.policy(policy)))
        drafted = [token for played in self.rounds for token in played.tokens][:count]
        if drafted == self._plain:
            return OutputComparison(count, None, None, "equal")
        return compare_outputs(self._generation(prompt), self._plain, drafted)

    def _at(self, prompt: Sequence[int], count: int) -> None:
        if list(prompt) == self._prompt and len(self._plain) == count:
            return
        caches = new_cache(self.target)
        self._hidden = prefill(self.target, prompt[:-1], caches, keep_hidden=self._keeps_hidden)
        self._snapshot = take_snapshot(caches)
        self._prompt, self._marks = list(prompt), {}
        self._plain = [step.token for step in decode(self._generation(prompt), count, lambda: 0)]

    def _generation(self, prompt: Sequence[int]) -> Generation:
        caches = new_cache(self.target)
        restore(caches, self._snapshot)
        if self._kv is not None:
            quantise_caches(caches, self._kv)
        return Generation(self.target, list(prompt), caches)


def sibling(target: Target) -> Target:
    """A copy in full precision with noise on every weight."""
    model = dequantised(copied(target.model))
    mx.random.seed(1)
    for module in model.modules():
        for name, array in list(module.items()):
            if isinstance(array, mx.array) and mx.issubdtype(array.dtype, mx.floating):
                module[name] = array * (1 + SIBLING_NOISE * mx.random.normal(array.shape)).astype(array.dtype)
    mx.eval([array for _, array in named_arrays(model.parameters())])
    return replace(target, name=f"a sibling of {target.name}", model=model)


def refusals(bench: Bench) -> dict[str, str]:
    """The drafters and policies that the target refuses, each with its sentence."""
    sentences = {}
    for names, make in ((DRAFTERS, bench.drafter), (POLICIES, bench.policy)):
        for name in names:
            try:
                make(name)
            except SpecviewError as error:
                sentences[name] = str(error)
    return sentences
