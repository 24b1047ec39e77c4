"""Gradio with restrictions: no URLs to fetch, no files except uploads, and limits on unread responses in its queue.

Gradio keeps each response until its session reads it, for up to 2,000 sessions with arbitrary names, and a response
can be several MiB. It also keeps the ids of all calls forever, and the session names of the last 10,000 calls.
"""

import asyncio
import json
import random
import re
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

import fastapi
import gradio as gr
import orjson
from gradio.components.api_component import Api
from gradio.data_classes import PredictBodyInternal
from gradio.queueing import Event, Queue
from gradio.utils import get_function_params
from pydantic import TypeAdapter, ValidationError

from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.app.identity import Callers
from shiftbench.leaderboard.app.line import Line, LineFullError, Ticket
from shiftbench.leaderboard.app.uploads import Uploads

LINE_ID = "line"
"""Concurrency id of the functions whose calls wait in the server's queue (``Line``)."""
_SUBMISSIONS = ("submit", "withdraw", "nominate")
"""Prefixes of the names of functions that need a submitter."""

MAX_UNREAD_BYTES = 32 * 2**20
"""Maximum total size of unread responses as JSON; above it, the longest-waiting sessions are dropped."""
MAX_WAITING_SESSIONS = 1_500
"""Maximum number of sessions with pending calls or responses; larger than the maximum number of connections, so that no
session with a reader is dropped."""
SESSION_NAME = re.compile(r"[\w-]{0,100}", re.ASCII)
"""Accepted session names; Gradio's clients generate letters and digits."""
_MESSAGE_BYTES = 1_000
"""Assumed memory of a message, without its response."""
_CALLS_REMEMBERED = 100
"""Number of calls for which Gradio keeps statistics, which are not used here."""


