"""Stands between a model and its modules while a pass runs, and leaves no trace afterwards.

A module is called through its class, so each chosen module is lent a subclass of its own class for as long as the
context lasts. Nothing is added to the module and nothing about the arrays changes: what a handler lets through is
bit-identical to the plain pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mlx.nn as nn

METHODS = ("__call__", "as_linear")  # as_linear: a tied embedding at work as output head


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a module on its way: `proceed(*args, **kwargs)` is what the module itself would do."""

    module: nn.Module | None
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    proceed: Callable[..., Any]

    def run(self) -> Any:
        """Let the call through."""
        return self.proceed(*self.args, **self.kwargs)


Handler = Callable[[Call], Any]


@contextmanager
def intercepted(modules: Iterable[nn.Module], handle: Handler) -> Iterator[None]:
    """While it lasts, every call of the modules (and `as_linear` of embeddings) goes through `handle`.

    What `handle` returns is what the caller gets. Contexts may be nested; classes are given back on errors too.
    """
    lent_by_kind: dict[type, type] = {}
    kind_by_module: list[tuple[nn.Module, type]] = []
    try:
        for module in {id(m): m for m in modules}.values():
            kind = type(module)
            if kind not in lent_by_kind:
                lent_by_kind[kind] = _lent(kind, handle)
            module.__class__ = lent_by_kind[kind]
            kind_by_module.append((module, kind))
        yield
    finally:
        for module, kind in kind_by_module:
            module.__class__ = kind


def _lent(kind: type, handle: Handler) -> type:
    """A subclass of `kind`, named like it, whose calls go through `handle`."""

    def through(method: str) -> Callable[..., Any]:
        own = getattr(kind, method)

        def call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            return handle(Call(self, method, args, kwargs, own.__get__(self)))

        return call

    return type(kind.__name__, (kind,), {m: through(m) for m in METHODS if hasattr(kind, m)})
