"""The queue in which checks, scorings and comparisons wait, fair to every client.

Pure logic, testable without a server: no threads, no clock, no requests.

Clients take turns: a waiting client is overtaken by each other client at most once before its own turn. Two kinds of
tickets overtake: submissions of signed-in users, and tickets of clients that run nothing while the clients ahead of
them occupy all slots but the last, which is reserved for such clients.
"""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

AT_ONCE = 3
"""Number of concurrent jobs. One client occupies at most all but one of these slots."""
MAX_CLIENTS = 100
"""Maximum number of waiting clients, each with one guaranteed ticket. The same number of signed-in users with
submissions may wait in addition: otherwise an attacker with many IP addresses, which are cheap, could lock them out."""
MORE_PLACES = 100
"""Number of waiting tickets beyond each client's first one, over all clients."""
MAX_PAUSED = 16
"""Maximum number of jobs paused by ``give_way``, each of which blocks a thread."""


class LineFullError(Exception):
    """The queue is full for a client; the message states whose jobs occupy it."""


@dataclass(eq=False)
class Ticket:
    """One job's ticket; ``start`` is called when its turn comes, from any thread, and must return immediately.

    ``comes_first`` marks a submission of a signed-in user; ``is_running`` is true from its turn until it leaves.
    """

    client: str
    start: "Start"
    comes_first: bool = False
    is_running: bool = False


Start = Callable[[Ticket], object]


@dataclass
class _Waiting:
    """The waiting tickets of one client, and the value of ``Line``'s turn counter when it began to wait."""

    since: int
    tickets: list[Ticket] = field(default_factory=list)


class Line:
    """A queue of clients' tickets, some of them running. Thread-safe.

    Args:
        at_once: number of concurrent jobs.
        max_clients: maximum number of waiting clients, each with one guaranteed ticket; counted separately for clients
            with and without a ticket that comes first.
        more_places: number of further tickets of waiting clients. A client gets another one only if more of these
            remain free than it has, so a single client never has more than half of them.
    """

    def __init__(self, at_once: int = AT_ONCE, max_clients: int = MAX_CLIENTS, more_places: int = MORE_PLACES) -> None:
        self._at_once, self._max_clients, self._more_places = at_once, max_clients, more_places
        self._waiting: dict[str, _Waiting] = {}  # ordered by ``since``
        self._running: Counter[str] = Counter()
        self._last_start: dict[str, int] = {}  # clients that started a job since the longest-waiting one began to wait
        self._turn = 0
        self._n_paused = 0
        self._lock = threading.Lock()

    def enter(self, client: str, start: Start, *, comes_first: bool = False) -> Ticket:
        """Join the queue, or run immediately if a slot is free.

        Raises: LineFullError if the client may not enqueue more.
        """
        ticket = Ticket(client, start, comes_first)
        with self._lock:
            waiting = self._waiting.get(client)
            if waiting is None and self._n_clients(comes_first=comes_first) >= self._max_clients:
                raise LineFullError(f"{self._max_clients:,} jobs are queued")
            if waiting is not None:
                mine = len(waiting.tickets) - 1
                if mine >= self._more_places - sum(len(each.tickets) - 1 for each in self._waiting.values()):
                    raise LineFullError(f"{mine + 1:,} of your jobs are already queued")
            n_first = sum(each.comes_first for each in waiting.tickets) if waiting else 0
            self._insert(ticket, n_first if comes_first else None)
        self._start_next()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Release the ticket's slot or position, because its job has finished or was cancelled. Idempotent."""
        with self._lock:
            if ticket.is_running:
                self._stop(ticket)
            elif (waiting := self._waiting.get(ticket.client)) is not None and ticket in waiting.tickets:
                waiting.tickets.remove(ticket)
                if not waiting.tickets:
                    del self._waiting[ticket.client]
        self._start_next()

    def give_way(self, ticket: Ticket) -> None:
        """Pause a long job for others: return immediately if nobody waits, else block until its turn comes again."""
        go_on = threading.Event()
        with self._lock:
            if self._n_paused >= MAX_PAUSED or not (self._waiting.keys() - {ticket.client}):
                return
            self._n_paused += 1
            self._stop(ticket)
            ticket.start = lambda _: go_on.set()
            self._insert(ticket, 0)
        self._start_next()
        go_on.wait()
        with self._lock:
            self._n_paused -= 1

    def place(self, ticket: Ticket) -> int:
        """Return a ticket's position: 1 for the next one; 0 if it is not waiting."""
        order = self.order()
        return order.index(ticket) + 1 if ticket in order else 0

    def order(self) -> list[Ticket]:
        """List the waiting tickets in the order in which they would run if nobody else joined."""
        with self._lock:
            in_rounds = [
                (number, not ticket.comes_first, waiting.since, ticket)
                for waiting in self._waiting.values()
                for number, ticket in enumerate(waiting.tickets)
            ]
        return [ticket for *_, ticket in sorted(in_rounds, key=lambda each: each[:3])]

    def _n_clients(self, *, comes_first: bool) -> int:
        """Count the waiting clients that have a ticket that comes first, or those that have none."""
        return sum(any(each.comes_first for each in one.tickets) == comes_first for one in self._waiting.values())

    def _insert(self, ticket: Ticket, place: int | None) -> None:
        """Insert a ticket at an index among its client's (None: at the end); new clients join behind all others."""
        if ticket.client not in self._waiting:
            self._turn += 1
            self._waiting[ticket.client] = _Waiting(self._turn)
        tickets = self._waiting[ticket.client].tickets
        tickets.insert(len(tickets) if place is None else place, ticket)

    def _stop(self, ticket: Ticket) -> None:
        ticket.is_running = False
        self._running[ticket.client] -= 1
        self._running = +self._running  # drop clients with no running job

    def _start_next(self) -> None:
        """Start as many jobs as there are free slots."""
        started: list[Ticket] = []
        with self._lock:
            while (client := self._next_client()) is not None:
                waiting = self._waiting.pop(client)
                ticket = waiting.tickets.pop(0)
                ticket.is_running = True
                started.append(ticket)
                self._running[client] += 1
                self._turn += 1
                self._last_start[client] = self._turn
                if waiting.tickets:  # the client rejoins behind all others
                    self._waiting[client] = _Waiting(self._turn, waiting.tickets)
                since = self._eldest_since()
                self._last_start = {each: turn for each, turn in self._last_start.items() if turn >= since}
        for ticket in started:  # without the lock, since ``start`` may let other tickets leave
            ticket.start(ticket)

    def _eldest_since(self) -> int:
        """Return the turn counter when the longest-waiting client began to wait; the next value if nobody waits."""
        return next((each.since for each in self._waiting.values()), self._turn + 1)

    def _next_client(self) -> str | None:
        """Return the client whose turn it is; None if there is no free slot for any waiting client."""
        n_running, since = self._running.total(), self._eldest_since()
        if n_running >= self._at_once:
            return None
        by_turn = sorted(self._waiting, key=lambda client: not self._waiting[client].tickets[0].comes_first)
        for client in by_turn:
            has_slot = not self._running[client] or n_running + 1 < self._at_once
            is_eldest = self._waiting[client].since == since
            if has_slot and (is_eldest or self._last_start.get(client, 0) < since):
                return client
        return None
