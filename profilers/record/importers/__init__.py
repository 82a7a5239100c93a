"""Reads what other engines print about drafting into ordinary sessions; one module for each form."""
