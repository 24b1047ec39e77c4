"""Records stored with fetched files: their origin, and the accepted terms."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pydantic

from shiftbench.builders.fetching.transfer import put_in_place
from shiftbench.builders.specs.sources import SourceSpec
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.output_files import sync
from shiftbench.validation.report import InvalidInput, Problem

RECORD, TERMS = "fetched.json", "terms.json"
"""Files in a source's folder: the record of fetched files, and the accepted terms."""
_FORMER = "from_hub.json"
"""The record of version 0.2: one repository, its revision, and the files from it."""


class Fetched(pydantic.BaseModel):
    """A file that was fetched.

    Attributes:
        place: path under RAW, including ``.gz`` or ``.zip``.
        address: the URL it came from.
        revision: ``<repository>@<commit>`` of a Hub file; None for other files.
        size: bytes on disk; None for a folder.
        sha256: checksum of these bytes; None for a folder.
        rows: number of rows of a Hub file; None if not counted.
        date: date of the download, such as ``2026-11-23``; None in records of version 0.2.
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


def today() -> str:
    """Return today's date in UTC, such as ``2026-11-23``."""
    return datetime.now(UTC).date().isoformat()


def read_records(raw: Path, slug: str) -> dict[str, Fetched]:
    """Read the records of a source's fetched files, by path under RAW; empty if there are none.

    Raises: InvalidInput if a record is damaged.
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
    """Add files to the record of a source; not safe for concurrent calls.

    Args:
        scratch: an existing folder for temporary files.
    """
    records = read_records(raw, slug) | {file.place: file for file in fetched}
    _write(raw / slug / RECORD, {place: file.model_dump(mode="json") for place, file in records.items()}, scratch)


def hub_revision(raws: Sequence[Path], slug: str, places: Iterable[str]) -> str | None:
    """Return ``<repository>@<commit>`` if any of a source's files was fetched from the Hub; None otherwise."""
    wanted = set(places)
    for raw in raws:
        for place, file in read_records(raw, slug).items():
            if file.revision is not None and place in wanted:
                return file.revision
    return None


def accepts_terms(raws: Iterable[Path], source: SourceSpec) -> bool:
    """Return whether a source has no terms, or their current wording has been accepted."""
    return source.terms is None or any(_read(raw / source.slug / TERMS).get("terms") == source.terms for raw in raws)


def write_terms(raw: Path, source: SourceSpec, scratch: Path) -> None:
    """Record the accepted terms with a source's files, with their URL and date; see ``write_records``."""
    content = {"terms": source.terms, "licence": source.licence, "url": source.licence_url, "accepted": today()}
    _write(raw / source.slug / TERMS, content, scratch)


def _write(path: Path, content: dict[str, Any], scratch: Path) -> None:
    new = scratch / path.name
    new.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    sync(new)
    put_in_place(new, path)


def _read(path: Path) -> dict[str, Any]:
    """Read a record; empty if there is none."""
    if not path.is_file():
        return {}
    try:
        record: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _damaged(path, str(error)) from error
    return record


def _damaged(path: Path, found: str) -> InvalidInput:
    cure = "delete it and the files fetched next to it"
    return InvalidInput(Problem("the record of downloads is not JSON", str(path), found, cure))
