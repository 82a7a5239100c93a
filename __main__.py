"""`python -m specview` is the command `specview`."""

from .app.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
