"""Drafters behind one protocol: none, prompt lookup, a draft model, an MTP head."""

from .protocol import Draft, Drafter

__all__ = ["Draft", "Drafter"]
