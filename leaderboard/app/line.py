"""The one line in which checks, scorings and comparisons wait for their turn, fair to every client.

Logic alone, which no server is needed to test: it starts no thread, reads no clock and knows no request.

Clients take turns, and whoever waits is overtaken by each other client at most once before its own turn. Two kinds of
tickets overtake: those of signed-in users' submissions, and those of clients that run nothing while the clients ahead
of them occupy all slots but the last, which is kept for such.
"""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

AT_ONCE = 3
"""Jobs that run at the same time. One client occupies at most all but one of these slots."""
MAX_CLIENTS = 100
"""Clients that may wait at the same time: each of them has one place for sure. As many more may wait with a submission
of a signed-in user: addresses cost nothing, so whoever has many of them could otherwise shut these users out."""
MORE_PLACES = 100
"""Places that clients share in addition to their first one."""
MAX_PAUSED = 16
"""Jobs that may have given way and wait to go on: each holds a thread."""


class LineFullError(Exception):
    """No place in the line is left for a client; the text says whose jobs occupy it."""


@dataclass(eq=False)
class Ticket:
    """One job's place in the line; ``start`` is called when its turn has come, from any thread, and returns at once.

    ``comes_first`` marks a submission of a signed-in user; ``is_running`` that its turn has come and it has not left
    yet.
    """

    client: str
    start: "Start"
    comes_first: bool = False
    is_running: bool = False


Start = Callable[[Ticket], object]


@dataclass
class _Waiting:
    """The waiting tickets of one client, and the turn at which it began to wait for its next one."""

    since: int
    tickets: list[Ticket] = field(default_factory=list)


class Line:
    """Tickets of clients, of which some run. Threads may share it.

    Args:
        at_once: jobs that run at the same time.
        max_clients: clients that may wait, each with one ticket for sure: so many with a ticket that comes first, and
            so many without.
        more_places: further tickets of clients that wait already. A client gets another one only while that leaves
            more of these places free than it occupies, so a single client never occupies more than half of them.
    """

    def __init__(self, at_once: int = AT_ONCE, max_clients: int = MAX_CLIENTS, more_places: int = MORE_PLACES) -> None:
        self._at_once, self._max_clients, self._more_places = at_once, max_clients, more_places
        self._waiting: dict[str, _Waiting] = {}  # ordered by ``since``
        self._running: Counter[str] = Counter()
        self._last_start: dict[str, int] = {}  # of clients that started a job since the eldest one began to wait
        self._turn = 0
        self._n_paused = 0
        self._lock = threading.Lock()

    def enter(self, client: str, start: Start, *, comes_first: bool = False) -> Ticket:
        """Join the line, or run at once where a slot is free.

        Raises: LineFullError where the client has no place left.
        """
        ticket = Ticket(client, start, comes_first)
        with self._lock:
            waiting = self._waiting.get(client)
            if waiting is None and self._n_clients(comes_first=comes_first) >= self._max_clients:
                raise LineFullError(f"{self._max_clients:,} others are waiting")
            if waiting is not None:
                mine = len(waiting.tickets) - 1
                if mine >= self._more_places - sum(len(each.tickets) - 1 for each in self._waiting.values()):
                    raise LineFullError(f"{mine + 1:,} jobs of yours are waiting already")
            n_first = sum(each.comes_first for each in waiting.tickets) if waiting else 0
            self._insert(ticket, n_first if comes_first else None)
        self._start_next()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Return the ticket's slot or place to the line: its job has ended or is not wanted any more. Idempotent."""
        with self._lock:
            if ticket.is_running:
                self._stop(ticket)
            elif (waiting := self._waiting.get(ticket.client)) is not None and ticket in waiting.tickets:
                waiting.tickets.remove(ticket)
                if not waiting.tickets:
                    del self._waiting[ticket.client]
        self._start_next()

    def give_way(self, ticket: Ticket) -> None:
        """Wait for others in the middle of a long job: return at once where nobody waits, else when it may go on."""
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
        """Return a ticket's place: 1 for the next one; 0 for one that does not wait."""
        order = self.order()
        return order.index(ticket) + 1 if ticket in order else 0

    def order(self) -> list[Ticket]:
        """List the waiting tickets, the next one first, as they would run if nobody joined them."""
        with self._lock:
            in_rounds = [
                (number, not ticket.comes_first, waiting.since, ticket)
                for waiting in self._waiting.values()
                for number, ticket in enumerate(waiting.tickets)
            ]
        return [ticket for *_, ticket in sorted(in_rounds, key=lambda each: each[:3])]

    def _n_clients(self, *, comes_first: bool) -> int:
        """Count the waiting clients that have a ticket which comes first, or those that have none."""
        return sum(any(each.comes_first for each in one.tickets) == comes_first for one in self._waiting.values())

    def _insert(self, ticket: Ticket, place: int | None) -> None:
        """Insert a ticket among its client's, or at their end; a client that did not wait joins behind all others."""
        if ticket.client not in self._waiting:
            self._turn += 1
            self._waiting[ticket.client] = _Waiting(self._turn)
        tickets = self._waiting[ticket.client].tickets
        tickets.insert(len(tickets) if place is None else place, ticket)

    def _stop(self, ticket: Ticket) -> None:
        ticket.is_running = False
        self._running[ticket.client] -= 1
        self._running = +self._running  # a client that runs nothing is not remembered

    def _start_next(self) -> None:
        """Start as many jobs as there are free slots for."""
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
                if waiting.tickets:  # behind all others
                    self._waiting[client] = _Waiting(self._turn, waiting.tickets)
                since = self._eldest_since()
                self._last_start = {each: turn for each, turn in self._last_start.items() if turn >= since}
        for ticket in started:
            ticket.start(ticket)

    def _eldest_since(self) -> int:
        """Return the turn at which the client that waits longest began to wait; the next one where nobody waits."""
        return next((each.since for each in self._waiting.values()), self._turn + 1)

    def _next_client(self) -> str | None:
        """Return the client whose turn it is; None where no slot is free for those who wait."""
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
