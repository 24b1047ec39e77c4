"""Find upstream files in the folders of upstream files, and explain why a file cannot be read."""

import codecs
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput, Problem


def find_file(raws: Sequence[Path], place: str) -> Path | None:
    """Find a file, plain, gzipped or zipped, in the first folder that contains it.

    Args:
        raws: folders with upstream files in ``RAW/<slug>/``, or slug folders themselves; searched in order.
        place: the file's relative path, ``<slug>/...``.
    Returns: the path, ending in ``<place>``, ``<place>.gz``, ``<place>.zip`` or the file's stem with ``.zip``; None if
        not found.
    Raises: InvalidInput if two zips match, or the path is a folder or a broken link.
    """
    blocked: list[Problem] = []
    for path in _candidates(raws, place):
        forms = (path, path.with_name(path.name + ".gz"))
        zips = [form for form in (path.with_name(path.name + ".zip"), path.with_suffix(".zip")) if form.is_file()]
        if plain := next((form for form in forms if form.is_file()), None):
            return plain
        if len(zips) > 1:
            found, cure = f"{zips[0].name} and {zips[1].name}", "keep the original of the release, delete the other"
            raise InvalidInput(Problem(f"two zip files could contain {path.name}", str(path.parent), found, cure))
        if zips:
            return zips[0]
        blocked += filter(None, map(_why_unreadable, forms))
    if blocked:
        raise InvalidInput(blocked)
    return None


def _candidates(raws: Sequence[Path], place: str) -> Iterator[Path]:
    slug, _, inside = place.partition("/")
    for raw in raws:
        yield raw / place
        if raw.resolve().name == slug:
            yield raw / inside


def _why_unreadable(path: Path) -> Problem | None:
    """Return why an existing path cannot be read as a file; None if it can."""
    if path.is_dir():
        inside = [entry for entry in path.iterdir() if entry.name.startswith(path.name)]
        cure = f"move {inside[0].name} out of it" if inside else "put the file itself there"
        return Problem("there is a folder where a file should be", str(path), cure=cure)
    if path.is_symlink():
        found, cure = f"a link to {path.readlink()}", "put the file itself there, or a link to it"
        return Problem("the link is circular or broken", str(path), found, cure)
    return None


_HEAD = 4096
"""Bytes inspected at the start of a file."""

_FETCH = "fetch the file itself"
_GZIP, _ZIP, _OLD_OFFICE = b"\x1f\x8b", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


class _Form(NamedTuple):
    """A kind of wrong file: test of its start, names for which this start is valid, description, suggested fix."""

    begins: Callable[[bytes], bool]
    suffixes: tuple[str, ...]
    what: str
    cure: str


