"""House rules that a linter does not know."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {".venv", "build", "dist", "sessions"}
MODULES = sorted(p for p in ROOT.rglob("*.py") if not OUTSIDE & set(p.relative_to(ROOT).parts))
HOUSE = ("app", "layouts", "profilers", "engine")
HOUSE_MODULES = [p for p in MODULES if p.relative_to(ROOT).parts[0] in HOUSE]
RE_EXPORTS = {"engine/drafters/__init__.py"}


def named(path):
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def trees():
    return {path: ast.parse(path.read_text(encoding="utf8")) for path in MODULES}


def test_no_file_is_a_drawer_for_odds_and_ends():
    drawers = re.compile(r"(^|_)(util|utils|helper|helpers|common|manager|managers|misc)($|_)")
    assert [named(p) for p in MODULES if drawers.search(p.stem) or drawers.search(p.parent.name)] == []


def test_every_module_says_what_it_is(trees):
    assert [named(p) for p, tree in trees.items() if not ast.get_docstring(tree)] == []


def test_a_docstrings_first_line_is_a_sentence(trees):
    first = {p: (ast.get_docstring(tree) or "").splitlines()[0] for p, tree in trees.items()}
    assert [named(p) for p, line in first.items() if not line.endswith((".", ":", "?")) and "\n" not in line] == []


def test_inits_are_docstrings_only(trees):
    for path, tree in trees.items():
        if path.name == "__init__.py" and path.parent != ROOT and named(path) not in RE_EXPORTS:
            assert len(tree.body) == 1, named(path)


def test_only_the_command_line_prints_or_exits(trees):
    for path in HOUSE_MODULES:
        if path.relative_to(ROOT).parts[0] == "app":
            continue
        called = {n.func.id for n in ast.walk(trees[path]) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        assert not called & {"print", "exit", "quit"}, named(path)


def test_imports_between_folders_are_relative(trees):
    for path in HOUSE_MODULES:
        absolute = [
            name
            for node in ast.walk(trees[path])
            if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0)
            for name in ([node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names])
        ]
        assert not [n for n in absolute if n and n.split(".")[0] in ("specview", *HOUSE)], named(path)


def test_public_functions_and_classes_have_docstrings(trees):
    for path in HOUSE_MODULES:
        if path.relative_to(ROOT).parts[0] == "app":
            continue
        for node in trees[path].body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{named(path)}: {node.name}"


def test_tests_mirror_the_folders():
    for path in MODULES:
        parts = path.relative_to(ROOT).parts
        if parts[0] == "tests" and path.name.startswith("test_") and len(parts) > 2 and parts[1] != "benchmarks":
            assert ROOT.joinpath(*parts[1:-1]).is_dir(), named(path)


def test_tests_are_no_packages():
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_no_path_of_a_machine_is_committed():
    """Homes and work folders of whoever wrote this have no place in files that others check out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git checkout")
    machine = re.compile(rb"(?<![\w.])/(?:root|work|Users|home/(?!someone|some one)\w+)/")
    found = []
    for name in listed.stdout.decode().split("\0"):
        path = ROOT / name
        if path.is_file() and path.suffix in {".py", ".toml", ".md", ".json", ".jsonl", ".yml", ".tcss", ""}:
            found += [name for line in path.read_bytes().splitlines() if machine.search(line)]
    assert sorted(set(found)) == []
