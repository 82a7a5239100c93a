"""Data that ships with specview: prompts and the bundled model."""
