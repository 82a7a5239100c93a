"""A prompt cache as the beginning of every prompt: what is in it, what may follow it, and how one is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...engine.cache import new_cache
from ...engine.drafters import Drafter
from ...engine.kv_quantisation import KvQuantisation, check_quantisable
from ...engine.language_config import most_positions
from ...engine.models import Target, first_line, load_target
from ...engine.paths import local_path
from ...engine.prompt_cache import CachedPrompt, PromptCacheError, caches_of, check_new, open_prompt, read_prompt
from ...engine.prompt_cache import save_prompt as save
from ...engine.prompt_hidden import followed_by, wants_hidden
from .plan import PlanError, check_text
from .room import check_room

QUERY = "<query>"  # what mlx-lm puts into the chat template to find where a user's words begin
UNKNOWN = 0  # stands in a text for every token that the file does not name


@dataclass(frozen=True, slots=True)
class Beginning:
    """A prompt cache that fits a target, and how prompts go on behind it."""

    cached: CachedPrompt
    target: Target

    @property
    def positions(self) -> int:
        """How many positions every prompt begins with."""
        return self.cached.positions

    def tokens(self, text: str, chat: bool) -> list[int]:
        """The ids of a whole prompt: those of the file, then the text, closed as the chat template has it.

        Tokens that the file does not name stand as `UNKNOWN`. Raises PlanError where the file is wrapped in a chat
        template and the prompt is not, or the other way round, and for a text without tokens.
        """
        wrapped = chat and has_template(self.target)
        if self.cached.chat is not None and self.cached.chat != wrapped:
            made, advice = ("with", "leave --no-chat out") if self.cached.chat else ("without", "add --no-chat")
            raise PlanError(
                f"{self.cached.path.name} was made {made} the chat template: {advice}, or make a cache anew."
            )
        behind = _tokens_behind(self.target, text, wrapped)
        if not behind:
            raise PlanError(f"A prompt has no tokens behind {self.cached.path.name}: write some text into it.")
        return [*(self.cached.tokens or (UNKNOWN,) * self.positions), *behind]

    def caches(self, longest: int) -> list[Any]:
        """New caches that have seen the file's positions, evaluated."""
        return caches_of(self.cached, self.target, longest)

    def first_known(self, drafter: Drafter) -> int:
        """From which position on a drafter can be shown a text: not every file has its tokens and hidden states."""
        known = self.cached.tokens is not None and (not drafter.needs_hidden or self.cached.hidden is not None)
        return 0 if known else self.positions

    def hidden(self, drafter: Drafter, behind: Any) -> Any:
        """The hidden states [1, n, D] of a text from `first_known` on; `behind` are those behind the file, or None."""
        if not drafter.needs_hidden or self.first_known(drafter):
            return behind
        return followed_by(self.cached.hidden, behind)

    def sentence(self, drafter: Drafter) -> str:
        """What a session says of it."""
        unseen = f"; the draft ({drafter.kind}) sees only what follows" if self.first_known(drafter) else ""
        return (
            f"Every prompt begins with the {self.positions:,} positions of the prompt cache {self.cached.path.name}, "
            f"which were not read again{unseen}."
        )


def open_beginning(wish: str, target: Target) -> Beginning:
    """The prompt cache of that path for a target; raises PromptCacheError, one sentence, where it does not fit."""
    return Beginning(open_prompt(local_path(wish), target), target)


def has_template(target: Target) -> bool:
    """Whether the model's tokenizer has a chat template."""
    return bool(getattr(target.tokenizer, "chat_template", None))


def _tokens_behind(target: Target, text: str, wrapped: bool) -> list[int]:
    """The ids of a text that goes on where a cached prompt ends, as `mlx_lm.generate` makes them."""
    tokenizer = target.tokenizer
    if wrapped:
        whole, asked = (
            rendered(target, [_turn("user", words)], tokenize=False, add_generation_prompt=True)
            for words in (text, QUERY)
        )
        if QUERY not in asked:
            raise PromptCacheError(f"The chat template of {target.name} hides where a prompt begins: add --no-chat.")
        text = whole[asked.index(QUERY) :]
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return ids


def rendered(target: Target, messages: list[dict[str, str]], **wishes: bool) -> Any:
    """Messages as the model's chat template has them; raises PromptCacheError where the template refuses them."""
    try:
        return target.tokenizer.apply_chat_template(messages, **wishes)
    except Exception as error:  # a template is a program and may raise anything
        raise PromptCacheError(
            f"The chat template of {target.name} does not take this ({first_line(error)}): leave --system out, or add "
            "--no-chat."
        ) from error


def _turn(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def beginning_tokens(target: Target, text: str, system: str | None, chat: bool) -> list[int]:
    """The ids of a text that other prompts will go on from: a user's turn that is still open, or the bare text."""
    tokenizer = target.tokenizer
    if chat and has_template(target):
        messages = [*([_turn("system", system)] if system else []), _turn("user", text)]
        ids: list[int] = rendered(
            target, messages, add_generation_prompt=False, continue_final_message=True, return_dict=False
        )
        return ids
    return list(tokenizer.encode(f"{system}\n\n{text}" if system else text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A prompt cache to make: of which model, of what text, and how its keys and values are kept."""

    model: str
    text: str
    dtype: str | None = None
    kv_bits: int | None = None
    system: str | None = None
    chat: bool = True
    trust_remote_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A prompt cache that was written."""

    model: str
    positions: int
    file_bytes: int


def make_prompt_cache_file(
    wish: Wish,
    out: Path,
    loading: Callable[[str], None],
    reading: Callable[[int, int], None],
    available_bytes: int | None,
) -> Made:
    """Read a text into the caches of a model and write them, in the format of `mlx_lm.cache_prompt`.

    `loading` hears what is loaded, `reading` how many positions of how many were read. Raises a SpecviewError, before
    anything is read, for a name that is taken, a model that cannot be had, and a text that needs more memory than
    `available_bytes` or is longer than the model reads.
    """
    check_text("--system", wish.system)
    check_new(out)
    kv = None if wish.kv_bits is None else KvQuantisation(bits=wish.kv_bits)
    loading(f"model {wish.model.rstrip('/').rsplit('/', 1)[-1]}")
    target = load_target(wish.model, wish.dtype, wish.trust_remote_code)
    if kv is not None:
        check_quantisable(target, kv)
    tokens = beginning_tokens(target, wish.text, wish.system, wish.chat)
    own = most_positions(target.config)
    if own is not None and len(tokens) >= own:
        raise PromptCacheError(
            f"The prompt has {len(tokens):,} tokens and {target.name} reads at most {own:,}: give a shorter prompt."
        )
    check_room(target, len(tokens), kv, available_bytes)

    def going(read: int, total: int) -> bool:
        reading(read, total)
        return True

    caches = new_cache(target)
    done = read_prompt(target, tokens, caches, keep_hidden=wants_hidden(target), going=going, kv=kv)
    save(out, target, tokens, caches, wish.chat and has_template(target), done.hidden)
    return Made(model=target.name, positions=len(tokens), file_bytes=out.stat().st_size)
