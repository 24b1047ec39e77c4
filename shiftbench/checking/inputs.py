"""Arguments of the Python API: paths or tables, folders or their names, cards or their files."""

import csv
import io
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import polars as pl

from shiftbench.builders.building.own_columns import Columns
from shiftbench.builders.building.own_labels import respell
from shiftbench.builders.building.own_tables import OwnTable, read_tables, table_of, with_lists
from shiftbench.builders.folder.hub_folder import open_folder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.cards import Card, parse_card, read_card
from shiftbench.validation.csv_text import csv_text, separator_of
from shiftbench.validation.notices import DataWarning, warn
from shiftbench.validation.parquet_file import MAGIC
from shiftbench.validation.prediction_files import PredictionFile, PredictionInput, read_predictions
from shiftbench.validation.prediction_values import OPTIONAL, REQUIRED
from shiftbench.validation.probabilities import PROBABILITIES
from shiftbench.validation.report import (
    InvalidInput,
    Problem,
    WrongTypeError,
    and_more,
    did_you_mean,
    first_line,
    plural,
)
from shiftbench.validation.vocabulary import ELSEWHERE, PREDICTION_SUFFIXES

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    Table: TypeAlias = pl.DataFrame | pd.DataFrame | pa.Table | Mapping[str, Sequence[Any]]

_HEAD = 1_000_000
"""Maximum characters read in search of a file's header and first row."""
_TABLES = "a polars or pandas DataFrame, a Dataset of datasets, a pyarrow Table, or a dict of columns"


def as_path(place: Any, argument: str) -> Path:
    """Return a path, which may be given as text.

    Args:
        place: the path.
        argument: name of the argument, for the error.
    Raises: TypeError if it is neither str nor Path.
    """
    if isinstance(place, str | Path):
        return Path(place)
    _refuse_type(place, argument, "a path as str or Path")


def as_folder(data: Any, argument: str = "data", revision: str = "main") -> DatasetFolder:
    """Open a dataset folder; an opened one is returned unchanged.

    Args:
        data: path of a local folder, ``ORG/NAME`` of one on the Hub, or an opened folder.
        argument: name of the argument, for errors.
        revision: branch, tag or commit on the Hub.
    Raises: InvalidInput if there is no such folder; TypeError for another type.
    """
    if isinstance(data, DatasetFolder):
        return data
    if not isinstance(data, str | Path):
        _refuse_type(data, argument, "a folder's path, ORG/NAME on the Hub, or a result of open_dataset")
    return open_folder(data, revision)


def as_card(card: Any) -> Card:
    """Return a card, which may be given as its file or as a dict; InvalidInput lists every invalid key."""
    if isinstance(card, Card):
        return card
    if isinstance(card, str | Path):
        return read_card(Path(card))
    if isinstance(card, Mapping):
        return parse_card(json.dumps(dict(card)))
    _refuse_type(card, "card", "a Card, a dict of its keys, or the path of a card file")


def as_frame(table: Any, argument: str, wanted: str = _TABLES) -> pl.DataFrame:
    """Read a table in memory as a polars frame; the index of a pandas frame is dropped.

    Raises: InvalidInput if columns differ in length or mix types, TypeError if it is not a table.
    """
    pandas = sys.modules.get("pandas")  # a pandas frame exists only if pandas has been imported
    is_pandas = pandas is not None and isinstance(table, pandas.DataFrame)
    hub = sys.modules.get("datasets")
    if hub is not None and isinstance(table, hub.Dataset):
        return _of_dataset(table)
    if hub is not None and isinstance(table, hub.DatasetDict):
        what, cure = "these are several tables", f"choose one, such as {argument}[{next(iter(table), 'test')!r}]"
        raise InvalidInput(Problem(what, argument, f"a DatasetDict of {', '.join(table)}", cure))
    if not (is_pandas or isinstance(table, Mapping) or hasattr(table, "__arrow_c_stream__")):
        _refuse_type(table, argument, wanted)
    try:
        frame = pl.from_pandas(table) if is_pandas else pl.DataFrame(table)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InvalidInput(_not_a_table(argument, first_line(error))) from error
    mixed = [name for name, dtype in frame.schema.items() if dtype == pl.Object]
    if mixed:
        raise InvalidInput(_not_a_table(argument, f"objects in column '{mixed[0]}'"))
    return frame


