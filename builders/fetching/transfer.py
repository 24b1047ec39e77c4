"""Download one file over HTTP: resumed, retried, verified and moved into place atomically.

``pooch`` is not used because it does not resume, ignores ``Retry-After``, takes one URL per file, adds ``requests`` to
our ``httpx2``, and only unpacks whole archives. ``huggingface_hub`` does not download either: its client restarts an
interrupted file.
"""

import errno
import json
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftbench.builders.checksums import file_sha256
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.output_files import replace_file, sync
from shiftbench.validation.report import first_line
from shiftbench.validation.retries import draw_wait, read_retry_after

if TYPE_CHECKING:
    import httpx2

TRIES = 5
"""Maximum number of consecutive tries of a URL without progress."""
FIRST_WAIT, LONGEST_WAIT, LONGEST_ASKED = 1.0, 30.0, 300.0
"""Seconds before a retry: the first, the longest, and the longest if the server sets ``Retry-After``."""
PART, NOTES = ".part", ".notes"
"""Suffixes of partial files, and of notes on which version of the remote file they belong to."""
TIMEOUT = 30.0
"""Timeout in seconds to connect, or to receive a byte."""
_WORTH = 1 << 20
"""A failed try that received this many bytes counts as progress, not as a failure."""
_LEAST_RATE = 500
"""A transfer with a lower average rate (bytes per second) is restarted."""
_FOR_NOW = (408, 425, 429, 500, 502, 503, 504)
"""HTTP status codes of temporary errors."""
_PAGES = (".html", ".htm")
_PAGE = "a web page instead of the file: perhaps a form, or a notice that the file was removed"


class RefusedError(Exception):
    """A URL does not provide the file; the message is part of a sentence."""


class StoppedError(Exception):
    """The transfer was stopped; partial files are kept."""


@dataclass
class Gauge:
    """Progress and stop flag shared by all transfers (threads) of a run.

    ``came`` takes the number of bytes received, ``expect`` the change in the number of bytes expected (may be
    negative).
    """

    came: Callable[[int], object] = lambda _: None
    expect: Callable[[int], object] = lambda _: None
    stop: threading.Event = field(default_factory=threading.Event)


def open_client() -> "httpx2.Client":
    """Open a client that follows redirects, uses proxies from the environment, and times out after ``TIMEOUT``."""
    import httpx2

    from shiftbench.version import __version__

    # Without content encoding, byte positions of the response are those of the file, so that a transfer can resume.
    headers = {"User-Agent": f"shiftbench/{__version__}", "Accept-Encoding": "identity"}
    return httpx2.Client(follow_redirects=True, timeout=TIMEOUT, headers=headers)


def n_bytes(path: Path) -> int:
    """Return the size of a file in bytes; 0 if there is none."""
    return path.stat().st_size if path.is_file() else 0


