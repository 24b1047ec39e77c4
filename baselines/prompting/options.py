"""The options that programs which prompt share, and the model that they describe."""

import json
import os
from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from baselines.prompting.local import LocalModel
from baselines.prompting.server import Server
from baselines.prompting.task_prompt import Protocol
from validation.command_line import require
from validation.report import InvalidInput, Problem

ModelName = Annotated[
    str,
    typer.Option("--model", metavar="NAME", help="The model's name on the server; with --local a folder or Hub id."),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url", metavar="URL", help="An OpenAI-compatible server. Default: OPENAI_BASE_URL, or OpenAI's."
    ),
]
Local = Annotated[bool, typer.Option("--local", help="Run the model on this machine, through transformers.")]
ApiKeyEnv = Annotated[
    str, typer.Option("--api-key-env", metavar="VARIABLE", help="Environment variable that holds the server's key.")
]
Concurrency = Annotated[
    int, typer.Option("--concurrency", metavar="N", help="Requests under way at once.", min=1, max=1024)
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=JSON",
        help="Sent with each request, as 'reasoning_effort=low'; null leaves a default out, as 'temperature=null'. "
        "Repeat for more.",
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option("--max-tokens", metavar="N", help="Tokens of an answer. Default: what the kind of task needs.", min=1),
]
Subset = Annotated[
    str | None,
    typer.Option("--subset", metavar="NAME", help="Test rows to ask about. Default: 'fewshot' where there is one."),
]
ProtocolOption = Annotated[
    Protocol | None,
    typer.Option("--protocol", help="Layout of the prompts. Default: 'boss' for the benchmark boss, else 'dr'."),
]
Instruction = Annotated[
    str | None,
    typer.Option("--instruction", metavar="TEXT", help="Your words for the task; '{labels}' stands for its labels."),
]
_PRICE = "US dollars a million tokens"
PriceIn = Annotated[
    float | None, typer.Option("--price-in", metavar="USD", help=f"{_PRICE} that the model reads.", min=0)
]
PriceOut = Annotated[
    float | None, typer.Option("--price-out", metavar="USD", help=f"{_PRICE} that the model writes.", min=0)
]
MaxRequests = Annotated[
    int | None, typer.Option("--max-requests", metavar="N", help="Stop after N requests; answers are kept.", min=0)
]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost", metavar="USD", help="Stop when this was spent; answers are kept.", min=0)
]

OPENAI = "https://api.openai.com/v1"
API_KEY_ENV = "OPENAI_API_KEY"
CONCURRENCY = 8
_OURS = ("model", "messages", "stream", "n")


def open_model(
    name: str,
    *,
    local: bool,
    base_url: str | None,
    api_key_env: str,
    concurrency: int,
    parameters: Sequence[str] | None,
) -> Server | LocalModel:
    """Make the model that the options describe; nothing is asked or loaded yet."""
    if local:
        if base_url or parameters:
            what, cure = "this is for a server", "leave it out, or leave --local out"
            raise InvalidInput(Problem(what, "--base-url" if base_url else "--param", cure=cure))
        return LocalModel(name)
    require("openai", "llm")
    address = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
    key = os.environ.get(api_key_env)
    if not key and (address == OPENAI or api_key_env != API_KEY_ENV):
        cure = f"set {api_key_env}, or give the --base-url of a server that needs no key"
        raise InvalidInput(Problem("the server's key is not set", "--api-key-env", api_key_env, cure))
    if key and not (key.isascii() and key.isprintable()):
        cure = "set it again, without a line break or quotes from elsewhere"
        raise InvalidInput(Problem("the server's key holds what no key can", "--api-key-env", api_key_env, cure))
    return Server(
        name,
        base_url=_checked(address),
        api_key=key or "none",
        concurrency=concurrency,
        parameters=_parsed(parameters or ()),
    )


def _checked(address: str) -> str:
    """Refuse an address that is none, or that would put a password into the card's command."""
    problem = Problem("this is no address of a server", "--base-url", address, "write it as http://localhost:8000/v1")
    try:
        parts = urlsplit(address)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:  # brackets without an end, a port above 65535
        raise InvalidInput(problem) from error
    if not sound:
        raise InvalidInput(problem)
    if parts.username or parts.password:
        what, cure = "the address holds a password, which the card would show", "give the key with --api-key-env"
        raise InvalidInput(Problem(what, "--base-url", str(parts.hostname), cure))
    return address.rstrip("/")


def _parsed(parameters: Sequence[str]) -> dict[str, Any]:
    """Read NAME=JSON; what is no JSON is text."""
    parsed: dict[str, Any] = {}
    for parameter in parameters:
        name, equals, value = parameter.partition("=")
        if not equals or not name or name in _OURS:
            cure = "write it as NAME=JSON" if name not in _OURS else "leave it out"
            raise InvalidInput(Problem("this parameter cannot be set", "--param", parameter, cure))
        try:
            parsed[name] = json.loads(value)
        except ValueError:
            parsed[name] = value
    return parsed
