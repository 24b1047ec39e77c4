"""Bodies of requests to an OpenAI-compatible server and of its responses: chat, completions, and scored labels."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from shiftbench.baselines.prompting.models import Message, ModelAnswer, Request
from shiftbench.validation.json_text import parse_json

TOP = 20
"""Alternatives of an answer's first token that a chat is asked for: the most that OpenAI's servers give."""


class Api(StrEnum):
    """What a server is asked for: the next turn of a conversation, or how a text goes on."""

    CHAT = "chat"
    COMPLETIONS = "completions"


class Guided(StrEnum):
    """How a server is told that an answer is one of the labels."""

    VLLM = "vllm"
    VLLM_OLD = "vllm-old"
    LLAMA_CPP = "llama.cpp"
    JSON_SCHEMA = "json-schema"


def _schema(labels: Sequence[str]) -> dict[str, Any]:
    label = {"type": "string", "enum": list(labels)}
    return {"type": "object", "properties": {"label": label}, "required": ["label"], "additionalProperties": False}


_GUIDED: Mapping[Guided, Callable[[Sequence[str]], dict[str, Any]]] = {
    Guided.VLLM: lambda labels: {"structured_outputs": {"choice": list(labels)}},
    Guided.VLLM_OLD: lambda labels: {"guided_choice": list(labels)},
    Guided.LLAMA_CPP: lambda labels: {"grammar": f"root ::= {' | '.join(json.dumps(label) for label in labels)}"},
    Guided.JSON_SCHEMA: lambda labels: {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "label", "strict": True, "schema": _schema(labels)},
        }
    },
}


class UnscoredError(Exception):
    """A server answered without the log-probabilities that labels are scored by; says what came instead."""


def plain_text(messages: Sequence[Message], *, ends_open: bool = False) -> str:
    """Format a conversation for a model that only continues a text.

    Args:
        messages: the turns.
        ends_open: whether the last turn asks for the answer by itself, so that nothing is put behind it.
    Returns: the text up to where the answer begins.

    >>> plain_text([{"role": "system", "content": "Decide."}, {"role": "user", "content": "Text: it broke"}])
    'Decide.\\n\\nText: it broke\\nAnswer:'
    """
    forms = {"system": "{}\n\n", "user": "{}\nAnswer:", "assistant": " {}\n\n"}
    parts = [forms[message["role"]].format(message["content"]) for message in messages]
    return "".join([*parts[:-1], messages[-1]["content"]]) if ends_open else "".join(parts)


def request_body(
    request: Request, api: Api, parameters: Mapping[str, Any], *, scores_labels: bool, guided: Guided | None
) -> dict[str, Any]:
    """Build the body of a request, without the model's name.

    Args:
        request: what is asked.
        api: how.
        parameters: over the defaults; None leaves one out.
        scores_labels: ask for the log-probabilities of the request's labels in place of an answer. Completions are
            sent the prompt once with each label behind it, and give back what is known of its tokens (``echo``); a chat
            is asked for the likeliest first tokens of its answer.
        guided: let the server hold the answer to the labels.
    Returns: JSON data.
    """
    asks: dict[str, Any] = {"temperature": 0.0, "max_tokens": request.max_tokens}
    text = plain_text(request.messages, ends_open=request.ends_open)
    if api is Api.CHAT:
        asks = {"messages": list(request.messages), **asks}
        scoring: dict[str, Any] = {"logprobs": True, "top_logprobs": TOP}
    else:
        asks = {"prompt": text, **asks, "stop": ["\n\n"]}
        scoring = {"prompt": [f"{text} {label}" for label in request.labels], "echo": True, "logprobs": 1, "stop": None}
    asks |= parameters
    if scores_labels and request.labels:
        # One token: not all servers take 0.
        name = "max_completion_tokens" if asks.get("max_completion_tokens") else "max_tokens"
        asks |= {**scoring, name: 1}
    elif guided is not None and request.labels:
        asks |= _GUIDED[guided](request.labels)
    return {name: value for name, value in asks.items() if value is not None}


def read_answer(text: str, request: Request, api: Api, *, scores_labels: bool) -> ModelAnswer:
    """Read a server's answer; its text is None if the response holds none.

    Of scored labels the text is their log-probabilities as a JSON list; "" where no label is among the likeliest.

    Args:
        text: the body of the server's response.
        request: what was asked.
        api: how.
        scores_labels: whether its labels were to be scored.
    Returns: the answer with its tokens.
    Raises: UnscoredError when the log-probabilities are not there.
    """
    try:
        body = parse_json(text)
        choices = body["choices"]
        contents = [each["message"]["content"] if api is Api.CHAT else each["text"] for each in choices]
        content = contents[0]
    except (ValueError, LookupError, TypeError):
        return ModelAnswer(None, 0, 0)
    if not isinstance(content, str | None):
        return ModelAnswer(None, 0, 0)
    if scores_labels and request.labels:
        read = _scores_of_first_token if api is Api.CHAT else _scores_of_echoes
        scores = read(choices, request.labels)
        content = json.dumps(scores) if scores else ""
    usage = body.get("usage")
    tokens = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")] if isinstance(usage, dict) else []
    tokens = [count for count in tokens if type(count) is int and count >= 0]
    # JSON may hold half of a surrogate pair, which cannot be written to a file.
    sound = (content or "").encode("utf-8", "replace").decode()
    return ModelAnswer(sound, *tokens) if len(tokens) == 2 else ModelAnswer(sound)


def _scores_of_echoes(choices: Sequence[Any], labels: Sequence[str]) -> list[float]:
    """Add up the log-probabilities of each label's tokens at the end of its own echo."""
    if len(choices) != len(labels):
        raise UnscoredError(f"{len(choices)} choices for {len(labels)} labels")
    by_index = {each.get("index", place): each for place, each in enumerate(choices)}
    return [_label_log_p(by_index[place].get("logprobs"), f" {label}") for place, label in enumerate(labels)]


