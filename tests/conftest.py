"""Fixtures shared by all tests: the bundled model in float32, texts, a fake clock."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

MODELS = os.environ.get("SPECVIEW_MODELS")


@pytest.fixture(autouse=True)
def no_kept_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes what the person at this machine left as it was."""
    monkeypatch.setenv("SPECVIEW_STATE", str(tmp_path_factory.getbasetemp() / "state" / "kept.json"))


@pytest.fixture(scope="session")
def bundled():
    """The bundled model, dequantised to float32."""
    from specview.engine.models import load_target

    return load_target(dtype="float32")


@pytest.fixture(scope="session")
def stored():
    """The bundled model as stored, 8-bit."""
    from specview.engine.models import load_target

    return load_target()


@pytest.fixture
def fake_clock() -> Callable[[], int]:
    """Every call is one microsecond later."""
    ticks = itertools.count(0, 1000)
    return lambda: next(ticks)


@pytest.fixture
def real_models() -> Path:
    """The folder with real models, for tests marked real_model."""
    if not MODELS:
        pytest.skip("set SPECVIEW_MODELS to a folder made by get_models.sh")
    return Path(MODELS)


class SessionBuilder:
    """Builds the records of a session whose numbers are known; times in ms."""

    def __init__(self) -> None:
        from specview.profilers.record import records

        self._records = records
        model = records.ModelFacts(
            id="org/model",
            architecture="llama",
            layers=(("full attention", 2),),
            dtype="float32",
            weight_bytes=4_000_000,
            vocabulary=100,
            tokenizer_hash="77aa",
        )
        machine = records.Environment(chip="chip", device="cpu", blas="some BLAS")
        self.made = [
            records.Header(
                specview="0.1.0",
                plan="a plan",
                environment=machine,
                model=model,
                drafter=records.DrafterFacts(kind="mtp", k=2),
                started_unix_ns=1,
                text_kept=False,
                prompts_kept=False,
            )
        ]
        self._runs = 0
        self._t_ns = 0

    def _now(self) -> int:
        self._t_ns += 1_000_000
        return self._t_ns

    def open_run(self, arm, drafter="mtp", k=2, prompt="p0", kind="english"):
        """Open a run and return its number."""
        number, self._runs = self._runs, self._runs + 1
        self.made.append(
            self._records.Run(
                run=number,
                arm=arm,
                drafter="none" if arm == "plain" else drafter,
                k=0 if arm == "plain" else k,
                rule="greedy match",
                temperature=0.0,
                top_p=1.0,
                seed=0,
                prompt=self._records.PromptFacts(suite="suite", index=0, kind=kind, hash=prompt, tokens=9),
                started_ns=self._now(),
            )
        )
        return number

    def step(self, run, i, segment, ms, warm_up=False, context=None, pipelined=True):
        """One plain step."""
        self.made.append(
            self._records.Step(
                run=run,
                i=i,
                segment=segment,
                t_ns=self._now(),
                context=10 + i if context is None else context,
                tokens=1,
                step_ns=round(ms * 1e6),
                pipelined=pipelined,
                warm_up=warm_up,
            )
        )

    def round(self, run, i, segment, ms, drafted, accepted, split=None, catch_up=1, warm_up=False, replay=False):
        """One round; `split` is (draft, verify, rest, rewind) in ms."""
        phases = {}
        if split is not None:
            names = ("draft_ns", "verify_ns", "rest_ns", "rewind_ns")
            phases = {name: round(part * 1e6) for name, part in zip(names, split, strict=True)}
        self.made.append(
            self._records.Round(
                run=run,
                i=i,
                segment=segment,
                t_ns=self._now(),
                context=10 + i,
                drafted=drafted,
                accepted=accepted,
                width=drafted + 1,
                tokens=accepted + 1,
                round_ns=round(ms * 1e6),
                catch_up_width=catch_up,
                warm_up=warm_up,
                replay=replay,
                **phases,
            )
        )

    def probe(self, part, width, ms, run=None):
        """One whole-graph probe."""
        ns = round(ms * 1e6)
        self.made.append(
            self._records.Probe(
                t_ns=self._now(),
                ruler="whole",
                part=part,
                width=width,
                context=10,
                samples_ns=(ns,),
                pipelined=False,
                run=run,
            )
        )

    def memory(self):
        """What the recorder writes when a segment is whole."""
        self.made.append(self._records.Memory(t_ns=self._now(), active_bytes=1, peak_bytes=1, cache_bytes=1))

    def cooled(self, seconds):
        """A pause for the machine to cool."""
        self.made.append(self._records.Guard(t_ns=self._now(), code="cooling", message="Paused.", value=seconds))

    def canary(self, value_ns):
        """One reading of the canary."""
        self.made.append(self._records.Calibration(what="canary", value=float(value_ns), unit="ns", t_ns=self._now()))

    def visit(
        self,
        prompt="p0",
        kind="english",
        segments=2,
        step_ms=10.0,
        round_ms=25.0,
        accepted=(2, 1, 0, 1),
        split=(6.0, 14.0, 5.0, 1.0),
        k=2,
        drafter="mtp",
        closed=False,
    ):
        """A prompt's segments: 8 steps, 8 rounds and 8 split rounds each, and two dropped ones that say nonsense.

        `closed` segments end with a memory record.
        """
        plain, drafting = self.open_run("plain", prompt=prompt, kind=kind), None
        drafting = self.open_run("drafting", drafter, k, prompt, kind)
        splitting = self.open_run("split", drafter, k, prompt, kind) if split else None
        for segment in range(segments):
            at = segment * 10
            for n in range(10):
                dropped = n < 2
                kept = accepted[n % len(accepted)]
                self.step(plain, at + n, segment, 999.0 if dropped else step_ms, dropped)
                self.round(drafting, at + n, segment, 999.0 if dropped else round_ms, k, kept, warm_up=dropped)
                if splitting is not None:
                    self.round(splitting, at + n, segment, sum(split[:3]), k, kept, split, warm_up=dropped)
            if closed:
                self.memory()
        return plain, drafting, splitting

    def compared(self, run, judged="equal", margin=None, tokens=32):
        """One comparison with plain greedy."""
        at = None if judged == "equal" else 3
        self.made.append(
            self._records.Comparison(
                t_ns=self._now(),
                run=run,
                prompt_index=0,
                tokens_compared=tokens,
                first_difference=at,
                margin=margin,
                judged=judged,
            )
        )

    def note(self, text):
        """A note."""
        self.made.append(self._records.Note(t_ns=self._now(), text=text))

    def finished(self, status="finished", reason=None):
        """The footer, then the session."""
        self.made.append(
            self._records.Footer(status=status, reason=reason, rounds=0, steps=0, tokens=0, t_ns=self._now())
        )
        return self.session()

    def session(self):
        """The session as it is, perhaps without a footer."""
        from specview.profilers.record.session import session_of

        return session_of(self.made)


@pytest.fixture
def build() -> SessionBuilder:
    """A session under construction."""
    return SessionBuilder()
