"""Which run and segment an event of somebody's own loop belongs to, so that plain and drafting segments are pairs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, cast

from .records import PromptFacts, Run

Arm = Literal["plain", "drafting", "split"]

DROPPED = 2  # events after each switch that are not counted: the first ones run cold
UNNAMED = "unnamed prompt"


class Setting(NamedTuple):
    """What must be alike for rounds to be pooled."""

    drafter: str
    k: int
    rule: str
    temperature: float
    top_p: float


@dataclass(slots=True)
class OpenRun:
    """One arm's run over a text: what it has generated so far, and whether that only repeats what was shown."""

    number: int
    arm: str
    k: int
    replay: bool
    i: int = 0
    tokens: int = 0
    since_switch: int = 0


@dataclass(slots=True)
class _Text:
    """One prompt with one setting; its arms are what a verdict pairs."""

    prompt: PromptFacts
    setting: Setting
    runs: dict[str, OpenRun] = field(default_factory=dict)

    def takes(self, prompt: PromptFacts, arm: str, setting: Setting) -> bool:
        """Whether an arm goes over this text: the same prompt, and among drafting ones the same setting."""
        undecided = all(each == "plain" for each in self.runs)
        return self.prompt.hash == prompt.hash and (arm == "plain" or undecided or setting == self.setting)


class OwnRuns:
    """Numbers the runs of a loop; `current` is the one that events go to, `named` whether it was asked for."""

    def __init__(self, suite: str, setting: Setting, segment_tokens: int) -> None:
        self._suite, self._default, self._segment_tokens = suite, setting, max(1, segment_tokens)
        self.current: OpenRun | None = None
        self.named = False
        self._text: _Text | None = None
        self._segment: int | None = None
        self._count = 0
        self._prompts: dict[str, int] = {}
        self._drafted: set[tuple[str, Setting]] = set()

    @property
    def setting(self) -> Setting:
        """That of the open text, else the loop's own."""
        return self._default if self._text is None else self._text.setting

    @property
    def segment(self) -> int:
        """The segment of the next event: the one that was asked for, else by the tokens so far."""
        if self._segment is not None:
            return self._segment
        return 0 if self.current is None else self.current.tokens // self._segment_tokens

    @property
    def context(self) -> int:
        """Tokens before the next event, the prompt's included."""
        prompt = 0 if self._text is None else self._text.prompt.tokens
        return prompt + (0 if self.current is None else self.current.tokens)

    def begin(
        self, prompt: PromptFacts, arm: Arm, setting: Setting, segment: int | None, seed: int | None, started_ns: int
    ) -> Run | None:
        """Go to a prompt and an arm; returns the run that this opens, None where a numbered segment resumes one."""
        name = "k0" if arm == "drafting" and setting.k == 0 else arm
        text = self._text
        if text is None or not text.takes(prompt, arm, setting) or (name in text.runs and segment is None):
            text = self._text = _Text(prompt, setting)
        elif arm != "plain":
            text.setting = setting
        self._segment, self.named = segment, True
        return self._go_to(text, name, seed, started_ns)

    def fall_into(self, kind: Literal["plain", "drafting"], started_ns: int) -> Run | None:
        """Go to the arm of this kind of event, for loops that never name their runs."""
        if self.current is not None and (self.current.arm == "plain") == (kind == "plain"):
            return None
        if self._text is None:
            self._text = _Text(self.facts(None, "unknown", 0), self._default)
        k0 = kind == "drafting" and self._text.setting.k == 0
        return self._go_to(self._text, "k0" if k0 else kind, None, started_ns)

    def facts(self, prompt: str | None, kind: str, tokens: int) -> PromptFacts:
        """A prompt as a session keeps it: by its hash."""
        text = UNNAMED if prompt is None else prompt
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
        index = self._prompts.setdefault(digest, len(self._prompts))
        return PromptFacts(suite=self._suite, index=index, kind=kind, hash=digest, tokens=tokens)

    def _go_to(self, text: _Text, arm: str, seed: int | None, started_ns: int) -> Run | None:
        if arm in text.runs:
            self.current = text.runs[arm]
            self.current.since_switch = 0
            return None
        setting = text.setting
        # only the first drafting of a text is shown: what its other arms generate is the same again
        mark = (text.prompt.hash, setting)
        replay = arm in ("plain", "split") or (setting.temperature == 0 and mark in self._drafted)
        if arm not in ("plain", "split"):
            self._drafted.add(mark)
        run = OpenRun(self._count, arm, 0 if arm == "plain" else setting.k, replay)
        self.current = text.runs[arm] = run
        self._count += 1
        return Run(
            run=run.number,
            arm=cast("Literal['plain', 'drafting', 'split', 'k0']", arm),
            drafter="none" if arm == "plain" else setting.drafter,
            k=run.k,
            rule=setting.rule,
            temperature=setting.temperature,
            top_p=setting.top_p,
            seed=seed,
            prompt=text.prompt,
            started_ns=started_ns,
        )
