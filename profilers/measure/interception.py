"""Stands between a model and its modules while a pass runs, and leaves no trace afterwards.

A module is called through its class, so each chosen module is lent a subclass of its own class for as long as the
context lasts. Nothing is added to the module and nothing about the arrays changes: what a handler lets through is
bit-identical to the plain pass.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mlx.nn as nn


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
Reader = Callable[[Any], None]


@contextmanager
def intercepted(modules: Iterable[nn.Module], handle: Handler, read: Reader | None = None) -> Iterator[None]:
    """While it lasts, every call of the modules, and of their public methods, goes through `handle`.

    What `handle` returns is what the caller gets. `read` is told every value that is taken out of a module (weights,
    modules within). Contexts may be nested; classes are given back on errors too.
    """
    lent_by_kind: dict[type, type] = {}
    kind_by_module: list[tuple[nn.Module, type]] = []
    try:
        for module in {id(m): m for m in modules}.values():
            kind = type(module)
            if kind not in lent_by_kind:
                lent_by_kind[kind] = _lent(kind, handle, read)
            module.__class__ = lent_by_kind[kind]
            kind_by_module.append((module, kind))
        yield
    finally:
        for module, kind in reversed(kind_by_module):
            module.__class__ = kind


def methods_of(kind: type) -> list[str]:
    """The call and the public methods of a module's class, those of `nn.Module` left out.

    A model may use a module by another method than its call: a tied embedding `as_linear`, attention in two halves.
    """
    own = [base for base in kind.__mro__ if base not in nn.Module.__mro__]
    functions = {n for base in own for n, value in vars(base).items() if inspect.isfunction(value)}
    return sorted(n for n in functions if n == "__call__" or not n.startswith("_"))


def _lent(kind: type, handle: Handler, read: Reader | None) -> type:
    """A subclass of `kind`, named like it, whose calls go through `handle`."""

    def through(method: str) -> Callable[..., Any]:
        own = getattr(kind, method)

        def call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            return handle(Call(self, method, args, kwargs, own.__get__(self)))

        return call

    members: dict[str, Any] = {m: through(m) for m in methods_of(kind)}
    return type(kind.__name__, (kind,), members if read is None else {**members, **_reading(read)})


def _reading(read: Reader) -> dict[str, Any]:
    """The ways a value is taken out of a module, which is a dict; attributes come through `get`."""

    def get(self: Any, key: str, default: Any = None) -> Any:
        value = dict.get(self, key, default)
        read(value)
        return value

    def item(self: Any, key: str) -> Any:
        value = dict.__getitem__(self, key)
        read(value)
        return value

    return {"get": get, "__getitem__": item}
