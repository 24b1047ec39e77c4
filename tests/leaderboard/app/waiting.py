"""What comes later: a page that waits in line, followed as a browser does; and Gradio, loaded after the start."""

import time
from importlib import import_module

import httpx

import_module("shiftbench.leaderboard.app.gradio_page")  # once for all servers of this process


def gradio_of(url: str) -> None:
    """Wait until a server has loaded Gradio, for which clients have less patience."""
    httpx.get(f"{url}/gradio", timeout=120).raise_for_status()


def last_answer(session: httpx.Client, answer: httpx.Response, seconds: float = 300) -> httpx.Response:
    """Return the answer that asks for no other look."""
    deadline = time.monotonic() + seconds
    while "refresh" in answer.headers and time.monotonic() < deadline:
        _, _, address = answer.headers["refresh"].partition("; url=")
        time.sleep(0.05)
        answer = session.get(str(answer.url.join(address)) if address else str(answer.url))
    return answer