def put_in_place(new: Path, path: Path) -> None:
    """Move a file, or a folder to a new path, atomically; across disks, copy to a temporary sibling first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        new.replace(path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with replace_file(path, durable=True) as near:
            shutil.move(new, near)
    sync(path.parent)


def fetch_file(
    client: "httpx2.Client",
    url: str,
    out: Path,
    *,
    size: int | None = None,
    sha256: str | None = None,
    headers: Mapping[str, str] | None = None,
    gauge: Gauge | None = None,
) -> str:
    """Download a file, resuming a partial download; an existing ``out`` is complete and not requested again.

    A partial file is stored in ``<out>.part``, and the server's identifier of the file version in ``<out>.notes``.
    It is resumed if the server still has the same file, or if a checksum will verify this.

    Args:
        client: see ``open_client``.
        size: expected bytes; None if unknown.
        sha256: expected checksum; None if unknown.
        headers: additional headers, such as a token; not sent to other hosts after a redirect.
    Returns: the SHA-256 of the file.
    Raises: RefusedError describing the response received instead, StoppedError, or OSError for disk errors.
    """
    if out.exists():
        return file_sha256(out)
    transfer = _Transfer(client, url, out, size, sha256, dict(headers or {}), gauge or Gauge())
    transfer.announce(max(0, size - n_bytes(transfer.part)) if size else 0)
    try:
        return transfer.run()
    finally:
        transfer.announce(0)


@dataclass
class _AgainError(Exception):
    """Temporary failure of the server or network; ``wait``: seconds to wait, if set by the server."""

    found: str
    wait: float | None = None


@dataclass
class _Transfer:
    """The transfer of one URL to one file."""

    client: "httpx2.Client"
    url: str
    out: Path
    size: int | None
    expected_sha256: str | None
    headers: dict[str, str]
    gauge: Gauge
    announced: int = 0
    resumed: bool = False

    @property
    def part(self) -> Path:
        return self.out.with_name(f"{self.out.name}{PART}")

    @property
    def _notes_file(self) -> Path:
        return self.out.with_name(f"{self.out.name}{NOTES}")

    def announce(self, left: int) -> None:
        """Report the number of remaining bytes, if known."""
        self.gauge.expect(left - self.announced)
        self.announced = left

    def run(self) -> str:
        """Request the file until it is complete and verified, move it into place, and return its checksum."""
        while True:
            self._ask_until_whole()
            wrong, found = self._verify()
            if not wrong:
                break
            self._discard()
            if not self.resumed:
                raise RefusedError(wrong)
            self.resumed = False  # the two parts may come from different files: restart from the beginning
        sync(self.part)
        self.part.rename(self.out)
        sync(self.out.parent)
        self._notes_file.unlink(missing_ok=True)
        return found

    def _ask_until_whole(self) -> None:
        import httpx2

        tries = 0
        came = False
        while not self._is_whole():
            before = n_bytes(self.part)
            try:
                self._ask()
                return
            except _AgainError as error:
                found, wait = error.found, error.wait
            except (
                httpx2.UnsupportedProtocol,
                httpx2.TooManyRedirects,
                httpx2.DecodingError,
                httpx2.InvalidURL,
            ) as error:
                raise RefusedError(first_line(error)) from error
            except httpx2.TransportError as error:
                # A host that was never reached is probably down or blocked: do not retry, so another URL is tried.
                if isinstance(error, httpx2.ConnectError) and not came:
                    raise RefusedError(f"no connection ({first_line(error)})") from error
                found, wait = first_line(error), None
            brought = n_bytes(self.part) - before
            came = came or brought > 0
            tries = 1 if brought >= _WORTH else tries + 1
            if tries >= TRIES or (wait or 0) > LONGEST_ASKED:
                raise RefusedError(found if tries >= TRIES else f"{found}; the server asks to wait {wait:,.0f} s")
            wait = draw_wait(tries, first=FIRST_WAIT, longest=LONGEST_WAIT) if wait is None else wait
            if self.gauge.stop.wait(wait):
                raise StoppedError

    def _ask(self) -> None:
        """Request the file, or the rest of it, and store the response."""
        asked = {**self.headers, **self._range()}
        with self.client.stream("GET", self.url, headers=asked) as response:
            status = response.status_code
            page = response.headers.get("Content-Type", "").startswith("text/html")
            if status == 416:
                self._discard()
                raise _AgainError("the server has fewer bytes than were received before", 0)
            if status in _FOR_NOW:
                raise _AgainError(_format_status(response), read_retry_after(response.headers))
            if status not in (200, 206):
                form = "; the response is a web page, perhaps a form or a login page" if page else ""
                raise RefusedError(f"{_format_status(response)}{form}")
            if page and self.expected_sha256 is None and self.out.suffix.lower() not in _PAGES:
                raise RefusedError(_PAGE)
            self._take(response)

    def _take(self, response: "httpx2.Response") -> None:
        encoded = response.headers.get("Content-Encoding", "identity") != "identity"
        # Some servers declare a .gz file as gzip content encoding of another file.
        decode = encoded and self.out.suffix.lower() not in (".gz", ".tgz")
        start, total = _find_span(response)
        if decode:
            total = None  # the stated length is that of the encoded content
        elif total is None and "chunked" not in response.headers.get("Transfer-Encoding", ""):
            total = self.size  # without a length, the end of the connection ends the body
            if total is None and self.expected_sha256 is None:
                raise RefusedError(
                    "the server does not state the file's length, so a truncated file could not be detected"
                )
        if total is not None and self.size not in (None, total):
            raise RefusedError(f"{total:,} bytes, {self.size:,} are recorded: another revision?")
        if start and (start != n_bytes(self.part) or not self._is_same(response, total)):
            self._discard()
            raise _AgainError("the server sent a different part than requested, or a part of another file", 0)
        if start:
            self.resumed = True
        else:
            self._discard()
            self._write_notes(response, total)
        self.announce(max(0, (total or self.size or 0) - start))
        began, n = time.monotonic(), 0
        # Unbuffered, so that after a kill the partial file contains everything that was counted as received.
        with self.part.open("ab", buffering=0) as file:
            for chunk in response.iter_bytes() if decode else response.iter_raw():
                if self.gauge.stop.is_set():
                    raise StoppedError
                view = memoryview(chunk)
                while view:  # on an almost full disk a write may be partial
                    view = view[file.write(view) :]
                n += len(chunk)
                self.announced -= len(chunk)
                self.gauge.came(len(chunk))
                seconds = time.monotonic() - began
                if seconds > 2 * TIMEOUT and n < _LEAST_RATE * seconds:
                    raise _AgainError(f"{n:,} bytes in {seconds:.0f} seconds")
        if total is not None and n_bytes(self.part) < total:
            raise _AgainError(f"{n_bytes(self.part):,} of {total:,} bytes received")

    def _range(self) -> dict[str, str]:
        """Return the range headers for the rest; empty if the partial file may belong to another version."""
        there, notes = n_bytes(self.part), self._read_notes()
        same = notes.get("url") == self.url and notes.get("validator")
        if not there or not (same or self.expected_sha256):
            return {}
        # If-Range: the server sends the whole file if it has changed. Without it, the checksum decides.
        return {"Range": f"bytes={there}-", **({"If-Range": str(same)} if same else {})}

    def _is_whole(self) -> bool:
        """Return whether all bytes have been received, possibly by a run that was killed afterwards."""
        total = self._read_notes().get("total") or self.size
        return total is not None and n_bytes(self.part) == total

    def _verify(self) -> tuple[str, str]:
        """Return the fault of the received bytes (``""`` if none), and their checksum."""
        there = n_bytes(self.part)
        if not there:
            return "an empty file", ""
        # Some servers send an error page with status 200 and a wrong content type.
        with self.part.open("rb") as file:
            head = file.read(256).lstrip().lower()
        if head.startswith((b"<!doctype html", b"<html")) and self.out.suffix.lower() not in _PAGES:
            return _PAGE, ""
        if self.size not in (None, there):
            return f"{there:,} bytes, {self.size:,} are recorded: another revision?", ""
        found = file_sha256(self.part)
        if self.expected_sha256 not in (None, found):
            return f"SHA-256 is {found[:12]}..., but {str(self.expected_sha256)[:12]}... is recorded", ""
        return "", found

    def _discard(self) -> None:
        self.part.unlink(missing_ok=True)
        self._notes_file.unlink(missing_ok=True)

    def _write_notes(self, response: "httpx2.Response", total: int | None) -> None:
        """Store the server's identification of the file, and its size."""
        validator = _find_validator(response) if total is not None else None
        notes = {"url": self.url, "validator": validator, "total": total}
        with replace_file(self._notes_file) as new:
            new.write_text(json.dumps(notes), encoding="utf-8")

    def _is_same(self, response: "httpx2.Response", total: int | None) -> bool:
        """Return whether a partial response belongs to the same file, as far as the server identifies it."""
        notes = self._read_notes()
        # A part from another URL is only resumed if there is a checksum, so it need not be identified here.
        return notes.get("url") != self.url or (
            _find_validator(response) in (None, notes.get("validator")) and notes.get("total") == total
        )

    def _read_notes(self) -> dict[str, Any]:
        notes: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            notes = parse_json(self._notes_file.read_text(encoding="utf-8"))
        return notes


def _find_span(response: "httpx2.Response") -> tuple[int, int | None]:
    """Return the first byte position of a response, and the total size of the file if stated.

    Raises: RefusedError if the position of a partial response is unknown.
    """
    if response.status_code == 200:
        length = response.headers.get("Content-Length", "")
        return 0, int(length) if length.isdigit() else None
    unit, _, span = response.headers.get("Content-Range", "").partition(" ")
    first, _, rest = span.partition("-")
    total = rest.partition("/")[2]
    if unit != "bytes" or not first.isdigit():
        raise RefusedError("the server sent a part of the file without stating which")
    return int(first), int(total) if total.isdigit() else None


def _find_validator(response: "httpx2.Response") -> str | None:
    """Return the validator of the file version: a strong ETag, or a date (RFC 9110, section 13.1.5)."""
    tag: str = response.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified")


def _format_status(response: "httpx2.Response") -> str:
    return f"HTTP {response.status_code} {response.reason_phrase}".strip()
