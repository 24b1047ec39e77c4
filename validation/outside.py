"""pydantic types for untrusted files and the names in them."""

from typing import Annotated, Any

import pydantic

from shiftbench.validation.plain_text import refuse_invisible
from shiftbench.validation.report import InvalidInput, Problem

MAX_COUNT = 10**15
"""Maximum value of an integer count."""
MAX_NAME = 500
"""Maximum characters of a name."""
MAX_TEXT = 100_000
"""Maximum characters of any other text."""


def _refuse_invisible_line(text: str) -> str:
    return refuse_invisible(text)


def _refuse_invisible_lines(text: str) -> str:
    return refuse_invisible(text, allowed="\n\t")


VISIBLE_LINE = pydantic.AfterValidator(_refuse_invisible_line)
"""Validator of one-line texts: no invisible characters."""
OutsideText = Annotated[str, pydantic.StringConstraints(max_length=MAX_TEXT), VISIBLE_LINE]
"""One line without invisible characters: a name, a label, a path, a sentence."""
VISIBLE_LINES = pydantic.AfterValidator(_refuse_invisible_lines)
OutsideLines = Annotated[str, pydantic.StringConstraints(max_length=MAX_TEXT), VISIBLE_LINES]
"""Several lines without invisible characters, which may be indented: a citation, a command."""
# Strict: strings and booleans are not converted to counts.
Count = Annotated[int, pydantic.Field(ge=0, le=MAX_COUNT, strict=True)]
Change = Annotated[int, pydantic.Field(ge=-MAX_COUNT, le=MAX_COUNT, strict=True)]
"""A difference between two counts."""
Seed = Annotated[int, pydantic.Field(ge=0, lt=2**64, strict=True)]

_TEXT: pydantic.TypeAdapter[str] = pydantic.TypeAdapter(OutsideText)


def check_text(text: str, file: str, *, most: int = MAX_NAME, cure: str = "correct the name", **place: Any) -> str:
    """Check a name or label that is not validated by a schema.

    Args:
        text: the name.
        file: the file's name, used in problems.
        most: maximum number of characters.
        cure: suggested fix.
        place: location of the name: ``column``, ``row`` or ``key`` of ``Problem``.
    Returns: the name.
    Raises: InvalidInput if it is too long or contains an invisible character.
    """
    if len(text) > most:
        found = f"{len(text):,} characters, beginning with {text[:40]!r}"
        raise InvalidInput(Problem("a name is too long", file, found, f"the limit is {most:,} characters", **place))
    try:
        return _TEXT.validate_python(text)
    except pydantic.ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"]
        raise InvalidInput(Problem(f"a name has {message}", file, f"'{text}'", cure, **place)) from error
