"""Where sessions are kept."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from specview.app.settings import PACKAGE, sessions_folder


def test_a_checkout_keeps_sessions_beside_the_code(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "sessions").mkdir()
    assert sessions_folder(tmp_path) == tmp_path / "sessions"


def test_an_installed_package_keeps_sessions_in_the_users_data(tmp_path):
    assert sessions_folder(tmp_path) == platformdirs.user_data_path("specview") / "sessions"


def test_a_folder_named_sessions_alone_is_no_checkout(tmp_path):
    (tmp_path / "sessions").mkdir()
    assert sessions_folder(tmp_path) != tmp_path / "sessions"


def test_this_checkout_is_one():
    assert (PACKAGE / "pyproject.toml").is_file()
    assert sessions_folder() == PACKAGE / "sessions"
    assert isinstance(PACKAGE, Path)
