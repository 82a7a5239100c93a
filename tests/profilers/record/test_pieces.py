"""Pieces of text: whole characters only, and nothing lost between them."""

from __future__ import annotations

import pytest

from specview.profilers.record.pieces import PieceWriter

TEXT = "def café():\n    return '日本語 🙂'  # done\n" * 3


class Bytes:
    """A tokenizer of single bytes, the hardest case."""

    def encode(self, text):
        return list(text.encode())

    def decode(self, ids):
        return bytes(ids).decode(errors="replace")


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pieces_of_bytes_join_to_the_text(size):
    ids = Bytes().encode(TEXT)
    writer = PieceWriter(Bytes(), [])
    pieces = [p for n in range(0, len(ids), size) for p in writer.committed(ids[n : n + size])]
    assert len(pieces) == len(ids)
    assert "".join(pieces) == TEXT
    assert not any("\ufffd" in p for p in pieces)


def test_pieces_of_the_bundled_tokenizer_join_to_the_text(stored):
    ids = stored.tokenizer.encode(TEXT)
    writer = PieceWriter(stored.tokenizer, [])
    assert "".join(p for i in ids for p in writer.committed([i])) == stored.tokenizer.decode(ids)


def test_a_character_cut_by_the_start_is_finished():
    ids = Bytes().encode("ab日本")
    writer = PieceWriter(Bytes(), ids[:4])
    assert "".join(writer.committed(ids[4:])) == "日本"


def test_an_unfinished_character_waits():
    ids = Bytes().encode("日")
    writer = PieceWriter(Bytes(), [])
    assert [writer.committed([i])[0] for i in ids] == ["", "", "日"]


def test_rejected_drafts_are_shown_alone():
    writer = PieceWriter(Bytes(), [])
    writer.committed([97])
    assert writer.rejected([98, 99]) == ("b", "c")
    assert writer.committed([100]) == ("d",)
