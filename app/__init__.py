"""The commands: what a person starts."""
