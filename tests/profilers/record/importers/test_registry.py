"""Every importer module is registered, under a name of its own."""

from __future__ import annotations

import ast
from pathlib import Path

from specview.profilers.record.importers import registry


def test_every_module_with_importers_is_registered() -> None:
    folder = Path(registry.__file__).parent
    having = {
        path.stem
        for path in folder.glob("*.py")
        if path.stem != "registry"
        and any(
            isinstance(target, ast.Name) and target.id == "IMPORTERS"
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            for target in (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AnnAssign)
                else []
            )
        )
    }
    listed = {
        alias.name
        for node in ast.parse(Path(registry.__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module is None
        for alias in node.names
    }
    assert listed == having


def test_kinds_are_words_and_no_two_are_alike() -> None:
    assert len(registry.IMPORTER_BY_KIND) == len(registry.IMPORTERS)
    assert all(" " not in kind and kind == kind.casefold() for kind in registry.IMPORTER_BY_KIND)
