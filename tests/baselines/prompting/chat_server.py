"""An OpenAI-compatible server on the loopback interface whose answers, delays and faults a test scripts."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

Reply = Callable[[dict[str, Any]], "str | Response"]
"""The body of a request in, the content of the answer or a whole response out."""


def completion(content: Any, **more: Any) -> dict[str, Any]:
    """Build the body of a chat completion."""
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    message = {"role": "assistant", "content": content}
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": choices,
        "usage": usage,
        **more,
    }


def text_completion(*texts: str, **logprobs: Any) -> dict[str, Any]:
    """Build the body of a completion of one prompt or several; ``logprobs`` holds lists, one a prompt."""
    choices = [
        {"index": place, "finish_reason": "stop", "text": text, "logprobs": {k: v[place] for k, v in logprobs.items()}}
        for place, text in enumerate(texts)
    ]
    return completion(None) | {"object": "text_completion", "choices": choices}


def refusal(status: int, message: str = "refused", code: str | None = None, **headers: str) -> Response:
    """Build an error as OpenAI's servers write it."""
    error = {"error": {"message": message, "type": "x", "code": code, "param": None}}
    return JSONResponse(error, status, {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass
class ChatServer:
    """A running server: what it replies, how long it takes, and what it was asked."""

    url: str
    reply: Reply = lambda _: "positive"
    delay: float = 0.0
    answers_only: int | None = None
    """Requests that are answered; later ones wait until this is None."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    authorizations: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    under_way: int = 0
    most_under_way: int = 0

    def last_turns(self) -> list[str]:
        """List the last turn of each request, in the order they came."""
        return [body["messages"][-1]["content"] for body in self.asked]


def _make_app(server: ChatServer) -> FastAPI:
    app = FastAPI(openapi_url=None)

    @app.post("/v1/completions")
    @app.post("/v1/chat/completions")
    async def chat(request: Request) -> Response:
        body = json.loads(await request.body())
        server.asked.append(body)
        place = len(server.asked)
        server.paths.add(request.url.path)
        server.times.append(time.monotonic())
        server.authorizations.add(request.headers.get("authorization", ""))
        server.under_way += 1
        server.most_under_way = max(server.most_under_way, server.under_way)
        try:
            await asyncio.sleep(server.delay)
            while server.answers_only is not None and place > server.answers_only:
                await asyncio.sleep(0.01)
            reply = server.reply(body)
        finally:
            server.under_way -= 1
        if isinstance(reply, Response):
            return reply
        return JSONResponse(completion(reply) if "messages" in body else text_completion(reply))

    return app


@contextmanager
def running_chat_server() -> Iterator[ChatServer]:
    """Run a server on a free port, in a thread of this process, until the block ends."""
    # With the protocol named, asyncio sends small packets at once; without, each answer takes 40 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        chat = ChatServer(f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
        config = uvicorn.Config(_make_app(chat), log_level="critical", lifespan="off", ws="none", http="h11")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            deadline = time.monotonic() + 10
            while not server.started:
                if time.monotonic() > deadline:
                    raise TimeoutError("the loopback server did not start")
                time.sleep(0.01)
            yield chat
        finally:
            server.should_exit = server.force_exit = True
            thread.join(timeout=10)
