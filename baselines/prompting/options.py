"""Options shared by the prompting programs, and the model that they describe."""

import os
from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shiftbench.baselines.program import Data, Out, Probabilities, Seeds, Sources, Targets, TaskName
from shiftbench.baselines.prompting.local import GGUF_SUFFIX, LocalModel
from shiftbench.baselines.prompting.server import TIMEOUT, ModelServer
from shiftbench.baselines.prompting.wire import Api
from shiftbench.baselines.training.options import Precision
from shiftbench.validation.command_line import option, require
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

OPENAI = "https://api.openai.com/v1"
API_KEY_ENV = "OPENAI_API_KEY"
NEAR_CONCURRENCY = 64
"""Concurrent requests to a server on this machine or in the local network."""
_OURS = ("model", "messages", "stream", "n")
"""Parameters of a request that the program sets, so that ``--param`` must not."""


@dataclass(frozen=True)
class PromptingOptions:
    """The options of a prompting program, as typed; subclasses add their own."""

    task: TaskName
    data: Data
    out: Out
    model: str = option(MISSING, "Name on the server; with --local a folder, GGUF file or Hub id.", metavar="NAME")
    base_url: str | None = option(None, "OpenAI-compatible server. Default: OPENAI_BASE_URL, or OpenAI.", metavar="URL")
    local: bool = option(False, "Run the model on this machine, through transformers.")
    precision: Precision = option(
        Precision.AUTO,
        "With --local: number format. Default: fp32 on a CPU, though some are "
        "faster in bf16; on a GPU the model's own.",
    )
    shots: int | None = option(
        None,
        "Demonstrations per prompt; 0: none. Default: 4 (DR); one per label, 7 for entities, 1 for questions (BOSS).",
        metavar="N", min=0, max=1000,
    )  # fmt: skip
    instruction: str | None = option(
        None, "Your own instruction for the task; '{labels}' is replaced by its labels.", metavar="TEXT"
    )
    source: Sources = None
    target: Targets = None
    seed: Seeds = None
    subset: str | None = option(None, "Subset of test rows. Default: 'fewshot' if the task has one.", metavar="NAME")
    api_key_env: str = option(API_KEY_ENV, "Environment variable with the server's key.", metavar="VARIABLE")
    api: Api = option(Api.CHAT, "API of the server; base models without a chat template need 'completions'.")
    score_labels: bool = option(
        False, "Choose the label with the highest log-probability instead of parsing an answer; writes confidences."
    )
    calibrate: bool = option(
        False,
        "With --score-labels: divide by the label's probability for content-free inputs such as 'N/A' (Zhao et "
        "al. 2021).",
    )
    probabilities: Probabilities = False
    concurrency: int | None = option(
        None, "Concurrent requests. Default: 8; 64 on this machine or network.", metavar="N", min=1, max=1024
    )
    timeout: float = option(TIMEOUT, "Timeout of a request to a server.", metavar="SECONDS", min=1)
    param: list[str] | None = option(
        None,
        "Sent with each request, as 'reasoning_effort=low'; null removes a default, as 'temperature=null'. "
        "Repeat for more.",
        metavar="NAME=JSON",
    )
    max_tokens: int | None = option(None, "Maximum tokens of an answer. Default: by kind of task.", metavar="N", min=1)
    price_in: float | None = option(None, "US dollars per million input tokens.", metavar="USD", min=0)
    price_out: float | None = option(None, "US dollars per million output tokens.", metavar="USD", min=0)
    max_requests: int | None = option(None, "Stop after N requests; answers are cached.", metavar="N", min=0)
    max_cost: float | None = option(None, "Stop at this cost; answers are cached.", metavar="USD", min=0)

    @property
    def model_name(self) -> str:
        """Return the model's name on cards; for a GGUF file, without its folders."""
        return Path(self.model).name if self.local and self.model.endswith(GGUF_SUFFIX) else self.model

    def open_model(self) -> ModelServer | LocalModel:
        """Build the model, without loading it or sending a request; InvalidInput if options are incompatible."""
        self._check()
        if self.local:
            return LocalModel(self.model, scores_labels=self.score_labels, precision=self.precision)
        require("openai", "llm")
        address = self.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        return ModelServer(
            self.model, base_url=server_address(address),
            api_key=server_key(self.api_key_env, is_needed=address == OPENAI) or "none",
            concurrency=self.concurrency or (NEAR_CONCURRENCY if _is_private_address(address) else 8),
            parameters=_parse_parameters(self.param or ()), api=self.api, scores_labels=self.score_labels,
            timeout=self.timeout,
        )  # fmt: skip

    def _check(self) -> None:
        for_servers = {
            "--base-url": self.base_url,
            "--param": self.param,
            "--api": self.api is not Api.CHAT,
            "--timeout": self.timeout != TIMEOUT,
        }
        given = [name for name, value in for_servers.items() if value]
        if self.local and given:
            what, cure = "this option requires a server", "omit it, or omit --local"
            raise InvalidInput(Problem(what, ", ".join(given), cure=cure))
        if not self.local and self.precision is not Precision.AUTO:
            what, cure = "the precision of a server cannot be set", "omit it, or add --local"
            raise InvalidInput(Problem(what, "--precision", cure=cure))
        of_scores = {"--probabilities": self.probabilities, "--calibrate": self.calibrate}
        given = [name for name, value in of_scores.items() if value]
        if given and not self.score_labels:
            what, cure = "generated answers have no probabilities", "add --score-labels"
            raise InvalidInput(Problem(what, ", ".join(given), cure=cure))

    def check_kind(self, kind: TaskKind) -> None:
        """Raise InvalidInput if labels are to be scored and the task has none."""
        if self.score_labels and kind is not TaskKind.CLASSIFICATION:
            what, found = "this option requires a task with labels", f"a task of kind {kind.value!r}"
            raise InvalidInput(Problem(what, "--score-labels", found, "omit it"))


