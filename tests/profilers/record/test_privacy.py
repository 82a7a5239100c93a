"""No absolute path gets into a session."""

from __future__ import annotations

import pytest

from specview.profilers.record.privacy import without_paths


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("There is no drafter '/home/someone/models/draft': use mtp.", "There is no drafter 'draft': use mtp."),
        ("No such file: '/home/some one/a b/c.txt'", "No such file: 'c.txt'"),
        ("cannot read /home/someone/x.json today", "cannot read x.json today"),
        ("cannot read ~/models/x", "cannot read x"),
        ("cannot read ~someone/models/x", "cannot read x"),
        ('"/a/b"', '"b"'),
        ("org/name could not be downloaded", "org/name could not be downloaded"),
        ("'org/name' and models/own", "'org/name' and models/own"),
        ("45 tok/s, and/or 1/2", "45 tok/s, and/or 1/2"),
        ("", ""),
    ],
)
def test_a_path_is_cut_down_to_its_last_part(text, kept):
    assert without_paths(text) == kept
    assert without_paths(kept) == kept
