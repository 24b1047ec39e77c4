"""Reads what lm-evaluation-harness 0.4 logs: ``samples_<task>_<date>.jsonl`` with ``results_<date>.json`` beside it.

Source: lm_eval/result_schema.py, lm_eval/loggers/evaluation_tracker.py. One line an item and filter. All responses are
texts there, log-likelihoods too. The file is read line by line, and of a line only what is kept is turned into Python
values, because a line repeats its prompt for every choice.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec
import polars as pl

from leaderboard.interchange.log import (
    LM_EVAL,
    WHOLE,
    EvaluationLog,
    LogFacts,
    SampleRows,
    chosen_fields,
    parse_json,
    refuse_log,
)
from validation.report import did_you_mean, first_line

Line = Mapping[str, msgspec.Raw]
T = TypeVar("T")

_FILE = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d{2}-\d{2}T[\d.-]+)\.jsonl")
_KNOWN_VERSIONS = re.compile(r"0\.4\.\d.*")
_REQUIRED = ("doc_id", "doc", "arguments", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash")
_MAX_LINE_BYTES = 64 * 2**20
_MAX_RESULTS_BYTES = 256 * 2**20


class _Request(msgspec.Struct):
    """One request to the model. Its prompt, ``arg_0``, is passed over; ``arg_1`` is a choice, or settings."""

    arg_1: Any = None


_LINE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_REQUESTS = msgspec.json.Decoder(dict[str, _Request])
_TEXT = msgspec.json.Decoder(str)
_TEXTS = msgspec.json.Decoder(list[str])
_WHOLE = msgspec.json.Decoder(int)
_RESPONSES = msgspec.json.Decoder(list[Any])


def is_lm_eval(path: Path) -> bool:
    """Return whether a path is a samples file of lm-eval, by its name or its first key."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return bool(_FILE.fullmatch(path.name)) or file.read(64).lstrip().startswith(b'{"doc_id"')


def read_lm_eval(path: Path, filter_name: str | None = None, fields: Sequence[str] = ()) -> EvaluationLog:
    """Read a samples file of lm-eval, with the model's facts from the results file beside it, where that is there.

    Args:
        path: ``samples_<task>_<date>.jsonl``.
        filter_name: the filter whose answers and scores are read; None: the first of the file.
        fields: fields of ``doc`` that are kept.
    Returns: the log. Ids are ``doc["id"]`` where every item has one of its own, else ``doc_id``.
    Raises: InvalidInput as ``reader.read_log``.
    """
    match = _FILE.fullmatch(path.name)
    task = match["task"] if match else path.stem
    results = _read_results(path.with_name(f"results_{match['date']}.json")) if match else {}
    reading = _Reading(path, filter_name, tuple(fields))
    samples = reading.samples()
    config = results.get("config") or {}
    facts = LogFacts(
        task_version=_stated(results.get("versions", {}).get(task)),
        revision=_stated(config.get("model_sha")) or _stated(config.get("model_revision")),
        parameters=_count(config.get("model_num_parameters")),
        shots=_count(results.get("n-shot", {}).get(task)),
        batch_size=_stated(config.get("batch_size")),
        dtype=(_stated(config.get("model_dtype")) or "").removeprefix("torch.") or None,
        engine=_stated(config.get("model")),
        scorer=", ".join(reading.metrics) or None,
        filter=reading.filter_name,
        filters=tuple(reading.filters),
    )
    model = _stated(results.get("model_name")) or path.absolute().parent.name
    return EvaluationLog(path, LM_EVAL, _stated(results.get("lm_eval_version")), task, model, samples, facts)


