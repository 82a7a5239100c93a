"""The process behind one setting of an experiment: loads a model once, then times passes as it is asked.

    python -m specview.profilers.measure.experiment_child

One JSON object a line on stdin, one back on stdout: first `{"load": {…}}`, then `{"width": n}`. The end of stdin is
the end. Whatever else prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

from ...engine.errors import SpecviewError

PASSES = 3  # of one width in a row, after one that does not count
WIDEST = 256


class Child:
    """Answers requests; `clock` times the passes."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._generation: Any = None
        self._ids: list[int] = []

    def answer(self, request: Any) -> dict[str, Any]:
        """The answer to one request; raises SpecviewError for one that cannot be met."""
        if isinstance(request, dict) and isinstance(request.get("load"), dict):
            return self._load(**request["load"])
        width = request.get("width") if isinstance(request, dict) else None
        if self._generation is None or not isinstance(width, int) or not 1 <= width <= WIDEST:
            raise SpecviewError("A request names a model to load first, then widths from 1 to 256.")
        return self._time(width)

    def _load(
        self,
        source: str,
        shape: bool,
        dtype: str | None,
        layers: int | None,
        experts: int | None,
        context: int,
        seed: int,
        trust_remote_code: bool,
    ) -> dict[str, Any]:
        import mlx.core as mx

        from ...engine.decode import start
        from ...engine.models import load_target
        from ...engine.shapes import load_shape, random_prompt
        from .blas import blas_in_use

        if shape:
            target = load_shape(source, layers, dtype, seed, experts=experts)
        else:
            target = load_target(source, dtype, trust_remote_code)
        self._ids = random_prompt(target, context + 1, seed)
        self._generation = start(target, self._ids)
        return {"context": context, "active_bytes": mx.get_active_memory(), "detail": blas_in_use().name}

    def _time(self, width: int) -> dict[str, Any]:
        import mlx.core as mx

        from .whole import verify_pass, warm

        tokens = (self._ids * (width // len(self._ids) + 1))[:width]
        mx.reset_peak_memory()
        passes = warm(lambda: verify_pass(self._generation, tokens, self._clock), PASSES)
        return {
            "samples_ns": [p.total_ns for p in passes],
            "peak_bytes": mx.get_peak_memory(),
            "cache_bytes": mx.get_cache_memory(),
        }


def serve(child: Child, requests: Iterable[bytes], out: BinaryIO) -> int:
    """Answer one request after another until there are no more, or one cannot be met; the exit status."""
    for line in requests:
        try:
            answer = child.answer(json.loads(line))
        except SpecviewError as error:
            answer = {"error": str(error)}
        out.write(json.dumps(answer).encode() + b"\n")
        out.flush()
        if "error" in answer:
            return 1
    return 0


def main() -> int:
    """Serve on stdin and stdout, with everything that others print sent to stderr."""
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        return serve(Child(time.perf_counter_ns), sys.stdin.buffer, out)


if __name__ == "__main__":
    raise SystemExit(main())
