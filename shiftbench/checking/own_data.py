"""Scores on a user file without building a dataset first: its rows become a temporary dataset.

With an id column, the file's ids are used, and all rows are test rows unless a split column states otherwise. Without
one, ids and splits are those of ``shiftbench build own``.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from shiftbench.builders.building.own import MIN_TEXTS, SPLIT_HERE, build_rows
from shiftbench.builders.building.own_columns import Columns
from shiftbench.builders.building.own_labels import fold, respell
from shiftbench.builders.building.own_rows import OwnRows, name_domains, own_rows
from shiftbench.builders.building.own_tables import read_tables
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.transforms import as_texts
from shiftbench.checking.inputs import read_own_predictions, select_known_rows
from shiftbench.checking.unlabelled_rows import split_unlabelled
from shiftbench.scoring.reports.report_page import report_html
from shiftbench.scoring.scores.score import score_predictions
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.cards import Card
from shiftbench.validation.notices import DataWarning, warn
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.predictions import check_predictions
from shiftbench.validation.report import InvalidInput, Problem, plural
from shiftbench.validation.vocabulary import GOLD, OUTSIDE_SOURCES, SOURCE_JOINER, TaskKind, is_name

log = logging.getLogger(__name__)

TASK = "own"
"""Name of the task if ids do not contain one."""
_ID = re.compile(r"'own/[^']*'")


@dataclass(frozen=True)
class OwnData:
    """A user file as a temporary dataset, for the duration of the context.

    Attributes:
        folder: the dataset.
        csv: the file.
        columns: roles of its columns.
        names: maps names of domains in the file to those in the dataset.
        ids: the dataset's id of every test row, from ``dataset_ids``; empty without an id column.
        own_ids: maps ids in the dataset to ids in the file; empty without an id column.
        opened_with: the prediction file given when the data was opened, and its rows.
        left_out: the file's ids of the rows without a label.
    """

    folder: DatasetFolder
    csv: Path
    columns: Columns
    names: Mapping[str, str]
    ids: pl.DataFrame
    own_ids: Mapping[str, str]
    opened_with: tuple[Path | PredictionInput, pl.DataFrame]
    left_out: pl.Series

    def checked(self, predictions: Path | PredictionInput) -> pl.DataFrame:
        """Read and validate a prediction file that uses the file's ids and names.

        Returns: rows with the dataset's ids, in the format of
            ``shiftbench.validation.predictions.CHECKED_PREDICTIONS``.
        Raises: InvalidInput if predictions do not match the rows.
        """
        given, frame = self.opened_with
        if predictions != given:
            (task,) = self.folder.manifest.tasks
            frame = read_own_predictions(predictions, self.columns, self.folder.task(task).labels)
            _check_ids(frame, predictions, self.columns)
        where = (PredictionInput.of(predictions), str(self.csv), self.columns.id)
        known = (self.folder, self.ids, self.own_ids, self.names)
        return check_own_predictions(frame, *known, *where, self.left_out)

    def domain(self, name: str) -> str:
        """Return the dataset's name of a domain, or of several joined ones, given by the file's names."""
        return _resolve_source(name, self.names)


@dataclass(frozen=True)
class OwnScores(OwnData):
    """Scores on user data, and the scored predictions; temporary files are removed when the context ends.

    Attributes:
        scores: the scores.
        predictions: the predictions with the dataset's ids, as parquet.
    """

    scores: Scores
    predictions: Path


@contextmanager
def open_own_data(
    csv: Path,
    columns: Columns,
    predictions: Path | PredictionInput,
    *,
    kind: TaskKind | None = None,
    min_texts: int = MIN_TEXTS,
    encoder: Encoder | None = None,
    min_domains: int = 2,
) -> Iterator[OwnData]:
    """Open a user file as a temporary dataset.

    Args:
        csv: the file, in any format that ``build own`` reads.
        columns: roles of its columns.
        predictions: a prediction file; without an id column, its ids contain the name of the rows' task.
        kind: kind of task; by default inferred from the file or its columns.
        min_texts: minimum test texts of a domain for including it in means.
        encoder: embeds texts for depths, which need training rows (a split column); None: no depths.
        min_domains: minimum number of domains in the file.
    Raises: InvalidInput if a column is missing or ids repeat.
    """
    tables, left_out, notes = read_tables([csv]), pl.Series(dtype=pl.String), []
    if columns.id is not None and len(tables) == 1:  # without ids, rows are those of a build, where all have labels
        apart = split_unlabelled(tables[0], columns, kind)
        tables, left_out, notes = [apart.table, *tables[1:]], apart.left_out, list(apart.notes)
        if (more := apart.unlabelled) is not None:
            notes.append(f"domains without labels, not scored: {', '.join(more.titles.values())}")
            left_out = pl.concat([left_out, more.frame["id"]])
    rows = own_rows(tables, columns, kind, min_domains)
    if columns.id is not None and "split" not in rows.frame.columns:
        rows = replace(rows, frame=rows.frame.with_columns(split=pl.lit("test")))
    for note in (*notes, *rows.changes):
        warn(note, DataWarning)
    known = sorted(rows.frame["label"].unique()) if rows.kind is TaskKind.CLASSIFICATION else ()
    frame = read_own_predictions(predictions, columns, known)
    _check_ids(frame, predictions, columns)
    names, _ = name_domains(rows.frame["domain"], str(csv))
    with TemporaryDirectory(prefix="shiftbench-own-") as place:
        out, task = Path(place) / "data", _task_name(frame, columns)
        # Statistics take longer than scoring, and scores use them only where there are training rows.
        only_tests = "split" in rows.frame.columns and bool((rows.frame["split"] == "test").all())
        build_rows(task, rows, tables, out, min_texts=min_texts, encoder=encoder, rows_only=only_tests)
        folder = DatasetFolder.open(out)
        if "split" not in rows.frame.columns and not _has_ids(folder, frame):
            # Predictions on all rows come from a check, which tests on every row, whereas a build splits them.
            whole = replace(rows, frame=rows.frame.with_columns(split=pl.lit("test")))
            build_rows(task, whole, tables, Path(place) / "whole", min_texts=min_texts, encoder=encoder, rows_only=True)
            of_all = DatasetFolder.open(Path(place) / "whole")
            rows, folder = (whole, of_all) if _has_ids(of_all, frame) else (rows, folder)
        warn_of_splits(folder)
        if encoder is not None:
            _check_train_rows(folder, str(csv))
        ids = dataset_ids(rows, names, folder) if columns.id else pl.DataFrame()
        own_ids = dict(ids.filter("first").select("id", "own_id").iter_rows()) if columns.id else {}
        if repeats := int((~ids["first"]).sum()) if columns.id else 0:
            log.info("%s: skipped as exact duplicates of another row: %s", csv, plural(repeats, "row"))
        yield OwnData(folder, csv, columns, names, ids, own_ids, (predictions, frame), left_out)


@contextmanager
def score_own_data(
    predictions: Path | PredictionInput,
    csv: Path,
    columns: Columns,
    *,
    kind: TaskKind | None = None,
    min_texts: int = MIN_TEXTS,
    encoder: Encoder | None = None,
    margin: float | None = None,
) -> Iterator[OwnScores]:
    """Score a prediction file on the rows of a user file; temporary files are removed.

    Args:
        predictions: the file; ``source`` uses the CSV's names of domains.
        csv: the file, in any format that ``build own`` reads.
        columns: roles of its columns.
        kind: kind of task; by default inferred from the file or its columns.
        min_texts: minimum test texts of a domain for including it in means.
        encoder: embeds texts for depths, which need training rows (a split column); None: no depths.
        margin: test whether no drop exceeds this fraction.
    Raises: InvalidInput if a column is missing, ids repeat, or predictions do not match the rows.
    """
    with open_own_data(
        csv,
        columns,
        predictions,
        kind=kind,
        min_texts=min_texts,
        encoder=encoder,
    ) as data:
        checked = data.checked(predictions)
        scores = score_predictions(checked, data.folder, margin=margin).scores
        kept = data.folder.path.parent / "predictions.parquet"
        checked.drop("task", "target").sort("source", "seed", "id").write_parquet(kept)
        yield OwnScores(**vars(data), scores=scores, predictions=kept)


def _has_ids(folder: DatasetFolder, frame: pl.DataFrame) -> bool:
    """Return whether all ids of predictions are ids of test rows."""
    known = pl.concat([folder.test(task, "all", ["id"])["id"] for task in folder.manifest.tasks])
    return bool(frame["id"].is_in(known.implode()).all())


def warn_of_splits(folder: DatasetFolder) -> None:
    """Warn if shiftbench split the rows of user data, with the counts."""
    for task in folder.manifest.tasks.values():
        for note in task.notes:
            if note.startswith(SPLIT_HERE):
                warn(note, DataWarning)


def _check_ids(frame: pl.DataFrame, predictions: Path | PredictionInput, columns: Columns) -> None:
    """Check that, without a column of ids, predictions use the ids of ``shiftbench build own``."""
    if columns.id is None and not frame["id"].str.starts_with("own/").any():
        what, cure = (
            "these ids are not those of 'shiftbench build own'",
            "add a column of ids to the data (--columns id=NAME) and to the predictions, or use the predictions that "
            "'shiftbench check' wrote",
        )
        raise InvalidInput(Problem(what, str(predictions), repr(frame["id"][0])[:80], cure, column="id"))


def own_report(predictions: Path, csv: Path, scored: OwnScores, card: Card | None = None) -> str:
    """Build the report of a prediction file for a CSV, while the context of ``scored`` is open."""
    title = f"{predictions.name} on {csv.name}"
    return report_html(title, scored.scores, scored.folder, scored.predictions, card=card, own_ids=scored.own_ids)


def _check_train_rows(folder: DatasetFolder, file: str) -> None:
    """Check that a domain has training texts, from which depth is measured."""
    task = folder.task(next(iter(folder.manifest.tasks)))
    if not any("train" in facts.splits for facts in task.domains.values()):
        cure = "mark the train rows in a column given with --columns split=NAME, or omit --depth"
        raise InvalidInput(Problem("depths need train rows", file, "only test rows", cure))


def _task_name(predictions: pl.DataFrame, columns: Columns) -> str:
    """Return the task named in the predictions' ids if these are from a built dataset."""
    if columns.id is None and len(predictions):
        parts = str(predictions["id"][0]).split("/")
        if len(parts) > 1 and is_name(parts[1]):
            return parts[1]
    return TASK


