"""Reader of Inspect's logs: version 2 of ``EvalLog``, as ``.eval`` (a zip archive, one entry per sample) or ``.json``.

Source: inspect_ai/log/_log.py, _recorders/eval.py, _recorders/chunked/format.py. Events, which are most of a log, are
skipped.
"""

import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import msgspec

from shiftbench.scoring.interchange.log import (
    INSPECT,
    SCORE,
    WHOLE,
    EvaluationLog,
    LogFacts,
    SampleRows,
    chosen_fields,
    fact_text,
    parse_json,
    parse_json_file,
    refuse_log,
    text_hash,
)
from shiftbench.validation.report import first_line

MAX_ENTRY_BYTES = 512 * 2**20
"""Maximum uncompressed size of an entry."""
MAX_TOTAL_BYTES = 64 * 2**30
"""Maximum uncompressed size of all entries."""
MAX_ENTRIES = 5_000_000

# From the zip format: the number of the compression method, a bit of an entry's flags, and the header before an entry's
# content, of which only the lengths of name and extra field are read.
_ZSTD = 93
_ENCRYPTED = 1
_LOCAL_HEADER = struct.Struct("<26xHH")
_UNPACKING_ERRORS = (
    zipfile.BadZipFile, OSError, EOFError, zlib.error, struct.error, NotImplementedError, ValueError, lzma.LZMAError,
)  # fmt: skip

_VERSION = 2
_SAMPLE = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)", re.DOTALL)
_SHELL = "/sample.json"
_HEADER, _START = "header.json", "_journal/start.json"
_ATTACHMENT = "attachment://"
_RETRY = "finish it with 'inspect eval-retry'"
_JSON_BEGIN = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"(status|eval)"')
_ZIP_MARK = b"PK\x03\x04"
_TEXT_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Values of strings in Inspect's own ``value_to_float``; other strings may be numbers."""


class _Score(msgspec.Struct):
    value: Any
    answer: Any = None


class _Usage(msgspec.Struct):
    total_tokens: int = 0
    total_cost: float | None = None


class _Message(msgspec.Struct):
    role: str
    content: Any = ""
    source: str | None = None


class _Choice(msgspec.Struct):
    message: _Message


class _Output(msgspec.Struct):
    completion: str = ""
    choices: list[_Choice] = []


class _Sample(msgspec.Struct):
    """The fields of a sample that are read: events, store and attachments are skipped."""

    id: int | str
    epoch: int
    input: str | list[_Message]
    target: Any
    choices: list[str] | None = None
    messages: list[_Message] = []
    output: _Output = msgspec.field(default_factory=_Output)
    scores: dict[str, _Score] | None = None
    metadata: dict[str, Any] = {}
    error: Any = None


class _Scorer(msgspec.Struct):
    name: str
    options: dict[str, Any] | None = None


class _Role(msgspec.Struct):
    model: str


class _Eval(msgspec.Struct):
    task: str
    model: str
    scorers: list[_Scorer] | None = None
    model_roles: dict[str, _Role | str] | None = None
    packages: dict[str, str] = {}
    task_version: int | str | None = None
    model_args: dict[str, Any] = {}


class _Stats(msgspec.Struct):
    model_usage: dict[str, _Usage] = {}


class _Version(msgspec.Struct):
    version: int


class _Log(msgspec.Struct):
    """A log as one JSON document, or an archive's header, which has no samples."""

    eval: _Eval
    status: str = "started"
    stats: _Stats = msgspec.field(default_factory=_Stats)
    samples: list[_Sample] | None = None


