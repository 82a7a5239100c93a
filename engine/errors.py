"""The one family of errors: each is a sentence that says what to do."""

from __future__ import annotations


class SpecviewError(Exception):
    """Something a person can act on; its text is one sentence. Commands print it and exit with status 1."""
