"""Prompts as texts of token ids: encoded, cut to the room that a model leaves, and the tokens that end an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.drafters import Drafter
from ...engine.kv_quantisation import KvQuantisation
from ...engine.models import Target
from ..measure.load import LoadMeter
from ..measure.schedule import segment_tokens
from .plan import Plan, PlanError
from .prompt_beginning import Beginning, rendered
from .prompts import Prompt, tokens_of
from .room import RECORDED_COPIES, can_grow, check_room, longest_text
from .segments import Text

USUAL_LONGEST = 4096  # positions a text may reach where nobody says


@dataclass(frozen=True, slots=True)
class TextMaker:
    """Makes the texts of one recording; `kv` is how its caches keep keys and values."""

    target: Target
    beginning: Beginning | None
    kv: KvQuantisation | None

    def longest(self, plan: Plan) -> int:
        """Positions a text may reach: the plan's context, else 4096, or the model's own limit where that is less."""
        return longest_text(self.target, plan.context, USUAL_LONGEST)

    def texts(self, prompts: Sequence[Prompt], plan: Plan, drafter: Drafter) -> list[Text]:
        """A text for each prompt, with as many tokens ahead of it as the plan asks for.

        Raises a SpecviewError, one sentence, where a prompt or the memory leaves no room for that.
        """
        segment, longest = segment_tokens(plan.k), self.longest(plan)
        generated = -(-plan.tokens // segment) * segment
        room = longest - generated - plan.k - plan.widest
        texts = []
        for number, prompt in enumerate(prompts):
            ids = tokens_of(prompt, self._encoded(prompt.text, plan), room, can_grow(self.target, longest))
            texts.append(Text(number, prompt, ids, len(ids), len(ids) + plan.tokens))
        positions = max((text.prompt_tokens for text in texts), default=0) + longest - room
        available_bytes = LoadMeter().sample().memory_available_bytes
        check_room(self.target, positions, self.kv, available_bytes, drafter, RECORDED_COPIES)
        return texts

    def _encoded(self, text: str, plan: Plan) -> list[int]:
        tokenizer, system = self.target.tokenizer, plan.system
        if self.beginning is not None:
            return self.beginning.tokens(text, plan.chat)
        if plan.chat and getattr(tokenizer, "chat_template", None):
            messages = [{"role": "system", "content": system}] if system else []
            messages.append({"role": "user", "content": text})
            ids: list[int] = rendered(self.target, messages, add_generation_prompt=True, return_dict=False)
            return ids
        return list(tokenizer.encode(f"{system}\n\n{text}" if system else text))


def stop_ids(target: Target, texts: Sequence[str]) -> frozenset[int]:
    """The model's own ends of text, and those of `texts`; raises PlanError for one that is not one token."""
    ids = set(target.eos_ids)
    for text in texts:
        found = target.tokenizer.encode(text, add_special_tokens=False)
        if len(found) != 1:
            raise PlanError(f"--stop {text!r} is {len(found)} tokens of {target.name}: name a text that is one token.")
        ids.update(found)
    return frozenset(ids)
