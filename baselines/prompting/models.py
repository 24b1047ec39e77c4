"""The interface of language models: requests, answers, and what every model implements, wherever it runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class ModelAnswer:
    """What a model said; tokens are None where that is not known.

    ``text`` is "" where the model cannot be asked this, as with too long a text, and None where what came back was no
    answer at all: such an answer is not kept for the next time.
    """

    text: str | None
    tokens_in: int | None = None
    tokens_out: int | None = None


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
