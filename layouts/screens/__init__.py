"""The screens, each with its styles beside it; the app loads all of them."""
