"""What Gradio is given before anything of it looks: no addresses to fetch, no files but uploads, no faults to print."""

import json
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

import gradio as gr
from gradio.components.api_component import Api
from gradio.queueing import Queue
from gradio.utils import get_function_params
from pydantic import TypeAdapter, ValidationError

from shiftbench.leaderboard.app.callers import Callers
from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.app.gradio_queue import GuardedQueue
from shiftbench.leaderboard.app.line import Line
from shiftbench.leaderboard.app.uploads import Uploads

_FILES = (gr.File, gr.UploadButton)
"""Components that mean a file. To all others Gradio would move a file, too, where a request holds what looks like
one: it fetches from the address that is named, and opens any file of the machine where it runs in another server."""


MAX_REMEMBERED_SESSIONS = 32
"""Sessions whose last values Gradio remembers, some MiB for each; no page here needs them."""
MAX_UNREAD = 60
"""Messages of one session that wait for a reader, some three for each call; Gradio would keep any number for good."""
MAX_ARGUMENT = 2_000
"""Letters of an argument, as JSON, that is no text of the form: an entry's id, a board's name."""
_FILE_KEYS = frozenset({"path", "url", "meta"})
_KINDS = {str: "a text", int: "a whole number", list: "a list of texts", NoneType: "null"}


class GuardedBlocks(gr.Blocks):  # type: ignore[misc]
    """Blocks whose every call, by queue, HTTP or MCP, is checked, and fails without filling the log."""

    uploads: Uploads
    faults: FaultLog
    _queue: Queue

    def __init__(self, *, line: Line, callers: Callers, **options: Any) -> None:
        self._line, self._callers = line, callers  # for the queue, which Gradio sets up at once
        super().__init__(**options)

    def queue(self, **options: Any) -> "GuardedBlocks":
        """Set the queue up as Gradio does, with bounds on what it keeps."""
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
        """Refuse what no page or client sends, then go on as Gradio does."""
        inputs = _complete(block_fn, inputs)
        for component, value in zip(block_fn.inputs, inputs, strict=False):
            self._check(component, value)
        _check_kinds(block_fn, inputs)
        return await super().preprocess_data(block_fn, inputs, *arguments, **options)

    async def process_api(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Answer a call; of a fault only the first is written with its traceback, which Gradio would do for all."""
        unread = self._queue.pending_messages_per_session.get(options.get("session_hash") or "")
        if unread is not None and unread.qsize() > MAX_UNREAD:
            raise gr.Error("read the answers to earlier calls first", print_exception=False)
        try:
            answer: dict[str, Any] = await super().process_api(*arguments, **options)
            return answer
        except gr.Error:
            raise
        except Exception as fault:
            self.faults.write(fault)
            raise gr.Error("this call failed: does it have what the endpoint takes?", print_exception=False) from fault

    def _check(self, component: Any, value: Any) -> None:
        if not isinstance(component, _FILES):
            if _holds_file(value):
                raise gr.Error("no file is meant here", print_exception=False)
        elif value is not None:
            path = value.get("path") if isinstance(value, Mapping) else None
            if not isinstance(path, str) or "://" in path:
                raise gr.Error("send the file itself, not an address", print_exception=False)
            if not self.uploads.holds(path):
                raise gr.Error("send the file itself, not a path", print_exception=False)


def _complete(block_fn: Any, inputs: Sequence[Any]) -> list[Any]:
    """Return a call's inputs, with defaults for those at the end that were not sent; an empty text box is a text."""
    missing = block_fn.inputs[len(inputs) :]
    parameters = get_function_params(block_fn.fn)[len(inputs) :]
    if missing and not (len(missing) == len(parameters) and all(has_default for _, has_default, _, _ in parameters)):
        raise _refusal(f"{_signature(block_fn)}: {len(inputs)} of {len(block_fn.inputs)} arguments were sent")
    sent = zip(block_fn.inputs, inputs, strict=False)
    completed = ["" if value is None and isinstance(component, gr.Textbox) else value for component, value in sent]
    return completed + [default for _, _, default, _ in parameters]


def _check_kinds(block_fn: Any, inputs: Sequence[Any]) -> None:
    """Refuse arguments that are of another kind, or longer, than the function takes."""
    for component, value in zip(block_fn.inputs, inputs, strict=False):
        if isinstance(component, gr.Textbox) and not isinstance(value, str):
            raise _refusal(f"{_signature(block_fn)}: a text is wanted, found {_clip_value(value)}")
        limit = component.max_length if isinstance(component, gr.Textbox) else MAX_ARGUMENT
        text = value if isinstance(value, str) else json.dumps(value)
        if limit is not None and not isinstance(component, _FILES) and len(text) > limit:
            raise _refusal(f"{_signature(block_fn)}: an argument of {len(text):,} letters is too long")
    for (name, _, _, kind), component, value in zip(
        get_function_params(block_fn.fn), block_fn.inputs, inputs, strict=False
    ):
        if isinstance(component, Api):
            try:
                TypeAdapter(kind).validate_python(value, strict=True)
            except ValidationError as error:
                found = f"'{name}' is {_kind_words(kind)}, found {_clip_value(value)}"
                raise _refusal(f"{_signature(block_fn)}: {found}") from error


def _signature(block_fn: Any) -> str:
    """Return how a function is called, as a refusal names it.

    Such as ``board(name, page)``.
    """
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
    """Return whether anything in a value has a key of Gradio's file objects; nothing else that is sent here has."""
    if isinstance(value, Mapping):
        return not _FILE_KEYS.isdisjoint(value) or any(map(_holds_file, value.values()))
    return isinstance(value, Sequence) and not isinstance(value, str) and any(map(_holds_file, value))
