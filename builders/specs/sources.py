"""Upstream releases, typed by a person into ``sources.toml``; what a build measures of them is in ``upstream.json``."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import pydantic

from shiftbench.builders.folder.citations import cite
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

_FILE = Path(__file__).parent / "sources.toml"

_Line = Annotated[str, pydantic.StringConstraints(pattern=r"^\S(.*\S)?$")]
"""Text of one line, not empty, without blanks at its ends."""


class SourceTable(pydantic.BaseModel):
    """A table of ``sources.toml``: where a release comes from, on what terms, and how to fetch it by hand.

    Attributes:
        title: what people call it, with its version.
        url: where it is published.
        revision: the commit, version or year that the specs were written for.
        licence: the terms of its texts, in words.
        open_licence: its rows may be published again; those of other sources are rebuilt by each user.
        cite: keys in ``citations.bib``.
        instructions: how to get the files and where to put them, as part of a sentence.
        recorded_from: where the row counts and checksums in ``upstream.json`` are from; None where none is recorded.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    title: _Line
    url: _Line
    revision: _Line
    licence: _Line
    open_licence: pydantic.StrictBool
    cite: Annotated[tuple[_Line, ...], pydantic.Field(min_length=1)]
    instructions: _Line
    recorded_from: _Line | None = None


class SourceSpec(SourceTable):
    """An upstream release. ``slug`` is its folder under RAW, and the name of its table."""

    slug: str

    @property
    def citation(self) -> str:
        """Return the BibTeX of what it cites."""
        return "\n".join(map(cite, self.cite))


def find_source(slug: str) -> SourceSpec:
    """Return a source of ``sources.toml``.

    Args:
        slug: its folder under RAW, the name of its table.
    Raises: InvalidInput proposing the nearest slug where there is no such source.
    """
    sources = read_sources()
    if slug not in sources:
        near = did_you_mean(slug, list(sources))
        raise InvalidInput(Problem("there is no such source", _FILE.name, f"'{slug}'", near))
    return sources[slug]


@cache
def read_sources() -> Mapping[str, SourceSpec]:
    """Read ``sources.toml``: all sources by slug."""
    return parse_sources(_FILE.read_text(encoding="utf-8"), _FILE.name)


def parse_sources(text: str, file: str) -> dict[str, SourceSpec]:
    """Parse sources written as TOML, a table each; ``file`` names the text in problems.

    Returns: the sources by slug, in the order of the text.
    Raises: InvalidInput naming every table and key that is wrong, missing or unknown.
    """
    try:
        tables = _TABLES.validate_python(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(Problem("the list of sources is not TOML", file, str(error), "mend it there")) from error
    except pydantic.ValidationError as error:
        details = error.errors(include_context=False, include_url=False)
        raise InvalidInput(_problem(detail, file) for detail in details) from error
    return {slug: SourceSpec(slug=slug, **table.model_dump()) for slug, table in tables.items()}


_TABLES = pydantic.TypeAdapter(dict[str, SourceTable])


def _problem(detail: Any, file: str) -> Problem:
    key = ".".join(str(part + 1) if isinstance(part, int) else part for part in detail["loc"])
    last = str(detail["loc"][-1])
    if detail["type"] == "extra_forbidden":
        return Problem("unknown key", file, f"'{last}'", did_you_mean(last, list(SourceTable.model_fields)), key=key)
    if detail["type"] == "missing":
        return Problem("required key is missing", file, cure=f"add '{last} = ...'", key=key)
    return Problem(detail["msg"], file, repr(detail["input"])[:100], key=key)
