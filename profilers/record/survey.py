"""The survey: measures what passes over a model cost, part by part, into a session file."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import mlx.core as mx

from ...engine.cache import cache_bytes
from ...engine.device_memory import wired
from ...engine.drafters import Drafter
from ...engine.drafters.choose import choose_drafter
from ...engine.errors import SpecviewError
from ...engine.language_config import most_positions
from ...engine.models import Target, first_line, load_target
from ...engine.shapes import load_shape
from ...engine.trees import nbytes
from ..measure.environment import environment
from ..measure.load import LoadMeter
from . import records
from .facts import environment_record, model_facts
from .privacy import without_paths
from .steering import Steering
from .store import SessionStore
from .survey_batch import DECODED, longest_text
from .survey_parts import MEASURES, REPLAY_WIDTHS, Bench
from .survey_plan import Progress, SurveyError, SurveyPlan

Clock = Callable[[], int]


class Stopped(SpecviewError):
    """Somebody asked the survey to end; the text says who."""


class _Stoppable:
    """Hands progress on, and ends the survey between two timings when it is asked to stop."""

    def __init__(self, progress: Progress, steering: Steering) -> None:
        self._progress, self._steering = progress, steering

    def _obey(self) -> None:
        while (command := self._steering.poll()) is not None:
            if command.action == "stop":
                raise Stopped(command.reason or "asked to stop")

    def loading(self, what: str) -> None:
        self._obey()
        self._progress.loading(what)

    def measuring(self, what: str, done: int, total: int) -> None:
        self._obey()
        self._progress.measuring(what, done, total)


class Survey:
    """Measures one plan. Loading happens in the constructor, so that its errors come before a file exists.

    `folder` keeps this machine's calibration. A stop from `steering` ends it after the timing in flight.
    """

    def __init__(
        self,
        plan: SurveyPlan,
        progress: Progress,
        folder: Path,
        steering: Steering,
        clock: Clock = time.perf_counter_ns,
    ) -> None:
        self.plan = plan.checked()
        self._progress, self._folder, self._steering, self._clock = progress, folder, steering, clock
        progress.loading(f"shape {plan.shape}" if plan.shape else f"model {plan.model.rstrip('/').rsplit('/', 1)[-1]}")
        self.target = self._loaded()
        self._check_room()
        self.drafter = self._chosen_drafter()

    def _loaded(self) -> Target:
        plan = self.plan
        if plan.shape is None:
            return load_target(plan.model, plan.dtype, plan.trust_remote_code)
        free = LoadMeter().sample().memory_available_bytes
        held = sum(context + self._beyond for context in plan.contexts)
        return load_shape(plan.shape, plan.layers, plan.dtype, plan.seed, free, plan.experts, held)

    def _chosen_drafter(self) -> Drafter | None:
        plan = self.plan
        if plan.draft is None or "batched" not in plan.parts:
            return None
        return choose_drafter(
            plan.draft, self.target, plan.dtype, plan.draft_dtype, plan.trust_remote_code, seed=plan.seed
        )

    @property
    def _beyond(self) -> int:
        """How many positions the widest pass, or the longest text, adds to a context."""
        replayed: tuple[int, ...] = REPLAY_WIDTHS if "replays" in self.plan.parts else ()
        decoded: tuple[int, ...] = (DECODED,) if "batch" in self.plan.parts else ()
        drafting = self.plan.draft is not None and "batched" in self.plan.parts
        written: tuple[int, ...] = (longest_text(self.plan.k, self.plan.tokens),) if drafting else ()
        return max((*self.plan.every_width, *replayed, *decoded, *written))

    def _check_room(self) -> None:
        """Refuse positions that the model was not made for."""
        own = most_positions(self.target.config)
        needed = max(self.plan.contexts) + self._beyond
        if own is not None and needed > own:
            raise SurveyError(
                f"{self.target.name} takes {own} positions and this survey asks for {needed}, context and the widest "
                f"pass ({self._beyond}) together: choose a smaller --context, smaller --widths or fewer --tokens."
            )

    def record(self, store: SessionStore) -> records.Footer:
        """Measure every part of the plan; the footer is written in every case but a crash."""
        began_ns = self._clock()

        def now() -> int:
            return self._clock() - began_ns

        try:
            store.append(self._header())
            bench = Bench(
                plan=self.plan,
                target=self.target,
                progress=_Stoppable(self._progress, self._steering),
                clock=self._clock,
                now=now,
                random_source=random.Random(self.plan.seed),
                nap=self._steering.nap,
                folder=self._folder,
                drafter=self.drafter,
            )
            with wired():
                for part in self.plan.parts:
                    for record in MEASURES[part](bench):
                        store.append(record)
                    store.append(self._memory(bench, now()))
                    store.sync()
        except Stopped as stop:
            return _close(store, "stopped", str(stop), now())
        except BaseException as error:
            with suppress(SpecviewError):  # the first error is the one to tell
                _close(store, "failed", without_paths(str(error)) or type(error).__name__, now())
            if isinstance(error, Exception) and not isinstance(error, SpecviewError):  # MLX and model files raise all
                raise SurveyError(
                    f"The survey broke off ({first_line(error)}): everything up to there is saved."
                ) from error
            raise
        return _close(store, "finished", None, now())

    def _header(self) -> records.Header:
        from ... import __version__

        return records.Header(
            specview=__version__,
            plan=self.plan.sentence(),
            environment=environment_record(environment()),
            model=model_facts(self.target),
            started_unix_ns=time.time_ns(),
            text_kept=False,
            prompts_kept=False,
        )

    def _memory(self, bench: Bench, t_ns: int) -> records.Memory:
        return records.Memory(
            t_ns=t_ns,
            active_bytes=int(mx.get_active_memory()),
            peak_bytes=int(mx.get_peak_memory()),
            cache_bytes=sum(cache_bytes(stand.generation.cache) for stand in bench.stands),
            target_bytes=nbytes(self.target.model.parameters()),
        )


def _close(
    store: SessionStore, status: Literal["finished", "stopped", "failed"], reason: str | None, t_ns: int
) -> records.Footer:
    counts = store.counts
    footer = records.Footer(
        status=status, reason=reason, rounds=counts.rounds, steps=counts.steps, tokens=counts.tokens, t_ns=t_ns
    )
    store.finish(footer)
    return footer
