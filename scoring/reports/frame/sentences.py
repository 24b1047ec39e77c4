"""Sentences from templates: macros of the text files in ``templates``, one or more sentences each.

A line break counts as a space; a blank line separates sentences. Minus signs are written as hyphens; pages replace them
with typographic minus signs.
"""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shiftbench.scoring.comparing.shape import p_text
from shiftbench.scoring.reports import numbers
from shiftbench.scoring.reports.pictures.words import source_name
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.report import plural, quote_names

TEMPLATES = Path(__file__).parent / "templates"


def sentences(template: str, macro: str, *values: object) -> list[str]:
    """Render the sentences of a macro in ``template``.txt; values of any type are passed to it.

    Returns: at most one space in a row, no line breaks; no empty sentences.
    """
    written = getattr(_templates().get_template(f"{template}.txt").module, macro)(*values)
    return [text for part in str(written).split("\n\n") if (text := " ".join(part.split()))]


def sentence(template: str, macro: str, *values: object) -> str:
    """Render a macro of ``template``.txt as a single sentence.

    Args:
        template: the file's name without ending.
        macro: the macro's name.
        values: its arguments.

    Returns: the text on one line; ``""`` if the macro writes nothing.
    """
    return " ".join(sentences(template, macro, *values))


def _ends(estimate: Estimate, decimals: int = 1) -> str:
    """Format the ends of an interval: ``[2.5, 4.3]``."""
    return f"[{numbers.plain_points(estimate.low, decimals)}, {numbers.plain_points(estimate.high, decimals)}]"


def _flipped(estimate: Estimate) -> Estimate:
    """Return an estimate with the opposite sign: a gain as a loss."""
    value, low, high = (None if end is None else -end for end in (estimate.value, estimate.high, estimate.low))
    return Estimate(value=value, low=low, high=high)


def _with_unit(points: str) -> str:
    """Add the unit to a number: ``1 point``, ``2.5 points``."""
    return f"{points} point" if points in ("1", "-1") else f"{points} points"


_FILTERS = {
    "points": numbers.plain_points,
    "score": numbers.plain_score,
    "drop": lambda estimate: numbers.drop_text(estimate).replace(numbers.MINUS, "-"),
    "drop_value": lambda fraction: numbers.drop_points(fraction).replace(numbers.MINUS, "-"),
    "ends": _ends,
    "flipped": _flipped,
    "unit": _with_unit,
    "capital": lambda words: words[:1].upper() + words[1:],
    "share": numbers.share,
    "count": numbers.count,
    "metric": numbers.metric_name,
    "p": numbers.p_words,
    "p_value": p_text,
    "plural": plural,
    "names": quote_names,
    "source": source_name,
}


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: " ".join(value.split()) if isinstance(value, str) else value,
    )
    environment.filters.update(_FILTERS)
    return environment