def server_key(variable: str, *, is_needed: bool) -> str | None:
    """Read a server's key from the environment; None if it is not set and not needed."""
    key = os.environ.get(variable)
    if not key and (is_needed or variable != API_KEY_ENV):
        cure = f"set {variable}, or pass the --base-url of a server that needs no key"
        raise InvalidInput(Problem("the server's key is not set", "--api-key-env", variable, cure))
    if key and not (key.isascii() and key.isprintable()):
        cure = "set it again, without line breaks or quotes"
        raise InvalidInput(Problem("the server's key contains invalid characters", "--api-key-env", variable, cure))
    return key


def _is_private_address(address: str) -> bool:
    """Check whether an address is on this machine or in a private network, where requests are not rate-limited."""
    host = urlsplit(address).hostname or ""
    try:
        ip = ip_address(host)
    except ValueError:
        return host == "localhost"
    return ip.is_loopback or ip.is_private


def server_address(address: str) -> str:
    """Return a server's URL without its last slash.

    Raises: InvalidInput if it is not an HTTP URL, or contains a password, which the card's command would show.
    """
    problem = Problem("this is not the URL of a server", "--base-url", address, "write it as http://localhost:8000/v1")
    try:
        parts = urlsplit(address)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:  # an unclosed bracket, or a port above 65535
        raise InvalidInput(problem) from error
    if not sound:
        raise InvalidInput(problem)
    if parts.username or parts.password:
        what, cure = "the URL contains a password, which the card would show", "pass the key with --api-key-env"
        raise InvalidInput(Problem(what, "--base-url", str(parts.hostname), cure))
    return address.rstrip("/")


def _parse_parameters(parameters: Sequence[str]) -> dict[str, Any]:
    """Parse parameters typed as NAME=JSON; a value that is not valid JSON is a string."""
    parsed: dict[str, Any] = {}
    for parameter in parameters:
        name, equals, value = parameter.partition("=")
        if not equals or not name or name in _OURS:
            cure = "write it as NAME=JSON" if name not in _OURS else "omit it"
            raise InvalidInput(Problem("this parameter cannot be set", "--param", parameter, cure))
        try:
            parsed[name] = parse_json(value)
        except ValueError:
            parsed[name] = value
    return parsed
