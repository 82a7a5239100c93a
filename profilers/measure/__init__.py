"""Clocks, passes and facts of this machine."""
