"""Draws every screen of the app from the shipped example sessions into assets/pictures: `make pictures`.

The same sessions make the same pictures, byte for byte: the library that the Sessions screen lists is the folder of
examples, and the time is fixed. A screen without a picture here is told of at the end.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from specview.app.exporting.files import write_new
from specview.app.exporting.headless import COMPARE, Sight, looked_at, screen_names
from specview.app.exports import png_of

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES, PICTURES = ROOT / "assets" / "examples", ROOT / "assets" / "pictures"
MOST_BYTES = 3_000_000
NOW_NS = 1_796_083_200 * 10**9  # the day after the examples were recorded


@dataclass(frozen=True)
class Picture:
    """One file: which session, looked at how."""

    name: str
    session: str
    sight: Sight = field(default_factory=Sight)


def example(name: str) -> Path:
    """The file of an example."""
    return EXAMPLES / f"{name}.specview.jsonl"


def of_screen(screen: str, session: str, other: str | None = None) -> Picture:
    """A picture named after its screen."""
    return Picture(screen, session, Sight(screen=screen, other=None if other is None else example(other)))


ALL = (
    *(
        Picture(name, name)
        for name in ("bundled-mtp", "bundled-float32-openblas", "smollm2-4bit-copy", "shape-35b-a3b", "article-a-july")
    ),
    Picture("dashboard-light", "bundled-mtp", Sight(theme="light")),
    Picture("dashboard-80x24", "bundled-mtp", Sight(size=(80, 24))),
    of_screen("ledger", "bundled-mtp"),
    of_screen("sweep", "bundled-mtp"),
    of_screen("ops", "shape-35b-a3b"),
    of_screen("experiments", "bundled-mtp"),
    of_screen("workloads", "bundled-mtp"),
    of_screen("rounds", "bundled-mtp"),
    of_screen("advice", "smollm2-4bit-copy"),
    of_screen(COMPARE, "bundled-mtp", "bundled-float32-openblas"),
    of_screen("sessions", "bundled-mtp"),
)


def draw(folder: Path, names: tuple[str, ...] = ()) -> list[Path]:
    """Draw all pictures, or those named, into the folder; gives the files."""
    made = []
    for picture in ALL:
        if names and picture.name not in names:
            continue
        out = folder / f"{picture.name}.png"
        data = looked_at(example(picture.session), picture.sight, png_of, folder=EXAMPLES, clock_ns=lambda: NOW_NS)
        write_new(out, (data,), force=True)
        made.append(out)
        print(f"{out.name:<34} {len(data) / 1000:7.1f} kB", flush=True)
    return made


def main() -> int:
    """Draw, and say what is too large or missing."""
    draw(PICTURES, tuple(sys.argv[1:]))
    total = sum(each.stat().st_size for each in PICTURES.glob("*.png"))
    missing = [name for name in screen_names()[1:] if not any(p.sight.screen == name for p in ALL)]
    print(f"{total / 1e6:.2f} MB in all" + (f"; no picture of {', '.join(missing)}" if missing else ""))
    return 1 if total > MOST_BYTES or missing else 0


if __name__ == "__main__":
    sys.exit(main())
