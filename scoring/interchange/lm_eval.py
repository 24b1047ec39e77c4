"""Reader of lm-evaluation-harness 0.4 logs: ``samples_<task>_<date>.jsonl`` and ``results_<date>.json`` next to it.

Source: lm_eval/result_schema.py, lm_eval/loggers/evaluation_tracker.py. There is one line per item and filter. All
responses are strings, including log-likelihoods. The file is read line by line, and only the needed fields of a line
are decoded, because a line repeats its prompt for every choice.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from shiftbench.scoring.interchange.log import (
    LM_EVAL,
    EvaluationLog,
    LogFacts,
    SampleRows,
    chosen_fields,
    fact_text,
    garbage_collection_paused,
    parse_json,
    refuse_log,
)
from shiftbench.validation.outside import MAX_COUNT
from shiftbench.validation.report import did_you_mean, first_line

_FILE = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d{2}-\d{2}T[\d.-]+)\.jsonl")
_KNOWN_VERSIONS = re.compile(r"0\.4\.\d.*")
# Limits on memory, because logs come from others.
_MAX_LINE_BYTES = 64 * 2**20
_BUFFER_BYTES = 2**20
_MAX_RESULTS_BYTES = 256 * 2**20


class _Settings(msgspec.Struct, gc=False):
    """The generation settings of a model, which are skipped."""


class _Request(msgspec.Struct, gc=False):
    """One request to the model. Its prompt, ``arg_0``, is skipped; ``arg_1`` is a choice, or settings."""

    arg_1: str | _Settings | None = None


class _Line(msgspec.Struct, gc=False):
    """The fields common to all lines, besides the item ``doc`` and scores under the task's metric names."""

    doc_id: int
    arguments: dict[str, _Request]
    filtered_resps: list[Any]
    filter: str
    metrics: list[str]
    doc_hash: str
    prompt_hash: str


class _OwnId(msgspec.Struct, gc=False):
    """The only decoded field of an item if no fields are requested: the id that the data gives it."""

    id: Any = None


