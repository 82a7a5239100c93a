"""Which keys fit into the last line."""

from __future__ import annotations

from specview.app.commands import ACTIONS, FOOTER_KEYS, bindings
from specview.layouts.panels.key_line import Key, fitting


def known() -> list[Key]:
    return [
        Key(b.key, b.key_display or b.key, b.description, b.action in ("explain", "quit"))
        for b in bindings()
        if b.show and b.key != "b"
    ]


def test_at_80_columns_every_screen_has_its_key_and_help_and_quit() -> None:
    shown, _ = fitting(known(), 78)
    pressed = [key.pressed for key in shown]
    assert set("pwlkoxha") & set(pressed) == set("pwlkoxha") & {a.key for a in ACTIONS}
    assert pressed[-2:] == ["question_mark", "q"]
    assert sum(key.cells for key in shown) + len(shown) - 1 <= 78


def test_with_width_there_are_more_keys_and_longer_words() -> None:
    narrow, wide, widest = (fitting(known(), room) for room in (78, 120, 300))
    assert len(narrow[0]) < len(wide[0]) <= len(widest[0]) == len(known()) and widest[1] == 3
    assert sum(key.cells for key in wide[0]) + len(wide[0]) - 1 <= 120


def test_help_and_quit_stay_when_nothing_else_fits() -> None:
    assert [key.pressed for key in fitting(known(), 16)[0]] == ["question_mark", "q"]


def test_what_is_in_the_footer_is_in_its_order_and_every_key_is_taken_once() -> None:
    shown = [b.key for b in bindings() if b.show]
    assert shown == [key for key in FOOTER_KEYS if key in shown]
    keys = [a.key for a in ACTIONS]
    assert len(set(keys)) == len(keys)
