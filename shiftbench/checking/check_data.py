"""The rows that ``shiftbench check`` scores a model on: a user file without leaked texts, or a folder."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from shiftbench.builders.building.own import MIN_TEXTS, build_rows
from shiftbench.builders.building.own_columns import NO_COLUMN, Columns, FoundColumns
from shiftbench.builders.building.own_labels import fold, respell
from shiftbench.builders.building.own_rows import OwnRows, name_domains, own_rows
from shiftbench.builders.building.own_tables import OwnTable, read_tables
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.statistics.duplicates import input_text
from shiftbench.builders.statistics.near_pairs import find_leaks
from shiftbench.checking.opened_data import OwnFile
from shiftbench.checking.own_data import TASK, check_own_predictions, dataset_ids
from shiftbench.checking.unlabelled_rows import SplitTable, UnlabelledRows, split_unlabelled
from shiftbench.scoring.scores.shape import Leaks
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.predictions import check_predictions
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.vocabulary import ELSEWHERE, GOLD, TaskKind

_NO_GOLD = "shiftbench no gold"
"""Placeholder label column for training texts without labels."""


@dataclass(frozen=True)
class CheckData:
    """The data of a check.

    Attributes:
        folder: the dataset.
        task: name of the checked task.
        source_domain: name of the source domain; None if the model was trained on other data.
        own_ids: maps ids in the dataset to ids in the user file, for display.
        leaks: test rows removed because they occur in the training texts; None without training texts.
        notes: notes on the rows, one sentence each.
        unlabelled: rows of domains without labels, for forecasts; None if all domains have labels.
        own: ids of the user file; None for a dataset folder.
        in_order: maps names of domains in the file or folder, in their order there, to names in the dataset.
        source: the rows as in the file; None for a dataset folder.
    """

    folder: DatasetFolder
    task: str
    source_domain: str | None
    own_ids: Mapping[str, str] = field(default_factory=dict)
    leaks: Leaks | None = None
    notes: tuple[str, ...] = ()
    unlabelled: UnlabelledRows | None = None
    own: "OwnIds | None" = None
    in_order: Mapping[str, str] = field(default_factory=dict)
    source: "SourceRows | None" = None

    @property
    def info(self) -> TaskInfo:
        """Return the task's part of the manifest."""
        return self.folder.task(self.task)

    def checked(self, predictions: pl.DataFrame, file: PredictionInput) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """Validate given predictions of one model.

        Args:
            predictions: result of ``read_predictions``; their source is assumed to be the source domain.
            file: where they were read from.
        Returns: predictions on rows with labels, and on rows without; None if there are no rows without labels.
        Raises: InvalidInput if they do not match the rows.
        """
        frame = predictions.with_columns(source=pl.lit(self.source_domain or ELSEWHERE))
        if self.own is None:
            facts = replace(self.folder.prediction_task(self.task), sources=tuple(self.info.domains))
            return check_predictions(frame, [facts], file), None
        if self.own.column is None:
            cure = "give the column of ids (--columns id=NAME), and use these ids in the predictions"
            raise InvalidInput(
                Problem(
                    "predictions are matched to rows by a column of ids, which is missing", self.own.file, cure=cure
                )
            )
        on_unlabelled = None
        if self.unlabelled is not None:
            is_unlabelled = pl.col("id").is_in(self.unlabelled.frame["id"].implode())
            facts = self.unlabelled.prediction_task(self.folder)
            on_unlabelled = (
                check_predictions(frame.filter(is_unlabelled), [facts], file)
                if frame.select(is_unlabelled.any()).item()
                else None
            )
            frame = frame.filter(~is_unlabelled)
        known = (self.folder, self.own.ids, self.own_ids, self.own.names)
        where = (file, self.own.file, self.own.column, self.own.left_out)
        return check_own_predictions(frame, *known, *where), on_unlabelled


@dataclass(frozen=True)
class OwnIds:
    """The ids of a user file, mapped to those of the dataset built from it.

    Attributes:
        file: the file.
        column: its column of ids; None without one.
        names: maps names of domains in the file to those in the dataset.
        ids: the dataset's id of every test row, from ``dataset_ids``; empty without a column of ids.
        left_out: the file's ids of rows that were removed: leaked into the training texts, or unlabelled in a labelled
            domain.
    """

    file: str
    column: str | None
    names: Mapping[str, str]
    ids: pl.DataFrame
    left_out: pl.Series


