"""Unlabelled user data: rows of domains without labels, split off before the rest is read."""

from dataclasses import dataclass, field, replace

import polars as pl

from shiftbench.builders.building.own_columns import Columns, FoundColumns, infer_kind
from shiftbench.builders.building.own_labels import MAX_SHOWN, unite_spellings
from shiftbench.builders.building.own_rows import name_domains
from shiftbench.builders.building.own_tables import OwnTable
from shiftbench.builders.encoder import encoder_texts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.forecasting.files import Unlabelled
from shiftbench.scoring.forecasting.samples import Run, Sample, make_sample
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.report import InvalidInput, Problem, plural
from shiftbench.validation.vocabulary import GOLD, TaskKind


@dataclass(frozen=True)
class SplitTable:
    """A table split into labelled and unlabelled rows.

    Attributes:
        table: the rows with a label.
        unlabelled: the test rows of domains without any label; None if every domain has labels.
        left_out: the file's ids of unlabelled rows in labelled domains, which are neither scored nor forecast. Empty
            without a column of ids.
        notes: notes on dropped or reinterpreted rows, one sentence each.
    """

    table: OwnTable
    unlabelled: "UnlabelledRows | None" = None
    left_out: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String))
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class UnlabelledRows:
    """Rows of domains without a label.

    Attributes:
        frame: columns ``id`` (the file's; without one, the index among these rows), ``domain`` (its name) and the
            inputs; no nulls.
        inputs: names of the input columns.
        titles: maps names of domains in the dataset to those in the file.
    """

    frame: pl.DataFrame
    inputs: tuple[str, ...]
    titles: dict[str, str]

    def prediction_task(self, folder: DatasetFolder) -> PredictionTask:
        """Return the task description for validating predictions on these rows, with the task's labels."""
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


def split_unlabelled(table: OwnTable, columns: Columns, kind: TaskKind | None) -> SplitTable:
    """Split a table into the rows of labelled domains and of unlabelled domains.

    In labelled domains, rows without a label are dropped.

    Args:
        table: as read.
        columns: roles of its columns; if dates are grouped into domains, all rows without a label are dropped.
        kind: kind of task; by default inferred from the column names. Only classification tables are split.
    Returns: the parts; the unchanged table if every row has a label, or if a column is missing, which is reported when
        the rows are read.
    Raises: InvalidInput if no row has a label, or a row of an unlabelled domain lacks a text or a unique id.
    """
    if (kind or table.kind or infer_kind(table.frame.columns)) is not TaskKind.CLASSIFICATION:
        return SplitTable(table)
    file_columns = FoundColumns(table, columns, TaskKind.CLASSIFICATION)
    names = file_columns.names
    if file_columns.problems or "domain" not in names:
        return SplitTable(table)
    label, domain = names[GOLD[TaskKind.CLASSIFICATION]], names["domain"]
    blank = table.frame.select(is_blank(label)).to_series()
    if not blank.any():
        return SplitTable(table)
    notes: list[str] = []
    if columns.domain_by is None:
        chosen, notes = unite_spellings(table.frame[domain], "domain")
        table = replace(table, frame=table.frame.with_columns(pl.col(domain).replace(chosen)))
    rows = table.frame.filter(blank)
    labelled = table.frame.filter(~blank)
    if labelled.is_empty():
        cure = "label at least the rows of the source: forecasts need the model's accuracy there"
        raise InvalidInput(Problem("no row has a label", table.name, f"{len(rows):,} rows", cure, column=label))
    is_mixed = pl.col(domain).is_in(labelled[domain].implode()) | pl.lit(columns.domain_by is not None)
    mixed, rows = rows.filter(is_mixed), rows.filter(~is_mixed)
    left_out = pl.Series(dtype=pl.String)
    if len(mixed):
        counts = mixed[domain].value_counts(sort=True).sort("count", domain, descending=[True, False]).rows()
        shown = ", ".join(f"{name}: {n:,}" for name, n in counts[:MAX_SHOWN])
        shown += f" and {len(counts) - MAX_SHOWN:,} more domains" if len(counts) > MAX_SHOWN else ""
        notes.append(f"skipped, because they have no label in column '{label}': {plural(len(mixed), 'row')} ({shown})")
        left_out = mixed[names["own_id"]] if "own_id" in names else left_out
    # Problems found later must name the rows of the file, not of this part.
    known = replace(table, frame=labelled, numbers=(~blank).arg_true() + 1)
    if rows.is_empty():
        return SplitTable(known, None, left_out, tuple(notes))
    titles = {name: text for text, name in name_domains(rows[domain], table.name, domain)[0].items()}
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
    here = set(frame["domain"].unique())  # a domain may have no test row
    kept_titles = {name: text for name, text in titles.items() if name in here}
    return SplitTable(known, UnlabelledRows(frame, file_columns.inputs, kept_titles), left_out, tuple(notes))


def is_blank(column: str) -> pl.Expr:
    """Build an expression that is true where a cell of a text column is null, empty or white space."""
    return (pl.col(column).str.strip_chars() == "").fill_null(value=True)


def _check_rows(frame: pl.DataFrame, table: OwnTable, names: dict[str, str]) -> None:
    """Check that required values are present, and ids are unique."""
    for name in frame.columns:
        bad = frame.select(is_blank(name)).to_series()
        what = "a row without a label has no value in this column"
        if name == "own_id" and not bad.any():
            bad, what = ~table.frame[names[name]].is_first_distinct(), "an id is repeated"
        if bad.any():
            found = f"{int(bad.sum()):,} rows"
            raise InvalidInput(Problem(what, table.name, found, "fill it in or drop the row", column=names[name]))