def dataset_ids(rows: OwnRows, names: Mapping[str, str], folder: DatasetFolder) -> pl.DataFrame:
    """Match the test rows of a user file to those of the dataset built from it.

    Args:
        rows: the rows as read, with a column ``own_id``.
        names: maps names of domains in the file to those in the dataset.
        folder: the dataset.
    Returns: one row per test row of the file: ``own_id``, ``id`` (the dataset's) and ``first``, whether it is the first
        of identical rows, which the dataset contains once.
    """
    task = next(iter(folder.manifest.tasks))
    info = folder.task(task)
    words, gold = dict(enumerate(info.labels)), pl.col(GOLD[info.kind])
    tests = folder.test(task)
    if info.kind is TaskKind.CLASSIFICATION:
        tests = tests.with_columns(gold.replace_strict(words, return_dtype=pl.String))
    elif info.kind is TaskKind.TAGGING:
        tests = tests.with_columns(gold.list.eval(pl.element().replace_strict(words, return_dtype=pl.String)))
    key = ["domain", *info.inputs, GOLD[info.kind], "group"]
    chosen = rows.frame.filter(split="test").with_columns(pl.col("domain").replace_strict(names))
    keyed = chosen.select("own_id", key=as_texts(chosen.select(key)))
    known = tests.select("id", key=as_texts(tests.select(key)))
    joined = keyed.join(known, on="key", how="left", maintain_order="left")
    return joined.select("id", "own_id", first=pl.col("id").is_first_distinct())


