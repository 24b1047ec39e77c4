"""Requests as files of OpenAI's Batch API: written, sent, and their answers collected into the cache.

A batch is answered within a day at half of the price. The same command is typed three times, with ``--batch write``,
``send`` and ``collect``; the files lie beside the prediction file, and the last step writes it.
"""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from shiftbench.baselines.prompting.asking import Asker, Budget, Prices
from shiftbench.baselines.prompting.cache import AnswerStore
from shiftbench.baselines.prompting.models import ModelAnswer, Request
from shiftbench.baselines.prompting.server import ModelServer
from shiftbench.baselines.prompting.wire import Api, NoAnswerError
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.report import InvalidInput, Problem, counted, first_line

log = logging.getLogger(__name__)
MOST_REQUESTS = 50_000
MOST_BYTES = 190_000_000
"""What one file may hold: OpenAI takes 50,000 requests and 200 MB."""
_PATHS = {Api.CHAT: "/v1/chat/completions", Api.COMPLETIONS: "/v1/completions"}
_UNDER_WAY = ("validating", "in_progress", "finalizing", "cancelling")


class BatchStage(StrEnum):
    """A step on the way of a batch."""

    WRITE = "write"
    SEND = "send"
    COLLECT = "collect"


class RequestCollector(Asker):
    """Notes what would be asked, by key, in place of asking; what is in the cache is not noted."""

    def __init__(self, model: ModelServer, store: AnswerStore) -> None:
        super().__init__(model, store, Prices(), Budget())
        self.noted: dict[bytes, Request] = {}

    def _ask(self, requests: Sequence[tuple[bytes, Request]], bar: Any) -> None:
        self.noted |= dict(requests)
        self.answers |= {key: ModelAnswer(None, 0, 0) for key, _ in requests}
        bar.update(len(requests))


def write_batch(model: ModelServer, requests: Mapping[bytes, Request], out: Path) -> list[Path]:
    """Write requests as files for the Batch API, each as large as the API allows.

    Args:
        model: the server that will be asked.
        requests: by the key of their answer in the cache.
        out: the prediction file to be; the files are ``<its stem>.batch-0.jsonl`` and so on beside it.
    Returns: the files.
    """
    for old in _files(out):
        old.unlink()
    written: list[Path] = []
    for number, lines in enumerate(_portions(model, requests)):
        path = out.with_name(f"{out.stem}.batch-{number}.jsonl")
        with replace_file(path) as new:
            new.write_bytes(b"".join(lines))
        written.append(path)
    return written


def send_batch(model: ModelServer, out: Path) -> list[str]:
    """Send the written files, and write the batches' names to ``<stem>.batch.json``.

    Args:
        model: the server.
        out: the prediction file to be.
    Returns: the names of the batches.
    Raises: InvalidInput when nothing is written, a batch was sent already, or the server refuses.
    """
    files, sent = _files(out), _names_file(out)
    if sent.is_file():
        cure = f"collect it, or delete {sent.name} to send anew"
        raise InvalidInput(Problem("the batch was sent before", str(sent), cure=cure))
    if not files:
        raise InvalidInput(Problem("there is nothing to send", str(out.parent), cure="give --batch write first"))
    names: list[str] = []
    with _open_client(model) as client:
        for path in files:
            uploaded = client.files.create(file=path, purpose="batch")
            batch = client.batches.create(
                input_file_id=uploaded.id, endpoint=_PATHS[model.api], completion_window="24h"
            )
            names.append(batch.id)
            with replace_file(sent) as new:  # after each, so that none is lost and paid for twice
                new.write_text(json.dumps({"server": model.address, "batches": names}), encoding="utf-8")
    return names


def collect_batch(model: ModelServer, requests: Mapping[bytes, Request], out: Path, store: AnswerStore) -> int:
    """Fetch the answers of sent batches into the cache; the files are removed when all answers are there.

    Args:
        model: the server.
        requests: those without an answer in the cache, by key.
        out: the prediction file to be.
        store: the cache.
    Returns: the number of answers that came.
    Raises: InvalidInput when a batch is under way still, came to nothing, or lacks answers.
    """
    sent = _names_file(out)
    if not sent.is_file():
        raise InvalidInput(Problem("no batch was sent", str(sent), cure="give --batch write, then --batch send"))
    names = parse_json(sent.read_text(encoding="utf-8"))["batches"]
    with _open_client(model) as client:
        batches = [client.batches.retrieve(name) for name in names]
        waiting = [batch for batch in batches if batch.status in _UNDER_WAY]
        if waiting:
            found = ", ".join(f"{batch.id} {batch.status}" for batch in waiting)
            raise InvalidInput(Problem("the batch is not done", model.address, found, "try again later"))
        texts = [client.files.content(batch.output_file_id).text for batch in batches if batch.output_file_id]
    n_found = sum(_keep_answers(model, requests, text, store) for text in texts)
    if n_found < len(requests):
        states = ", ".join(f"{batch.id} {batch.status}" for batch in batches)
        found = f"{len(requests) - n_found:,} of {len(requests):,} requests without an answer; {states}"
        cure = (
            f"delete {sent.name} and give --batch write again, or leave --batch out: only missing answers are asked for"
        )
        raise InvalidInput(Problem("the batch came back incomplete", model.address, found, cure))
    store.flush()
    for path in [*_files(out), sent]:
        path.unlink()
    return n_found


def log_stage(stage: BatchStage, files: Sequence[Path], names: Sequence[str], n: int) -> None:
    """Log what a step did, and what comes next."""
    if stage is BatchStage.WRITE:
        line = f"wrote {counted(n, 'request')} to {', '.join(path.name for path in files) or 'no file'}"
        line += "; --batch send sends them" if files else ": all answers are known, leave --batch out"
    else:
        line = f"sent {', '.join(names)}; --batch collect fetches the answers, within a day"
    log.info("%s", line)


def _keep_answers(model: ModelServer, requests: Mapping[bytes, Request], text: str, store: AnswerStore) -> int:
    n_kept = 0
    for line in text.splitlines():
        try:
            answer = parse_json(line)
            key, response = bytes.fromhex(answer["custom_id"]), answer["response"]
        except (ValueError, LookupError, TypeError):
            continue
        if key not in requests or not isinstance(response, dict) or response.get("status_code") != 200:
            continue
        try:
            read = model.read(json.dumps(response.get("body")), requests[key])
        except NoAnswerError:
            continue
        store.put(key, read)
        n_kept += 1
    return n_kept


def _portions(model: ModelServer, requests: Mapping[bytes, Request]) -> Iterator[list[bytes]]:
    lines: list[bytes] = []
    size = 0
    for key, request in requests.items():
        body = {"custom_id": key.hex(), "method": "POST", "url": _PATHS[model.api], "body": model.body(request)}
        line = json.dumps(body).encode() + b"\n"
        if lines and (len(lines) == MOST_REQUESTS or size + len(line) > MOST_BYTES):
            yield lines
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield lines


def _files(out: Path) -> list[Path]:
    return sorted(out.parent.glob(f"{out.stem}.batch-*.jsonl"))


def _names_file(out: Path) -> Path:
    return out.with_name(f"{out.stem}.batch.json")


@contextmanager
def _open_client(model: ModelServer) -> Iterator[Any]:
    """Open a client of the server; a refusal becomes InvalidInput."""
    import openai

    try:
        with model.client() as client:
            yield client
    except openai.APIError as error:
        what, cure = "the server refuses the batch", "check that it has the Batch API and that the key may use it"
        raise InvalidInput(Problem(what, model.address, first_line(error), cure)) from error