class GuardedQueue(Queue):  # type: ignore[misc]
    """A queue with a limit on all unread responses, which rejects calls that no page or client makes.

    Calls that check, score or compare wait in the server's queue (``Line``) instead of in order of arrival; Gradio
    shows each caller its position. At most ``max_others`` other calls wait.
    """

    def __init__(self, *, line: Line, callers: Callers, max_others: int, **options: Any) -> None:
        super().__init__(max_size=None, **options)
        self._line, self._callers, self._max_others = line, callers, max_others
        self._tickets: dict[str, Ticket] = {}  # by event id: those that wait or run
        self.ANALYTICS_MAX_EVENTS = _CALLS_REMEMBERED
        self.pending_messages_per_session = UnreadAnswers(self.pending_event_ids_session)

    def compute_analytics_summary(self, records: Any) -> dict[str, Any]:
        """Return no statistics: Gradio tabulates all calls after each one, and fails on lone surrogates in any."""
        return {}

    async def push(
        self, body: PredictBodyInternal, request: fastapi.Request, username: str | None
    ) -> tuple[bool, Any, Any]:
        """Accept a call, or return why not: Gradio then responds with status 400, or 503 if the queue is full."""
        if not SESSION_NAME.fullmatch(body.session_hash or ""):
            return False, "a session name has up to 100 letters and digits", "error"
        if body.fn_index is not None and body.fn_index not in self.blocks.fns:
            return False, f"there is no function {body.fn_index}: /config lists them", "error"
        function = None if body.fn_index is None else self.blocks.fns[body.fn_index]
        if function is None or function.concurrency_id != LINE_ID:
            if len(self) - len(self._events_in_line()) >= self._max_others:
                return False, "too many calls are queued: try again in a minute", "queue_full"
            others: tuple[bool, Any, Any] = await super().push(body, request, username)
            return others
        caller = self._callers.of(request)
        comes_first = caller.is_signed_in and str(function.api_name).startswith(_SUBMISSIONS)
        try:
            ticket = self._line.enter(caller.name, _stay, comes_first=comes_first)
        except LineFullError as error:
            return False, f"{error}: try again when one of them has finished", "queue_full"
        taken: tuple[bool, Any, Any] = (False, "", "error")
        try:
            taken = await super().push(body, request, username)
        finally:
            if taken[0]:
                self._tickets[taken[1]] = ticket
            else:
                self._line.leave(ticket)
        self._sort()
        return taken

    def get_events(self) -> tuple[list[Event], bool, str] | None:
        """Return the next call to run: one whose turn in ``Line`` has come, else one that needs no turn there."""
        self._sort()
        waiting = self._events_in_line()
        for event in waiting:
            if self._tickets[event._id].is_running:
                waiting.remove(event)
                return [event], False, LINE_ID
        others = {name: each for name, each in self.event_queue_per_concurrency_id.items() if name != LINE_ID}
        for name, each in sorted(others.items(), key=lambda _: random.random()):
            has_slot = each.concurrency_limit is None or each.current_concurrency < each.concurrency_limit
            if each.queue and has_slot:
                return [each.queue.pop(0)], False, name
        return None

    async def process_events(self, events: list[Event], *arguments: Any) -> None:
        """Run a call, then release its slot in ``Line``."""
        try:
            await super().process_events(events, *arguments)
        finally:
            for event in events:
                if (ticket := self._tickets.pop(event._id, None)) is not None:
                    self._line.leave(ticket)

    async def remove_from_queue(self, event_id: str) -> None:
        """Remove a waiting call, also from ``Line``."""
        await super().remove_from_queue(event_id)
        self._leave_removed()

    async def clean_events(self, **which: Any) -> None:
        """Remove the calls of a closed session, also from ``Line``."""
        await super().clean_events(**which)
        self._leave_removed()

    def _events_in_line(self) -> list[Event]:
        queue = self.event_queue_per_concurrency_id.get(LINE_ID)
        return queue.queue if queue is not None else []

    def _sort(self) -> None:
        """Sort the waiting calls in the order of ``Line``, since Gradio shows callers their position."""
        places = {id(ticket): place for place, ticket in enumerate(self._line.order(), start=1)}
        self._events_in_line().sort(key=lambda event: places.get(id(self._tickets.get(event._id)), 0))

    def _leave_removed(self) -> None:
        """Remove calls that are neither waiting nor running from ``Line``."""
        there = {event._id for event in self._events_in_line()}
        there |= {event._id for job in self.active_jobs if job is not None for event in job}
        for event_id in self._tickets.keys() - there:
            self._line.leave(self._tickets.pop(event_id))


def _stay(_: Ticket) -> None:
    """Do nothing when a ticket's turn comes, since Gradio polls ``get_events``."""


class UnreadAnswers(dict[str, "Messages"]):
    """The messages of each session, ordered by when the session was created or got its first unread message.

    Dropped sessions are removed; messages sent to them are discarded silently.
    """

    def __init__(self, event_ids: dict[str, set[str]]) -> None:
        super().__init__()
        self.n_bytes = 0
        self._event_ids = event_ids

    def __setitem__(self, session: str, _: object) -> None:
        """Add a new session, with ``Messages`` instead of Gradio's queue."""
        if session not in self and len(self) >= MAX_WAITING_SESSIONS:
            self.drop(next((each for each, waiting in self.items() if not waiting.n_readers), next(iter(self))))
        super().__setitem__(session, Messages(self, session))

    def __missing__(self, _: str) -> asyncio.Queue[Any]:
        """Return a queue that nobody reads, for messages to a dropped session."""
        return asyncio.Queue()

    def __delitem__(self, session: str) -> None:
        """Remove a session, which may have been dropped already."""
        self.drop(session)

    def drop(self, session: str) -> None:
        """Remove a session, its unread messages and its calls."""
        dropped = self.pop(session, None)
        self._event_ids.pop(session, None)
        if dropped is not None:
            self.n_bytes -= dropped.n_bytes

    def count(self, session: str, n_bytes: int) -> None:
        """Update the size of a session's unread messages; above the total limit, drop the oldest sessions."""
        messages = self[session]
        if n_bytes > 0 and messages.n_bytes == n_bytes:  # its first unread message
            super().__setitem__(session, self.pop(session))
        self.n_bytes += n_bytes
        while self.n_bytes > MAX_UNREAD_BYTES:
            self.drop(next(each for each, waiting in self.items() if waiting.n_bytes))


