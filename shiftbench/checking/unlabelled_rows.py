"""Rows of one's own without labels: domains of which nothing but texts is known, set apart before all else is read."""

from dataclasses import dataclass, replace

import polars as pl

from shiftbench.builders.building.own_columns import Columns, FoundColumns, infer_kind
from shiftbench.builders.building.own_rows import name_domains
from shiftbench.builders.building.own_tables import OwnTable
from shiftbench.builders.encoder import encoder_texts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.forecasting.files import Unlabelled
from shiftbench.scoring.forecasting.samples import Run, Sample, make_sample
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import GOLD, TaskKind


@dataclass(frozen=True)
class UnlabelledRows:
    """Rows of domains without a label.

    Attributes:
        frame: columns ``id`` (the file's, or else the row's number among them), ``domain`` (its name) and the inputs;
            no nulls.
        inputs: names of the input columns.
        titles: what the file calls the domains, by their names.
    """

    frame: pl.DataFrame
    inputs: tuple[str, ...]
    titles: dict[str, str]

    def prediction_task(self, folder: DatasetFolder) -> PredictionTask:
        """Return what checking predictions on these rows needs; the labels are those of the folder's one task."""
        (task,) = folder.manifest.tasks
        info = folder.task(task)
        tests = self.frame.select("id", "domain")
        domains, sources = tuple(sorted(self.titles)), tuple(info.domains)
        return PredictionTask(folder.manifest.benchmark, task, info.kind, info.labels, domains, tests, sources)

    def samples(self, predictions: pl.DataFrame, labels: tuple[str, ...]) -> Unlabelled:
        """Return checked predictions on these rows as samples to forecast."""
        arranged: dict[tuple[Run, str], Sample] = {}
        for (source, seed, target), part in predictions.partition_by("source", "seed", "target", as_dict=True).items():
            arranged[(str(source), int(str(seed))), str(target)] = make_sample(part.sort("id"), labels, None)
        texts = dict(zip(self.frame["id"].to_list(), encoder_texts(self.frame, self.inputs), strict=True))
        return Unlabelled(arranged, texts)


def set_unlabelled_apart(
    table: OwnTable, columns: Columns, kind: TaskKind | None
) -> tuple[OwnTable, UnlabelledRows | None]:
    """Split a table into the rows of domains with labels and those of domains without any.

    Args:
        table: as it was read.
        columns: which of its columns hold what; dates that are grouped to domains are not parted.
        kind: what is predicted; by default from the names of columns. Only rows of labels are split.
    Returns: the table without the unlabelled domains, and their test rows; None where every domain has labels, or
        where a column is missing, which is refused when the rows are read.
    Raises: InvalidInput when a domain has labels on some of its rows only, when no domain has any, or when an
        unlabelled row lacks a text or an id of its own.
    """
    if (kind or table.kind or infer_kind(table.frame.columns)) is not TaskKind.CLASSIFICATION or columns.domain_by:
        return table, None
    file_columns = FoundColumns(table, columns, TaskKind.CLASSIFICATION)
    names = file_columns.names
    if file_columns.problems or "domain" not in names:
        return table, None
    label, domain = names[GOLD[TaskKind.CLASSIFICATION]], names["domain"]
    blank = table.frame.select(is_blank(label)).to_series()
    if not blank.any():
        return table, None
    rows = table.frame.filter(blank)
    labelled = table.frame.filter(~blank)
    if labelled.is_empty():
        cure = "label at least the rows of the source: forecasts are made from the model's accuracy there"
        raise InvalidInput(Problem("no row has a label", table.name, f"{len(rows):,} rows", cure, column=label))
    mixed = rows.filter(pl.col(domain).is_in(labelled[domain].implode()))
    if len(mixed):
        first = int((blank & table.frame[domain].is_in(labelled[domain].implode())).arg_true()[0]) + 1
        what = f"domain '{mixed[domain][0]}' has labels on some rows and not on others"
        cure = "label or drop these rows, or call them another domain, which is then forecast"
        raise InvalidInput(Problem(what, table.name, f"no label in {len(mixed):,} rows", cure, column=label, row=first))
    titles = {name: text for text, name in name_domains(table.frame[domain], table.name, domain)[0].items()}
    kept = [name for name in ("domain", *file_columns.inputs, "own_id", "split") if name in names]
    frame = rows.select(pl.col(names[name]).alias(name) for name in kept)
    if "split" in frame.columns:
        frame = frame.filter(pl.col("split") == "test").drop("split")
    _check_rows(frame, table, names)
    if "own_id" in frame.columns:
        frame = frame.rename({"own_id": "id"})
    else:
        frame = frame.with_columns(id=pl.int_range(1, pl.len() + 1).cast(pl.String))
    by_text = {text: name for name, text in titles.items()}
    frame = frame.with_columns(pl.col("domain").replace_strict(by_text, return_dtype=pl.String))
    here = set(frame["domain"].unique())
    kept_titles = {name: text for name, text in titles.items() if name in here}
    return replace(table, frame=labelled), UnlabelledRows(frame, file_columns.inputs, kept_titles)


def is_blank(column: str) -> pl.Expr:
    """Build an expression: whether a cell of a text column is empty, null or only spaces."""
    return (pl.col(column).str.strip_chars() == "").fill_null(value=True)


def _check_rows(frame: pl.DataFrame, table: OwnTable, names: dict[str, str]) -> None:
    """Check that rows have all values, and ids are unique."""
    for name in frame.columns:
        bad = frame.select(is_blank(name)).to_series()
        what = "a row without a label has no value in this column"
        if name == "own_id" and not bad.any():
            bad, what = ~table.frame[names[name]].is_first_distinct(), "an id is repeated"
        if bad.any():
            found = f"{int(bad.sum()):,} rows"
            raise InvalidInput(Problem(what, table.name, found, "fill it in or drop the row", column=names[name]))