def check_own_predictions(
    frame: pl.DataFrame,
    folder: DatasetFolder,
    ids: pl.DataFrame,
    own_ids: Mapping[str, str],
    names: Mapping[str, str],
    file: PredictionInput,
    csv: str,
    id_column: str | None,
    left_out: pl.Series,
) -> pl.DataFrame:
    """Validate predictions that use a user file's ids and names.

    Args:
        frame: result of ``read_predictions``; with sources and ids of the file.
        folder: the dataset built from the file.
        ids: the dataset's id of every test row, from ``dataset_ids``.
        own_ids: maps ids in the dataset to ids in the file.
        names: maps names of domains in the file to those in the dataset.
        file: the prediction file.
        csv: the file with the rows.
        id_column: its column of ids; None if ids are those of a build.
        left_out: ids of rows whose predictions are dropped.
    Returns: rows with the dataset's ids, in the format of ``shiftbench.validation.predictions.CHECKED_PREDICTIONS``.
    """
    task = next(name for name in folder.manifest.tasks)
    facts = folder.prediction_task(task)
    if not facts.sources or id_column:  # without training rows, any domain may be a source
        facts = replace(facts, sources=tuple(folder.task(task).domains))
    info = folder.task(task)
    if info.kind is TaskKind.CLASSIFICATION and not file.labels_by_index:
        frame = frame.with_columns(respell(frame["prediction"], info.labels))
    sources = {text: _resolve_source(text, names) for text in frame["source"].unique().to_list()}
    frame = frame.with_columns(pl.col("source").replace_strict(sources, return_dtype=pl.String))
    if id_column:
        where = f"column '{id_column}' of {csv}"
        frame = _map_ids(select_known_rows(frame, ids["own_id"], str(file), where, left_out), ids)
    try:
        return check_predictions(frame, [facts], file)
    except InvalidInput as error:
        problems = [replace(problem, found=_to_own_ids(problem.found, own_ids)) for problem in error.problems]
        raise InvalidInput(problems) from error


def _resolve_source(text: str, names: Mapping[str, str]) -> str:
    """Return the dataset's name of a source; an unknown one is returned unchanged, for validation to refuse."""
    if text in OUTSIDE_SOURCES or text in names.values():
        return text
    alike = {**{fold(each): name for each, name in names.items()}, **names}
    parts = [alike.get(part.strip(), alike.get(fold(part), part.strip())) for part in text.split(SOURCE_JOINER)]
    return alike.get(text, alike.get(fold(text), SOURCE_JOINER.join(sorted(parts))))


def _map_ids(frame: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    """Replace the CSV's ids by the dataset's, and drop predictions on repeated rows."""
    known = frame.rename({"id": "own_id"}).join(ids, on="own_id", how="left", maintain_order="left")
    return known.filter("first").select(frame.columns)


def _to_own_ids(text: str, own_ids: Mapping[str, str]) -> str:
    return _ID.sub(lambda match: repr(own_ids.get(match[0][1:-1], match[0][1:-1])), text)