class Messages(asyncio.Queue[Any]):
    """A session's messages, each with its size."""

    def __init__(self, unread: UnreadAnswers, session: str) -> None:
        super().__init__()
        self.n_bytes = self.n_readers = 0
        self._unread, self._session = unread, session

    async def get(self) -> Any:
        """Return the next message; while waiting for it, the session counts as having a reader."""
        self.n_readers += 1
        try:
            return await super().get()
        finally:
            self.n_readers -= 1

    def _put(self, item: Any) -> None:
        size = _size(item)
        super()._put((item, size))
        self._count(size)

    def _get(self) -> Any:
        item, size = super()._get()
        self._count(-size)
        return item

    def _count(self, n_bytes: int) -> None:
        self.n_bytes += n_bytes
        if self._unread.get(self._session) is self:  # else the session was dropped meanwhile
            self._unread.count(self._session, n_bytes)


def _size(message: Any) -> int:
    answer = getattr(message, "output", None)
    return _MESSAGE_BYTES + (len(orjson.dumps(answer, default=str, option=orjson.OPT_NON_STR_KEYS)) if answer else 0)


_FILES = (gr.File, gr.UploadButton)
"""Components that accept files. All others must reject file objects in requests, since Gradio would process them there,
too: it fetches any URL in them and, unless restricted, opens any file of the machine."""


MAX_REMEMBERED_SESSIONS = 32
"""Number of sessions whose last values Gradio stores, several MiB each; no page here needs them."""
MAX_UNREAD = 60
"""Maximum number of unread messages per session, about three per call; Gradio has no limit."""
MAX_ARGUMENT = 2_000
"""Maximum length, as JSON, of an argument that is not a form text: an entry's id, a board's name."""
_FILE_KEYS = frozenset({"path", "url", "meta"})
_KINDS = {str: "a string", int: "an integer", list: "a list of strings", NoneType: "null"}


