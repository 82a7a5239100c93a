"""Measuring, recording and judging."""
