"""Common representation of an evaluation log of any tool: a model's answers to a task, with scores."""

import gc
import hashlib
import json
import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec
import polars as pl

from shiftbench.validation.outside import MAX_COUNT, MAX_TEXT, check_text
from shiftbench.validation.report import InvalidInput, Problem, and_more, did_you_mean, first_line

LM_EVAL, INSPECT, HELM = "lm-eval", "inspect", "helm"
TOOLS = (LM_EVAL, INSPECT, HELM)
"""The supported tools, as named on the command line."""

SCORE = "score."
"""Prefix of each column of scores: ``score.acc``."""

_TEXTS, _NUMBERS = pl.List(pl.String), pl.List(pl.Float64)
SAMPLE_SCHEMA: dict[str, Any] = {
    "id": pl.String,
    "epoch": pl.Int64,
    "content_hash": pl.String,
    "prompt_hash": pl.String,
    "answer": pl.String,
    "choices": _TEXTS,
    "log_likelihoods": _NUMBERS,
    "document": pl.String,
}
"""Columns of ``EvaluationLog.samples``, in this order, before the scores. One row per item and epoch, in log order.

``id``: the item's id in the data if these are distinct, otherwise its index in the split; never null.
``epoch``: 1-based number of repeated answers to an item; never null.
``content_hash``: 64 hex digits; hash of the item as the tool loaded it, without the prompt. Equal hashes mean equal
    items only between logs of one tool, because each tool hashes a different text. Never null.
``prompt_hash``: 64 hex digits; hash of the model's input; null if the log does not contain it.
``answer``: the generated text, after the tool's filter, or the text of the most likely choice if nothing was generated;
    null without an answer, for example for a failed sample.
``choices``, ``log_likelihoods``: the choices, and their natural-log probabilities in the same order; null without
    choices, or if no likelihoods were logged.
``document``: a JSON object of the item's fields that ``read_log`` was asked to keep; null if there are none.
``score.<metric>``: a float per item and epoch; null if the tool has none. Metrics without any number are omitted.
"""