def _of_dataset(table: Any) -> pl.DataFrame:
    """Read a Dataset of the library datasets; class codes are replaced by names."""
    # Without a format, because one such as "torch" would return tensors.
    frame: pl.DataFrame = table.with_format(None).to_polars()
    names = {name: each.names for name, each in table.features.items() if type(each).__name__ == "ClassLabel"}
    return frame.with_columns(
        pl.col(name).replace_strict(dict(enumerate(words)), default=None, return_dtype=pl.String)
        for name, words in names.items()
    )


def own_tables(table: Any, argument: str) -> list[OwnTable]:
    """Read a user table: a path, several paths, or a table for ``as_frame``; ``argument`` names it in error messages.

    Raises: InvalidInput if it cannot be read, TypeError if it is not a table.
    """
    if isinstance(table, str | Path):
        return read_tables([Path(table)])
    if isinstance(table, list | tuple) and table and all(isinstance(path, str | Path) for path in table):
        return read_tables([Path(path) for path in table])
    return [table_of(as_frame(table, argument, f"the path of a file, paths, {_TABLES}"), argument)]


def find_subset(predictions: Path | PredictionInput, folder: DatasetFolder) -> str:
    """Find the subset of test ids that a prediction file covers.

    Args:
        predictions: the file; reading stops at the first id outside all named subsets, and is skipped if the folder has
            no named subset.
        folder: the dataset.
    Returns: the smallest named subset that contains every id of the file; ``all`` if none does, or if it contains all
        test texts of the predicted domains.
    Raises: InvalidInput if the file cannot be read.
    """
    held: dict[str, dict[str, pl.Series]] = {}
    for task, info in folder.manifest.tasks.items():
        for name in info.subsets:
            if name != "all" and name not in info.withheld_subsets:
                held.setdefault(name, {})[task] = folder.subset(task, name)["id"]
    listed = {name: pl.concat(tasks.values()).implode() for name, tasks in held.items()}
    ids = pl.Series(dtype=pl.String)
    parts = PredictionFile(PredictionInput.of(predictions).path).parts(["source", "id"]) if held else ()
    for part in parts:
        ids = pl.concat([ids, part["id"].drop_nulls()]).unique()
        for some in (part["id"].head(1), ids):  # for most files the first id already implies "all"
            held = {name: tasks for name, tasks in held.items() if some.is_in(listed[name]).all()}
        if not held:
            return "all"
    for name, tasks in sorted(held.items(), key=lambda each: sum(map(len, each[1].values()))):
        for task, subset in tasks.items():
            tests = folder.test(task, columns=["id", "domain"])
            targets = tests.filter(pl.col("id").is_in(ids.implode()))["domain"].unique()
            if not tests.filter(pl.col("domain").is_in(targets.implode()))["id"].is_in(subset.implode()).all():
                return name
    return "all"


def given_predictions(model: str | Path) -> PredictionInput | None:
    """Return the prediction file given in place of a model; None if the argument names a model."""
    path = Path(model)
    return PredictionInput(path) if path.suffix.lower() in PREDICTION_SUFFIXES and path.is_file() else None


_CHANCE = re.compile(r"prob(?:ability|abilities|s)?[_ ](?P<label>.+)", flags=re.IGNORECASE)
"""A column with one label's probability, such as ``probability_positive``."""


_OF_TABLE = re.compile(r"\S*[/\\]shiftbench-\w+[/\\](\w+)(\.parquet)?")
"""Path of a temporary file that a table was written to; its name is that of the argument."""


