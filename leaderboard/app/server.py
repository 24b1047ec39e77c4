"""The leaderboard as a web application: static HTML pages, and Gradio for the API, sign-in and MCP.

    create_app   the whole application, for any ASGI server
    serve        run it until Ctrl-C
    serve_board  the same, from a configuration

Pages (``shiftbench.leaderboard.app.pages``) need no script and respond in milliseconds. Gradio has the form at
``/gradio``, the named endpoints (``shiftbench.leaderboard.app.endpoints``), their OpenAPI document and the MCP server.
It loads slowly, so it is loaded after the first page, or on the first request for it.
"""

import gc
import logging
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware

from shiftbench.builders.folder.hub_folder import open_folder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app.checking import Checker
from shiftbench.leaderboard.app.config import BoardConfig, Limits, Log, Retention, configuration
from shiftbench.leaderboard.app.connections import IDLE_SECONDS, bounded_connections
from shiftbench.leaderboard.app.faults import FaultLog, write_logs_to
from shiftbench.leaderboard.app.host_page import HostPage
from shiftbench.leaderboard.app.identity import Callers
from shiftbench.leaderboard.app.later import AfterFirstPage, LaterGradio
from shiftbench.leaderboard.app.line import AT_ONCE, Line
from shiftbench.leaderboard.app.live_index import LiveIndex
from shiftbench.leaderboard.app.middleware import BodyLimit, HeadAsGet, NotFoundPages, OwnAddress, SecurityHeaders
from shiftbench.leaderboard.app.pages import add_pages
from shiftbench.leaderboard.app.request_log import RequestLog
from shiftbench.leaderboard.app.signing_in import SignIns, sign_in_routes
from shiftbench.leaderboard.app.sub_path import AddPath, CutPath
from shiftbench.leaderboard.app.submitting import SubmitPage
from shiftbench.leaderboard.app.uploads import Uploads, add_upload
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.release import refuse_split_twice
from shiftbench.leaderboard.store import Store, open_store
from shiftbench.validation.report import InvalidInput, Problem

log = logging.getLogger(__name__)

SECONDS_TO_START = 60


@dataclass(frozen=True)
class ServerSettings:
    """Settings of a server.

    With ``sign_in`` submitters are Hugging Face users (on a Space, or by a token); without it only requests from the
    machine itself may submit. ``daily_quota`` is the number of entries per submitter and UTC day. ``X-Forwarded-For``
    is accepted only from ``proxies``. Behind a proxy that serves the leaderboard below a path of its site,
    ``root_path`` is that path, such as ``/domains``.
    """

    sign_in: bool = False
    daily_quota: int | None = None
    hosts: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    root_path: str = ""
    title: str = ""
    text: str = ""
    limits: Limits | None = None
    retention: Retention | None = None
    log: Log | None = None

    @classmethod
    def of(cls, config: BoardConfig) -> "ServerSettings":
        """Build the settings from a configuration."""
        return cls(
            sign_in=config.submissions.sign_in,
            daily_quota=config.submissions.quota or None,
            hosts=tuple(config.hosts),
            proxies=tuple(config.server.proxies),
            root_path=config.server.root_path,
            title=config.title,
            text=config.text,
            limits=config.limits,
            retention=config.retention,
            log=config.log,
        )


