"""Fixed acceptance: a synthetic drafter that is right with a chosen chance, to measure what rounds cost at any p."""

from __future__ import annotations

import random
from collections.abc import Sequence

import mlx.core as mx

from ..cache import Snapshot, cache_bytes, new_cache, restore, take_snapshot
from ..decode import Generation, decode
from ..errors import SpecviewError
from ..kv_quantisation import KvQuantisation
from ..limits import LONGEST_DRAFT
from ..models import Target, logit_count
from ..prompt_cache import read_prompt
from ..sampling import Sampling
from .protocol import Draft, no_tokens

AHEAD = 2 * LONGEST_DRAFT


class FixedError(SpecviewError):
    """A chance that is none, or a text that cannot be foreseen."""


class FixedAcceptance:
    """SYNTHETIC: no drafter of its own, it peeks at the target; each draft is right with chance p, given those before.

    The target runs ahead greedily on a cache of its own, so that the coming
    tokens are known before they are asked for. None of that is in `draft`,
    which looks up what is known: T_draft is that of a drafter that costs
    nothing. It runs in `begin`, `mark` and `restore`, which no round's time
    includes, up to `ahead` tokens beyond the text; only a stretch of more
    than half of that without a mark makes `settle`, and so a round's T_rest,
    pay for a further chunk, and so does a text that leaves the foreseen one
    (a near tie between passes of different widths). `looked_ahead_in_rounds`
    counts these. `kv` is how the text's own keys and values are quantised: kept
    otherwise, the target would soon foresee another text.

    A wrong draft is wrong on purpose: a random id that is not the target's
    token. Which drafts are right depends on `seed` and the place in the text
    alone, so every arm of one text meets the same acceptance, E = 1 + p + … + p^k
    in the mean. On a MoE target random ids may touch other experts than a
    real draft's would.
    """

    kind = "fixed"
    needs_hidden = False
    has_steps = False

    def __init__(self, target: Target, p: float, seed: int = 0, longest: int | None = None, ahead: int = AHEAD) -> None:
        """`longest` is how many positions a text may reach: nothing is foreseen beyond. Raises FixedError."""
        if not 0 <= p <= 1:
            raise FixedError(f"An acceptance of {p:g} makes no sense: choose p from 0 to 1, as in fixed:0.7.")
        self.sampling: Sampling | None = None
        self.kv: KvQuantisation | None = None
        self.p = p
        self.looked_ahead_in_rounds = 0
        self._target = target
        self._seed = seed
        self._longest = longest
        self._ahead = ahead
        self._vocabulary = logit_count(target)
        self._known = Generation(target, [], [])
        self._prompt: tuple[int, ...] = ()
        self._after_prompt: Snapshot | None = None
        self._text: list[int] = []
        # what is known behind this place follows from the text up to it, not from a shorter one
        self._foreseen_from = 0

    def begin(self, tokens: Sequence[int], hidden: mx.array | None) -> None:
        """Read the prompt into the look-ahead's cache and run ahead; raises FixedError for text that is drawn."""
        if self.sampling is not None:
            raise FixedError(
                "A fixed acceptance needs text that can be foreseen, and drawn text cannot: choose temperature 0, or "
                "another draft."
            )
        caches = new_cache(self._target, self._longest)
        read_prompt(self._target, tokens[:-1], caches, kv=self.kv)
        self._prompt, self._after_prompt = tuple(tokens), take_snapshot(caches)
        self._known = Generation(self._target, list(tokens), caches, self.kv)
        self._text = list(tokens)
        self._foreseen_from = len(tokens)
        self._look_ahead()

    def _foreseen(self) -> int:
        return len(self._known.tokens) - len(self._text)

    def _look_ahead(self) -> None:
        """Foresee up to `ahead` tokens beyond the text, or up to the last position it may reach."""
        missing = self._ahead - self._foreseen()
        if self._longest is not None:
            missing = min(missing, self._longest - len(self._known.tokens))
        for _ in decode(self._known, missing, lambda: 0) if missing > 0 else ():
            pass

    def _look_ahead_from_text(self) -> None:
        """The text left the foreseen one: read it anew behind the prompt, and run ahead from its end."""
        assert self._after_prompt is not None
        restore(self._known.cache, self._after_prompt)
        read_prompt(self._target, self._text[len(self._prompt) - 1 : -1], self._known.cache, kv=self.kv)
        self._known = Generation(self._target, list(self._text), self._known.cache, self.kv)
        self._foreseen_from = len(self._text)
        self._look_ahead()

    def _strayed(self, first: int) -> bool:
        """Whether the text, from that place on, is not the foreseen one."""
        known = self._known.tokens
        if len(self._text) > len(known) and not self._at_end():
            return True
        return any(a != b for a, b in zip(self._text[first:], known[first:], strict=False))

    def draft(self, tokens: Sequence[int], k: int) -> Draft:
        """At most k foreseen tokens, each wrong with chance 1 − p; fewer only where the text may end."""
        place = len(self._text)
        coming = self._known.tokens[place : place + k]
        guesses = [self._guess(right, place + i) for i, right in enumerate(coming)]
        return Draft(mx.array(guesses, dtype=mx.int32) if guesses else no_tokens(), 0)

    def _guess(self, right: int, place: int) -> int:
        coin = random.Random(f"{self._seed} {place}")
        if coin.random() < self.p:
            return right
        return (right + 1 + coin.randrange(self._vocabulary - 1)) % self._vocabulary

    def settle(self, tokens: Sequence[int], accepted: int, hidden: mx.array | None) -> None:
        """Take in what was committed; run ahead only where too little is foreseen or the text went elsewhere."""
        first = len(self._text)
        self._text.extend(tokens)
        if self._strayed(first):
            self.looked_ahead_in_rounds += 1
            self._look_ahead_from_text()
        elif 2 * self._foreseen() < self._ahead and not self._at_end():
            self.looked_ahead_in_rounds += 1
            self._look_ahead()

    def _at_end(self) -> bool:
        return self._longest is not None and len(self._known.tokens) >= self._longest

    def step(self, tokens: Sequence[int]) -> mx.array | None:
        """It has no steps."""
        return None

    def take_back(self, width: int) -> None:
        """Nothing was stepped."""

    def mark(self) -> tuple[int, ...]:
        """The text so far; runs ahead."""
        self._look_ahead()
        return tuple(self._text)

    def restore(self, mark: tuple[int, ...]) -> None:
        """Back to that text; what was foreseen stays foreseen."""
        self._text = list(mark)
        if len(self._text) < self._foreseen_from or self._strayed(0):
            self._look_ahead_from_text()
        else:
            self._look_ahead()

    def weight_bytes(self) -> int:
        """None: a drafter of this acceptance would have some, and this one cannot know them."""
        return 0

    def cache_bytes(self) -> int:
        """Bytes of the look-ahead's cache, which no real drafter has."""
        return cache_bytes(self._known.cache) if self._known.cache else 0
