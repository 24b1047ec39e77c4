"""Plots as stand-alone files: SVG with embedded colours, and PNG, also as preview images for links."""

import re
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path

from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.site import render, style_sheet

CARD_WIDTH, CARD_HEIGHT = 1200, 630
"""Size in pixels of preview images for links."""
_FONT = "Source Sans Pro"
_TOKEN = re.compile(r"(--[\w-]+):\s*([^;]+);")
_PAIR = re.compile(r"light-dark\(\s*([^,()]+)\s*,\s*([^()]+)\)")
_VARIABLE = re.compile(r"var\((--[\w-]+)\)")
_DRAWS = re.compile(r"(\.sb-[\w-]+|text|line|circle|rect|path|svg)([ .](\.?sb-[\w-]+|text|line|circle|rect|path))*")
"""Selectors of elements in plots."""
_RULE = re.compile(r"([^{}@]+)\{([^{}]*)\}")
_EDGE, _LINE, _LETTER = 12, 18, 6.3
"""Margin of a file, height of a legend's line, width of a letter."""


@cache
def picture_styles() -> str:
    """Return the style rules that plots use, for the light theme, with CSS variables replaced by their values.

    Programs other than browsers support neither variables nor ``light-dark`` and ``color-mix``.
    """
    sheet = re.sub(r"/\*.*?\*/", "", style_sheet(), flags=re.DOTALL)
    tokens = {name: _PAIR.sub(r"\1", value.strip()) for name, value in _TOKEN.findall(sheet)}
    rules = []
    for names, body in _RULE.findall(sheet):
        wanted = [each.strip() for each in names.split(",") if _DRAWS.fullmatch(each.strip())]
        light = body.strip()
        for _ in range(3):  # a token may refer to another one
            light = _PAIR.sub(r"\1", _VARIABLE.sub(lambda found: tokens.get(found[1], "#000"), light))
        if wanted and "color-mix" not in light:
            rules.append(f"{','.join(wanted)}{{{light}}}")
    return "\n".join(rules)


def svg_file(drawn: Markup, title: str) -> str:
    """Convert a plot of a page to a stand-alone SVG file.

    Args:
        drawn: an ``svg`` element, optionally after a legend.
        title: text above the plot.
    """
    parts, picture = _parsed(drawn)
    _, _, width, height = map(float, (picture.get("viewBox") or "0 0 420 300").split())
    legend, legend_height = _legend(parts, width)
    top = _EDGE + 22 + legend_height
    picture.attrib |= {"x": str(_EDGE), "y": f"{top:g}", "width": f"{width:g}", "height": f"{height:g}"}
    size = {"width": f"{width + 2 * _EDGE:g}", "height": f"{top + height + _EDGE:g}"}
    shapes = [Markup(ET.tostring(each, encoding="unicode")) for each in (*legend, picture)]
    return str(render("picture_file.html", title=title, edge=_EDGE, shapes=shapes, styles=_styles(), **size))


def _parsed(drawn: Markup) -> tuple[ET.Element, ET.Element]:
    parts = ET.fromstring(f"<div>{drawn}</div>")
    return parts, next(each for each in parts.iter("svg") if each.get("class") == "sb-picture")


def _styles() -> Markup:
    return Markup(picture_styles())


def _legend(parts: ET.Element, width: float) -> tuple[list[ET.Element], float]:
    """Arrange a legend's signs and labels in lines of a given width; return them with the height of the lines."""
    placed: list[ET.Element] = []
    x, y = float(_EDGE), float(_EDGE + 22)
    for item in parts.iter("li"):
        sign = item.find("svg")
        words = "".join(item.itertext()).strip()
        size = float(sign.get("width", "14")) + 5 if sign is not None else 0.0
        if x > _EDGE and x + size + _LETTER * len(words) > width:
            x, y = float(_EDGE), y + _LINE
        if sign is not None:
            sign.attrib |= {"x": f"{x:g}", "y": f"{y:g}"}
            placed.append(sign)
        label = ET.Element("text", {"x": f"{x + size:g}", "y": f"{y + 11:g}", "class": "sb-file-words"})
        label.text = words
        placed.append(label)
        x += size + _LETTER * len(words) + 14
    return placed, y + _LINE - _EDGE - 22 if placed else 0.0


def card_svg(drawn: Markup, title: str, sentence: str) -> str:
    """Build the preview image for links to a page, as SVG of ``CARD_WIDTH`` by ``CARD_HEIGHT`` pixels.

    Args:
        drawn: the page's plot, as for ``svg_file``; it fills the space below the text.
        title: one line.
        sentence: at most three lines.
    """
    _, picture = _parsed(drawn)
    lines = _wrapped(sentence, 88)[:3]
    top = 112 + 34 * len(lines)
    picture.attrib |= {"x": "60", "y": f"{top}", "width": "1080", "height": f"{CARD_HEIGHT - top - 60}"}
    shown = {"title": _wrapped(title, 52)[0], "lines": lines, "width": CARD_WIDTH, "height": CARD_HEIGHT}
    picture_text = Markup(ET.tostring(picture, encoding="unicode"))
    return str(render("picture_card.html", **shown, picture=picture_text, styles=_styles()))


def _wrapped(text: str, n_letters: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > n_letters and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()[: n_letters + 8]
    return lines


def png_file(svg: str, *, zoom: float = 1.0) -> bytes:
    """Render an SVG file as PNG, with a bundled font, so that the result does not depend on installed ones.

    Args:
        svg: content of the SVG file.
        zoom: pixels per unit of the plot.
    """
    import font_source_sans_pro
    import resvg_py

    fonts = Path(font_source_sans_pro.__file__).parent / "files"
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=zoom,
            skip_system_fonts=True,
            font_dirs=[str(fonts)],
            font_family=_FONT,
            sans_serif_family=_FONT,
        )
    )
