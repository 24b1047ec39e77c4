"""The input of ``shiftbench forecast``: predictions on a dataset folder, or on a user file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from shiftbench.builders.building.own_tables import read_tables
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.inputs import is_own, read_own_predictions, renamed_problems
from shiftbench.checking.opened_data import OwnFile, opened_data
from shiftbench.checking.unlabelled_rows import split_unlabelled
from shiftbench.scoring.forecasting.files import Unlabelled, forecast_predictions, read_accompanying_validation
from shiftbench.scoring.forecasting.methods import chosen_methods
from shiftbench.scoring.forecasting.shape import Forecasts
from shiftbench.scoring.reports.titles import rename_domains
from shiftbench.validation.notices import DataWarning, warn
from shiftbench.validation.predictions import check_predictions
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import SOURCE_JOINER

_QUOTED = re.compile("'([^']+)'")


@dataclass(frozen=True)
class ForecastData:
    """The input of forecasts.

    Attributes:
        folder: the dataset; for a file, the dataset built from its labelled rows.
        predictions: checked predictions on its test rows.
        validation: checked predictions on its validation rows; None if there are none.
        unlabelled: predictions on targets that are not in the folder.
        titles: maps names of domains in the dataset to those in the file; empty for a benchmark.
    """

    folder: DatasetFolder
    predictions: pl.DataFrame
    validation: pl.DataFrame | None = None
    unlabelled: Unlabelled = field(default_factory=Unlabelled)
    titles: Mapping[str, str] = field(default_factory=dict)

    def domain(self, text: str) -> str:
        """Return the dataset's name of a domain that may be given by its name in the file."""
        return {title: name for name, title in self.titles.items()}.get(text, text)


@contextmanager
def titled_problems(titles: Mapping[str, str]) -> Iterator[None]:
    """Replace quoted domain names in errors of the block by the names used in the file.

    Args:
        titles: maps names of domains in the dataset to those in the file.
    """

    def titled(quoted: "re.Match[str]") -> str:
        return "'" + SOURCE_JOINER.join(titles.get(part, part) for part in quoted[1].split(SOURCE_JOINER)) + "'"

    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(replace(each, found=_QUOTED.sub(titled, each.found)) for each in error.problems) from None


@contextmanager
def forecast_data(predictions: Path, data: Path, own: OwnFile, subset: str | None = None) -> Iterator[ForecastData]:
    """Open the input of forecasts, and yield it; temporary files are removed when the context ends.

    Args:
        predictions: the prediction file.
        data: a dataset folder, or a user file.
        own: how to read the file; refused for a folder.
        subset: the subset of a folder that predictions cover; None: inferred from their ids.
    Raises: InvalidInput listing every problem with the rows or the predictions.
    """
    if not is_own(data):
        with opened_data(data, own, predictions, subset) as opened:
            frame = opened.checked(predictions)
            validation = read_accompanying_validation(predictions, opened.folder)
            yield ForecastData(opened.folder, frame, validation, titles=opened.titles)
        return
    (table,) = read_tables([data])
    apart = split_unlabelled(table, own.columns, own.kind)
    unlabelled = apart.unlabelled
    if unlabelled is None:
        with opened_data(data, own, predictions, subset) as opened:
            yield ForecastData(opened.folder, opened.checked(predictions), titles=opened.titles)
        return
    if own.columns.id is None:
        cure = "give the column of ids with --columns id=NAME, and use these ids in the prediction file"
        raise InvalidInput(Problem("rows without labels need a column of ids", str(data), cure=cure))
    for note in apart.notes:
        warn(note, DataWarning)
    frame = read_own_predictions(predictions, own.columns)
    # Unlabelled rows of domains with labels are neither scored nor forecast.
    frame = frame.filter(~pl.col("id").is_in(apart.left_out.implode()))
    is_unlabelled = frame["id"].is_in(unlabelled.frame["id"].implode())
    if not is_unlabelled.any():
        what, cure = "the file has no predictions of unlabelled rows", "also predict the texts of these domains"
        found = f"domains {', '.join(unlabelled.titles.values())}"
        raise InvalidInput(Problem(what, str(predictions), found, cure, column="id"))
    unknown_home = frame.filter(pl.col("source").is_in([*unlabelled.titles, *unlabelled.titles.values()]))
    if len(unknown_home):
        what = "a model's source domain has no labels, but forecasts need its accuracy there"
        found, cure = f"'{unknown_home['source'][0]}'", "label the rows of this domain"
        raise InvalidInput(Problem(what, str(predictions), found, cure, column="source"))
    with TemporaryDirectory(prefix="shiftbench-forecast-") as place:
        rows, preds = Path(place) / "rows.parquet", Path(place) / "predictions.parquet"
        apart.table.frame.write_parquet(rows)
        frame.filter(~is_unlabelled).write_parquet(preds)
        names = {str(rows): f"{data}, rows with labels", str(preds): f"{predictions}, rows with labels"}
        read = replace(own, columns=replace(own.columns, prediction=None))  # the copy has the default column name
        with renamed_problems(names), opened_data(rows, read, preds, subset, min_domains=1) as opened:
            checked = opened.checked(preds)
            sources = frame["source"].unique().to_list()
            mapped = {text: opened.domain(text) for text in sources}
            on_unlabelled = frame.filter(is_unlabelled).with_columns(pl.col("source").replace_strict(mapped))
            facts = unlabelled.prediction_task(opened.folder)
            more = unlabelled.samples(check_predictions(on_unlabelled, [facts], str(predictions)), facts.labels)
            yield ForecastData(opened.folder, checked, None, more, {**opened.titles, **unlabelled.titles})


def run_forecast(
    predictions: Path,
    data: Path,
    own: OwnFile,
    *,
    methods: Sequence[str] | None = None,
    targets: Sequence[str] = (),
    subset: str | None = None,
) -> Forecasts:
    """Forecast a model's accuracy on domains without labels.

    Args:
        predictions: the prediction file.
        data: a dataset folder, or a user file.
        own: how to read the file; refused for a folder.
        methods: names; None for all.
        targets: domains to forecast, as named in the file; empty for all.
        subset: the subset of a folder that predictions cover; None: inferred from their ids.
    Returns: forecasts, with the file's names of domains.
    Raises: InvalidInput listing every problem with the rows, the predictions or the names.
    """
    chosen_methods(methods)  # before any work
    with forecast_data(predictions, data, own, subset) as given, titled_problems(given.titles):
        found = forecast_predictions(
            predictions.name,
            given.predictions,
            given.folder,
            validation=given.validation,
            methods=methods,
            unlabelled=given.unlabelled,
            targets=[given.domain(name) for name in targets],
        )
        return rename_domains(found, given.titles)
