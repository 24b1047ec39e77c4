"""What Gradio is given before anything of it looks: no addresses to fetch, no files but uploads, no faults to print."""

from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from leaderboard.app.faults import FaultLog
from leaderboard.app.uploads import Uploads

_FILES = (gr.File, gr.UploadButton)
"""Components that mean a file. To all others Gradio would move a file, too, where a request holds what looks like
one: it fetches from the address that is named, and opens any file of the machine where it runs in another server."""


MAX_SESSIONS = 32
"""Sessions whose last values Gradio remembers, some MiB for each; no page here needs them."""
MAX_UNREAD = 60
"""Messages of one session that wait for a reader, some three for each call; Gradio would keep any number for good."""
_FILE_KEYS = frozenset({"path", "url", "meta"})


class GuardedBlocks(gr.Blocks):  # type: ignore[misc]
    """Blocks whose every call, by queue, HTTP or MCP, is checked, and fails without filling the log."""

    uploads: Uploads
    faults: FaultLog

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], *arguments: Any, **options: Any) -> Any:
        """Refuse what no page or client sends, then go on as Gradio does."""
        for component, value in zip(block_fn.inputs, inputs, strict=False):
            self._check(component, value)
        return await super().preprocess_data(block_fn, inputs, *arguments, **options)

    async def process_api(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Answer a call; of a fault only the first is written with its traceback, which Gradio would do for all."""
        unread = self._queue.pending_messages_per_session.get(options.get("session_hash"))
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


def _holds_file(value: Any) -> bool:
    """Return whether anything in a value has a key of Gradio's file objects; nothing else that is sent here has."""
    if isinstance(value, Mapping):
        return not _FILE_KEYS.isdisjoint(value) or any(map(_holds_file, value.values()))
    return isinstance(value, Sequence) and not isinstance(value, str) and any(map(_holds_file, value))
