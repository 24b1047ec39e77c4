"""A language model behind an OpenAI-compatible server: concurrent requests, with retries after transient failures."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shiftbench.baselines.prompting.models import Ending, KeepAnswer, ModelAnswer, Request
from shiftbench.baselines.prompting.wire import Api, NoAnswerError, UnscoredError, read_answer, request_body
from shiftbench.validation.credentials import without_credentials
from shiftbench.validation.report import InvalidInput, Problem, first_line
from shiftbench.validation.retries import draw_wait, read_retry_after

TRIES = 5
"""Tries per request that fails with a server error, a timeout, a response without an answer, or no connection."""
MOST_PAUSES = 8
"""Maximum consecutive rate-limit refusals without a response between them."""
LONGEST_PAUSE = 600
"""Maximum seconds to wait at a server's request."""
MOST_UNANSWERED = 5
"""Stop after this many consecutive requests without an answer, each after ``TRIES`` tries."""
TIMEOUT = 300
"""Default seconds to wait for a response."""
LONGEST_WAIT = 60
"""Maximum seconds between tries if the server does not state a time."""

_KEPT = "answers are cached: run the same command again to continue"
_UNANSWERABLE = {
    Ending.TOO_LONG: (
        "context_length", "context length", "maximum context", "exceed_context_size", "string_above_max_length",
    ),
    Ending.REFUSED: ("content_filter", "content management policy", "content_policy"),
}  # fmt: skip
"""Parts of error codes and messages that mean that a text is too long or was filtered."""
_NO_CHAT = ("chat template", "chat_template", "not a chat model", "not support chat")
_ONLY_CHAT = ("is a chat model", "only supports chat", "not support completion", "use v1/chat/completions")
_BY_STATUS = {
    401: "check the key in the variable of --api-key-env",
    403: "check the key in the variable of --api-key-env, and its permissions",
    404: "check --model and --base-url, which usually ends in /v1; a base model needs --api completions",
}