@dataclass(frozen=True)
class SourceRows:
    """The labelled rows of a file, with all of its columns.

    Attributes:
        frame: as read, in its order.
        ids: the dataset's id of each row; null for rows that are not scored.
        others: the columns without a role.
    """

    frame: pl.DataFrame
    ids: pl.Series
    others: tuple[str, ...]

    def columns_of(self, ids: pl.Series) -> pl.DataFrame:
        """Return the columns without a role.

        Args:
            ids: the dataset's ids of the rows wanted.
        Returns: one row per id, in this order; for rows that the file repeats, those of the first.
        """
        known = self.frame.select(self.ids.alias("_id"), *self.others).drop_nulls("_id")
        known = known.unique("_id", keep="first", maintain_order=True)
        return ids.to_frame("_id").join(known, on="_id", how="left", maintain_order="left").drop("_id")


WHOLE_FILE = "all rows"
"""The domain of a file without a column of domains, for which domains are searched."""


@contextmanager
def check_data(
    data: Path,
    trained_on: str | None,
    task: str | None,
    own: OwnFile,
    train_file: Path | None = None,
    encoder: Encoder | None = None,
    *,
    min_domains: int = 2,
    has_domains: bool = True,
) -> Iterator[CheckData]:
    """Open the data of a check, and yield it; temporary files are removed when the context ends.

    Args:
        data: a dataset folder, or a user file.
        trained_on: the model's source domain as named in the file; ``elsewhere`` or None if it is not in the data.
        task: the folder's task; None if it has only one.
        own: how to read the file; its ``min_texts`` also applies to folders.
        train_file: the model's training texts.
        encoder: embeds texts for depths, which need training texts and a source domain; None: no depths.
        min_domains: minimum number of labelled domains in a file.
        has_domains: whether a file must have a column of domains; otherwise all rows are in ``WHOLE_FILE``.
    Raises: InvalidInput listing every problem with the rows or the options.
    """
    if (data / "shiftbench.json").is_file():
        given = {"--columns": replace(own, min_texts=MIN_TEXTS) != OwnFile(), "--train-file": train_file is not None}
        yield _open_folder(DatasetFolder.open(data), trained_on, task, own, [name for name in given if given[name]])
        return
    if task is not None:
        raise InvalidInput(Problem("a file has only one task", "--task", task, "omit it"))
    with TemporaryDirectory(prefix="shiftbench-check-") as place:
        out, least = Path(place) / "data", min_domains if has_domains else 1
        yield _open_file(data, out, trained_on, own, train_file, encoder, least, has_domains=has_domains)


def _open_folder(
    folder: DatasetFolder, trained_on: str | None, task: str | None, own: OwnFile, of_files: list[str]
) -> CheckData:
    """Open a dataset folder; ``of_files`` are the given options that apply only to files."""
    tasks_of = list(folder.manifest.tasks)
    what, cure = "this option is for a file, not for a dataset folder", "omit it; the folder already defines it"
    problems = [Problem(what, option, cure=cure) for option in of_files]
    if task is None and len(tasks_of) > 1:
        problems.append(
            Problem("the folder has several tasks", str(folder.path), ", ".join(tasks_of), "choose one with --task")
        )
    elif task is not None and task not in tasks_of:
        problems.append(Problem("there is no such task", "--task", f"'{task}'", did_you_mean(task, tasks_of)))
    if problems:
        raise InvalidInput(problems)
    folder.refuse_withheld()
    chosen = task or tasks_of[0]
    info = folder.task(chosen).model_copy(update={"min_texts": own.min_texts})
    tasks = {**folder.manifest.tasks, chosen: info}
    tested = [name for name, facts in info.domains.items() if "test" in facts.splits]
    counting = replace(folder, manifest=folder.manifest.model_copy(update={"tasks": tasks}))
    names = {name: name for name in tested}
    return CheckData(counting, chosen, _resolve_source_domain(trained_on, names), in_order=names)


