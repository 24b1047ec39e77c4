"""Jobs that pages start and poll until they are done: each runs in its own thread when its turn in the queue comes.

The queue limits waiting and running jobs; finished jobs are removed if they are too old or too many.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.app.line import Line, Ticket
from shiftbench.validation.report import InvalidInput, Problem

SECONDS_KEPT = 120.0
"""How long a finished job's result is kept for a page that polls."""
MAX_KEPT_OF_CLIENT, MAX_KEPT = 8, 100
"""Maximum number of unfetched results, per client and in total."""
_SECONDS_BETWEEN_LOOKS = 0.02

Result = TypeVar("Result")


class Job(Generic[Result]):
    """A job; once ``done`` is set, it has a result or problems.

    ``progress`` is (steps done, total steps), if the job reports them.
    """

    def __init__(self, key: Hashable, line: Line, work: "Callable[[Job[Result]], Result]", faults: FaultLog) -> None:
        self.key = key
        self.done = threading.Event()
        self.begun = time.monotonic()
        self.ended = 0.0
        self.progress: tuple[int, int] | None = None
        self.result: Result | None = None
        self.problems: list[Problem] = []
        self.tickets: dict[str, Ticket] = {}
        self._running: Ticket | None = None
        self._line, self._work, self._faults = line, work, faults
        self._lock = threading.Lock()

    @property
    def place(self) -> int:
        """Return the job's position in the queue: 1 for the next one; 0 if it is not waiting."""
        if self._running is not None:
            return 0
        places = [self._line.place(ticket) for ticket in list(self.tickets.values())]
        return min((place for place in places if place), default=0)

    def ask(self, client: str, *, comes_first: bool = False) -> None:
        """Enqueue the job for a client; it runs when the first of its tickets reaches its turn.

        Every client that requests the job gets a ticket. Otherwise a client could delay it for others by requesting it
        first, behind many jobs of its own.

        Raises: LineFullError if the client may not enqueue more.
        """
        if client in self.tickets or self._running is not None:
            return
        ticket = self._line.enter(client, self._start, comes_first=comes_first)
        with self._lock:
            self.tickets[client] = ticket
            is_late = self._running not in (None, ticket)
        if is_late:  # the job started meanwhile, with the ticket of another client
            self._line.leave(ticket)

    def report(self, n_done: int, n_steps: int) -> None:
        """Record progress, and let other jobs run before the next step."""
        self.progress = n_done, n_steps
        if self._running is not None and n_done < n_steps:
            self._line.give_way(self._running)

    def _start(self, ticket: Ticket) -> None:
        with self._lock:
            is_first = self._running is None
            if is_first:
                self._running = ticket
            others = [each for each in self.tickets.values() if each is not ticket]
        for each in others if is_first else [ticket]:
            self._line.leave(each)
        if is_first:
            threading.Thread(target=self._run, args=[ticket], name="job", daemon=True).start()

    def _run(self, ticket: Ticket) -> None:
        try:
            self.result = self._work(self)
        except InvalidInput as error:
            self.problems = error.problems
        except Exception as fault:
            self._faults.write(fault)
            self.problems = [Problem("this request failed", "server", "an internal error", "try again later")]
        finally:
            self.ended = time.monotonic()
            self.done.set()
            self._line.leave(ticket)


class Jobs(Generic[Result]):
    """Jobs by key, so that pages share a job with the same key; a page waits ``seconds`` before it shows progress."""

    def __init__(self, line: Line, faults: FaultLog, seconds: float = 1.0) -> None:
        self._line, self._faults, self._seconds = line, faults, seconds
        self._jobs: dict[Hashable, Job[Result]] = {}
        self._lock = threading.Lock()

    def ask(
        self, key: Hashable, client: str, work: Callable[[Job[Result]], Result], *, comes_first: bool = False
    ) -> Job[Result]:
        """Return the job of a key: the running one, a finished one whose result was not fetched, or a new one.

        Raises: LineFullError if the client may not enqueue more.
        """
        with self._lock:
            self._forget_old()
            job = self._jobs.get(key) or Job(key, self._line, work, self._faults)
            job.ask(client, comes_first=comes_first)
            self._jobs[key] = job
        return job

    def find(self, key: Hashable) -> Job[Result] | None:
        """Return the job of a key; None if there is none, or its result has expired."""
        with self._lock:
            self._forget_old()
            return self._jobs.get(key)

    def forget(self, job: Job[Result]) -> None:
        """Remove a job whose result was shown."""
        with self._lock:
            if self._jobs.get(job.key) is job:
                del self._jobs[job.key]

    async def wait(self, job: Job[Result]) -> bool:
        """Wait up to ``seconds`` without blocking a thread; return whether the job is done."""
        end = time.monotonic() + self._seconds
        while not job.done.is_set() and time.monotonic() < end:
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
        return job.done.is_set()

    def _forget_old(self) -> None:
        """Remove unfetched results that are too old, or the oldest if too many, in total or per client."""
        latest = time.monotonic() - SECONDS_KEPT
        ended = sorted(((job.ended, key) for key, job in self._jobs.items() if job.done.is_set()), key=lambda e: -e[0])
        of_client: dict[str, int] = {}
        for number, (when, key) in enumerate(ended):
            client = next(iter(self._jobs[key].tickets))
            of_client[client] = of_client.get(client, 0) + 1
            if when < latest or number >= MAX_KEPT or of_client[client] > MAX_KEPT_OF_CLIENT:
                del self._jobs[key]
