"""What a session was: model, drafter, machine, libraries, when and how it ended, as pairs of a name and a value."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ...profilers.record.records import ModelFacts
from ...profilers.record.session import Session
from .. import figures
from .document import one_line

UNKNOWN = "unknown"


def session_facts(session: Session, name: str) -> tuple[tuple[str, str], ...]:
    """Everything the header says, and how much was recorded; what is not known is left out."""
    header, environment = session.header, session.header.environment
    memory = "" if environment.memory_bytes is None else figures.size(environment.memory_bytes)
    pairs = [
        ("session", name),
        ("recorded", _moment(header.started_unix_ns)),
        ("plan", header.plan),
        ("figures of", header.source or ""),
        ("model", _model(header.model)),
        ("drafter", _drafter(session)),
        ("acceptance rules", ", ".join(dict.fromkeys(_rule(r.rule, r.temperature) for r in session.runs if r.k))),
        ("chip", environment.chip or ""),
        ("device", environment.device or ""),
        ("BLAS", environment.blas or ""),
        ("memory", memory),
        ("power", environment.power or ""),
        ("system", environment.os or ""),
        ("Python", environment.python or ""),
        ("MLX", environment.mlx or ""),
        ("mlx-lm", environment.mlx_lm or ""),
        ("specview", header.specview),
        ("recorded events", _events(session)),
        ("ended", session.status if session.footer is None or not session.footer.reason else _ended(session)),
    ]
    return tuple((key, one_line(value)) for key, value in pairs if value and value != UNKNOWN)


def _moment(unix_ns: int) -> str:
    if not 0 < unix_ns < 32_503_680_000 * 10**9:  # the year 3000
        return ""
    return datetime.fromtimestamp(unix_ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _model(model: ModelFacts) -> str:
    parts = [model.id, model.architecture, model.quantisation or model.dtype]
    parts += [f"{count} × {kind}" for kind, count in model.layers]
    parts.append(figures.size(model.weight_bytes) if model.weight_bytes else "")
    parts.append("random weights" if model.random_weights else "")
    return _joined(parts)


def _drafter(session: Session) -> str:
    drafter = session.header.drafter
    if drafter is None:
        return ""
    model = "" if drafter.model is None else drafter.model.id
    return _joined([drafter.kind, model, "" if drafter.k is None else f"k = {drafter.k}", drafter.detail or ""])


def _rule(rule: str, temperature: float) -> str:
    return f"{rule} at temperature {temperature:g}" if temperature else rule


def _joined(parts: Sequence[str]) -> str:
    return ", ".join(part for part in parts if part and part != UNKNOWN)


def _events(session: Session) -> str:
    counted = (
        (len(session.rounds), "round"),
        (len(session.steps), "plain step"),
        (len(session.probes) + len(session.batch_probes), "probe"),
        (len(session.counters), "window"),
    )
    return ", ".join(figures.count(number, noun) for number, noun in counted if number)


def _ended(session: Session) -> str:
    assert session.footer is not None
    return f"{session.status}: {session.footer.reason}"
