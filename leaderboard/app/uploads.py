"""Uploads: a plain endpoint at the URL of Gradio's own, and the folder in which a server stores them.

Gradio's endpoint writes named files while they arrive and leaves incomplete ones behind. Here a file has no name until
it is complete, so interrupted uploads leave nothing. Gradio's form and clients (``gradio_client.handle_file``) need no
change: a file is sent as ``files``, and the response lists its path.
"""

import asyncio
import os
import re
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from filelock import FileLock, Timeout
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from shiftbench.leaderboard.pages import addresses
from shiftbench.validation.operating_system import free_file_entries

SECONDS_KEPT = 3600.0
"""How long an uploaded file stays on disk if there is space; accepted ones are copied into the store."""
MIN_FREE_BYTES = 2**30
"""Free space to leave on the uploads' disk: anybody may upload, and a store on a full disk accepts no entries."""
MIN_FREE_FILES = 20_000
"""Free inodes to leave on the same disk: a disk may run out of them with bytes to spare."""
MAX_KEPT = 50_000
"""Maximum number of stored uploads: even a tiny one takes two inodes, and hundreds can arrive in a second."""
SECONDS_SURE = 300.0
"""Minimum lifetime of an upload even if space is short, so that its sender can submit it."""
_PREFIX, _LOCK = "shiftbench-", ".lock"
_MAX_NAME = 60
"""Maximum length of a stored file name; file systems allow 255 bytes, and a character has up to four."""
_NOT_WRITTEN = "the server could not store this file: try again in an hour"
_UNUSUAL = re.compile(r"[^\w.-]+")


class Uploads:
    """The upload folder of one server, locked while the server runs; folders of crashed servers are deleted."""

    def __init__(self, seconds_kept: float | None = None, min_free_bytes: int | None = None) -> None:
        """Create the folder; the defaults are ``SECONDS_KEPT`` and ``MIN_FREE_BYTES``."""
        self._seconds_kept, self._min_free_bytes = seconds_kept, min_free_bytes
        # Gradio copies files from outside its own folder, whose path it determines in the same way.
        home = Path(os.environ.get("GRADIO_TEMP_DIR") or Path(tempfile.gettempdir(), "gradio")).resolve()
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / f"{_PREFIX}starting.lock"):  # otherwise a new folder could be deleted before it is locked
            _sweep_ended(home)
            self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=home))
            self._lock = FileLock(self.folder / _LOCK)
            self._lock.acquire()
        self._arrived: dict[Path, float] = {}  # the oldest first
        self._arriving = threading.Lock()

    def holds(self, path: str) -> bool:
        """Return whether a path is that of a file uploaded to this server."""
        return Path(path) in self._arrived and Path(path).is_file()

    def secret(self, path: Path) -> str:
        """Return the secret name by which the sender's form refers to an uploaded file: ``<random>/<file name>``."""
        return path.relative_to(self.folder).as_posix()

    def find(self, secret: str) -> Path | None:
        """Return the file of a ``secret``; None if there is none, or it has been deleted."""
        path = self.folder / secret
        return path if self.holds(str(path)) else None

    def has_room(self, n_bytes: int = 0) -> bool:
        """Return whether the disk has space for ``n_bytes`` more; bytes that are arriving are already on it.

        If it has not, the oldest uploads are deleted first, so that nobody can block others by filling the disk.
        """
        while not self._disk_has_room(n_bytes):
            if not self._delete(1, older_than=SECONDS_SURE):
                return False
        return True

    def _disk_has_room(self, n_bytes: int) -> bool:
        entries = free_file_entries(self.folder)
        has_entries = entries is None or entries >= MIN_FREE_FILES
        return has_entries and shutil.disk_usage(self.folder).free >= (self._min_free_bytes or MIN_FREE_BYTES) + n_bytes

    def save(self, name: str, content: BinaryIO, n_bytes: int) -> Path:
        """Store a complete file under its name in a new subfolder with a random name."""
        if not self.has_room(n_bytes):
            raise HTTPException(503, "the server has no disk space for uploads: try again in an hour")
        folder = self.folder / secrets.token_urlsafe(16)
        path = folder / (_UNUSUAL.sub("_", Path(name).name)[-_MAX_NAME:].lstrip(".") or "file")
        try:
            folder.mkdir()
            with path.open("wb") as file:
                shutil.copyfileobj(content, file)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise HTTPException(507, f"{_NOT_WRITTEN}\n") from error
        with self._arriving:
            self._arrived[path] = time.monotonic()
        if len(self._arrived) > MAX_KEPT:
            self._delete(1)
        return path

    def sweep(self) -> None:
        """Delete expired files."""
        self._delete(len(self._arrived), older_than=self._age())

    def _age(self) -> float:
        return SECONDS_KEPT if self._seconds_kept is None else self._seconds_kept

    def _delete(self, most: int, older_than: float = 0.0) -> int:
        """Delete up to ``most`` of the oldest uploads, if older than ``older_than`` seconds; return how many."""
        latest = time.monotonic() - older_than  # wall-clock time may jump
        with self._arriving:
            old = [path for path, arrived in islice(self._arrived.items(), most) if arrived <= latest]
            for path in old:
                del self._arrived[path]
        for path in old:
            shutil.rmtree(path.parent, ignore_errors=True)
        return len(old)

    @asynccontextmanager
    async def sweep_while_serving(self) -> AsyncIterator[None]:
        """Delete expired uploads periodically while the server runs, and the folder when it stops."""

        async def sweep_again() -> None:
            while True:
                await asyncio.sleep(self._age())
                await run_in_threadpool(self.sweep)

        sweeping = asyncio.create_task(sweep_again())
        try:
            yield
        finally:
            sweeping.cancel()
            shutil.rmtree(self.folder, ignore_errors=True)
            self._lock.release()


def add_upload(app: FastAPI, uploads: Uploads) -> None:
    """Add the endpoint; it takes precedence over Gradio's because routes come before mounted applications."""

    @app.post(addresses.UPLOAD)
    async def upload(request: Request) -> Response:
        async with request.form(max_files=1, max_fields=0) as form:
            file = form.get("files")
            if not isinstance(file, UploadFile):
                return PlainTextResponse("send one file, as 'files'\n", 400)
            path = await run_in_threadpool(uploads.save, file.filename or "file", file.file, file.size or 0)
        return JSONResponse([str(path)])

    # Gradio's form polls the upload's progress, and shows an error without a response.
    @app.get(addresses.UPLOAD_PROGRESS)
    def progress() -> Response:
        return PlainTextResponse('data: {"msg": "done"}\n\n', media_type="text/event-stream")


def _sweep_ended(home: Path) -> None:
    """Delete temporary folders left by crashed servers (those whose lock is free)."""
    for folder in home.glob(f"{_PREFIX}*/"):
        lock = FileLock(folder / _LOCK, timeout=0)
        try:
            with lock:
                shutil.rmtree(folder, ignore_errors=True)
        except Timeout:
            continue  # its server is running