def shown_name(text: str) -> str:
    """Replace paths of temporary files in a text by the names of the arguments that were written to them."""
    return _OF_TABLE.sub(r"\1", text)


def select_known_rows(
    frame: pl.DataFrame, known: pl.Series, file: str, ids_are: str, left_out: pl.Series | None = None
) -> pl.DataFrame:
    """Return the predictions of known rows.

    Args:
        frame: predictions.
        known: ids of the rows.
        file: the prediction file.
        ids_are: location of the rows' ids, for messages.
        left_out: ids of further rows, whose predictions are dropped silently.
    Returns: the predictions with a known id; a warning names the others.
    Raises: InvalidInput if no id is known.
    """
    if left_out is not None and len(left_out):
        frame = frame.filter(~pl.col("id").is_in(left_out.implode()))
    unknown = ~frame["id"].is_in(known.implode())
    if len(frame) and unknown.all():  # pandas writes 1.0 for 1 if a value of the column is missing
        frame = frame.with_columns(respell(frame["id"], known))
        unknown = ~frame["id"].is_in(known.implode())
    n_unknown = int(unknown.sum())
    if n_unknown and n_unknown == len(frame):
        found = repr(frame["id"][0]) + and_more(n_unknown - 1, "unknown id")
        cure = f"use the ids of the test rows in {ids_are}, such as '{known[0]}'"
        raise InvalidInput(Problem("unknown id", file, found, cure, column="id", row=1))
    if n_unknown:
        rows = plural(n_unknown, "prediction")
        such = repr(frame.filter(unknown)["id"][0])
        text = f"{shown_name(file)}: ignored {rows} whose id is not in {shown_name(ids_are)}, such as {such}"
        warn(text, DataWarning)
    return frame.filter(~unknown)


def read_own_predictions(
    file: Path | PredictionInput, columns: Columns, labels: Sequence[str] = (), *, is_again: bool = False
) -> pl.DataFrame:
    """Read predictions on user data, whose file may have additional columns.

    Columns ``probability_<label>`` become ``probabilities``, in the order of the rows' labels (if unknown, in
    alphabetical order); without a column ``confidence``, the confidence is the probability of the predicted label. Tags
    may be lists in JSON or Python syntax. A warning lists other columns, which are ignored unless their name looks
    misspelled. Without a column ``source``, the model is assumed to be trained on other data.

    Args:
        file: as in ``read_predictions``.
        columns: columns of the rows. If the prediction file has no column ``id``, its column with the name of the rows'
            id column is used. The role ``prediction`` names the file's column of predictions, and ``label_map``
            converts the model's labels to those of the rows.
        labels: labels of the rows; empty if unknown, or if there are none.
        is_again: whether the file was already read, so that warnings are not repeated.
    Returns: as ``read_predictions``.
    Raises: InvalidInput listing every problem of its columns and values.
    """
    path = PredictionInput.of(file).path
    known = REQUIRED + OPTIONAL
    own_names = _column_names(path)
    renamed = _own_columns(own_names, columns, str(path))
    names = [renamed.get(name, name) for name in own_names]
    extra = [name for name in names if name not in known]
    chances = {match["label"]: name for name in extra if (match := _CHANCE.fullmatch(name))}
    others = [name for name in extra if name not in chances.values()]
    is_slip = any(not name or did_you_mean(name, known).endswith("?") for name in others)
    has_source, has_all = "source" in names, {"id", "prediction"} <= {*names}
    if own_names and not has_all:
        cures = {
            "id": f"name it 'id'{f' or {columns.id!r}, as in the data' if columns.id else ''}",
            "prediction": "name it 'prediction', or give --columns prediction=NAME",
        }
        found = f"columns {', '.join(own_names)}"
        raise InvalidInput(
            Problem("a column is missing", str(path), found, cure, column=name)
            for name, cure in cures.items()
            if name not in names
        )
    is_plain = names == own_names and has_source and not extra and not _may_contain_lists(path, names)
    is_plain &= not _has_numbers(path, names)
    if not own_names or is_slip or (is_plain and not columns.label_map):
        return read_predictions(file)
    if others and not is_again:
        text = f"{shown_name(str(path))}: ignored columns: {', '.join(others)}"
        warn(text, DataWarning)
    frame = _read_all(path).rename(renamed)
    coded = [name for name in frame.columns if name in REQUIRED and _is_number(frame[name].dtype)]
    frame = frame.with_columns(pl.col(coded).cast(pl.String)) if coded else frame
    frame = frame.with_columns(with_lists(frame["prediction"], str(path)))
    if columns.label_map and frame.schema["prediction"] == pl.String:
        frame = frame.with_columns(columns.mapped(frame["prediction"]))
    if not has_source:
        frame = frame.with_columns(source=pl.lit(ELSEWHERE))
    if chances and PROBABILITIES not in frame.columns:
        of_label = _chances_by_label(chances, columns, labels, str(path))
        numbers = [pl.col(name).cast(pl.Float64, strict=False) for name in of_label.values()]
        frame = frame.with_columns(pl.concat_list(numbers).alias(PROBABILITIES))
        predicted = respell(frame["prediction"].cast(pl.String), of_label)
        if "confidence" not in frame.columns and predicted.is_in([*of_label]).all():
            own = [pl.when(predicted == label).then(number) for label, number in zip(of_label, numbers, strict=True)]
            frame = frame.with_columns(confidence=pl.coalesce(own))
    with TemporaryDirectory(prefix="shiftbench-") as place:
        kept = Path(place) / path.name
        frame.select(name for name in known if name in frame.columns).write_parquet(kept)
        with renamed_problems({str(kept): str(path)}):
            return read_predictions(PredictionInput(kept, PredictionInput.of(file).labels_by_index))


