"""Session to view models and figures as text."""
