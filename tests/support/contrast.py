"""How well one colour reads on another, by WCAG 2."""

from __future__ import annotations

from rich.color import Color, ColorSystem

Rgb = tuple[int, int, int]


def luminance(colour: Rgb) -> float:
    """Relative luminance, 0 to 1."""
    parts = [v / 255 / 12.92 if v / 255 <= 0.04045 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: Rgb, other: Rgb) -> float:
    """Contrast ratio, 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def rgb(name: str, colours: str = "many") -> Rgb:
    """A colour's red, green and blue; as a terminal of 256 colours shows it where it has no more."""
    colour = Color.parse(name)
    if colours == "256":
        colour = colour.downgrade(ColorSystem.EIGHT_BIT)
    found = colour.get_truecolor()
    return found.red, found.green, found.blue