def _chances_by_label(chances: Mapping[str, str], columns: Columns, labels: Sequence[str], file: str) -> dict[str, str]:
    """Map the labels of the rows, in their order, to the columns with their probabilities.

    Raises: InvalidInput if the columns are for other labels.
    """
    own = columns.mapped(pl.Series(list(chances), dtype=pl.String))
    of_label = dict(zip(respell(own, labels) if labels else own, chances.values(), strict=True))
    if labels and set(of_label) != set(labels):
        found = f"columns {', '.join(chances.values())}; the labels are {', '.join(map(repr, labels))}"
        cure = "give one column per label, named after it, and map the model's label names with --label-map"
        raise InvalidInput(Problem("the columns of probabilities do not match the labels", file, found, cure))
    return {label: of_label[label] for label in labels or sorted(of_label)}


def _own_columns(names: Sequence[str], columns: Columns, file: str) -> dict[str, str]:
    """Return the roles of prediction-file columns that do not have their default names."""
    if columns.prediction is not None and not {columns.prediction, "prediction"} & {*names}:
        found, cure = f"columns {', '.join(names)}", did_you_mean(columns.prediction, names)
        what = "the column given for predictions is missing"
        raise InvalidInput(Problem(what, file, found, cure, column=columns.prediction))
    own = {columns.prediction: "prediction"} if columns.prediction and columns.prediction in names else {}
    if columns.id is not None and columns.id in names and "id" not in names:
        own[columns.id] = "id"
    return {name: ours for name, ours in own.items() if name != ours}


def _read_all(path: Path) -> pl.DataFrame:
    if _is_parquet(path):
        return pl.read_parquet(path)
    if path.suffix.lower() == ".jsonl":
        return pl.read_ndjson(path)
    return csv_text(path, lambda _: None, Problem("the file contains no predictions", str(path)))


def _may_contain_lists(path: Path, names: Sequence[str]) -> bool:
    """Return whether the first prediction in a CSV looks like a list."""
    if _is_parquet(path) or path.suffix.lower() == ".jsonl":
        return False
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as stream:
        rows = csv.reader(io.StringIO(stream.read(_HEAD)))
    try:
        first = next(islice(rows, 1, None), [])
    except csv.Error:  # the file's reader reports what is wrong
        return False
    return len(first) == len(names) and first[names.index("prediction")].startswith("[")