def _begins_with(*starts: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.lstrip().lower().startswith(starts)


_CONTAINERS = (
    _Form(
        lambda head: head.startswith(_OLD_OFFICE),
        (),
        "this is a spreadsheet (Excel), not text",
        "fetch the original file of the release; spreadsheets change texts",
    ),
    _Form(
        lambda head: head.startswith(_ZIP) and b"[Content_Types].xml" in head,
        (),
        "this is a spreadsheet (Excel), not text",
        "fetch the original file of the release; spreadsheets change texts",
    ),
    _Form(
        lambda head: head.startswith(_ZIP),
        (".zip",),
        "this is a zip under another name",
        "unpack it, or use the suffix .zip",
    ),
    _Form(
        lambda head: head.startswith(_GZIP), (".gz", ".tgz"), "this is gzip under another name", "use the suffix .gz"
    ),
)
"""Forms matched against the bytes on disk."""

_CONTENTS = (
    _Form(
        _begins_with(b"version https://git-lfs"),
        (),
        "this is a Git LFS pointer, not the file itself",
        "run 'git lfs pull' in the clone, or download the file by itself",
    ),
    _Form(
        _begins_with(b"/annex/objects/", b"../.git/annex"),
        (),
        "this is a git-annex pointer, not the file itself",
        "run 'git annex get' in the clone, or download the file by itself",
    ),
    _Form(
        _begins_with(b"<!doctype html", b"<html", b"<head"),
        (".html", ".htm"),
        "this is a web page, not the file",
        f"{_FETCH}: the 'raw' or 'download' link, signed in if the page requires it",
    ),
    _Form(
        _begins_with(b'<?xml version="1.0" encoding="utf-8"?>\n<error>', b"<error>"),
        (),
        "this is a server's error message, not the file",
        f"{_FETCH} again; its link may have expired",
    ),
    _Form(
        lambda head: (
            re.fullmatch(rb"\s*(404: not found|not found|access denied|forbidden)\.?\s*", head.lower()) is not None
        ),
        (),
        "this is a server's error message, not the file",
        f"{_FETCH} again; check its link",
    ),
    _Form(
        lambda head: head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)),
        (),
        "this is UTF-16, as spreadsheets save 'Unicode text'",
        "fetch the file again, without opening and saving it",
    ),
    _Form(lambda head: head.startswith(b"%PDF-"), (".pdf",), "this is a PDF", _FETCH),
    _Form(
        lambda head: head.startswith(b"PAR1"),
        (".parquet",),
        "this is Parquet under another name",
        "fetch the original file of the release; 'shiftbench data fetch' does so if it can be downloaded",
    ),
    _Form(
        lambda head: head[257:262] == b"ustar",
        (".tar", ".tgz"),
        "this is a tar archive under another name",
        "unpack it, and put the file in it there",
    ),
    _Form(
        lambda head: len(head) >= 16 and not head.strip(b"\0"),
        (),
        "the file starts with zeros, as after an interrupted download",
        f"{_FETCH} again",
    ),
    _Form(
        lambda head: b"\r" in head and b"\n" not in head and len(head) < _HEAD,
        (),
        "the lines end in bare carriage returns, as spreadsheets save 'CSV (Macintosh)'",
        "fetch the file again, without opening and saving it",
    ),
)
"""Forms matched against the decompressed content."""


def check_form(path: Path) -> None:
    """Raise InvalidInput, with a suggested fix, if a file is not an upstream file but, for example, a web page."""
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    if not head:
        raise InvalidInput(Problem("the file is empty", str(path), "0 bytes", f"{_FETCH} again"))
    _refuse(path, path.name, head, _CONTAINERS)
    suffix = path.suffix.lower()
    if suffix == ".gz" and not head.startswith(_GZIP):
        _refuse(path, path.stem, head, _CONTENTS)
        found, cure = _format_start(head), f"name it {path.stem} if it is the unpacked file, or {_FETCH} again"
        raise InvalidInput(Problem("the name ends in .gz, but this is not gzip", str(path), found, cure))
    if suffix == ".zip" and not zipfile.is_zipfile(path):
        _refuse(path, path.stem, head, _CONTENTS)
        what = (
            "the zip file is truncated"
            if head.startswith(_ZIP)
            else "the name ends in .zip, but this is not a zip file"
        )
        raise InvalidInput(Problem(what, str(path), _format_start(head), f"{_FETCH} again"))
    if suffix in (".gz", ".zip"):
        with UpstreamFile(path) as file, file.stream() as content:
            head = content.read(_HEAD)
        if not head:
            raise InvalidInput(Problem("the compressed file is empty", str(path), "0 bytes", f"{_FETCH} again"))
    _refuse(path, path.stem if suffix in (".gz", ".zip") else path.name, head, _CONTENTS)


def _refuse(path: Path, name: str, head: bytes, forms: tuple[_Form, ...]) -> None:
    suffix = PurePath(name).suffix.lower()
    for form in forms:
        if suffix not in form.suffixes and form.begins(head):
            raise InvalidInput(Problem(form.what, str(path), _format_start(head), form.cure))


def _format_start(head: bytes) -> str:
    """Format the start of a file as text or, if binary, in hex."""
    start = head[:60]
    text = start.isascii() and not any(byte < 32 and byte not in b"\t\r\n" for byte in start)
    return repr(start.decode("ascii")) if text else f"bytes {head[:8].hex(' ')}"
