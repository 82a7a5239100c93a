"""Where the modules of a model lie: their paths, and the layer that each belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import mlx.nn as nn
from mlx_lm.models.switch_layers import QuantizedSwitchLinear, SwitchLinear

from .categories import listed_experts

_IN_LIST = re.compile(r"^(.*?)\.?(\d+)$")


class Layers:
    """The layers of a model and the paths of all its modules.

    Layers are what the model calls so, and where it does not, its longest list of modules. A list beside them that is
    as long as the list of layers counts with them.
    """

    def __init__(self, model: nn.Module) -> None:
        self._paths: dict[int, list[str]] = {}
        self._module_by_path: dict[str, nn.Module] = {}
        for path, module in model.named_modules():
            self._paths.setdefault(id(module), []).append(path)
            self._module_by_path[path] = module
        self._layers = [layer for layer in self._listed(model) if isinstance(layer, nn.Module)]
        self._ids = {id(layer) for layer in self._layers}
        self._number_by_path = {p: i for i, layer in enumerate(self._layers) for p in self._paths.get(id(layer), ())}
        count = len(self._layers)
        for path, members in self._lists().items():
            if (
                len(members) == count
                and self.of(path, None) is None
                and not any(f"{path}.{i}" in self._number_by_path for i in range(count))
            ):
                self._number_by_path.update({f"{path}.{i}": i for i in range(count)})
        self._experts = {
            i
            for i, layer in enumerate(self._layers)
            if any(isinstance(m, SwitchLinear | QuantizedSwitchLinear) or listed_experts(m) for m in layer.modules())
        }

    def _listed(self, model: nn.Module) -> list[Any]:
        try:
            listed = list(model.layers)
        except (AttributeError, TypeError):
            listed = []
        longest = max(self._lists().values(), key=lambda held: (len(held), _modules_in(held)), default=[])
        return listed or longest

    def _lists(self) -> dict[str, list[nn.Module]]:
        lists: dict[str, dict[int, nn.Module]] = {}
        for path, module in self._module_by_path.items():
            match = _IN_LIST.match(path)
            if match:
                lists.setdefault(match[1], {})[int(match[2])] = module
        return {path: [held[i] for i in sorted(held)] for path, held in lists.items()}

    def holds(self, module: nn.Module) -> bool:
        """Whether a module is a layer or has layers in it."""
        return any(id(m) in self._ids for m in module.modules())

    def module(self, layer: int | None) -> nn.Module | None:
        """The layer of that number."""
        return None if layer is None else self._layers[layer]

    def has_experts(self, layer: int | None) -> bool:
        """Whether a layer has routed experts somewhere."""
        return layer in self._experts

    def path(self, module: nn.Module, layer: int | None) -> str:
        """The path of a module; of one that several layers share, the one in `layer`."""
        paths = self._paths.get(id(module), [""])
        return next((p for p in paths if layer is not None and self.of(p, None) == layer), paths[0])

    def of(self, path: str, otherwise: int | None) -> int | None:
        """The number of the layer that a path lies in."""
        found = next((self._number_by_path[p] for p in _upwards(path) if p in self._number_by_path), None)
        return otherwise if found is None else found

    def place(self, path: str, layer: int | None) -> str:
        """The path with the number of its layer left open."""
        for above in _upwards(path):
            if layer is not None and self._number_by_path.get(above) == layer:
                return f"{above.rpartition('.')[0]}.*{path[len(above) :]}"
        return path

    def around(self, path: str) -> list[nn.Module]:
        """The modules that hold the module at a path, up to but without its layer, innermost first."""
        above = _upwards(path.rpartition(".")[0])
        held: list[nn.Module] = []
        for p in above:
            if not p or p in self._number_by_path:
                break
            if p in self._module_by_path:
                held.append(self._module_by_path[p])
        return held


def _modules_in(held: list[nn.Module]) -> int:
    return sum(len(module.modules()) for module in held)


def _upwards(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition(".")[0]
