"""What is kept of one evaluation log, whichever tool wrote it: one model's answers to one task, with scores."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import polars as pl

from validation.report import InvalidInput, Problem, and_more, did_you_mean

SCORE = "score."
"""Begins the name of each column of scores: ``score.acc``."""

SAMPLE_SCHEMA: dict[str, Any] = {
    "id": pl.String,
    "epoch": pl.Int64,
    "content_hash": pl.String,
    "prompt_hash": pl.String,
    "answer": pl.String,
    "choices": pl.List(pl.String),
    "log_likelihoods": pl.List(pl.Float64),
    "document": pl.String,
}
"""Columns of ``EvaluationLog.samples``, in this order; the scores follow. One row an item and epoch, in file order.

``id``: of the item, the data's own where it has distinct ones, else its place in the split; never null.
``epoch``: repeated answers to an item count from 1; never null.
``content_hash``: 64 hex digits, of the item as the tool loaded it, without the prompt; equal hashes mean equal items
    between logs of one tool only, because each tool hashes another text. Never null.
``prompt_hash``: 64 hex digits, of what the model was sent; null where the log does not hold it.
``answer``: what the model generated, after the tool's filter; the text of the likeliest choice where it generated
    nothing; null where there is no answer, as of a sample that failed.
``choices``, ``log_likelihoods``: what the model chose among, and the natural logarithm of each one's probability, in
    the same order; null where nothing was chosen, or no likelihoods were logged.
``document``: a JSON object of those fields of the item that ``read_log`` was asked for; null where it was asked for
    none.
``score.<metric>``: a float an item and epoch; null or NaN where the tool has none.
"""


@dataclass(frozen=True)
class LogFacts:
    """What a log states about how it was made; None where it does not.

    Attributes:
        task_version: the tool's version of the task.
        revision: commit or revision of the model.
        parameters: the model's number of parameters.
        shots: demonstrations in a prompt.
        batch_size: as the tool writes it, such as ``8`` or ``auto``.
        dtype: the type of the model's weights.
        engine: what ran the model, such as ``hf``, ``vllm`` or ``openai``.
        tokens: read and written, of the whole log.
        cost_usd: of the whole log.
        scorer: names of what scored the answers, joined by commas.
        filter: the tool's filter that the answers passed.
        filters: all filters of the log, in file order.
    """

    task_version: str | None = None
    revision: str | None = None
    parameters: int | None = None
    shots: int | None = None
    batch_size: str | None = None
    dtype: str | None = None
    engine: str | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    scorer: str | None = None
    filter: str | None = None
    filters: tuple[str, ...] = ()


@dataclass(frozen=True)
class EvaluationLog:
    """One model's answers to the items of one task, with the tool's own scores.

    Attributes:
        path: the file or folder that was read.
        tool: ``lm-eval``, ``inspect`` or ``helm``.
        version: the tool's version; None where the log does not state it.
        task: the tool's name of the task.
        model: the tool's name of the model.
        samples: columns as ``SAMPLE_SCHEMA`` describes them.
        facts: how the log was made.
    """

    path: Path
    tool: str
    version: str | None
    task: str
    model: str
    samples: pl.DataFrame
    facts: LogFacts = field(default_factory=LogFacts)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the scores, without the prefix of their columns."""
        return tuple(name.removeprefix(SCORE) for name in self.samples.columns if name.startswith(SCORE))

    @property
    def epochs(self) -> int:
        """How often each item was answered, at most."""
        return self.samples["epoch"].n_unique()

    @property
    def prompts_hash(self) -> str | None:
        """SHA-256 over the prompts of all items in the order of their ids, 64 hex digits; None where one is missing."""
        first = self.samples.filter(pl.col("epoch") == pl.col("epoch").min()).sort("id")["prompt_hash"]
        if first.null_count() or not len(first):
            return None
        return hashlib.sha256("".join(first).encode()).hexdigest()


@dataclass
class SampleRows:
    """Collects samples row by row into a frame: what is done is kept as columns, so that it takes little memory."""

    path: Path
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    scores: list[Mapping[str, float | None]] = field(default_factory=list)
    parts: list[pl.DataFrame] = field(default_factory=list)

    def add(self, row: tuple[Any, ...], scores: Mapping[str, float | None]) -> None:
        """Add a sample: the values of ``SAMPLE_SCHEMA`` in its order, and its scores by metric."""
        self.rows.append(row)
        self.scores.append(scores)
        if len(self.rows) >= _ROWS_AT_ONCE:
            self._pack()

    def frame(self) -> pl.DataFrame:
        """Return all samples; InvalidInput when there are none, or one stands there twice."""
        self._pack()
        frame = pl.concat(self.parts, how="diagonal") if self.parts else pl.DataFrame(schema=SAMPLE_SCHEMA)
        check_samples(frame, self.path)
        return frame

    def _pack(self) -> None:
        if not self.rows:
            return
        frame = pl.DataFrame(self.rows, schema=SAMPLE_SCHEMA, orient="row")
        names = dict.fromkeys(name for scores in self.scores for name in scores)
        columns = [pl.Series(SCORE + name, [each.get(name) for each in self.scores], pl.Float64) for name in names]
        self.parts.append(frame.with_columns(columns))
        self.rows, self.scores = [], []


_ROWS_AT_ONCE = 20_000


def check_samples(frame: pl.DataFrame, path: Path) -> None:
    """Refuse a log without samples, or with an item that stands there twice in one epoch."""
    if frame.is_empty():
        refuse_log(path, "the log has no samples", cure="run the evaluation with samples logged")
    repeated = frame.filter(frame.select("id", "epoch").is_duplicated())
    if len(repeated):
        first, n = repeated.row(0, named=True), repeated.select("id", "epoch").n_unique()
        found = f"'{first['id']}', epoch {first['epoch']}{and_more(n - 1, 'item')}"
        refuse_log(path, "an item stands in the log twice", found, "give the log of one run, as the tool wrote it")


def chosen_fields(item: Mapping[str, Any], fields: Sequence[str], path: Path, row: int) -> str | None:
    """Write the fields that were asked for as a JSON object; None where none were.

    Args:
        item: what an item has by field; values may be ``msgspec.Raw``.
        fields: names of the fields to keep.
        path: the log, for what is refused.
        row: the item's place in it, from 1.
    Raises: InvalidInput where the item has no such field.
    """
    for name in fields:
        if name not in item:
            cure = did_you_mean(name, list(item)) if item else ""
            refuse_log(path, "an item has no such field", f"'{name}'", cure, row=row)
    return msgspec.json.encode({name: item[name] for name in fields}).decode() if fields else None


def refuse_log(path: Path, what: str, found: str = "", cure: str = "", **place: Any) -> NoReturn:
    """Raise InvalidInput for a log that cannot be read; ``place`` is a row, key or column of ``Problem``."""
    raise InvalidInput(Problem(what, str(path), found, cure, **place))