def create_app(folders: Sequence[DatasetFolder], store: Store, settings: ServerSettings = ServerSettings()) -> FastAPI:
    """Build the application for datasets and a store.

    Raises: InvalidInput for withheld labels without a quota, with a store on the Hub that is not private, or with two
        folders that split them into different halves.
    """
    _refuse_unguarded(folders, store, settings)
    index = Index(folders, store, background=True)
    limits, logged = settings.limits or Limits(), settings.log or Log()
    kept = settings.retention.upload_seconds if settings.retention else None
    comparison_bytes = (settings.retention or Retention()).comparisons_mib * 2**20
    uploads = Uploads(kept, limits.free_mib * 2**20 if settings.limits else None)
    faults, checker = FaultLog(as_json=logged.json_lines), Checker(AT_ONCE)
    line, callers, sign_ins = Line(AT_ONCE, limits.clients_in_line, limits.more_places), Callers(), SignIns()
    live = LiveIndex(index, faults, comparison_bytes)
    sign_in, quota = settings.sign_in, settings.daily_quota

    def mount() -> FastAPI:
        from shiftbench.leaderboard.app.gradio_page import mount_gradio

        return mount_gradio(
            app,
            live,
            checker,
            uploads,
            line,
            callers,
            sign_ins,
            sign_in=sign_in,
            daily_quota=quota,
            root_path=settings.root_path,
        )

    gradio = LaterGradio(mount, faults)

    def begin() -> None:
        checker.start()
        gradio.begin()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with uploads.sweep_while_serving():
            live.start()
            yield
            live.stop()
            checker.close()
            await gradio.stop()

    write_logs_to(faults)
    app = FastAPI(
        title="shiftbench",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    add_pages(app, live, line, callers, settings.title, settings.text)
    add_upload(app, uploads)
    submitting = SubmitPage(live, uploads, checker, line, callers, sign_in=sign_in, daily_quota=quota)
    app.router.routes += submitting.routes(sign_ins)
    app.router.routes += HostPage(live, callers, settings.hosts if sign_in else ()).routes(sign_ins)
    app.router.routes += sign_in_routes(sign_ins)
    app.router.default = gradio
    # The middleware added last handles a request first.
    # Without CORSMiddleware, Gradio lets pages of other sites read its responses.
    app.add_middleware(CORSMiddleware, allow_origins=[])
    app.add_middleware(HeadAsGet)
    app.add_middleware(NotFoundPages)
    if settings.root_path:
        app.add_middleware(AddPath, root_path=settings.root_path)
    app.add_middleware(OwnAddress)
    upload_bytes = limits.upload_mib * 2**20
    app.add_middleware(BodyLimit, has_room=uploads.has_room, faults=faults, max_upload_bytes=upload_bytes)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(AfterFirstPage, begin=begin)
    if settings.root_path:
        app.add_middleware(CutPath, root_path=settings.root_path)
    app.add_middleware(GZipMiddleware, minimum_size=1_000, compresslevel=5)
    app.add_middleware(
        RequestLog,
        as_json=logged.json_lines,
        every=logged.requests,
        slow_seconds=logged.slow_seconds,
    )
    return app


def _refuse_unguarded(folders: Sequence[DatasetFolder], store: Store, settings: ServerSettings) -> None:
    """Raise InvalidInput if the settings would leak withheld labels."""
    withheld = [folder for folder in folders if not folder.has_public_labels]
    if withheld and settings.daily_quota is None:
        what = "a leaderboard on withheld labels needs a quota"
        cure = "set the number of entries per day: submissions.quota in board.toml, with 'serve --config'"
        raise InvalidInput(Problem(what, withheld[0].manifest.benchmark, cure=cure))
    refuse_split_twice(withheld)
    if withheld:
        store.require_private()


class Server:
    """A running leaderboard; ``close`` stops it."""

    def __init__(
        self, app: FastAPI, host: str, port: int, proxies: Sequence[str] = (), connections: int | None = None
    ) -> None:
        """Start the server in a new thread, and wait until it responds; ``proxies`` as in ``ServerSettings``."""
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            http=bounded_connections(connections),
            ws="none",
            # By default, uvicorn trusts every client on this machine.
            forwarded_allow_ips=list(proxies),
            log_level="warning",
            # Longer than a proxy keeps an idle connection: whoever closes first cannot send into a closed one.
            timeout_keep_alive=int(IDLE_SECONDS),
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        deadline = time.monotonic() + SECONDS_TO_START
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise InvalidInput(Problem("the server did not start", self.url, cure="see the messages above"))
            time.sleep(0.01)

    def close(self) -> None:
        """Stop after the requests in progress."""
        self._server.should_exit = True
        self._thread.join(timeout=10)


def serve_board(config: BoardConfig) -> None:
    """Open the data and the store of a configuration, and serve them until Ctrl-C.

    Raises: InvalidInput if they cannot be opened or served (see ``serve``); KeyboardInterrupt after Ctrl-C.
    """
    folders = [open_folder(each) for each in config.data]
    for folder in folders:
        folder.refuse_withheld()
    store = open_store(config.store)
    store.note_configuration(configuration(config), config.hosts)
    serve(folders, store, host=config.server.host, port=config.server.port, settings=ServerSettings.of(config))


def serve(
    folders: Sequence[DatasetFolder],
    store: Store,
    host: str = "127.0.0.1",
    port: int = 7860,
    settings: ServerSettings = ServerSettings(),
    *,
    block: bool = True,
) -> Server:
    """Serve the leaderboard at an address (port 0: any free one), log its URL, and run until Ctrl-C.

    Without ``block`` it returns immediately; call ``close()`` on the result to stop.

    Raises: InvalidInput if the port is unavailable; KeyboardInterrupt after Ctrl-C, with the server closed.
    """
    port = usable_port(host, port)
    with _stop_event() if block else nullcontext() as stopped:
        connections = settings.limits.connections if settings.limits else None
        server = Server(create_app(folders, store, settings), host, port, settings.proxies, connections)
        if stopped is not None:
            # Objects created at the start are permanent: exclude them from garbage collection.
            gc.freeze()
            gc.enable()
            log.info("the leaderboard is at %s", server.url)
            while not stopped.wait(0.5):
                pass  # with a timeout, since a signal delivered to another thread does not interrupt this wait
            server.close()
            raise KeyboardInterrupt
    return server


@contextmanager
def _stop_event() -> Iterator[threading.Event]:
    """Return an event that is set by Ctrl-C (SIGINT) or by SIGTERM, the signal that stops containers.

    It replaces KeyboardInterrupt, which might be raised, and lost, while the server starts.
    """
    stopped = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: stopped.set()) for number in signals]
    try:
        yield stopped
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def usable_port(host: str, port: int) -> int:
    """Return a port that can be listened on; for 0, any free one.

    Raises: InvalidInput if it is in use, or the address does not belong to this machine.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return int(probe.getsockname()[1])
    except OSError as error:
        cure = "stop the program that uses it, or give another --port"
        what = "the server cannot listen on this address and port"
        raise InvalidInput(Problem(what, f"{host}:{port}", error.strerror or str(error), cure)) from error
