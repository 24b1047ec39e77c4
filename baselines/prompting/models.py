"""The interface of language models: requests, responses, and the protocol that every model implements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

Message = dict[str, str]
"""A chat message: ``role`` (system, user or assistant) and ``content``."""


@dataclass(frozen=True)
class Request:
    """A conversation to continue.

    Attributes:
        messages: the messages so far.
        max_tokens: maximum length of the response.
        labels: labels to score; empty if the task has none.
        ends_open: whether the last message ends where the answer starts, as in 'Sentiment:'.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    labels: tuple[str, ...] = ()
    ends_open: bool = False


class Ending(StrEnum):
    """How a response ended."""

    COMPLETE = "complete"
    TRUNCATED = "truncated"
    """Cut off at the maximum number of tokens of the request or the model."""
    REFUSED = "refused"
    """Refused by the model, or by a content filter."""
    TOO_LONG = "too long"
    """Not generated: the prompt leaves no room for the response."""


@dataclass(frozen=True)
class ModelAnswer:
    """A model's response (text None: every try failed), its token counts (None: unknown), and how it ended."""

    text: str | None
    tokens_in: int | None = None
    tokens_out: int | None = None
    ending: Ending = Ending.COMPLETE


KeepAnswer = Callable[[int, ModelAnswer], None]
"""Receives a response when it arrives, with the index of its request; may raise to stop further requests."""


class LanguageModel(Protocol):
    """A language model at temperature 0."""

    def identity(self, request: Request) -> Mapping[str, Any]:
        """Return, as JSON data, everything that the response to a request depends on."""
        ...

    def answer(self, requests: Sequence[Request], keep: KeepAnswer) -> None:
        """Answer all requests, in any order."""
        ...
