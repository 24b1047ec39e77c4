"""What commands on ``--data`` share: a dataset folder or a file of one's own, and the options on what that holds."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from validation.report import InvalidInput, Problem, counted

if TYPE_CHECKING:
    import polars as pl

    from builders.building.own_columns import Columns
    from builders.encoder import Encoder
    from builders.folder.reader import DatasetFolder
    from shiftbench.own_data import OwnData
    from validation.vocabulary import TaskKind

AnyDataOption = Annotated[
    Path, typer.Option("--data", metavar="DIR_OR_FILE", help="Dataset folder, or a file of your own.")
]


class TableFormat(StrEnum):
    """How models are shown beside each other."""

    TABLE = "table"
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"


FormatOption = Annotated[
    TableFormat,
    typer.Option("--format", metavar="NAME", help="table (a terminal's), or a paper's: markdown, latex or csv."),
]
NamesOption = Annotated[
    str | None, typer.Option("--names", metavar="A,B", help="What to call the files, in order. Default: their names.")
]


def names_of(typed: str | None, files: Sequence[Path]) -> list[str]:
    """Return what files are to be called: the names that were typed, or else the files' own.

    Raises: InvalidInput when names do not fit the files or repeat.
    """
    names = [path.stem for path in files] if typed is None else [name.strip() for name in typed.split(",")]
    if typed is None and len(set(names)) < len(names):
        return [str(path) for path in files]
    if len(names) != len(files) or len(set(names)) < len(names) or not all(names):
        cure = "give a different name for each file, in order, with commas between"
        raise InvalidInput(
            Problem(f"these names do not fit {counted(len(files), 'file')}", "--names", f"'{typed}'", cure)
        )
    return names


@dataclass(frozen=True)
class OwnOptions:
    """What was typed about a file of one's own; all None or empty where ``--data`` is a dataset folder.

    Commands take its fields as options of their own (``validation.command_line.with_options``).
    """

    domain_column: Annotated[
        str | None, typer.Option("--domain-column", metavar="NAME", help="Column of the CSV that holds domains.")
    ] = None
    label_column: Annotated[
        str | None, typer.Option("--label-column", metavar="NAME", help="Column of the CSV that holds labels.")
    ] = None
    text_column: Annotated[
        list[str] | None,
        typer.Option(
            "--text-column", metavar="NAME", help="Its texts; twice for two. Default: 'text', or as of a build."
        ),
    ] = None
    id_column: Annotated[
        str | None,
        typer.Option("--id-column", metavar="NAME", help="Its ids, as predicted. Default: ids of 'build own'."),
    ] = None
    split_column: Annotated[
        str | None, typer.Option("--split-column", metavar="NAME", help="Its splits: train, validation, test.")
    ] = None
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", metavar="NAME", help="Of a file: labels, tags, answers or texts. Default: as columns say."
        ),
    ] = None
    min_texts: Annotated[
        int | None,
        typer.Option(
            "--min-texts",
            metavar="N",
            help="Of a file: domains with fewer test texts are left out of means. Default: 30.",
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
        """Which columns hold what."""
        from builders.building.own_columns import Columns

        texts = tuple(self.text_column or ())
        return Columns(self.domain_column, self.label_column, texts, self.id_column, self.split_column)

    @property
    def task_kind(self) -> "TaskKind | None":
        """What is predicted; InvalidInput lists the words where there is no such kind."""
        from builders.building.own_columns import find_kind

        return find_kind(self.kind)

    @property
    def least_texts(self) -> int:
        """Test texts below which a domain is left out of means."""
        from builders.building.own import MIN_TEXTS

        return MIN_TEXTS if self.min_texts is None else self.min_texts


def is_own_file(data: Path) -> bool:
    """Check whether ``--data`` names a file of one's own."""
    return data.is_file() or data.suffix.lower() == ".csv"


def refuse_options(given: list[str]) -> None:
    """Refuse options that say what a file holds where ``--data`` is a dataset folder."""
    if given:
        raise typer.BadParameter(f"{given[0]} is for a CSV; --data is a dataset folder")


@dataclass(frozen=True)
class OpenedData:
    """What ``--data`` names, opened.

    Attributes:
        folder: the dataset; of a file, the one that its rows became.
        subset: the subset that predictions cover.
        titles: what the file calls its domains, by their names; empty of a dataset folder of a benchmark.
        own: the file of one's own; None of a dataset folder.
        labels_by_index: whole numbers stand for labels, by their place.
    """

    folder: "DatasetFolder"
    subset: str
    titles: dict[str, str]
    own: "OwnData | None" = None
    labels_by_index: bool = False

    def checked(self, predictions: Path) -> "pl.DataFrame":
        """Read and check a prediction file; InvalidInput with every problem found in it."""
        from leaderboard.scoring.score import checked_predictions

        if self.own is not None:
            return self.own.checked(predictions)
        return checked_predictions(predictions, self.folder, self.subset, labels_by_index=self.labels_by_index)

    def domain(self, name: str) -> str:
        """Return a domain's name, or a joined source's, which may be typed as the file writes it."""
        from leaderboard.views.titles import untitled

        if self.own is not None:
            return self.own.domain(name)
        return untitled(name, {title: each for each, title in self.titles.items()})


@contextmanager
def opened_data(
    data: Path,
    options: OwnOptions,
    predictions: Path,
    subset: str = "all",
    encoder: "Encoder | None" = None,
    *,
    labels_by_index: bool = False,
) -> Iterator[OpenedData]:
    """Open what ``--data`` names, for as long as the context lasts.

    Args:
        data: a dataset folder, or a file of one's own.
        options: what the file holds; refused for a folder.
        predictions: a prediction file, the first of several.
        subset: the subset of a folder that predictions cover.
        encoder: of a file, embeds its texts for depths.
        labels_by_index: whole numbers stand for labels, by their place.
    Raises: InvalidInput when it cannot be read; typer.BadParameter for options that do not fit.
    """
    from leaderboard.views.titles import domain_titles

    if not is_own_file(data):
        from builders.folder.reader import DatasetFolder

        refuse_options(options.given)
        folder = DatasetFolder.open(data)
        yield OpenedData(folder, subset, domain_titles(folder), labels_by_index=labels_by_index)
        return
    from shiftbench.own_data import opened_own_data

    if subset != "all":
        raise typer.BadParameter("--subset is for dataset folders; --data is a file")
    how: dict[str, Any] = {"kind": options.task_kind, "min_texts": options.least_texts, "encoder": encoder}
    how["labels_by_index"] = labels_by_index
    with opened_own_data(data, options.columns, predictions, **how) as own:
        if own.repeats:
            typer.echo(f"{data}: {own.repeats:,} rows repeat another word for word and are left out", err=True)
        yield OpenedData(own.folder, subset, domain_titles(own.folder), own)
