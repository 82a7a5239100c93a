"""Watches a running server of another engine through its metrics page, and records what it counts."""