def _open_file(
    data: Path,
    out: Path,
    trained_on: str | None,
    own: OwnFile,
    train_file: Path | None,
    encoder: Encoder | None,
    min_domains: int,
    *,
    has_domains: bool,
) -> CheckData:
    tables = read_tables([data])
    if not has_domains and not own.columns.domain:
        tables = [
            each if "domain" in each.frame.columns else replace(each, domain=each.domain or WHOLE_FILE)
            for each in tables
        ]
    apart = SplitTable(tables[0])
    if len(tables) == 1:
        apart = split_unlabelled(tables[0], own.columns, own.kind)
    tables, unlabelled = [apart.table, *tables[1:]], apart.unlabelled
    try:  # to forecast other domains, one labelled domain is enough: the source
        rows = own_rows(tables, own.columns, own.kind, min_domains=min_domains if unlabelled is None else 1)
    except InvalidInput as error:
        raise InvalidInput(map(_suggest_find_domains, error.problems)) from None
    names, _ = name_domains(rows.frame["domain"], str(data))
    if unlabelled is not None and trained_on in {*unlabelled.titles, *unlabelled.titles.values()}:
        what = "the model's source domain has no labels, so drops cannot be measured"
        cure = f"label its rows, or choose a domain with labels: {', '.join(sorted(names))}"
        raise InvalidInput(Problem(what, "--trained-on", f"'{trained_on}'", cure))
    source_domain = _resolve_source_domain(trained_on, names)
    if unlabelled is not None and source_domain is None:
        what = "domains without labels can only be forecast from a source domain"
        cure = "give the domain that the model was trained on with --trained-on, or drop these rows"
        raise InvalidInput(Problem(what, "--trained-on", ", ".join(unlabelled.titles.values()), cure))
    if "split" not in rows.frame.columns:
        rows = replace(rows, frame=rows.frame.with_columns(split=pl.lit("test")))
    elif rows.frame.filter(split="test").is_empty():
        cure = "set the split of the rows to score to 'test', or omit the role 'split' in --columns"
        raise InvalidInput(Problem("no row is a test row", str(data), column=own.columns.split or "split", cure=cure))
    leaks, notes, every, depths = None, [*apart.notes, *rows.notes], rows, None
    if train_file is not None:
        train, labelled = _read_training_rows(train_file, own.columns, rows)
        every, leaks = _drop_leaks(rows, train)
        if source_domain is not None and labelled and encoder is not None:
            every = _add_training_rows(every, train, {name: text for text, name in names.items()}[source_domain])
            depths = encoder
        else:
            why = "labels of the training texts" if source_domain is not None else "a source domain (--trained-on)"
            notes.append(f"no scores by distance from the training texts: they need {why}")
    build_rows(TASK, every, tables, out, min_texts=own.min_texts, encoder=depths, rows_only=True)
    folder = DatasetFolder.open(out)
    own_ids: Mapping[str, str] = {}
    ids, left_out = pl.DataFrame(), pl.Series(dtype=pl.String)
    if "own_id" in every.frame.columns:
        ids = dataset_ids(every, names, folder)
        own_ids = dict(ids.filter("first").select("id", "own_id").iter_rows())
        leaked = rows.frame["own_id"].filter(~rows.frame["own_id"].is_in(every.frame["own_id"].implode()))
        left_out = pl.concat([apart.left_out, leaked])
    known = OwnIds(str(data), own.columns.id, names, ids, left_out)
    source = _source_rows(tables, own, rows, names, folder)
    return CheckData(folder, TASK, source_domain, own_ids, leaks, tuple(notes), unlabelled, known, names, source)


def _suggest_find_domains(problem: Problem) -> Problem:
    """Add the suggestion ``--find-domains`` to the problem of a missing domain column."""
    is_missing = problem.what == NO_COLUMN and problem.column == "domain"
    return (
        replace(problem, cure=f"{problem.cure}; or search for domains with --find-domains") if is_missing else problem
    )


def _source_rows(
    tables: Sequence[OwnTable], own: OwnFile, rows: OwnRows, names: Mapping[str, str], folder: DatasetFolder
) -> SourceRows:
    """Match the rows as read to the rows of the dataset, which are in the same order."""
    # Row numbers in place of the file's ids, which it may lack.
    numbered = rows.frame.with_columns(own_id=pl.int_range(pl.len()).cast(pl.String))
    ids = dataset_ids(replace(rows, frame=numbered), names, folder)
    by_row = dict(ids.drop_nulls("id").select("own_id", "id").iter_rows())
    frame = pl.concat([table.frame for table in tables], how="diagonal")
    used = {name for table in tables for name in FoundColumns(table, own.columns, rows.kind).names.values()}
    others = tuple(name for name in frame.columns if name not in used)
    row_ids = numbered["own_id"].replace_strict(by_row, default=None, return_dtype=pl.String)
    return SourceRows(frame, row_ids, others)


