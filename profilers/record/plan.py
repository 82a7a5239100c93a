"""What one recording is to do: model, drafter, k, prompts, budget; checked before anything is loaded."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ...engine.errors import SpecviewError
from ...engine.limits import checked_draft_length

DEFAULT_TOKENS = 64
BLOCKS_DUTY = 0.2
PROBES_DUTY = 0.15
ONE_PASS = "one pass"
COMPILED = "compiled"
RULES = ("greedy", "rejection", "exact")
LARGEST_SEED = 2**63 - 1


class PlanError(SpecviewError):
    """A plan that makes no sense."""


def check_text(flag: str, text: str | None) -> None:
    """Raise PlanError for a text of the command line that was not UTF-8; such bytes come as halves of characters."""
    try:
        (text or "").encode()
    except UnicodeEncodeError as error:
        raise PlanError(f"{flag} is not UTF-8 text: write it in UTF-8.") from error


@dataclass(frozen=True, slots=True)
class Budget:
    """How much to spend: seconds, or rounds of drafting; what comes first."""

    seconds: float | None = None
    rounds: int | None = None


def parsed_budget(text: str) -> Budget:
    """`30s`, `5m`, `1h`, or `400` rounds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h|rounds?|)", text.strip())
    if not match or float(match[1]) <= 0:
        raise PlanError(f"{text!r} is no budget: write 30s, 5m, 1h, or a number of rounds such as 400.")
    amount, unit = float(match[1]), match[2]
    if unit in ("s", "m", "h"):
        return Budget(seconds=amount * {"s": 1, "m": 60, "h": 3600}[unit])
    if amount != int(amount):
        raise PlanError(f"{text!r} is no budget: a number of rounds is whole.")
    return Budget(rounds=int(amount))


