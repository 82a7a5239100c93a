"""The repository is the package: what ships, and what does not."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import specview

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
NOT_SHIPPED = {".venv", "build", "dist", "sessions", "tests"}


def test_packages_are_the_folders_with_an_init():
    folders = {
        init.parent.relative_to(ROOT)
        for init in ROOT.rglob("__init__.py")
        if not NOT_SHIPPED & set(init.relative_to(ROOT).parts)
    }
    assert sorted(SETUPTOOLS["packages"]) == sorted(".".join(("specview", *folder.parts)) for folder in folders)


def test_every_folder_with_modules_is_a_package():
    for module in ROOT.rglob("*.py"):
        parts = module.relative_to(ROOT).parts
        if NOT_SHIPPED & set(parts) or parts[:2] == ("assets", "training"):
            continue
        assert (module.parent / "__init__.py").is_file(), module.relative_to(ROOT)


def test_only_the_two_faces_are_python_at_the_root():
    assert {p.name for p in ROOT.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_importing_the_root_loads_nothing_else():
    code = "import sys; before = set(sys.modules); import specview; print(*set(sys.modules) - before)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert set(found.stdout.split()) <= {"specview", "__future__"}


def test_the_version_is_a_string():
    assert isinstance(specview.__version__, str)
    assert SETUPTOOLS["dynamic"]["version"] == {"attr": "specview.__version__"}
    assert specview.__version__.count(".") == 2


@pytest.mark.parametrize("package", SETUPTOOLS["package-data"])
def test_package_data_exists(package):
    folder = ROOT.joinpath(*package.split(".")[1:])
    for pattern in SETUPTOOLS["package-data"][package]:
        assert list(folder.glob(pattern)), f"{package}: {pattern}"


def test_only_named_data_ships():
    assert SETUPTOOLS["include-package-data"] is False
    assert SETUPTOOLS["package-dir"] == {"specview": "."}


def test_the_training_recipe_does_not_ship():
    assert not any("training" in package for package in SETUPTOOLS["packages"])
    assert not any("training" in p for patterns in SETUPTOOLS["package-data"].values() for p in patterns)
    assert not (ROOT / "assets" / "training" / "__init__.py").exists()


def test_the_types_ship():
    assert (ROOT / "py.typed").is_file()
    assert "py.typed" in SETUPTOOLS["package-data"]["specview"]


def test_the_model_is_small_enough_to_ship():
    files = [f for f in (ROOT / "assets" / "model").iterdir() if f.is_file()]
    assert sum(f.stat().st_size for f in files) <= 16 * 2**20


def test_the_command_and_the_module_are_the_same():
    assert PROJECT["project"]["scripts"] == {"specview": "specview.app.cli:main"}
    assert "from .app.cli import main" in (ROOT / "__main__.py").read_text(encoding="utf8")


def test_the_backends_exclude_each_other():
    extras = PROJECT["project"]["optional-dependencies"]
    assert [d.split(">=")[0] for d in extras["cpu"]] == ["mlx[cpu]"]
    assert [d.split(">=")[0] for d in extras["cuda"]] == ["mlx[cuda13]"]
