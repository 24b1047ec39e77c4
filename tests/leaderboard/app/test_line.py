"""The line itself: whose job runs next, who gets a place, and how much it holds."""

import contextlib
import random
import threading
import time
from collections import Counter

import pytest

from shiftbench.leaderboard.app.line import Line, LineFullError, Ticket


class Seen:
    """A line whose starts are recorded: the client of each, in order."""

    def __init__(self, **options: int) -> None:
        self.line = Line(**options)
        self.running: list[Ticket] = []
        self.starts: list[str] = []

    def enter(self, client: str, *, comes_first: bool = False) -> Ticket:
        return self.line.enter(client, self._start, comes_first=comes_first)

    def _start(self, ticket: Ticket) -> None:
        self.running.append(ticket)
        self.starts.append(ticket.client)

    def finish(self, number: int = 0) -> None:
        self.line.leave(self.running.pop(number))


def test_clients_take_turns_however_many_jobs_one_has() -> None:
    seen = Seen(at_once=1)
    for _ in range(16):
        seen.enter("greedy")
    victim = seen.enter("victim")
    seen.enter("victim")
    assert (seen.starts, seen.line.place(victim)) == (["greedy"], 2)
    for _ in range(5):
        seen.finish()
    assert seen.starts == ["greedy", "greedy", "victim", "greedy", "victim", "greedy"]


def test_the_last_slot_is_kept_for_who_runs_nothing() -> None:
    seen = Seen(at_once=3)
    for _ in range(16):
        seen.enter("greedy")
    assert seen.starts == ["greedy"] * 2
    seen.enter("victim")
    assert seen.starts == ["greedy"] * 2 + ["victim"]


def test_submissions_of_signed_in_users_come_first_once_a_turn() -> None:
    seen = Seen(at_once=1)
    for client in ("a", "b", "c", "c"):
        seen.enter(client)
    for _ in range(3):
        seen.enter("user", comes_first=True)
    assert [ticket.client for ticket in seen.line.order()] == ["user", "b", "c", "user", "c", "user"]
    for _ in range(6):
        seen.finish()
    assert seen.starts == ["a", "user", "b", "c", "user", "c", "user"]


@pytest.mark.parametrize("seed", range(40))
def test_between_two_jobs_of_a_waiting_client_each_other_client_runs_one_at_most(seed: int) -> None:
    """Clients of all kinds come, run and go in a random order; every wait is looked at by itself."""
    rng = random.Random(seed)
    seen = Seen(at_once=rng.randint(1, 4), max_clients=8, more_places=12)
    waits: dict[str, int] = {}  # of each waiting client the number of starts at which its wait began
    known = 0
    for _ in range(400):
        client = f"client {rng.randint(0, 9)}"
        if seen.running and rng.random() < 0.5:
            seen.finish(rng.randrange(len(seen.running)))
        elif rng.random() < 0.1 and (waiting := seen.line.order()):
            gone = rng.choice(waiting)
            seen.line.leave(gone)
            if gone.client not in {ticket.client for ticket in seen.line.order()}:
                waits.pop(gone.client)
        else:
            try:
                seen.enter(client, comes_first=rng.random() < 0.3)
            except LineFullError:
                n_clients = len({ticket.client for ticket in seen.line.order()})
                assert client in waits or n_clients == 8, "refused though there was room for one place a client"
        for number in range(known, len(seen.starts)):
            started = seen.starts[number]
            overtook = Counter(seen.starts[waits.pop(started, number) : number])
            assert max(overtook.values(), default=0) <= 1
            waits[started] = number + 1  # if it has more jobs, they wait from here on
        known = len(seen.starts)
        waiting_now = {ticket.client for ticket in seen.line.order()}
        waits = {each: since for each, since in waits.items() if each in waiting_now}
        waits |= dict.fromkeys(waiting_now - waits.keys(), known)
        assert len(seen.running) <= seen.line._at_once
    while seen.running:
        seen.finish()
    assert seen.line.order() == []


def test_nobody_is_refused_while_there_is_room_for_one_place_a_client() -> None:
    seen = Seen(at_once=1, max_clients=50, more_places=20)
    refused = 0
    for _ in range(100):
        try:
            seen.enter("greedy")
        except LineFullError as error:
            refused, words = refused + 1, str(error)
    assert refused == 100 - 1 - 1 - 10
    assert words.startswith("11 ")
    before = seen.line.order()
    for number in range(49):
        seen.enter(f"client {number}")
    assert set(before) <= set(seen.line.order())  # nobody who waited was put out
    with pytest.raises(LineFullError, match="50 jobs"):
        seen.enter("one more")


def test_addresses_shut_no_signed_in_user_out() -> None:
    seen = Seen(at_once=1, max_clients=50)
    for number in range(51):
        seen.enter(f"address {number}")
    user = seen.enter("user", comes_first=True)
    assert seen.line.place(user) == 1
    with pytest.raises(LineFullError, match="50 jobs"):
        seen.enter("one more address")
    for number in range(49):
        seen.enter(f"user {number}", comes_first=True)
    with pytest.raises(LineFullError, match="50 jobs"):
        seen.enter("one more user", comes_first=True)


def test_a_thousand_clients_leave_the_line_as_small_as_it_was() -> None:
    line = Line(at_once=1)
    held = line.enter("first", lambda _: None)
    for number in range(2_000):
        with contextlib.suppress(LineFullError):
            line.enter(f"client {number % 700}", line.leave)
    assert len(line.order()) <= 200
    line.leave(held)
    assert (line.order(), line._waiting, +line._running, line._last_start) == ([], {}, Counter(), {})
    for number in range(2_000):
        line.enter(f"client {number}", line.leave)
    assert len(line._last_start) + len(line._waiting) + len(+line._running) <= 1


def test_a_long_job_gives_way_and_goes_on_before_its_clients_other_jobs() -> None:
    seen, went_on = Seen(at_once=1), threading.Event()
    long = seen.enter("greedy")
    seen.line.give_way(long)  # returns at once: nobody waits
    seen.enter("victim")
    seen.enter("greedy")

    def give_way() -> None:
        seen.line.give_way(long)
        went_on.set()

    threading.Thread(target=give_way, daemon=True).start()
    deadline = time.monotonic() + 10
    while seen.starts != ["greedy", "victim"] and time.monotonic() < deadline:
        time.sleep(0.001)
    assert seen.starts == ["greedy", "victim"]
    assert not went_on.is_set()
    seen.line.leave(seen.running.pop())
    assert went_on.wait(10)
    assert (long.is_running, len(seen.line.order())) == (True, 1)