def _is_number(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype in (pl.Boolean, pl.Categorical, pl.Enum)


def _has_numbers(path: Path, names: Sequence[str]) -> bool:
    """Check whether a parquet file has numbers in the columns of ids, domains or labels."""
    if not _is_parquet(path):
        return False
    dtypes = dict(zip(names, pl.read_parquet_schema(path).values(), strict=True))
    return any(_is_number(dtypes[name]) for name in REQUIRED if name in dtypes)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def _column_names(path: Path) -> list[str]:
    """Return a prediction file's column names; empty if it cannot be read, which its reader will report."""
    try:
        if _is_parquet(path):
            return list(pl.read_parquet_schema(path))
        with path.open(encoding="utf-8-sig") as stream:
            first = stream.readline(_HEAD)
        return (
            list(json.loads(first))
            if path.suffix.lower() == ".jsonl"
            else next(csv.reader([first], delimiter=separator_of(first)), [])
        )
    except (OSError, ValueError, TypeError, csv.Error, pl.exceptions.PolarsError):
        return []


@contextmanager
def prediction_file(predictions: Any, argument: str = "predictions") -> Iterator[Path]:
    """Yield the path of a prediction file: the given one, or a temporary one written from a table.

    Problems in the temporary file are reported under the argument's name.
    """
    if isinstance(predictions, str | Path):
        yield Path(predictions)
        return
    frame = as_frame(predictions, argument, f"a path as str or Path, {_TABLES}")
    with TemporaryDirectory(prefix="shiftbench-") as place:
        path = Path(place) / (argument if argument.isidentifier() else "predictions")  # the name appears in results
        frame.write_parquet(path)
        with renamed_problems({str(path): argument}):
            yield path


def is_own(data: Any) -> bool:
    """Check whether data is a user table or file, rather than a dataset folder or its name."""
    if isinstance(data, str | Path):
        return Path(data).is_file() or Path(data).suffix.lower() in (".csv", ".tsv")
    return not isinstance(data, DatasetFolder)


@contextmanager
def data_place(data: Any, argument: str = "data") -> Iterator[Path]:
    """Yield the path of data: of a dataset folder, of a file, or of a temporary file written from a table.

    Problems found in the temporary file name the argument instead.
    """
    if not is_own(data):
        yield as_folder(data, argument).path
    elif isinstance(data, str | Path):
        yield Path(data)
    else:
        wanted = f"a dataset folder, ORG/NAME on the Hub, a file, or {_TABLES}"
        frame = table_of(as_frame(data, argument, wanted), argument).frame
        with TemporaryDirectory(prefix="shiftbench-") as place:
            path = Path(place) / f"{argument}.parquet"
            frame.write_parquet(path)
            with renamed_problems({str(path): argument}):
                yield path


@contextmanager
def renamed_problems(files: Mapping[str, str], columns: Mapping[str, str] | None = None) -> Iterator[None]:
    """Replace names of files and columns in problems of the block by the names that the caller used.

    Args:
        files: maps paths to the names that the caller used.
        columns: maps the column names in problems to those that the caller used.
    """
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(_rename_problem(problem, files, columns or {}) for problem in error.problems) from None


def _rename_problem(problem: Problem, files: Mapping[str, str], columns: Mapping[str, str]) -> Problem:
    file = problem.file
    for path, name in files.items():
        file = file.replace(path, name)
    found, cure = shown_name(problem.found), shown_name(problem.cure)
    return replace(problem, file=file, column=columns.get(problem.column or "", problem.column), found=found, cure=cure)


def _not_a_table(argument: str, found: str) -> Problem:
    return Problem("this is not a table", argument, found, "give columns of equal length, each with values of one type")


def _refuse_type(given: object, argument: str, wanted: str) -> NoReturn:
    kind = type(given)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    raise WrongTypeError(argument, name, wanted)