class BoundedArchive:
    """A zip archive whose entries are read one at a time, each checked against its stated size and a maximum.

    Inspect compresses its logs with zstd, which Python's zipfile supports only from 3.14 on; pyarrow supports it.

    Args:
        path: the archive.

    Raises: InvalidInput if it is not a zip archive, or states implausible sizes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except _UNPACKING_ERRORS as error:
            refuse_log(path, "this is not a complete zip archive", first_line(error), WHOLE)
        entries = self._zip.infolist()
        self.names = [entry.filename for entry in entries]
        if len(entries) > MAX_ENTRIES:
            refuse_log(path, "the archive has too many entries", f"{len(entries):,}", "split the log")
        if len(set(self.names)) < len(entries):
            refuse_log(path, "the archive has two entries with the same name", cure=WHOLE)
        total = sum(entry.file_size for entry in entries)
        if total > MAX_TOTAL_BYTES:
            refuse_log(path, "the archive is too large when unpacked", f"{total:,} bytes", "split the log")

    def __enter__(self) -> "BoundedArchive":
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def read(self, name: str) -> bytes:
        """Read a whole entry.

        Raises: InvalidInput if there is no such entry, if it is too long, or if its size or checksum does not match.
        """
        try:
            entry = self._zip.getinfo(name)
        except KeyError:
            refuse_log(self._path, f"the archive has no entry '{name}'", cure=WHOLE)
        if entry.file_size > MAX_ENTRY_BYTES:
            found = f"{entry.file_size:,} bytes"
            refuse_log(self._path, f"entry '{name}' is too long", found, f"the limit is {MAX_ENTRY_BYTES:,} bytes")
        if entry.flag_bits & _ENCRYPTED:
            refuse_log(self._path, f"entry '{name}' is encrypted", cure="repack the log without a password")
        try:
            content = self._unpack(entry)
        except _UNPACKING_ERRORS as error:
            refuse_log(self._path, f"entry '{name}' cannot be unpacked", first_line(error), WHOLE)
        if len(content) != entry.file_size or zlib.crc32(content) != entry.CRC:
            longer = "more than " if len(content) > entry.file_size else ""
            found = f"{longer}{min(len(content), entry.file_size):,} bytes instead of {entry.file_size:,}"
            refuse_log(self._path, f"entry '{name}' does not match its size or checksum in the archive", found, WHOLE)
        return content

    def _unpack(self, entry: zipfile.ZipInfo) -> bytes:
        if entry.compress_type != _ZSTD:
            with self._zip.open(entry) as file:
                return file.read(entry.file_size + 1)  # one byte more than stated, to detect a zip bomb
        import pyarrow

        with self._path.open("rb") as file:
            file.seek(entry.header_offset)
            name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
            file.seek(name + extra, 1)
            packed = file.read(entry.compress_size)
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd") as stream:
            return bytes(stream.read(entry.file_size + 1))


def is_inspect(path: Path) -> bool:
    """Return whether a path is a log of Inspect, by its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return _is_archive(path) or bool(_JSON_BEGIN.match(file.read(256)))


def _is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        return path.suffix == ".eval" or file.read(len(_ZIP_MARK)) == _ZIP_MARK


def read_inspect(path: Path, fields: Sequence[str] = ()) -> EvaluationLog:
    """Read a log of Inspect.

    Args:
        path: an ``.eval`` or ``.json`` log.
        fields: names of the fields to keep: metadata, or ``input``, ``choices``, ``target`` or ``id``.

    Returns: the log. Ids are ``metadata["id"]`` if every sample has a distinct one, otherwise ``Sample.id``.

    Raises: InvalidInput as ``reader.read_log``.
    """
    rows = SampleRows(path)
    if not _is_archive(path):
        header = _parse_finished(partial(parse_json_file, path, what="the log"), path)
        _add_all(header.samples or (), rows, fields)
    else:
        with BoundedArchive(path) as archive:
            if _HEADER not in archive.names:
                is_started = _START in archive.names
                what = "the evaluation did not finish" if is_started else "this is not a log of Inspect"
                refuse_log(path, what, f"no entry '{_HEADER}'", _RETRY)
            parse = partial(parse_json, archive.read(_HEADER), path=path, what="the header")
            header = _parse_finished(parse, path)
            _add_all(_read_samples(archive, path), rows, fields)
    usage = header.stats.model_usage.values()
    costs = [each.total_cost for each in usage if each.total_cost is not None]
    arguments = header.eval.model_args
    frame = rows.frame()
    facts = LogFacts(
        task_version=fact_text(header.eval.task_version),
        revision=fact_text(arguments.get("revision")),
        batch_size=fact_text(arguments.get("batch_size")),
        dtype=fact_text(arguments.get("dtype") or arguments.get("torch_dtype")),
        engine=header.eval.model.split("/")[0],
        tokens=sum(each.total_tokens for each in usage) or None,
        cost_usd=sum(costs) if costs else None,
        scorer=_scorer_words(header.eval, [name for name in frame.columns if name.startswith(SCORE)]),
    )
    version = header.eval.packages.get("inspect_ai")
    return EvaluationLog(path, INSPECT, version, header.eval.task, header.eval.model, frame, facts)


def _parse_finished(parse: Callable[..., Any], path: Path) -> _Log:
    """Parse a log or its header, after checking the version, because other versions may have other keys."""
    version = parse(kind=_Version).version
    if version != _VERSION:
        cure = f"convert it with 'inspect log convert' to version {_VERSION}"
        refuse_log(path, "this version of Inspect's logs is not supported", f"version {version}", cure)
    log: _Log = parse(kind=_Log)
    if log.status != "success":
        refuse_log(path, "the evaluation did not finish", f"status '{log.status}'", _RETRY)
    return log


