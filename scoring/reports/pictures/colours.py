"""Colours of pictures. Those of sources, entries and scenarios are classes of the style sheet."""

from typing import Literal

Measure = Literal["ST", "SD", "TD"]

# Both scales keep their order for readers with any common colour blindness: one hue by lightness, and blue to red
# through white (ColorBrewer's RdBu). Their cells carry their own text colour, so they are the same in light and dark.
SEQUENTIAL = ("#f0fdfa", "#b5e3dc", "#6cbfb5", "#2c8f87", "#0f5f5a")
DIVERGING = ("#2166ac", "#67a9cf", "#d1e5f0", "#f7f7f7", "#fddbc7", "#ef8a62", "#b2182b")
N_COLOURS = 7
"""Colours that sources and entries share, classes ``sb-c0`` and on; beyond that symbols alone tell them apart."""


def colour_class(number: int) -> str:
    """Return the class of the n-th source's or entry's colour.

    >>> colour_class(8)
    'sb-c1'
    """
    return f"sb-c{number % N_COLOURS}"


def scenario_class(scenario: str) -> str:
    """Return the class of a scenario's colour.

    >>> scenario_class("No Challenge")
    'sb-no-challenge'
    """
    return f"sb-{scenario.lower().replace(' ', '-')}"


def cell_colours(value: float, low: float, high: float, measure: Measure) -> tuple[str, str]:
    """Return a matrix cell's fill and the colour of its text, the one of white and black that stands out.

    Args:
        value: fraction in [low, high].
        low: value at the scale's lower end.
        high: value at its upper end.
        measure: which scale.
    """
    colours = [_rgb(colour) for colour in (SEQUENTIAL if measure == "ST" else DIVERGING)]
    place = (value - low) / (high - low) * (len(colours) - 1) if high > low else 0.0
    place = min(max(place, 0.0), len(colours) - 1)
    left = min(int(place), len(colours) - 2)
    part = place - left
    red, green, blue = (a + part * (b - a) for a, b in zip(colours[left], colours[left + 1], strict=True))
    fill = (red, green, blue)
    # One of pure white and black has a contrast of 4.58 or more on any colour; a softer black does not.
    text = max(("#ffffff", "#000000"), key=lambda colour: contrast(_rgb(colour), fill))
    return f"rgb({red:.0f}, {green:.0f}, {blue:.0f})", text


def contrast(colour: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """Compute the contrast ratio of two sRGB colours (0-255 each), from 1 to 21, as WCAG 2 defines it.

    >>> round(contrast((0, 0, 0), (255, 255, 255)), 1)
    21.0
    """
    light, dark = sorted((_luminance(colour), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return float(red), float(green), float(blue)


def _luminance(colour: tuple[float, float, float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
