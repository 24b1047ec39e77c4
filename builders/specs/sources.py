"""Upstream releases, typed by a person into ``sources.toml``; what a build measures of them is in ``upstream.json``."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import pydantic

from shiftbench.builders.folder.citations import cite
from shiftbench.builders.folder.publication import Spdx
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

_FILE = Path(__file__).parent / "sources.toml"

_Address = Annotated[str, pydantic.StringConstraints(pattern=r"^https?://\S+$")]
_Line = Annotated[str, pydantic.StringConstraints(pattern=r"^\S(.*\S)?$")]
"""Text of one line, not empty, without blanks at its ends."""
_Url = Annotated[str, pydantic.StringConstraints(pattern=r"^(https?://|hub:)\S.*$")]

_Place = Annotated[str, pydantic.StringConstraints(pattern=r"^\w[\w.-]*(/\w[\w. -]*)+$")]
"""A file below RAW, the folder of upstream files, such as ``snli/snli_1.0/snli_1.0_train.jsonl``."""


class Download(pydantic.BaseModel):
    """What one request brings: a file that is kept as it is, or an archive of which members are kept.

    Of several that bring the same place, the first that succeeds counts.

    Attributes:
        urls: addresses of the same bytes, tried in order: ``https://...``, or a file of a dataset repository on the
            Hugging Face Hub, ``hub:<repository>@<revision>/<path>`` (without a revision: today's, which is recorded; a
            star in the path stands for any part of a name).
        size: bytes; None where nobody has measured it.
        sha256: of the bytes; None where nobody has measured it.
        place: where the file is kept; None for an archive.
        members: of an archive (zip, tar, tar.gz), the member that is kept at each place; one that ends in a slash is a
            folder with all that is in it; with a star in its name, the members that it finds, joined.
        rows_as: name of the release's own form that the rows of a Parquet file are written in; None as they are.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    urls: Annotated[tuple[_Url, ...], pydantic.Field(min_length=1)]
    size: pydantic.PositiveInt | None = None
    sha256: Annotated[str, pydantic.StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    place: _Place | None = None
    members: dict[_Place, _Line] = {}
    rows_as: _Line | None = None

    @pydantic.model_validator(mode="after")
    def _brings_one_or_many(self) -> "Download":
        if (self.place is None) == (not self.members):
            raise ValueError("give either 'place', where the file is kept, or 'members' of an archive")
        return self

    @property
    def places(self) -> tuple[str, ...]:
        """Return the places below RAW that it fills."""
        return tuple(self.members) if self.place is None else (self.place,)


class SourceTable(pydantic.BaseModel):
    """A table of ``sources.toml``: where a release comes from, on what terms, and how to fetch it.

    Attributes:
        title: what people call it, with its version.
        url: where it is published.
        revision: the commit, version or year that the specs were written for.
        licence: the terms of its texts, in words.
        spdx: the SPDX identifier of these terms; None where there is none.
        licence_url: where the terms can be read; None where none are stated.
        open_licence: its rows may be published again; those of other sources are rebuilt by each user.
        cite: keys in ``citations.bib``.
        instructions: how to get the files and where to put them, as part of a sentence.
        terms: what somebody who downloads it agrees to, in one or two sentences; None where nothing is asked of them
            beyond an open licence.
        harm: what in its texts may hurt a reader more than news, encyclopedias and reviews do; ``none`` where
            nothing is known.
        personal_data: which data of persons its texts hold; ``none`` where nothing is known.
        annotators: who gave the labels, where that is known.
        downloads: what ``data fetch`` requests; empty where a person must ask for the files or sign for them.
        recorded_from: where the row counts and checksums in ``upstream.json`` are from; None where none is recorded.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    title: _Line
    url: _Address
    revision: _Line
    licence: _Line
    open_licence: pydantic.StrictBool
    cite: Annotated[tuple[_Line, ...], pydantic.Field(min_length=1)]
    instructions: _Line
    harm: _Line
    personal_data: _Line
    recorded_from: _Line | None = None
    spdx: Spdx | None = None
    licence_url: _Address | None = None
    terms: _Line | None = None
    annotators: _Line | None = None
    downloads: tuple[Download, ...] = ()


class SourceSpec(SourceTable):
    """An upstream release. ``slug`` is its folder under RAW, and the name of its table."""

    slug: str

    def __hash__(self) -> int:
        """Hash the slug alone: downloads hold tables."""
        return hash(self.slug)

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
