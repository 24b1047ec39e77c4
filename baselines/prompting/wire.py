"""Bodies of requests to an OpenAI-compatible server, and of its responses: chat, completions, and scored labels."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from shiftbench.baselines.prompting.models import Ending, Message, ModelAnswer, Request
from shiftbench.baselines.prompting.parsing import answer_forms
from shiftbench.baselines.prompting.scored_labels import LabelScores, have_prefixes, needed_tokens, read_listed_tokens
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.report import first_line

TOP = 20
"""Alternatives requested per token of a chat response: the maximum of OpenAI's servers."""
LABEL_END = "\n"
"""Appended to every scored label if one label is a prefix of another."""


class Api(StrEnum):
    """The server's endpoint: the next message of a chat, or the continuation of a text."""

    CHAT = "chat"
    COMPLETIONS = "completions"


class UnscoredError(Exception):
    """A response lacks the log-probabilities needed to score labels; the message describes what it contains instead."""


class NoAnswerError(Exception):
    """A response with status 200 contains no answer; ``tokens`` are the input and output tokens that it reports."""

    def __init__(self, found: str, tokens: tuple[int, int] = (0, 0)) -> None:
        super().__init__(found)
        self.tokens = tokens


def label_continuations(labels: Sequence[str]) -> list[str]:
    """Return the continuation to score for each label after a text that ends in "Answer:".

    >>> label_continuations(["yes", "no"]), label_continuations(["join", "joint"])
    ([' yes', ' no'], [' join\\n', ' joint\\n'])
    """
    return [f" {label}{LABEL_END * have_prefixes(labels)}" for label in labels]


def plain_text(messages: Sequence[Message], *, ends_open: bool = False) -> str:
    """Format a conversation for a base model, which continues a text.

    Args:
        ends_open: whether the last message already ends with the prompt for the answer.

    >>> plain_text([{"role": "system", "content": "Decide."}, {"role": "user", "content": "Text: it broke"}])
    'Decide.\\n\\nText: it broke\\nAnswer:'
    """
    forms = {"system": "{}\n\n", "user": "{}\nAnswer:", "assistant": " {}\n\n"}
    parts = [forms[message["role"]].format(message["content"]) for message in messages]
    return "".join([*parts[:-1], messages[-1]["content"]]) if ends_open else "".join(parts)


def request_body(request: Request, api: Api, parameters: Mapping[str, Any], *, scores_labels: bool) -> dict[str, Any]:
    """Build the body of a request, without the model's name.

    Args:
        parameters: override the defaults; None omits a parameter.
        scores_labels: request the log-probabilities of the labels instead of text. For completions, the prompt is sent
            once with each label appended, and the server returns the scores of its tokens (``echo``). A chat requests
            the most likely tokens of its response, for as many positions as may be needed to distinguish the labels.
    """
    asks: dict[str, Any] = {"temperature": 0.0, "max_tokens": request.max_tokens}
    text = plain_text(request.messages, ends_open=request.ends_open)
    if api is Api.CHAT:
        asks = {"messages": list(request.messages), **asks}
        scoring: dict[str, Any] = {"logprobs": True, "top_logprobs": TOP}
    else:
        asks = {"prompt": text, **asks, "stop": ["\n\n"]}
        prompts = [text + more for more in label_continuations(request.labels)]
        scoring = {"prompt": prompts, "echo": True, "logprobs": 1, "stop": None}
    asks |= parameters
    if scores_labels and request.labels:
        # At least one token: not all servers accept 0.
        name = "max_completion_tokens" if asks.get("max_completion_tokens") else "max_tokens"
        asks |= {**scoring, name: needed_tokens(request.labels) if api is Api.CHAT else 1}
    return {name: value for name, value in asks.items() if value is not None}


