"""What is kept beside fetched files: where each came from, and the terms that were accepted."""

from typing import NamedTuple


class Fetched(NamedTuple):
    """A file that was fetched.

    Attributes:
        place: where it lies under RAW, with the ending it has there.
        address: the one that it came from; of the Hub with the revision.
        revision: ``<repository>@<commit>`` of a file from the Hub; None of others.
        size: bytes, as it lies at its place.
        sha256: of these bytes; None of a folder.
        rows: of a file of rows; None where they were not counted.
        date: the day, as ``2026-11-23``.
    """

    place: str
    address: str
    revision: str | None
    size: int
    sha256: str | None
    rows: int | None
    date: str