class GuardedBlocks(gr.Blocks):  # type: ignore[misc]
    """Blocks that check every call, by queue, HTTP or MCP, and do not fill the log when calls fail."""

    uploads: Uploads
    faults: FaultLog
    _queue: Queue

    def __init__(self, *, line: Line, callers: Callers, **options: Any) -> None:
        self._line, self._callers = line, callers  # set first: Gradio creates the queue in __init__
        super().__init__(**options)

    def queue(self, **options: Any) -> "GuardedBlocks":
        """Set up Gradio's queue, with limits on its memory."""
        super().queue(**options)
        made = self._queue
        self._queue = GuardedQueue(
            live_updates=made.live_updates,
            concurrency_count=made.max_thread_count,
            update_intervals=made.update_intervals,
            max_others=made.max_size,
            line=self._line,
            callers=self._callers,
            blocks=self,
            default_concurrency_limit=made.default_concurrency_limit,
        )
        return self

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], *arguments: Any, **options: Any) -> Any:
        """Reject inputs that no page or client sends, then continue as Gradio does."""
        inputs = _complete(block_fn, inputs)
        for component, value in zip(block_fn.inputs, inputs, strict=False):
            self._check(component, value)
        _check_kinds(block_fn, inputs)
        return await super().preprocess_data(block_fn, inputs, *arguments, **options)

    async def process_api(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Handle a call; only the first occurrence of a fault is logged with a traceback (Gradio would log all)."""
        unread = self._queue.pending_messages_per_session.get(options.get("session_hash") or "")
        if unread is not None and unread.qsize() > MAX_UNREAD:
            raise gr.Error("read the results of earlier calls first", print_exception=False)
        try:
            answer: dict[str, Any] = await super().process_api(*arguments, **options)
            return answer
        except gr.Error:
            raise
        except Exception as fault:
            self.faults.write(fault)
            raise gr.Error("this call failed: check the arguments of the endpoint", print_exception=False) from fault

    def _check(self, component: Any, value: Any) -> None:
        if not isinstance(component, _FILES):
            if _holds_file(value):
                raise gr.Error("a file is not expected here", print_exception=False)
        elif value is not None:
            path = value.get("path") if isinstance(value, Mapping) else None
            if not isinstance(path, str) or "://" in path:
                raise gr.Error("send the file itself, not a URL", print_exception=False)
            if not self.uploads.holds(path):
                raise gr.Error("send the file itself, not a path", print_exception=False)


def _complete(block_fn: Any, inputs: Sequence[Any]) -> list[Any]:
    """Return a call's inputs, with defaults for missing trailing ones; an empty text box becomes an empty string."""
    missing = block_fn.inputs[len(inputs) :]
    parameters = get_function_params(block_fn.fn)[len(inputs) :]
    if missing and not (len(missing) == len(parameters) and all(has_default for _, has_default, _, _ in parameters)):
        raise _refusal(f"{_signature(block_fn)}: {len(inputs)} of {len(block_fn.inputs)} arguments were sent")
    sent = zip(block_fn.inputs, inputs, strict=False)
    completed = ["" if value is None and isinstance(component, gr.Textbox) else value for component, value in sent]
    return completed + [default for _, _, default, _ in parameters]


def _check_kinds(block_fn: Any, inputs: Sequence[Any]) -> None:
    """Reject arguments of the wrong type or above the maximum length."""
    for component, value in zip(block_fn.inputs, inputs, strict=False):
        if isinstance(component, gr.Textbox) and not isinstance(value, str):
            raise _refusal(f"{_signature(block_fn)}: expected a string, found {_clip_value(value)}")
        limit = component.max_length if isinstance(component, gr.Textbox) else MAX_ARGUMENT
        text = value if isinstance(value, str) else json.dumps(value)
        if limit is not None and not isinstance(component, _FILES) and len(text) > limit:
            raise _refusal(f"{_signature(block_fn)}: an argument of {len(text):,} characters is too long")
    for (name, _, _, kind), component, value in zip(
        get_function_params(block_fn.fn), block_fn.inputs, inputs, strict=False
    ):
        if isinstance(component, Api):
            try:
                TypeAdapter(kind).validate_python(value, strict=True)
            except ValidationError as error:
                found = f"'{name}' must be {_kind_words(kind)}, found {_clip_value(value)}"
                raise _refusal(f"{_signature(block_fn)}: {found}") from error


def _signature(block_fn: Any) -> str:
    """Return a function's signature for error messages, such as ``board(name, page)``."""
    names = ", ".join(name for name, *_ in get_function_params(block_fn.fn))
    return f"{block_fn.api_name}({names})"


def _kind_words(kind: Any) -> str:
    kinds = getattr(kind, "__args__", (kind,)) if getattr(kind, "__origin__", None) is not list else (list,)
    return " or ".join(_KINDS[each] for each in kinds)


def _clip_value(value: Any) -> str:
    return json.dumps(value)[:40]


def _refusal(words: str) -> gr.Error:
    return gr.Error(words, print_exception=False)


def _holds_file(value: Any) -> bool:
    """Return whether a value contains a key of Gradio's file objects; no other valid input has these keys."""
    if isinstance(value, Mapping):
        return not _FILE_KEYS.isdisjoint(value) or any(map(_holds_file, value.values()))
    return isinstance(value, Sequence) and not isinstance(value, str) and any(map(_holds_file, value))
