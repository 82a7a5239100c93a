"""What is kept between launches: written in one move, read whatever it holds, and meant for one session only."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specview.app.kept_state import (
    BROKEN,
    LONGEST_BYTES,
    NEWER,
    Keeper,
    KeptState,
    read_state,
    session_key,
    write_state,
)
from specview.app.settings import kept_state_file
from specview.layouts.view_models import WhatIf

FULL = KeptState(
    theme="light",
    page="ops",
    pages={"ops": {"sort": "floor", "by": "primitive"}, "sessions": {"sort": "age"}},
    asked_of="0011",
    asked={"p": 0.5, "k": 4, "verify": 0.8},
    toured=True,
    models=("bundled", "org/model"),
)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "kept.json"
    assert write_state(path, FULL) and read_state(path) == (FULL, "")
    assert [each.name for each in path.parent.iterdir()] == ["kept.json"]


def test_no_file_is_no_state_and_no_sentence(tmp_path: Path) -> None:
    assert read_state(tmp_path / "none.json") == (KeptState(), "")


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b"{}", b'{"version": "1"}', b"\xff\xfe", b"[" * 30_000, b"x" * (LONGEST_BYTES + 1),
        b'{"version": 1' + b" " * LONGEST_BYTES + b"}",
    ],
)  # fmt: skip
def test_a_broken_file_is_an_empty_state_and_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "kept.json"
    path.write_bytes(content)
    assert read_state(path) == (KeptState(), BROKEN)


def test_a_folder_in_its_place_is_a_sentence_and_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.mkdir()
    assert read_state(path) == (KeptState(), BROKEN) and not write_state(path, FULL)
    (tmp_path / "file").touch()
    assert not write_state(tmp_path / "file" / "kept.json", FULL)
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".kept")] == []


def test_wrong_types_are_left_out_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text(
        json.dumps({
            "version": 1, "theme": ["light"], "page": "ops\x1b[2J", "toured": "yes", "models": [1, "org/m", "x" * 5000],
            "pages": {"ops": {"sort": 3, "by": "place"}, "sweep": [], "a\nb": {"x": "y"}},
            "asked": {"p": float("inf"), "k": True, "verify": 10**400, "draft": 0.5}, "asked_of": {},
        })
    )  # fmt: skip
    state, sentence = read_state(path)
    assert sentence == ""
    assert state == KeptState(models=("org/m",), pages={"ops": {"by": "place"}}, asked={"draft": 0.5})


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(["version", "theme", "pages", "asked", "models", "p", "k"]), inner)
        ),
        max_leaves=20,
    )
)
def test_whatever_json_it_holds_it_is_read(tmp_path_factory: pytest.TempPathFactory, content: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps({"version": 1, **content} if isinstance(content, dict) else content))
    state, _ = read_state(path)
    asked = replace(state, asked_of="x").what_if_of("x")
    assert asked.p is None or 0 <= asked.p <= 1
    assert asked.k is None or isinstance(asked.k, int)
    assert write_state(path, state) and read_state(path)[0] == state


def test_a_newer_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text('{"version": 99, "theme": "light"}')
    keeper = Keeper(path)
    keeper.keep(FULL)
    assert keeper.trouble == NEWER and keeper.state == FULL and '"version": 99' in path.read_text()


def test_fresh_does_not_read_what_is_there_and_keeps_what_comes(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    write_state(path, FULL)
    keeper = Keeper(path, fresh=True)
    assert keeper.state == KeptState()
    keeper.keep(KeptState(theme="dark"))
    assert read_state(path)[0] == KeptState(theme="dark")


def test_without_a_path_nothing_is_written_and_the_same_state_is_not_written_twice(tmp_path: Path) -> None:
    Keeper().keep(FULL)
    path = tmp_path / "kept.json"
    keeper = Keeper(path)
    keeper.keep(FULL)
    path.unlink()
    keeper.keep(replace(FULL))
    assert not path.exists()


def test_a_what_if_is_for_its_own_session_only() -> None:
    state = KeptState().with_what_if("one", WhatIf(p=0.5, k=4))
    assert state.what_if_of("one") == WhatIf(p=0.5, k=4)
    assert state.what_if_of("two") == WhatIf() == state.what_if_of("")
    assert state.with_what_if("one", WhatIf()).asked == {}
    assert replace(state, asked={"p": 7.0, "k": 900, "gone": 1.0}).what_if_of("one") == WhatIf()
    assert replace(state, asked={"k": 0.5, "verify": 0.5}).what_if_of("one") == WhatIf(verify=0.5)
    assert replace(state, asked={"k": 4.0}).what_if_of("one") == WhatIf(k=4)


def test_a_session_is_named_without_its_path(tmp_path: Path) -> None:
    key = session_key(tmp_path / "a.specview.jsonl")
    assert key and "specview" not in key and key != session_key(tmp_path / "b.specview.jsonl")
    assert session_key(None) == ""


def test_a_session_may_have_a_name_that_is_no_text(tmp_path: Path) -> None:
    odd, other = (tmp_path / os.fsdecode(name) for name in (b"a\xff.specview.jsonl", b"a\xfe.specview.jsonl"))
    assert session_key(odd) and session_key(odd) != session_key(other)


def test_the_last_model_stands_first_and_old_ones_go() -> None:
    state = KeptState()
    for number in range(12):
        state = state.with_model(f"org/m{number}")
    state = state.with_model("org/m5")
    assert state.models[:2] == ("org/m5", "org/m11") and len(state.models) == 8


def test_the_file_can_be_named_and_tests_never_touch_the_real_one(tmp_path: Path) -> None:
    assert kept_state_file({"SPECVIEW_STATE": str(tmp_path / "x.json")}) == tmp_path / "x.json"
    assert kept_state_file({}) != kept_state_file()