def is_lm_eval(path: Path) -> bool:
    """Return whether a path is a samples file of lm-eval, by its name or its first key."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return bool(_FILE.fullmatch(path.name)) or file.read(64).lstrip().startswith(b'{"doc_id"')


def read_lm_eval(path: Path, filter_name: str | None = None, fields: Sequence[str] = ()) -> EvaluationLog:
    """Read a samples file of lm-eval, with the model's facts from the results file next to it, if there is one.

    Args:
        path: ``samples_<task>_<date>.jsonl``.
        filter_name: the filter whose answers and scores are read; None: the first in the file.
        fields: fields of ``doc`` to keep.

    Returns: the log. Ids are ``doc["id"]`` if every item has a distinct one, otherwise ``doc_id``.

    Raises: InvalidInput as ``reader.read_log``.
    """
    match = _FILE.fullmatch(path.name)
    task = match["task"] if match else path.stem
    results = _read_results(path.with_name(f"results_{match['date']}.json")) if match else {}
    reading = _Reading(path, filter_name, tuple(fields))
    samples = reading.samples()
    config = _table(results, "config")
    facts = LogFacts(
        task_version=fact_text(_table(results, "versions").get(task)),
        revision=fact_text(config.get("model_sha")) or fact_text(config.get("model_revision")),
        parameters=_count(config.get("model_num_parameters")),
        shots=_count(_table(results, "n-shot").get(task)),
        batch_size=fact_text(config.get("batch_size")),
        dtype=(fact_text(config.get("model_dtype")) or "").removeprefix("torch.") or None,
        engine=fact_text(config.get("model")),
        scorer=", ".join(reading.metrics) or None,
        filter=reading.filter_name,
        filters=tuple(reading.filters),
    )
    model = fact_text(results.get("model_name")) or path.absolute().parent.name
    return EvaluationLog(path, LM_EVAL, fact_text(results.get("lm_eval_version")), task, model, samples, facts)


@dataclass
class _Reading:
    """Reader of the lines of one samples file.

    Attributes:
        filter_name: the filter whose lines are read; known after the first line.
        filters: names of all filters, as keys.
        metrics: names of all metrics in these lines, with the corresponding field of a decoded line.
    """

    path: Path
    filter_name: str | None
    fields: tuple[str, ...]
    filters: dict[str, None] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)

    def samples(self) -> pl.DataFrame:
        """Read the whole file."""
        rows, decoder = SampleRows(self.path), self._decoder()
        known: list[str] = []
        with garbage_collection_paused():
            for row, text in _numbered_lines(self.path):
                line = parse_json(text, decoder, self.path, "this line", "lm-eval 0.4", row=row)
                if line.filter not in self.filters:
                    self.filters[line.filter] = None
                    self.filter_name = self.filter_name or line.filter
                if line.filter != self.filter_name:
                    continue
                if line.metrics != known:
                    known = line.metrics
                    for name in known:
                        self.metrics.setdefault(name, f"score_{len(self.metrics)}")
                    decoder = self._decoder()
                    line = parse_json(text, decoder, self.path, "this line", "lm-eval 0.4", row=row)
                self._add(line, row, rows)
        if self.filters and self.filter_name not in self.filters:
            cure = did_you_mean(str(self.filter_name), list(self.filters))
            refuse_log(self.path, "the log has no such filter", f"'{self.filter_name}'", cure)
        return rows.frame()

    def _add(self, line: Any, row: int, rows: SampleRows) -> None:
        asked = [request.arg_1 for request in line.arguments.values()]
        try:
            answers, choices, likelihoods = _read_responses(asked, line.filtered_resps, line.metrics)
        except (TypeError, ValueError, LookupError, OverflowError) as error:
            what, cure = "this line does not match the format of lm-eval 0.4", "run it again with a supported version"
            refuse_log(self.path, what, first_line(error), cure, row=row)
        if self.fields:
            fields_json = chosen_fields(line.doc, self.fields, self.path, row)
            own_id = msgspec.json.decode(line.doc["id"]) if "id" in line.doc else None
        else:
            fields_json, own_id = None, line.doc.id
        scores = [(name, getattr(line, score)) for name, score in self.metrics.items()]
        item = str(line.doc_id)
        for epoch, answer in enumerate(answers, start=1):
            values = (item, epoch, line.doc_hash, line.prompt_hash, answer, choices, likelihoods, fields_json)
            rows.add(values, scores, own_id)

    def _decoder(self) -> "msgspec.json.Decoder[Any]":
        """Build the decoder for lines with the metrics known so far; a metric missing in a line is None."""
        names = {score: name for name, score in self.metrics.items()}
        document = dict[str, msgspec.Raw] if self.fields else _OwnId
        fields: list[Any] = [("doc", document), *((score, Any, None) for score in names)]
        try:
            kind = msgspec.defstruct("_ScoredLine", fields, bases=(_Line,), rename=names, gc=False)
        except ValueError as error:  # quotes, control characters, or the name of another field
            cure = "rename the metric and log it again"
            refuse_log(self.path, "a metric has an invalid name", first_line(error), cure)
        return msgspec.json.Decoder(kind)


def _read_responses(
    asked: list[Any], responses: Sequence[Any], metrics: Sequence[str]
) -> tuple[Sequence[str | None], list[str] | None, list[float] | None]:
    """Read the responses to one item's requests; ``asked`` has their choices, or generation settings.

    Returns: one answer per epoch; the choices and their log-likelihoods, or None for generated answers.
    """
    if not isinstance(asked[0], str):
        answers = responses[0] if isinstance(responses[0], list) else responses[:1]
        for answer in answers:
            if not isinstance(answer, str):
                raise TypeError(f"a response is not a text: {answers!r}")
        return answers, None, None
    # With mutual information, the second half of the requests are the choices without their prompt.
    choices = asked[: len(asked) // 2] if "acc_mutual_info" in metrics else asked
    if len(choices) < 2:  # perplexity tasks score the likelihood of one text, so nothing was chosen
        return [None], None, None
    likelihoods = [float(response[0]) for response in responses[: len(choices)]]
    if len(likelihoods) < len(choices):
        raise ValueError(f"{len(choices)} choices have {len(likelihoods)} responses")
    return [choices[likelihoods.index(max(likelihoods))]], choices, likelihoods


def _numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with 1-based row numbers; InvalidInput if one is too long."""
    with path.open("rb", buffering=_BUFFER_BYTES) as file:
        row = 0
        while line := file.readline(_MAX_LINE_BYTES + 1):
            row += 1
            if len(line) > _MAX_LINE_BYTES:
                cure = "give a log as lm-eval wrote it"
                refuse_log(path, "this line is too long", f"more than {_MAX_LINE_BYTES:,} bytes", cure, row=row)
            yield row, line


def _read_results(path: Path) -> dict[str, Any]:
    """Read the results file of a run; empty if there is none."""
    if not path.is_file():
        return {}
    if path.stat().st_size > _MAX_RESULTS_BYTES:
        found = f"{path.stat().st_size:,} bytes"
        refuse_log(path, "the results file is too large", found, "log the samples in separate files")
    content = parse_json(path.read_bytes(), dict[str, Any], path, "the results file")
    version = content.get("lm_eval_version")
    if not isinstance(version, str) or not _KNOWN_VERSIONS.fullmatch(version):
        refuse_log(path, "this version of lm-eval is not supported", f"{version!r}", "use lm-eval 0.4")
    return content


def _table(results: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a table of the results file; empty if it is missing."""
    table = results.get(key)
    return table if isinstance(table, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value <= MAX_COUNT else None
