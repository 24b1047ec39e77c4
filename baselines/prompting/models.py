"""The interface of language models: requests, answers, and what every model implements, wherever it runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

Message = dict[str, str]
"""One turn: ``role`` (system, user or assistant) and ``content``."""


@dataclass(frozen=True)
class Request:
    """A conversation to go on with.

    Attributes:
        messages: its turns.
        max_tokens: tokens that the answer may have.
        labels: the labels of which the answer is one; none where it is free.
        ends_open: whether the last turn ends where the answer begins, as in "Sentiment:".
    """

    messages: tuple[Message, ...]
    max_tokens: int
    labels: tuple[str, ...] = ()
    ends_open: bool = False


class Ending(StrEnum):
    """How an answer ended."""

    COMPLETE = "complete"
    TRUNCATED = "truncated"
    """At the number of tokens that it may have, or that the model can write."""
    REFUSED = "refused"
    """By the model or by a filter in front of it."""
    TOO_LONG = "too long"
    """Before it began: the prompt leaves the model no room."""


@dataclass(frozen=True)
class ModelAnswer:
    """What a model wrote, and how it ended; tokens are None where they are not known.

    ``text`` is None where each try failed to bring an answer: tokens are those of the tries, and nothing is stored.
    """

    text: str | None
    tokens_in: int | None = None
    tokens_out: int | None = None
    ending: Ending = Ending.COMPLETE


KeepAnswer = Callable[[int, ModelAnswer], None]
"""Takes an answer as soon as it is there, with the place of its request; may raise to stop the asking."""


class LanguageModel(Protocol):
    """A language model that answers at temperature 0."""

    def identity(self, request: Request) -> Mapping[str, Any]:
        """Return, as JSON data, everything that the answer to a request depends on."""
        ...

    def answer(self, requests: Sequence[Request], keep: KeepAnswer) -> None:
        """Answer all requests; answers come in any order."""
        ...
