"""What is kept beside fetched files: where each came from, and the terms that were accepted."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pydantic

from shiftbench.builders.fetching.transfer import put_in_place
from shiftbench.builders.specs.sources import SourceSpec
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.output_files import sync
from shiftbench.validation.report import InvalidInput, Problem

RECORD, TERMS = "fetched.json", "terms.json"
"""Files in a source's folder: what was fetched of it, and the terms that were accepted."""
_FORMER = "from_hub.json"
"""The record of version 0.2: one repository, its revision, and the files from it."""


class Fetched(pydantic.BaseModel):
    """A file that was fetched.

    Attributes:
        place: where it lies under RAW, with the ending it has there.
        address: the one that it came from.
        revision: ``<repository>@<commit>`` of a file from the Hub; None of others.
        size: bytes, as it lies at its place; None of a folder.
        sha256: of these bytes; None of a folder.
        rows: of a file from the Hub; None where they were not counted.
        date: the day, as ``2026-11-23``; None in records of version 0.2.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    place: str
    address: str
    revision: str | None = None
    size: int | None = None
    sha256: str | None = None
    rows: int | None = None
    date: str | None = None


_RECORDS = pydantic.TypeAdapter(dict[str, Fetched])


class _FormerFile(NamedTuple):
    pattern: str
    sha256: str
    rows: int


def today() -> str:
    """Return the day in UTC, as ``2026-11-23``."""
    return datetime.now(UTC).date().isoformat()


def read_records(raw: Path, slug: str) -> dict[str, Fetched]:
    """Read what was fetched of a source into a folder, by place; empty where nothing was.

    Raises: InvalidInput where a record is damaged.
    """
    records = {}
    former = _read(raw / slug / _FORMER)
    if former:
        revision = f"{former['repository']}@{former['revision']}"
        for place, file in former["files"].items():
            address = f"hub:{revision}/{file['pattern']}"
            records[place] = Fetched(
                place=place, address=address, revision=revision, sha256=file["sha256"], rows=file["rows"]
            )
    path = raw / slug / RECORD
    try:
        return records | _RECORDS.validate_python(_read(path))
    except pydantic.ValidationError as error:
        raise _damaged(path, str(error.errors()[0]["msg"])) from error


def write_records(raw: Path, slug: str, fetched: Iterable[Fetched], scratch: Path) -> None:
    """Add files to the record of a source; one at a time may do so.

    Args:
        scratch: an existing folder for what is not whole yet.
    """
    records = read_records(raw, slug) | {file.place: file for file in fetched}
    _write(raw / slug / RECORD, {place: file.model_dump(mode="json") for place, file in records.items()}, scratch)


def hub_revision(raws: Sequence[Path], slug: str, places: Iterable[str]) -> str | None:
    """Return ``<repository>@<commit>`` where any of a source's files was fetched from the Hub; None otherwise."""
    wanted = set(places)
    for raw in raws:
        for place, file in read_records(raw, slug).items():
            if file.revision is not None and place in wanted:
                return file.revision
    return None


def accepts_terms(raws: Iterable[Path], source: SourceSpec) -> bool:
    """Check whether a source asks for nothing, or its terms, as they are worded today, were accepted before."""
    return source.terms is None or any(_read(raw / source.slug / TERMS).get("terms") == source.terms for raw in raws)


def write_terms(raw: Path, source: SourceSpec, scratch: Path) -> None:
    """Keep beside a source's files which terms were accepted, where to read them, and when; see ``write_records``."""
    content = {"terms": source.terms, "licence": source.licence, "url": source.licence_url, "accepted": today()}
    _write(raw / source.slug / TERMS, content, scratch)


def _write(path: Path, content: dict[str, Any], scratch: Path) -> None:
    new = scratch / path.name
    new.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    sync(new)
    put_in_place(new, path)


def _read(path: Path) -> dict[str, Any]:
    """Read a record; empty where there is none."""
    if not path.is_file():
        return {}
    try:
        record: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _damaged(path, str(error)) from error
    return record


def _damaged(path: Path, found: str) -> InvalidInput:
    cure = "remove it, and what was fetched beside it"
    return InvalidInput(Problem("the record of what was fetched is not JSON", str(path), found, cure))
