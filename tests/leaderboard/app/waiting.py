"""A page of something that waits in line, followed as a browser does: it names where and when to look next."""

import time

import httpx


def last_answer(session: httpx.Client, answer: httpx.Response, seconds: float = 300) -> httpx.Response:
    """Return the answer that asks for no other look."""
    deadline = time.monotonic() + seconds
    while "refresh" in answer.headers and time.monotonic() < deadline:
        _, _, address = answer.headers["refresh"].partition("; url=")
        time.sleep(0.05)
        answer = session.get(str(answer.url.join(address)) if address else str(answer.url))
    return answer