@dataclass
class _Reading:
    """Reads the lines of one samples file.

    Attributes:
        filter_name: the filter whose lines are kept; known after the first line.
        filters: names of all filters, as keys.
        metrics: names of all metrics of the lines that are kept, as keys.
    """

    path: Path
    filter_name: str | None
    fields: tuple[str, ...]
    filters: dict[str, None] = field(default_factory=dict)
    metrics: dict[str, None] = field(default_factory=dict)

    def samples(self) -> pl.DataFrame:
        """Read the whole file."""
        rows = SampleRows(self.path)
        for row, line in read_lines(self.path, _REQUIRED):
            name = self._decoded(_TEXT, line, "filter", row)
            self.filters[name] = None
            if self.filter_name is None:
                self.filter_name = name
            if name == self.filter_name:
                self._add(line, row, rows)
        if self.filters and self.filter_name not in self.filters:
            cure = did_you_mean(str(self.filter_name), list(self.filters))
            refuse_log(self.path, "the log has no such filter", f"'{self.filter_name}'", cure)
        return rows.frame()

    def _add(self, line: Line, row: int, rows: SampleRows) -> None:
        document = self._decoded(_LINE, line, "doc", row)
        requests = list(self._decoded(_REQUESTS, line, "arguments", row).values())
        responses = self._decoded(_RESPONSES, line, "filtered_resps", row)
        names = self._decoded(_TEXTS, line, "metrics", row)
        self.metrics.update(dict.fromkeys(names))
        try:
            answers, choices, likelihoods = _read_responses(requests, responses, names)
        except (TypeError, ValueError, IndexError):
            self._refuse("filtered_resps", row)
        place = str(self._decoded(_WHOLE, line, "doc_id", row))
        hashes = [self._decoded(_TEXT, line, key, row) for key in ("doc_hash", "prompt_hash")]
        kept = chosen_fields(document, self.fields, self.path, row)
        scores = {name: _score(line[name]) for name in names if name in line}
        own_id = msgspec.json.decode(document["id"]) if "id" in document else None
        for epoch, answer in enumerate(answers, start=1):
            rows.add((place, epoch, *hashes, answer, choices, likelihoods, kept), scores, own_id)

    def _decoded(self, decoder: "msgspec.json.Decoder[T]", line: Line, key: str, row: int) -> T:
        try:
            return decoder.decode(line[key])
        except msgspec.MsgspecError:
            self._refuse(key, row)

    def _refuse(self, key: str, row: int) -> NoReturn:
        what = "this is not what lm-eval 0.4 writes here"
        refuse_log(self.path, what, cure="log it again with lm-eval 0.4", key=key, row=row)


def _read_responses(
    requests: Sequence[_Request], responses: Sequence[Any], metrics: Sequence[str]
) -> tuple[list[str | None], list[str] | None, list[float] | None]:
    """Read what came of one item's requests.

    Returns: an answer an epoch; the choices and their log-likelihoods, None where nothing was chosen.
    """
    choices = [request.arg_1 for request in requests]
    if not all(isinstance(choice, str) for choice in choices):
        answer = responses[0]
        return (answer if isinstance(answer, list) else [answer]), None, None
    if "acc_mutual_info" in metrics:  # the second half are the choices without their prompt
        choices = choices[: len(choices) // 2]
    if len(choices) < 2:  # the likelihood of a text, without any choice
        return [None], None, None
    likelihoods = [float(responses[place][0]) for place in range(len(choices))]
    best = max(range(len(choices)), key=likelihoods.__getitem__)
    return [choices[best]], choices, likelihoods


def _score(raw: msgspec.Raw) -> float | None:
    """Read a metric of one item; None for what is no number, such as the texts that a corpus metric collects."""
    value = msgspec.json.decode(raw)
    return float(value) if isinstance(value, int | float) else None


def read_lines(path: Path, required: Sequence[str]) -> Iterator[tuple[int, Line]]:
    """Read JSON lines, each an object with these keys; its values are left as JSON.

    Args:
        path: the file.
        required: keys that each line must have.
    Returns: pairs of the row, counted from 1, and the line.
    Raises: InvalidInput naming the first line that is cut off, too long, or lacks a key.
    """
    with path.open("rb") as file:
        row = 0
        while line := file.readline(_MAX_LINE_BYTES + 1):
            row += 1
            if len(line) > _MAX_LINE_BYTES:
                cure = "give a log as lm-eval wrote it"
                refuse_log(path, "this line is too long", f"more than {_MAX_LINE_BYTES:,} bytes", cure, row=row)
            content = _parsed(line, path, row)
            for key in required:
                if key not in content:
                    what = f"this sample has no '{key}': not lm-eval's, or of a version that is not known"
                    refuse_log(path, what, cure="log it again with lm-eval 0.4", row=row)
            yield row, content


def _parsed(line: bytes, path: Path, row: int) -> Line:
    try:
        return _LINE.decode(line)
    except msgspec.MsgspecError as error:
        try:  # Python's json, which lm-eval writes with, has NaN and Infinity
            content = json.loads(line, parse_constant=lambda _: None)
            return {key: msgspec.Raw(msgspec.json.encode(value)) for key, value in content.items()}
        except (ValueError, AttributeError, RecursionError):
            refuse_log(path, "this line is no JSON object", first_line(error), WHOLE, row=row)


def _read_results(path: Path) -> dict[str, Any]:
    """Read the results file of a run; empty where there is none."""
    if not path.is_file():
        return {}
    if path.stat().st_size > _MAX_RESULTS_BYTES:
        found = f"{path.stat().st_size:,} bytes"
        refuse_log(path, "the results file is too large", found, "log the samples in files of their own")
    content = parse_json(path.read_bytes(), dict[str, Any], path, "the results file")
    version = content.get("lm_eval_version")
    if not isinstance(version, str) or not _KNOWN_VERSIONS.fullmatch(version):
        refuse_log(path, "a version of lm-eval that is not known", f"{version!r}", "use lm-eval 0.4")
    return content


def _stated(value: Any) -> str | None:
    return None if value in (None, "", "N/A") else str(value)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
