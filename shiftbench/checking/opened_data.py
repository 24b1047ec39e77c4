"""Opening of data: a dataset folder, or a file of one's own with options about its columns."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.builders.building.own_columns import Columns
    from shiftbench.builders.encoder import Encoder
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.checking.own_data import OwnData
    from shiftbench.validation.prediction_files import PredictionInput
    from shiftbench.validation.vocabulary import TaskKind

log = logging.getLogger(__name__)


class TableFormat(StrEnum):
    """Formats of a table of models."""

    TABLE = "table"
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"


@dataclass(frozen=True)
class OwnOptions:
    """Options about a file of one's own; all None or empty where ``--data`` is a dataset folder.

    Commands take its fields as options of their own (``shiftbench.validation.command_line.with_options``).
    """

    domain_column: Annotated[
        str | None, typer.Option("--domain-column", metavar="NAME", help="Column of domains, for a file of your own.")
    ] = None
    label_column: Annotated[
        str | None, typer.Option("--label-column", metavar="NAME", help="Column of labels, for a file of your own.")
    ] = None
    text_column: Annotated[
        list[str] | None,
        typer.Option(
            "--text-column", metavar="NAME", help="Column of texts; give it twice for pairs. Default: 'text'."
        ),
    ] = None
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id-column", metavar="NAME", help="Column of the ids in the predictions. Default: those of 'build own'."
        ),
    ] = None
    split_column: Annotated[
        str | None, typer.Option("--split-column", metavar="NAME", help="Column of splits: train, validation, test.")
    ] = None
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", metavar="NAME", help="For a file: labels, tags, answers or texts. Default: by its columns."
        ),
    ] = None
    min_texts: Annotated[
        int | None,
        typer.Option(
            "--min-texts",
            metavar="N",
            help="For a file: leave domains with fewer test texts out of means. Default: 30.",
            min=0,
        ),
    ] = None

    @property
    def given(self) -> list[str]:
        """List the options that were given."""
        options = {f"--{field.name.replace('_', '-')}": getattr(self, field.name) for field in fields(self)}
        return [name for name, value in options.items() if value]

    @property
    def columns(self) -> "Columns":
        """Return which columns hold what."""
        from shiftbench.builders.building.own_columns import Columns

        texts = tuple(self.text_column or ())
        return Columns(self.domain_column, self.label_column, texts, self.id_column, self.split_column)

    @property
    def task_kind(self) -> "TaskKind | None":
        """Return what is predicted; InvalidInput lists the kinds where there is no such one."""
        from shiftbench.builders.building.own_columns import find_kind

        return find_kind(self.kind)

    @property
    def least_texts(self) -> int:
        """Return the number of test texts below which a domain is left out of means."""
        from shiftbench.builders.building.own import MIN_TEXTS

        return MIN_TEXTS if self.min_texts is None else self.min_texts


def is_own_file(data: Path) -> bool:
    """Check whether ``--data`` names a file of one's own."""
    return data.is_file() or data.suffix.lower() == ".csv"


def refuse_options(given: list[str]) -> None:
    """Refuse options about a file's columns where ``--data`` is a dataset folder."""
    if given:
        raise typer.BadParameter(f"{given[0]} is for a file, but --data is a dataset folder")


@dataclass(frozen=True)
class OpenedData:
    """What ``--data`` names, opened.

    Attributes:
        folder: the dataset; of a file, the one that its rows became.
        subset: the subset that predictions cover.
        titles: what the file calls its domains, by their names; empty of a dataset folder of a benchmark.
        own: the file of one's own; None of a dataset folder.
    """

    folder: "DatasetFolder"
    subset: str
    titles: dict[str, str]
    own: "OwnData | None" = None

    def checked(self, predictions: "Path | PredictionInput") -> "pl.DataFrame":
        """Read and check a prediction file; InvalidInput with every problem found in it."""
        from shiftbench.scoring.scores.score import checked_predictions

        if self.own is not None:
            return self.own.checked(predictions)
        return checked_predictions(predictions, self.folder, self.subset)

    def domain(self, name: str) -> str:
        """Return a domain's name, or a joined source's, which may be typed as the file writes it."""
        from shiftbench.scoring.reports.titles import untitled

        if self.own is not None:
            return self.own.domain(name)
        return untitled(name, {title: each for each, title in self.titles.items()})


@contextmanager
def opened_data(
    data: Path,
    options: OwnOptions,
    predictions: "Path | PredictionInput",
    subset: str = "all",
    encoder: "Encoder | None" = None,
    *,
    min_domains: int = 2,
) -> Iterator[OpenedData]:
    """Open what ``--data`` names, for as long as the context lasts.

    Args:
        data: a dataset folder, or a file of one's own.
        options: what the file holds; refused for a folder.
        predictions: a prediction file, the first of several.
        subset: the subset of a folder that predictions cover.
        encoder: of a file, embeds its texts for depths.
        min_domains: fewest domains of a file.
    Raises: InvalidInput when it cannot be read; typer.BadParameter for options that do not fit.
    """
    from shiftbench.scoring.reports.titles import domain_titles

    if not is_own_file(data):
        from shiftbench.builders.folder.reader import DatasetFolder

        refuse_options(options.given)
        folder = DatasetFolder.open(data)
        yield OpenedData(folder, subset, domain_titles(folder))
        return
    from shiftbench.checking.own_data import open_own_data

    if subset != "all":
        raise typer.BadParameter("--subset is for dataset folders, but --data is a file")
    how: dict[str, Any] = {"kind": options.task_kind, "min_texts": options.least_texts, "encoder": encoder}
    with open_own_data(data, options.columns, predictions, **how, min_domains=min_domains) as own:
        if own.repeats:
            log.info("%s: %s rows that repeat another word for word are left out", data, f"{own.repeats:,}")
        yield OpenedData(own.folder, subset, domain_titles(own.folder), own)