def _resolve_source_domain(trained_on: str | None, names: Mapping[str, str]) -> str | None:
    """Return the name of the source domain, which may be given by its name in the file or in the dataset."""
    if trained_on is None or trained_on == ELSEWHERE:
        return None
    if trained_on in names:
        return names[trained_on]
    if trained_on in names.values():
        return trained_on
    alike = {fold(text): name for text, name in names.items()}
    if fold(trained_on) in alike:
        return alike[fold(trained_on)]
    cure = f"{did_you_mean(trained_on, [*names, ELSEWHERE])}; '{ELSEWHERE}' means other data"
    raise InvalidInput(Problem("the model's source domain is not in the data", "--trained-on", f"'{trained_on}'", cure))


def _read_training_rows(file: Path, own: Columns, rows: OwnRows) -> tuple[pl.DataFrame, bool]:
    """Read the training texts: the input columns, and the gold column if there is one.

    The file's columns have the same names as in the data, or default names. Its labels are mapped by ``own``, because
    they may be the model's names of labels.

    Returns: the rows, and whether they have labels.
    """
    (table,) = read_tables([file])[:1]
    names = table.frame.columns
    gold = next((name for name in (own.label, GOLD[rows.kind]) if name in names), None)
    text = own.text if set(own.text) <= set(names) else ()
    labelled = gold is not None
    if gold is None:  # leaks can be found without labels
        gold = _NO_GOLD
        table = OwnTable(table.name, table.frame.with_columns(pl.lit("").alias(gold)), path=table.path)
    asked = FoundColumns(replace(table, domain="train"), Columns(text=text, label=gold), rows.kind)
    if any(name not in asked.names for name in rows.inputs):
        called = " and ".join(map(repr, own.text or rows.inputs))
        found, cure = (
            f"columns {', '.join(names)}",
            f"name its text columns like those of the data ({called}), or 'text'",
        )
        raise InvalidInput(Problem("the column of training texts is missing", str(file), found, cure))
    wanted = [*rows.inputs, *([GOLD[rows.kind]] if labelled else [])]
    frame = table.frame.select(pl.col(asked.names[name]).alias(name) for name in wanted)
    whole = frame.drop_nulls()
    if "label" in whole.columns:
        known = rows.frame["label"].unique().to_list()
        whole = whole.with_columns(respell(own.mapped(whole["label"]), known))
    if whole.is_empty():
        raise InvalidInput(Problem("there are no training texts", str(file), "0 rows with a text"))
    return whole, labelled and rows.kind is TaskKind.CLASSIFICATION


def _drop_leaks(rows: OwnRows, train: pl.DataFrame) -> tuple[OwnRows, Leaks]:
    """Remove test rows whose inputs are exact or near duplicates of training texts."""
    text = input_text(rows.inputs)
    leaks = find_leaks(rows.frame.select(text=text)["text"], train.select(text=text)["text"])
    frame = rows.frame.with_columns(exact=leaks.exact, near=leaks.near).with_columns(
        pl.col("exact") & (pl.col("split") == "test"), pl.col("near") & (pl.col("split") == "test")
    )

    def by_domain(column: str) -> dict[str, int]:
        counts = frame.filter(column).group_by("domain", maintain_order=True).len()
        return dict(counts.iter_rows())

    kept = frame.filter(~(pl.col("exact") | pl.col("near"))).drop("exact", "near")
    lost = set(frame["domain"]) - set(kept.filter(split="test")["domain"])
    if lost:
        what, cure = (
            "all test texts of a domain are also training texts",
            "score the model on texts that it has not seen",
        )
        raise InvalidInput(Problem(what, "--train-file", ", ".join(sorted(lost)), cure))
    return replace(rows, frame=kept), Leaks(n_train=len(train), exact=by_domain("exact"), near=by_domain("near"))


def _add_training_rows(rows: OwnRows, train: pl.DataFrame, source_domain: str) -> OwnRows:
    """Add the training texts as training rows of the source domain, from which depths are measured."""
    here = train.filter(pl.col("label").is_in(rows.frame["label"].unique().implode())).unique(maintain_order=True)
    more = here.with_columns(domain=pl.lit(source_domain), split=pl.lit("train"))
    more = more.with_columns(group=pl.concat_str(pl.lit("train "), pl.int_range(pl.len()).cast(pl.String)))
    if "own_id" in rows.frame.columns:
        more = more.with_columns(own_id=pl.concat_str(pl.lit("train "), pl.int_range(pl.len()).cast(pl.String)))
    others = rows.frame.filter(~((pl.col("domain") == source_domain) & (pl.col("split") == "train")))
    return replace(rows, frame=pl.concat([others, more.select(others.columns)]))