def read_answer(text: str, request: Request, api: Api, *, scores_labels: bool) -> ModelAnswer:
    """Parse a server's response.

    Args:
        scores_labels: whether labels are scored: the answer's text is then a ``LabelScores`` as JSON.
    Returns: the answer, its tokens and how it ended. The text of a refused answer is the model's reason.
    Raises: NoAnswerError if the response contains no answer; UnscoredError if the log-probabilities are missing.
    """
    try:
        body = parse_json(text)
    except ValueError as error:
        raise NoAnswerError("a response that is not JSON") from error
    tokens = _read_tokens(body)
    try:
        choices = body["choices"]
        first = choices[0]
        content, refusal = _read_message(first["message"]) if api is Api.CHAT else (first["text"], None)
    except (LookupError, TypeError) as error:
        raise NoAnswerError(_found_instead(body), tokens or (0, 0)) from error
    word = str(first.get("finish_reason") or "").casefold()
    ending = answer_forms().endings.get(word, Ending.COMPLETE)
    if ending is None or body.get("error") or first.get("error"):
        raise NoAnswerError(_found_instead(body if body.get("error") else first), tokens or (0, 0))
    if refusal:
        content, ending = refusal, Ending.REFUSED
    if not isinstance(content, str):
        raise NoAnswerError("a message that is not a string", tokens or (0, 0))
    if scores_labels and request.labels and ending is not Ending.REFUSED:
        if api is Api.CHAT:
            scores = _scores_of_listed(first, request.labels, ended=ending is Ending.COMPLETE)
        else:
            scores = LabelScores(tuple(_scores_of_echoes(choices, request.labels)))
        content, ending = scores.to_text(), Ending.COMPLETE  # no further text was requested
    # JSON may contain an unpaired surrogate, which cannot be written to a file.
    sound = content.encode("utf-8", "replace").decode()
    read, written = tokens or (None, None)
    return ModelAnswer(sound, read, written, ending)


def _read_message(message: Mapping[str, Any]) -> tuple[Any, str | None]:
    """Return the text of a message ("" if it has none), and the reason of a refusal; separate reasoning is not read."""
    refusal = message.get("refusal")
    content = message.get("content") if "role" in message else message["content"]
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if part["type"] == "text")
    return "" if content is None else content, refusal if isinstance(refusal, str) else None


def _read_tokens(body: Any) -> tuple[int, int] | None:
    """Return the tokens read and written; None if the server does not count them."""
    usage = body.get("usage") if isinstance(body, dict) else None
    read, written = (
        usage.get(f"{kind}_tokens") if isinstance(usage, dict) else None for kind in ("prompt", "completion")
    )
    if type(read) is not int or type(written) is not int or min(read, written) < 0:
        return None
    return read, written


def _found_instead(body: Any) -> str:
    """Describe a response without an answer, by its error message if it has one."""
    error = body.get("error") if isinstance(body, dict) else None
    if error:
        said = error.get("message") if isinstance(error, dict) else error
        return first_line(Exception(str(said)))
    return "a response without choices" if isinstance(body, dict) and not body.get("choices") else "no message"


def _scores_of_echoes(choices: Sequence[Any], labels: Sequence[str]) -> list[float]:
    """Sum the log-probabilities of each label's tokens at the end of its own echo."""
    if len(choices) != len(labels):
        raise UnscoredError(f"{len(choices)} choices for {len(labels)} labels")
    by_index = {each.get("index", place): each for place, each in enumerate(choices)}
    scored = enumerate(label_continuations(labels))
    return [_label_log_p(by_index[place].get("logprobs"), text) for place, text in scored]


def _label_log_p(log_probabilities: Any, label: str) -> float:
    try:
        tokens, log_p = list(log_probabilities["tokens"]), list(log_probabilities["token_logprobs"])
    except (LookupError, TypeError) as error:
        raise UnscoredError("no log-probabilities") from error
    for end in (len(tokens) - 1, len(tokens)):  # one token, or none, was generated after the label
        length, start = 0, end
        while start > 0 and length < len(label):
            start -= 1
            length += len(tokens[start])
        # SentencePiece writes spaces as a bar character.
        token_text = "".join(map(str, tokens[start:end])).replace("\u2581", " ")
        values = log_p[start:end]
        if token_text.endswith(label) and all(isinstance(value, int | float) for value in values):
            return float(sum(values))
    raise UnscoredError(f"log-probabilities of {len(tokens)} tokens that do not include the label")


def _scores_of_listed(choice: Mapping[str, Any], labels: Sequence[str], *, ended: bool) -> LabelScores:
    try:
        positions = choice["logprobs"]["content"]
        if not positions:
            raise ValueError("no tokens")
        return read_listed_tokens(positions, labels, ended=ended)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UnscoredError("no alternatives for the answer's tokens (top_logprobs)") from error