def _label_log_p(log_probabilities: Any, label: str) -> float:
    try:
        tokens, log_p = list(log_probabilities["tokens"]), list(log_probabilities["token_logprobs"])
    except (LookupError, TypeError) as error:
        raise UnscoredError("no log-probabilities") from error
    for end in (len(tokens) - 1, len(tokens)):  # one token was generated behind the label, or none
        length, start = 0, end
        while start > 0 and length < len(label):
            start -= 1
            length += len(tokens[start])
        # SentencePiece writes its spaces as a bar.
        token_text = "".join(map(str, tokens[start:end])).replace("\u2581", " ")
        values = log_p[start:end]
        if token_text.endswith(label) and all(isinstance(value, int | float) for value in values):
            return float(sum(values))
    raise UnscoredError(f"log-probabilities of {len(tokens)} tokens, the label not among them")


def _scores_of_first_token(choices: Sequence[Any], labels: Sequence[str]) -> list[float]:
    """Add up the probabilities of the first tokens that begin one label alone; a label without any gets the lowest.

    Returns: log-probabilities; none where no label is begun.
    """
    try:
        given = choices[0]["logprobs"]["content"][0]["top_logprobs"]
        top = [(str(each["token"]).strip().casefold(), float(each["logprob"])) for each in given]
    except (LookupError, TypeError, ValueError) as error:
        raise UnscoredError("no alternatives of the first token (top_logprobs)") from error
    mass = [0.0] * len(labels)
    for token, log_p in top:
        begun = [place for place, label in enumerate(labels) if token and label.casefold().startswith(token)]
        if len(begun) == 1:
            mass[begun[0]] += math.exp(log_p)
    if not any(mass):
        return []
    least = min(log_p for _, log_p in top)
    return [math.log(each) if each else least for each in mass]