class ModelServer:
    """A model of an OpenAI-compatible server.

    Args:
        parameters: sent with each request, overriding the defaults (temperature, max_tokens); None omits a default.
        scores_labels: request the log-probabilities of labels instead of text, if a request has labels.
        first_wait: maximum seconds before the second try; doubled for each further one.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str,
        concurrency: int = 8,
        parameters: Mapping[str, Any] | None = None,
        api: Api = Api.CHAT,
        scores_labels: bool = False,
        timeout: float = TIMEOUT,
        first_wait: float = 1,
    ) -> None:
        self._model, self._concurrency, self._first_wait = model, concurrency, first_wait
        self._parameters = dict(parameters or {})
        self.api, self.scores_labels = api, scores_labels
        self._options: dict[str, Any] = {"base_url": base_url, "api_key": api_key, "timeout": timeout, "max_retries": 0}
        self.address = without_credentials(base_url)
        self._pause_asked = self._pause_over = 0.0  # monotonic clock
        self._pauses = 0
        self._unanswered = 0  # consecutive requests
        self._failed = False

    def identity(self, request: Request) -> Mapping[str, Any]:
        """Return what the response depends on: model, messages and parameters, but not the server."""
        return {"model": self._model, **self._body(request)}

    def answer(self, requests: Sequence[Request], keep: KeepAnswer) -> None:
        """Answer all requests, ``concurrency`` at once, in an order that keeps prompts with a common prefix together.

        A response without an answer is a failed try; after ``TRIES`` of them the request stays unanswered (text None).

        Raises: InvalidInput if the server refuses, fails ``TRIES`` times for one request, or leaves too many
            consecutive requests unanswered. Pending requests are completed first, and their responses saved.
        """
        self._failed, self._unanswered = False, 0
        asyncio.run(self._answer_all(requests, keep))

    def read(self, text: str, request: Request) -> ModelAnswer:
        """Parse the body of the server's response to a request.

        Raises: NoAnswerError if it contains no answer; InvalidInput if labels are to be scored and the
            log-probabilities are missing.
        """
        try:
            return read_answer(text, request, self.api, scores_labels=self.scores_labels)
        except UnscoredError as error:
            what = "the server does not return the log-probabilities required by --score-labels"
            other = "--api chat, which scores the first token" if self.api is Api.COMPLETIONS else "--api completions"
            cure = f"use {other}, or omit --score-labels"
            raise InvalidInput(Problem(what, self.address, str(error), cure)) from error

    def _body(self, request: Request) -> dict[str, Any]:
        return request_body(request, self.api, self._parameters, scores_labels=self.scores_labels)

    async def _answer_all(self, requests: Sequence[Request], keep: KeepAnswer) -> None:
        from openai import AsyncOpenAI

        # Servers cache prefixes, which speeds up the next prompt with the same one.
        waiting = iter(sorted(enumerate(requests), key=lambda each: _prefix(each[1])))
        async with AsyncOpenAI(**self._options) as client:
            workers = [self._work(client, waiting, keep) for _ in range(min(self._concurrency, len(requests)))]
            ends = await asyncio.gather(*workers, return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    async def _work(self, client: Any, waiting: Iterator[tuple[int, Request]], keep: KeepAnswer) -> None:
        """Answer requests until none are left, or another worker has failed."""
        try:
            for place, request in waiting:
                answer = await self._answer_one(client, request)
                if answer is None:
                    return
                self._hand_on(place, answer, keep)
        except BaseException:
            self._failed = True
            raise

    async def _answer_one(self, client: Any, request: Request) -> ModelAnswer | None:
        """Answer one request; None if another worker has failed."""
        import openai

        failures, spent = 0, (0, 0)
        while True:
            while not self._failed and (wait := self._pause_over - time.monotonic()) > 0:
                await asyncio.sleep(min(wait, 0.2))  # the pause may be extended, or another worker may fail
            if self._failed:
                return None
            sent = time.monotonic()
            try:
                return _add_tokens(await self._post(client, request), spent)
            except NoAnswerError as error:
                failures, spent = failures + 1, (spent[0] + error.tokens[0], spent[1] + error.tokens[1])
                if failures == TRIES:
                    return ModelAnswer(None, *spent)
                await asyncio.sleep(self._wait(failures))
            except openai.APIError as error:
                if ending := _unanswerable_ending(error):
                    return ModelAnswer("", *spent, ending)
                if _is_limit(error):
                    self._pause(sent, error)
                else:
                    failures += 1
                    self._check_that_it_may_pass(error, failures)
                    await asyncio.sleep(self._wait(failures))

    async def _post(self, client: Any, request: Request) -> ModelAnswer:
        body = self._body(request)
        # The client's own parser would accept a response without an answer.
        if self.api is Api.CHAT:
            chat = client.chat.completions.with_raw_response
            raw = await chat.create(model=self._model, messages=body.pop("messages"), extra_body=body)
        else:
            plain = client.completions.with_raw_response
            raw = await plain.create(model=self._model, prompt=body.pop("prompt"), extra_body=body)
        return self.read(raw.text, request)

    def _check_that_it_may_pass(self, error: Exception, failures: int) -> None:
        """Raise InvalidInput if another try is useless: after a refusal, or after ``TRIES`` failures."""
        status = _status(error)
        if status is not None and status not in (408, 409) and status < 500:
            what, found = "the server rejects the request", first_line(error)
            cure = _BY_STATUS.get(status, "change the parameter that it names, or remove it with --param NAME=null")
            cure = self._other_api(str(error)) or cure
        elif failures == TRIES:
            what, found = "the server failed", f"{first_line(error)} ({TRIES} tries)"
            cure = "check that the server is running"
        else:
            return
        raise InvalidInput(Problem(what, self.address, found, f"{cure}; {_KEPT}")) from error

    def _other_api(self, said: str) -> str | None:
        """Suggest the other endpoint if the server reports that its model does not chat, or only chats; else None."""
        folded = said.casefold()
        if self.api is Api.CHAT and any(words in folded for words in _NO_CHAT):
            return "use --api completions: this model has no chat template"
        if self.api is Api.COMPLETIONS and any(words in folded for words in _ONLY_CHAT):
            return "use --api chat: this model only supports chat"
        return None

    def _pause(self, sent: float, error: Exception) -> None:
        """Pause all requests after a rate-limit refusal; of concurrent ones only the first counts."""
        now = time.monotonic()
        if sent >= self._pause_asked:
            self._pauses, self._pause_asked = self._pauses + 1, now
        seconds = max(self._wait(self._pauses), _asked_to_wait(error) or 0)
        if self._pauses > MOST_PAUSES or seconds > LONGEST_PAUSE:
            found = f"asked to wait {seconds:,.0f} s, {self._pauses} times in a row; {first_line(error)}"
            cure = f"lower --concurrency, or wait; {_KEPT}"
            raise InvalidInput(Problem("the server's rate limit is reached", self.address, found, cure)) from error
        self._pause_over = max(self._pause_over, now + seconds)

    def _wait(self, tries: int) -> float:
        return draw_wait(tries, first=self._first_wait, longest=LONGEST_WAIT)

    def _hand_on(self, place: int, answer: ModelAnswer, keep: KeepAnswer) -> None:
        """Pass a response to ``keep``; raise InvalidInput after too many consecutive requests without an answer."""
        keep(place, answer)
        if answer.text is not None:
            self._pauses = self._unanswered = 0
            return
        self._unanswered += 1
        if self._unanswered == MOST_UNANSWERED:
            what = "the server's responses do not contain an answer"
            found = f"{MOST_UNANSWERED} requests in a row, {TRIES} tries each"
            cure = f"check --base-url, which usually ends in /v1; {_KEPT}"
            raise InvalidInput(Problem(what, self.address, found, cure))


def _prefix(request: Request) -> str:
    """Return the part that prompts may share: all messages but the last, or all but the last line of a single one."""
    *before, last = [message["content"] for message in request.messages]
    return "\n".join(before) if before else last.rpartition("\n")[0]


def _status(error: Any) -> int | None:
    """Return the HTTP status of a failed request; None if there was no connection, or it timed out."""
    return getattr(error, "status_code", None)


def _add_tokens(answer: ModelAnswer, spent: tuple[int, int]) -> ModelAnswer:
    """Add the tokens of failed tries to those of the response, if these are known."""
    if answer.tokens_in is None or answer.tokens_out is None:
        return answer
    return replace(answer, tokens_in=answer.tokens_in + spent[0], tokens_out=answer.tokens_out + spent[1])


def _unanswerable_ending(error: Any) -> Ending | None:
    """Return the ending if the server refuses this text as too long or filtered; None for other errors."""
    said = f"{error.code} {error.message}".casefold()
    if _status(error) not in (400, 413, 422):
        return None
    return next((ending for ending, words in _UNANSWERABLE.items() if any(word in said for word in words)), None)


def _is_limit(error: Any) -> bool:
    """Return whether the server refuses because of a rate limit; waiting does not help with an exhausted quota."""
    status = _status(error)
    return (status == 429 and error.code != "insufficient_quota") or (
        status == 503 and _asked_to_wait(error) is not None
    )


def _asked_to_wait(error: Any) -> float | None:
    """Return the seconds that a server asks to wait; None if it does not, or did not respond."""
    response = getattr(error, "response", None)
    return None if response is None else read_retry_after(response.headers)
