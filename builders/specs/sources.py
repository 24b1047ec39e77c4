"""Upstream releases, entered manually in ``sources.toml``; facts measured by builds are in ``upstream.json``."""

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
"""A non-empty line of text without surrounding white space."""
_Url = Annotated[str, pydantic.StringConstraints(pattern=r"^(https?://|hub:)\S.*$")]

_Place = Annotated[str, pydantic.StringConstraints(pattern=r"^\w[\w.-]*(/\w[\w. -]*)+$")]
"""A file below RAW, the folder of upstream files, such as ``snli/snli_1.0/snli_1.0_train.jsonl``."""


class Download(pydantic.BaseModel):
    """A download: a file stored unchanged, or an archive from which members are extracted.

    If several provide the same path, the first that succeeds is used.

    Attributes:
        urls: URLs of the same bytes, tried in order: ``https://...``, or a file of a dataset repository on the Hugging
            Face Hub, ``hub:<repository>@<revision>/<path>`` (default revision: the latest, which is recorded; a star in
            the path matches any part of a name).
        size: size in bytes; None if not measured.
        sha256: checksum; None if not measured.
        place: path under RAW; None for an archive.
        members: for an archive (zip, tar, tar.gz), the member by path under RAW; a name that ends in a slash is a
            folder with all its content; the members matching a name with a star are concatenated.
        rows_as: name of the release format to which the rows of a Parquet file are converted; None: unchanged.
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
            raise ValueError("give either 'place', the path of the file, or 'members' of an archive")
        return self

    @property
    def places(self) -> tuple[str, ...]:
        """Return the paths under RAW that the download provides."""
        return tuple(self.members) if self.place is None else (self.place,)


class SourceTable(pydantic.BaseModel):
    """A table of ``sources.toml``: origin, terms and downloads of a release.

    Attributes:
        title: the usual name, with its version.
        url: web page of the release.
        revision: the commit, version or year that the specs were written for.
        licence: the terms of its texts, as text.
        spdx: SPDX identifier of these terms; None if there is none.
        licence_url: URL of the terms; None if there is none.
        open_licence: whether its rows may be redistributed; rows of other sources are rebuilt by each user.
        cite: keys in ``citations.bib``.
        instructions: how to get the files and where to put them, as part of a sentence.
        terms: terms accepted by downloading, in one or two sentences; None if there are none beyond an open licence.
        harm: harmful content of its texts, beyond that of news, encyclopedias and reviews; ``none`` if none is known.
        personal_data: personal data in its texts; ``none`` if none is known.
        annotators: who assigned the labels, if known.
        downloads: downloads of ``data fetch``; empty if the files must be requested or signed for.
        recorded_from: origin of the row counts and checksums in ``upstream.json``; None if none are recorded.
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
        """Hash only the slug, because downloads contain dicts."""
        return hash(self.slug)

    @property
    def citation(self) -> str:
        """Return the BibTeX entries cited for the source."""
        return "\n".join(map(cite, self.cite))


def find_source(slug: str) -> SourceSpec:
    """Return a source of ``sources.toml``.

    Args:
        slug: its folder under RAW, the name of its table.
    Raises: InvalidInput, suggesting the nearest slug, if there is no such source.
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
    """Parse sources in TOML, one table each; ``file`` is the name of the text in problems.

    Returns: the sources by slug, in the order of the text.
    Raises: InvalidInput listing every wrong, missing or unknown table and key.
    """
    try:
        tables = _TABLES.validate_python(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        what, cure = "the list of sources is not valid TOML", "correct its syntax there"
        raise InvalidInput(Problem(what, file, str(error), cure)) from error
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
