"""Types of what comes from outside, for every schema of files that others may have written, and for names in them."""

from typing import Annotated, Any

import pydantic

from shiftbench.validation.plain_text import refuse_invisible
from shiftbench.validation.report import InvalidInput, Problem

MAX_COUNT = 10**15
"""The largest number that a schema takes for a count."""
MAX_NAME = 500
"""Characters of a name."""
MAX_TEXT = 100_000
"""Characters of any other text."""


def _refuse_invisible_line(text: str) -> str:
    return refuse_invisible(text)


def _refuse_invisible_lines(text: str) -> str:
    return refuse_invisible(text, allowed="\n\t")


ALL_SHOWS = pydantic.AfterValidator(_refuse_invisible_line)
"""What every one-line text of a schema is checked by, after any other constraint."""
OutsideText = Annotated[str, pydantic.StringConstraints(max_length=MAX_TEXT), ALL_SHOWS]
"""One line all of whose characters show: a name, a label, a path, a sentence."""
ALL_LINES_SHOW = pydantic.AfterValidator(_refuse_invisible_lines)
OutsideLines = Annotated[str, pydantic.StringConstraints(max_length=MAX_TEXT), ALL_LINES_SHOW]
"""Several such lines, which may be indented: a citation, a command."""
# A number in quotes, or a yes, is not taken for a count.
Count = Annotated[int, pydantic.Field(ge=0, le=MAX_COUNT, strict=True)]
Change = Annotated[int, pydantic.Field(ge=-MAX_COUNT, le=MAX_COUNT, strict=True)]
"""A difference of two counts."""
Seed = Annotated[int, pydantic.Field(ge=0, lt=2**64, strict=True)]

_TEXT: pydantic.TypeAdapter[str] = pydantic.TypeAdapter(OutsideText)


def check_text(text: str, file: str, *, most: int = MAX_NAME, cure: str = "write the name anew", **place: Any) -> str:
    """Check one name or label that no schema reads.

    Args:
        text: the name.
        file: where it stands, for the report.
        most: characters that it may have.
        cure: what to do about it.
        place: a column, row or key of ``Problem``.
    Returns: the name.
    Raises: InvalidInput when a character does not show, or there are too many.
    """
    if len(text) > most:
        found = f"{len(text):,} characters, beginning with {text[:40]!r}"
        raise InvalidInput(Problem("a name is too long", file, found, f"keep it under {most:,} characters", **place))
    try:
        return _TEXT.validate_python(text)
    except pydantic.ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"]
        raise InvalidInput(Problem(f"a name has {message}", file, f"'{text}'", cure, **place)) from error