@dataclass(frozen=True)
class LogFacts:
    """Facts that a log states about how it was made; None if not stated.

    Attributes:
        task_version: the tool's version of the task.
        revision: commit or revision of the model.
        parameters: the model's number of parameters.
        shots: number of demonstrations in a prompt.
        batch_size: as the tool writes it, such as ``8`` or ``auto``.
        dtype: the type of the model's weights.
        engine: the model's runtime, such as ``hf``, ``vllm`` or ``openai``.
        tokens: number of input and output tokens of the whole log.
        cost_usd: cost of the whole log.
        scorer: names of the scorers, joined by commas.
        filter: the tool's filter that was applied to the answers.
        filters: all filters in the log, in its order.
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
        tool: one of ``TOOLS``.
        version: the tool's version; None if the log does not state it.
        task: the tool's name of the task.
        model: the tool's name of the model.
        samples: columns of ``SAMPLE_SCHEMA`` and the scores.
        facts: how the log was made.
    """

    path: Path
    tool: str
    version: str | None
    task: str
    model: str
    samples: pl.DataFrame
    facts: LogFacts = field(default_factory=LogFacts)

    def __post_init__(self) -> None:
        """Check that names have no invisible or misleading characters, and that counts are valid."""
        file, facts = str(self.path), asdict(self.facts)
        # Scorers are listed in one text; no other name is long.
        for key in ("scorer", "filter"):
            check_text(facts.pop(key) or "", file, most=MAX_TEXT, cure=_OTHER_NAME, key=key)
        for name in (*facts.pop("filters"), *self.metrics):
            check_text(name, file, most=MAX_TEXT, cure=_OTHER_NAME)
        for key, value in (facts | {"task": self.task, "model": self.model, "version": self.version or ""}).items():
            if isinstance(value, str):
                check_text(value, file, cure=_OTHER_NAME, key=key)
            # NaN is in no range.
            elif value is not None and not 0 <= value <= MAX_COUNT:
                found = "less than 0" if value < 0 else f"more than {MAX_COUNT:,}" if value > MAX_COUNT else "NaN"
                refuse_log(self.path, "this number is out of range", found, WHOLE, key=key)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the names of the scores, without the prefix of their columns."""
        return tuple(name.removeprefix(SCORE) for name in self.samples.columns if name.startswith(SCORE))

    @property
    def epochs(self) -> int:
        """Return the maximum number of answers per item."""
        return self.samples["epoch"].n_unique()

    @property
    def prompts_hash(self) -> str | None:
        """Return the SHA-256 of all items' prompts in id order, 64 hex digits; None if a prompt is missing."""
        first = self.samples.filter(pl.col("epoch") == pl.col("epoch").min()).sort("id")["prompt_hash"]
        if first.null_count() or not len(first):
            return None
        return hashlib.sha256("".join(first).encode()).hexdigest()


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Disable Python's garbage collector while a log is read: it would traverse many rows, which have no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class SampleRows:
    """Collects samples row by row; full blocks are converted to columns, which saves memory.

    Args:
        path: the log, for error messages.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._parts: list[pl.DataFrame] = []
        self._rows: list[tuple[Any, ...]] = []
        self._scores: dict[str, list[object]] = {}

    def add(self, row: tuple[Any, ...], scores: Iterable[tuple[str, object]], own_id: object = None) -> None:
        """Add a sample.

        Args:
            row: the values of ``SAMPLE_SCHEMA`` in its order.
            scores: pairs of a metric and its value; a value that is not a number, such as a text that a corpus metric
                collects, becomes null.
            own_id: the item's id in the data; ignored unless it is a string or an integer.
        """
        n = len(self._rows)
        self._rows.append((*row, own_id))
        for name, score in scores:
            values = self._scores.get(name)
            if values is None:
                values = self._scores[name] = []
            if len(values) < n:  # samples before this one had no such score
                values.extend([None] * (n - len(values)))
            values.append(score)
        if n + 1 >= _ROWS_AT_ONCE:
            self._pack()

    def frame(self) -> pl.DataFrame:
        """Return all samples; ids are those in the data if they are distinct, otherwise the tool's.

        Raises: InvalidInput if there are none, or one occurs twice.
        """
        if self._rows:
            self._pack()
        if not self._parts:
            refuse_log(self.path, "the log has no samples", cure="run the evaluation with samples logged")
        frame = pl.concat(self._parts, how="diagonal")
        if _has_repeats(frame):
            repeated = frame.filter(frame.select("id", "epoch").is_duplicated())
            first, n = repeated.row(0, named=True), repeated.select("id", "epoch").n_unique()
            found = f"'{first['id']}', epoch {first['epoch']}{and_more(n - 1, 'item')}"
            what, cure = "an item occurs twice in the log", "give the log of one run, as the tool wrote it"
            refuse_log(self.path, what, found, cure)
        empty = [name for name in frame.columns if name.startswith(SCORE) and frame[name].null_count() == len(frame)]
        own, frame = frame["own_id"], frame.drop("own_id", *empty)
        named = frame.with_columns(id=own)
        return frame if own.null_count() or _has_repeats(named) else named

    def _pack(self) -> None:
        import pyarrow as pa

        # pyarrow reads lists of lists many times faster than polars does.
        strings, floats = pa.string(), pa.float64()
        kinds = {pl.String: strings, pl.Int64: pa.int64(), _TEXTS: pa.list_(strings), _NUMBERS: pa.list_(floats)}
        *values, own_ids = zip(*self._rows, strict=True)
        named = zip(SAMPLE_SCHEMA.items(), values, strict=True)
        columns = {name: self._column(name, column, kinds[kind]) for (name, kind), column in named}
        columns["own_id"] = pa.array([str(own) if isinstance(own, int | str) else None for own in own_ids], strings)
        for name, scores in self._scores.items():
            numbers = [_finite(score) for score in scores]
            columns[SCORE + name] = pa.array(numbers + [None] * (len(own_ids) - len(numbers)), floats)
        self._parts.append(pl.DataFrame(pa.table(columns)))
        self._rows, self._scores = [], {}

    def _column(self, name: str, values: Sequence[Any], kind: Any) -> Any:
        import pyarrow as pa

        try:
            return pa.array(values, kind)
        except (pa.ArrowException, OverflowError, UnicodeError) as error:
            refuse_log(self.path, "a sample has an invalid value", first_line(error), WHOLE, column=name)


_ROWS_AT_ONCE = 2_000  # the memory of a block this size is reused; larger blocks are returned to the system


def _has_repeats(samples: pl.DataFrame) -> bool:
    return bool(samples.select(pl.struct("id", "epoch").n_unique()).item() < len(samples))


def _finite(score: object) -> float | None:
    """Return a score as a float; None if it is not a number, or too large for a float."""
    try:
        return float(score) if isinstance(score, int | float) else None
    except OverflowError:
        return None


def chosen_fields(item: Mapping[str, Any], fields: Sequence[str], path: Path, row: int) -> str | None:
    """Encode the requested fields as a JSON object; None if none are requested.

    Args:
        item: the item's fields; values may be ``msgspec.Raw``.
        fields: names of the fields to keep.
        path: the log, for error messages.
        row: the item's 1-based row in the log.

    Raises: InvalidInput if the item lacks a field.
    """
    for name in fields:
        if name not in item:
            cure = did_you_mean(name, list(item)) if item else ""
            refuse_log(path, "an item has no such field", f"'{name}'", cure, row=row)
    return msgspec.json.encode({name: item[name] for name in fields}).decode() if fields else None


def fact_text(value: Any) -> str | None:
    """Return a fact of a log as text; None for other types, such as a list."""
    return str(value) if isinstance(value, str | int | float) and value not in ("", "N/A") else None


def refuse_log(path: Path, what: str, found: str = "", cure: str = "", **place: Any) -> NoReturn:
    """Raise InvalidInput for a log that cannot be read.

    Args:
        path: the log.
        what: what is wrong.
        found: the content that was found.
        cure: suggested fix.
        place: the row, key or column of ``Problem``, by keyword.
    """
    raise InvalidInput(Problem(what, str(path), found, cure, **place))


def text_hash(content: object) -> str:
    """Return the SHA-256 of JSON-serialisable content, 64 hex digits; too large integers are hashed as digits."""
    try:
        encoded = msgspec.json.encode(content)
    except OverflowError:
        encoded = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    return hashlib.sha256(encoded).hexdigest()


_OTHER_NAME = "rename the metric and log it again"
T = TypeVar("T")


def parse_json(
    data: bytes | memoryview,
    kind: "type[T] | msgspec.json.Decoder[T]",
    path: Path,
    what: str,
    tool: str = "the tool",
    **place: Any,
) -> T:
    """Parse JSON into a msgspec type; NaN and Infinity, which Python writes, become null.

    Args:
        data: the JSON.
        kind: the type, or its decoder.
        path: the log, for error messages.
        what: description of the content, such as ``a sample``, for error messages.
        tool: the tool's name and version, for error messages.
        place: a row, key or column of ``Problem``.

    Raises: InvalidInput if it is not valid JSON, or does not match the type.
    """
    decode = kind.decode if isinstance(kind, msgspec.json.Decoder) else partial(msgspec.json.decode, type=kind)
    try:
        try:
            return decode(data)
        except msgspec.ValidationError:  # a DecodeError, too, but of valid JSON
            raise
        except (msgspec.DecodeError, UnicodeDecodeError):
            return decode(plain_json(bytes(data)))
    except msgspec.ValidationError as error:
        cure = "run it again with a supported version"
        refuse_log(path, f"{what} does not match the format of {tool}", first_line(error), cure, **place)
    except (ValueError, OverflowError, RecursionError) as error:
        refuse_log(path, f"{what} is not valid JSON", first_line(error), WHOLE, **place)


def plain_json(text: bytes) -> bytes:
    """Convert JSON as written by Python to standard JSON: NaN and Infinity become null.

    Raises: ValueError, OverflowError or RecursionError if it is not valid JSON, contains a lone surrogate or a number
        that cannot be represented, or is nested too deeply.
    """
    return msgspec.json.encode(json.loads(text, parse_constant=lambda _: None))


def parse_json_file(path: Path, kind: type[T], what: str) -> T:
    """Parse a memory-mapped JSON file as ``parse_json`` does, so that skipped parts take no memory."""
    if not path.stat().st_size:
        refuse_log(path, f"{what} is empty", cure=WHOLE)
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        memoryview(content) as view,
    ):
        return parse_json(view, kind, path, what)


WHOLE = "the log is truncated or was changed: copy the complete file again"
"""Suggested fix for a log that was changed after its tool wrote it."""
