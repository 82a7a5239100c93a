"""Targets and drafters that the engine benchmark runs: the bundled hybrid, a llama of random weights, SmolLM2.

mlx-lm refuses to draft for the bundled model, whose recurrent cache it cannot trim. The llama stands in: float32, wide
enough that a step is mostly weights, and its weights are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import mlx.core as mx
from mlx.utils import tree_flatten, tree_unflatten
from mlx_lm.models.llama import Model, ModelArgs

from specview.engine.decode import decode, start
from specview.engine.drafters import Drafter
from specview.engine.drafters.adaptive import adaptive
from specview.engine.drafters.choose import choose_drafter
from specview.engine.drafters.model import DraftModel
from specview.engine.models import Target, load_target
from specview.profilers.measure.whole import verify_pass

TEXT = "def merge(a, b):\n    result = []\n    for x in a:\n        result.append(x)\n    return result\n\n"
LONGEST = 1024
LLAMA = {
    "model_type": "llama",
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "intermediate_size": 1024,
    "num_attention_heads": 6,
    "num_key_value_heads": 3,
    "rms_norm_eps": 1e-5,
    "vocab_size": 2048,
    "tie_word_embeddings": True,
    "max_position_embeddings": LONGEST,
}
DRAFT_NOISE = 0.02  # of a weight's spread: as a draft model it agrees often, but not always


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """A target with a prompt, and the draft model that `model` means for it."""

    target: Target
    prompt: list[int]
    draft: Target


def rig(name: str, models: Path | None) -> Rig:
    """The rig of that name: bundled, llama, or SmolLM2 from a folder of models."""
    if name == "llama":
        target = random_llama()
        return Rig(target=target, prompt=[7 * i % 2039 for i in range(32)], draft=_disturbed(target))
    source = "bundled" if name == "bundled" else str((models or Path()) / "smollm2-float32")
    target = load_target(source)
    return Rig(target=target, prompt=list(target.tokenizer.encode(TEXT)), draft=load_target(source))


def random_llama() -> Target:
    """A llama of 6 layers and 384 channels with random float32 weights; it has no tokenizer."""
    mx.random.seed(0)
    model = Model(ModelArgs.from_dict(dict(LLAMA)))
    model.eval()
    mx.eval(model.parameters())
    return Target("llama", "llama", Path(), model, None, dict(LLAMA), random_weights=True)


def _disturbed(target: Target) -> Target:
    """The same model with noise on its weights."""
    mx.random.seed(1)
    model = Model(ModelArgs.from_dict(dict(LLAMA)))
    noisy = [
        (name, weight + DRAFT_NOISE * mx.std(weight) * mx.random.normal(weight.shape))
        for name, weight in tree_flatten(target.model.parameters())
    ]
    model.update(tree_unflatten(noisy))
    model.eval()
    mx.eval(model.parameters())
    return replace(target, name="llama with noise", model=model)


def drafter_of(rig: Rig, wish: str, k: int, clock: Callable[[], int]) -> Drafter:
    """The drafter that a cell names: `model`, or as on the command line; `adaptive:` before it chooses its length."""
    name = wish.removeprefix("adaptive:")
    drafter = DraftModel(rig.draft, LONGEST) if name == "model" else choose_drafter(name, rig.target, longest=LONGEST)
    if name == wish:
        return drafter
    chooser = adaptive(drafter, k)
    generation = start(rig.target, rig.prompt, drafter, LONGEST)
    coming = [step.token for step in decode(generation, k + 2, clock)]
    for width in range(1, k + 2):
        passes = [verify_pass(generation, coming[:width], clock).total_ns for _ in range(3)]
        chooser.learn(verify_ns_by_width={width: fmean(passes)})
    chooser.learn(step_ns_by_width={1: _step_ns(drafter, coming, clock)}, rest_ns=0.0)
    return chooser


def _step_ns(drafter: Drafter, tokens: list[int], clock: Callable[[], int]) -> float:
    """What one drafter step takes, taken back; the faster of two."""
    took = []
    for _ in range(2):
        began = clock()
        mx.eval(drafter.step(tokens[:1]) or [])
        took.append(clock() - began)
        drafter.take_back(1)
    return float(min(took))