@dataclass(frozen=True, slots=True)
class Plan:
    """One recording. `tokens` are for each prompt and pass; `split`, `duty` and `blocks_duty` are shares of time.

    `rule` is greedy, rejection or exact; None is greedy at temperature 0 and rejection sampling above. `policy` is how
    verify passes are made. Keys and values are quantised from position `kv_start` on. `adaptive` lets each round choose
    its k, up to this one. `system` goes before every prompt in the chat template, and `stop` are texts of tokens that
    end an answer besides the model's own. `prompt_cache` is a file that every prompt goes on from.
    """

    model: str = "bundled"
    drafter: str = "mtp"
    k: int = 1
    dtype: str | None = None
    drafter_dtype: str | None = None
    prompts: str = "all"
    limit: int | None = None
    tokens: int = DEFAULT_TOKENS
    budget: Budget = Budget()
    seed: int = 0
    split: float = 0.5
    duty: float = PROBES_DUTY
    blocks_duty: float = BLOCKS_DUTY
    widest: int = 16
    keep_text: bool = True
    keep_prompts: bool = False
    context: int | None = None
    trust_remote_code: bool = False
    chat: bool = True
    rule: str | None = None
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    policy: str = ONE_PASS
    kv_bits: int | None = None
    kv_start: int = 0
    adaptive: bool = False
    mtp_sees_prompt: bool = True
    system: str | None = None
    stop: tuple[str, ...] = ()
    prompt_cache: str | None = None

    def checked(self) -> Plan:
        """This plan, or PlanError with what to change."""
        checked_draft_length(self.k)
        self._check_drawing()
        check_text("--system", self.system)
        for text in self.stop:
            check_text("--stop", text)
        if self.adaptive and self.k < 1:
            raise PlanError("--adaptive chooses a k up to --k, and --k 0 leaves nothing to choose: ask for at least 1.")
        if self.tokens < 1:
            raise PlanError(f"--tokens {self.tokens} leaves nothing to measure: ask for at least 1.")
        if self.limit is not None and self.limit < 1:
            raise PlanError(f"--limit {self.limit} leaves no prompt: ask for at least 1.")
        if self.context is not None and self.context < 1:
            raise PlanError(f"--context {self.context} leaves no room: ask for at least 1, or leave it out.")
        if self.rule not in (None, *RULES):
            raise PlanError(f"There is no acceptance rule {self.rule!r}: choose one of {', '.join(RULES)}.")
        if self.rule in ("rejection", "exact") and self.temperature == 0:
            raise PlanError(f"--rule {self.rule} draws tokens, so it needs a --temperature above 0.")
        if self.rule == "greedy" and self.temperature > 0:
            raise PlanError("--rule greedy draws nothing: leave --temperature out, or choose rejection or exact.")
        if self.kv_start and self.kv_bits is None:
            raise PlanError("--kv-start says from where keys and values are quantised: name --kv-bits too.")
        if self.kv_bits is not None and self.policy == COMPILED:
            raise PlanError("--policy compiled needs keys and values as they are: leave --kv-bits out, or the policy.")
        if self.prompt_cache is not None and self.system:
            raise PlanError("--system comes before the prompt cache: give it to specview cache-prompt instead.")
        if not all(0 <= share <= 1 for share in (self.split, self.duty, self.blocks_duty)):
            raise PlanError("Shares of time lie between 0 and 1.")
        return self

    def _check_drawing(self) -> None:
        """How tokens are drawn; also of greedy text, where it would be said in the session and mean nothing."""
        if not 0 <= self.seed <= LARGEST_SEED:
            raise PlanError(f"--seed {self.seed} is no seed: choose a whole number from 0 to {LARGEST_SEED}.")
        if not 0 <= self.temperature < math.inf:
            raise PlanError(f"--temperature {self.temperature:g} makes no sense: choose 0 for greedy text, or above 0.")
        if not 0 < self.top_p <= 1:
            raise PlanError(f"--top-p {self.top_p:g} makes no sense: choose above 0 and up to 1 (1 keeps all).")
        if self.top_k < 0:
            raise PlanError(f"--top-k {self.top_k} makes no sense: choose 1 or more, or 0 to keep all.")
        if not 0 <= self.min_p <= 1:
            raise PlanError(f"--min-p {self.min_p:g} makes no sense: choose from 0 (keeps all) to 1.")

    def sentence(self) -> str:
        """The plan in one line, for the header; names no path."""
        return (
            f"{self.drafter_name()} k={self.k}, prompts {self.prompts.rsplit('/', 1)[-1]}, {self.tokens} tokens each, "
            f"{self._drawn()}split share {self.split:g}, probe duty {self.duty:g}, block duty {self.blocks_duty:g}, "
            f"seed {self.seed}"
        )

    def _drawn(self) -> str:
        """Sampling, policy and the like, where they are not the usual ones."""
        parts = []
        if self.temperature:
            parts.append(f"{self.rule or 'rejection'} at temperature {self.temperature:g}")
        if self.policy != ONE_PASS:
            parts.append(f"verify in {self.policy}")
        if self.kv_bits:
            since = f" from position {self.kv_start}" if self.kv_start else ""
            parts.append(f"{self.kv_bits}-bit keys and values{since}")
        if self.adaptive:
            parts.append("adaptive k")
        if not self.mtp_sees_prompt:
            parts.append("MTP cache without the prompt")
        if self.prompt_cache is not None:
            parts.append(f"behind the prompt cache {self.prompt_cache.rsplit('/', 1)[-1]}")
        return "".join(f"{part}, " for part in parts)

    def drafter_name(self) -> str:
        """How a session names the drafter."""
        return name_of_drafter(self.drafter)


def name_of_drafter(wish: str) -> str:
    """How a session names a drafter that is asked for: a built-in name, a hub id, or the last part of a path."""
    if re.fullmatch(r"\w[\w.-]*/[\w.-]+", wish):
        return wish
    return wish.rstrip("/").rsplit("/", 1)[-1]