def _read_samples(archive: BoundedArchive, path: Path) -> Iterator[_Sample]:
    """Read the samples sorted by their entries' names, an order that does not depend on the run."""
    for name in sorted(name for name in archive.names if _SAMPLE.fullmatch(name)):
        sample = parse_json(archive.read(name), _Sample, path, f"entry '{name}'")
        if name.endswith(_SHELL):  # a chunked sample: metadata and long texts are separate entries
            folder = name.removesuffix(_SHELL)
            if f"{folder}/metadata.json" in archive.names:
                entry = f"{folder}/metadata.json"
                sample.metadata = parse_json(archive.read(entry), dict[str, Any], path, f"entry '{entry}'")
            if _ATTACHMENT in msgspec.json.encode(sample.input).decode():
                what, cure = "a chunked sample has its input in another entry", "convert the log to complete samples"
                refuse_log(path, what, f"entry '{name}'", cure)
        yield sample


def _add_all(samples: Iterable[_Sample], rows: SampleRows, fields: Sequence[str]) -> None:
    for row, sample in enumerate(samples, start=1):
        item = {"id": sample.id, "input": sample.input, "choices": sample.choices, "target": sample.target}
        fields_json = chosen_fields(item | sample.metadata, fields, rows.path, row)
        content = text_hash([_turns(sample.input), sample.choices, sample.target])
        # The messages before the model's first one.
        prompt = list(takewhile(lambda turn: turn.role != "assistant" or turn.source == "input", sample.messages))
        hashed = text_hash(_turns(prompt)) if prompt else None
        answer = _answer_text(sample)
        values = (str(sample.id), sample.epoch, content, hashed, answer, sample.choices, None, fields_json)
        rows.add(values, _numbers(sample.scores or {}), sample.metadata.get("id"))


def _scorer_words(evaluation: _Eval, columns: Sequence[str]) -> str | None:
    """Describe the scorers, each with a hash of its settings and its judge model, if the log states them."""
    if not evaluation.scorers:
        return ", ".join(name.removeprefix(SCORE) for name in columns) or None
    return ", ".join(_with_settings(scorer, evaluation) for scorer in evaluation.scorers)


def _with_settings(scorer: _Scorer, evaluation: _Eval) -> str:
    options = scorer.options or {}
    details = [f"settings {text_hash([options])[:8]}"] if options else []
    if "model_role" in options or "model" in options or scorer.name.startswith("model_graded"):
        details.append(f"judged by {_judge(options, evaluation)}")
    return f"{scorer.name} ({', '.join(details)})" if details else scorer.name


def _judge(options: Mapping[str, Any], evaluation: _Eval) -> str:
    """Return the model that a scorer uses as a judge: its own, otherwise its role's, otherwise the evaluated one.

    Source: inspect_ai/scorer/_model.py.
    """
    if options.get("model"):
        return str(options["model"])
    role = options.get("model_role") or "grader"
    name = role.get("name") if isinstance(role, dict) else role
    judge = (evaluation.model_roles or {}).get(str(name))
    if judge is None:
        return evaluation.model
    return judge.model if isinstance(judge, _Role) else judge


def _answer_text(sample: _Sample) -> str | None:
    """Return the generated text; for multiple choice, the text of the choice."""
    if sample.error is not None:
        return None
    if sample.choices:
        letters = [score.answer for score in (sample.scores or {}).values() if isinstance(score.answer, str)]
        place = ascii_uppercase.find(letters[0]) if letters and len(letters[0]) == 1 else -1
        return sample.choices[place] if 0 <= place < len(sample.choices) else None
    if sample.output.completion or not sample.output.choices:
        return sample.output.completion
    return _turn_text(sample.output.choices[0].message.content)  # logs before 0.3.60 have no completion


def _turns(content: str | Sequence[_Message]) -> Any:
    """Return a text unchanged, and a conversation without the messages' random ids."""
    return content if isinstance(content, str) else [[turn.role, turn.content] for turn in content]


def _turn_text(content: Any) -> str:
    """Return the text of a message, without its reasoning and images."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


def _numbers(scores: Mapping[str, _Score]) -> Iterator[tuple[str, float | None]]:
    for name, score in scores.items():
        if isinstance(score.value, dict):
            yield from ((f"{name}.{key}", _number(value)) for key, value in score.value.items())
        else:
            yield name, _number(score.value)


def _number(value: Any) -> float | None:
    try:
        if isinstance(value, str):
            return _TEXT_VALUES.get(value, _TEXT_VALUES.get(value.lower())) if value.isalpha() else float(value)
        return float(value) if isinstance(value, int | float) else None
    except (ValueError, OverflowError):
        return None
