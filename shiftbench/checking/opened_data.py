"""Opening data: a dataset folder, or a user file with its reading options."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypedDict

import polars as pl

from shiftbench.builders.building.own import MIN_TEXTS
from shiftbench.builders.building.own_columns import SPANS, Columns, find_kind, parse_columns
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.inputs import find_subset, is_own
from shiftbench.checking.own_data import OwnData, open_own_data
from shiftbench.scoring.reports.titles import domain_key, domain_titles
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice, did_you_mean
from shiftbench.validation.vocabulary import TaskKind


class OwnColumns(TypedDict, total=False):
    """Options for reading a user table, as keyword arguments of the Python API; not allowed for a dataset folder.

    Attributes:
        domain: the column of domains; by default ``domain``.
        label: the column to be predicted; by default ``label``, ``tags``, ``answers`` or ``target_text``.
        text: the column of texts, or the two of premises and hypotheses, or of contexts and questions; by default the
            columns with the default names.
        id: the column of ids, which predictions refer to.
        split: the column of train, validation and test; without it all rows are test rows.
        group: the column that groups dependent rows, such as a document; by default ``group``, or identical texts.
        by: ``week``, ``month``, ``quarter`` or ``year``, if ``domain`` is a column of dates.
        kind: ``labels``, ``tags``, ``answers`` or ``texts``; by default inferred from the columns.
        min_texts: minimum test texts of a domain for including it in means; default 30.
        prediction: the column of predictions in prediction files and tables; by default ``prediction``. The
            column of ids there is ``id``, or has the name of the rows' id column.
        label_map: maps the model's names of labels to those in the rows, if they differ.
    """

    domain: str
    label: str
    text: str | Sequence[str]
    id: str
    split: str
    group: str
    by: str
    kind: str
    min_texts: int
    prediction: str
    label_map: Mapping[str, str]


@dataclass(frozen=True)
class OwnFile:
    """Options for reading a user file; the defaults if ``--data`` is a dataset folder.

    Attributes:
        columns: roles of its columns.
        kind: kind of task; None: inferred from the file or its columns.
        min_texts: minimum test texts of a domain for including it in means.
    """

    columns: Columns = field(default_factory=Columns)
    kind: TaskKind | None = None
    min_texts: int = MIN_TEXTS

    @classmethod
    def of(
        cls, columns: Sequence[str] | None, min_texts: int | None, label_map: Mapping[str, str] | None = None
    ) -> "OwnFile":
        """Build from the values of ``--columns``, ``--min-texts`` and ``--label-map``; None for an option not given.

        Raises: UnknownChoice if the columns cannot be parsed.
        """
        read, kind = parse_columns(columns or ())
        read = replace(read, label_map=tuple((label_map or {}).items()))
        return cls(read, kind, MIN_TEXTS if min_texts is None else min_texts)

    @classmethod
    def of_names(
        cls,
        *,
        domain: str | None = None,
        label: str | None = None,
        text: str | Sequence[str] | None = None,
        id: str | None = None,
        split: str | None = None,
        group: str | None = None,
        by: str | None = None,
        kind: str | None = None,
        min_texts: int = MIN_TEXTS,
        prediction: str | None = None,
        label_map: Mapping[str, str] | None = None,
    ) -> "OwnFile":
        """Build from keyword arguments of the Python API (``OwnColumns``).

        Raises: InvalidInput for an unknown kind or span of time.
        """
        if by is not None and by not in SPANS:
            raise InvalidInput(Problem("dates cannot be grouped by this unit", "by", repr(by), did_you_mean(by, SPANS)))
        texts = () if text is None else (text,) if isinstance(text, str) else tuple(text)
        pairs = tuple((label_map or {}).items())
        read = Columns(domain, label, texts, id, split, group, by, prediction, pairs)
        return cls(read, find_kind(kind), min_texts)

    def with_defaults(self, other: "OwnFile") -> "OwnFile":
        """Return these settings, with those of ``other`` where none is given."""
        columns = {name: value or getattr(other.columns, name) for name, value in vars(self.columns).items()}
        if self.columns.domain:  # the unit of time belongs to this column, not to the default one
            columns["domain_by"] = self.columns.domain_by
        return replace(self, columns=Columns(**columns), kind=self.kind or other.kind)


def refuse_own(own: OwnFile) -> None:
    """Raise UnknownChoice if reading options of files are given, because ``--data`` is a dataset folder."""
    given = "--min-texts" if own == replace(OwnFile(), min_texts=own.min_texts) else "--columns"
    if own != OwnFile():
        raise UnknownChoice(Problem("this option is for a file, but --data is a dataset folder", given))


@dataclass(frozen=True)
class OpenedData:
    """Opened data: a dataset folder, or a user file as a temporary dataset.

    Attributes:
        folder: the dataset; for a file, the dataset built from its rows.
        subset: the subset that predictions cover.
        titles: maps names of domains in the dataset to those in the file; empty for a benchmark.
        own: the user file; None for a dataset folder.
        own_file: how the file was read.
    """

    folder: DatasetFolder
    subset: str
    titles: dict[str, str]
    own: OwnData | None = None
    own_file: OwnFile = field(default_factory=OwnFile)

    def checked(self, predictions: Path | PredictionInput) -> pl.DataFrame:
        """Read and validate a prediction file; InvalidInput lists every problem found in it."""
        if self.own is not None:
            return self.own.checked(predictions)
        return checked_predictions(predictions, self.folder, self.subset)

    def domain(self, name: str) -> str:
        """Return the dataset's name of a domain or joined source that may be given by the file's names."""
        if self.own is not None:
            return self.own.domain(name)
        return domain_key(name, {title: each for each, title in self.titles.items()})


@contextmanager
def opened_data(
    data: Path,
    own: OwnFile,
    predictions: Path | PredictionInput,
    subset: str | None = None,
    encoder: Encoder | None = None,
    *,
    min_domains: int = 2,
) -> Iterator[OpenedData]:
    """Open a dataset folder or a user file, and yield it; temporary files are removed when the context ends.

    Args:
        data: a dataset folder, or a user file.
        own: how to read the file; refused for a folder.
        predictions: a prediction file; if there are several, the first.
        subset: the subset of a folder that predictions cover; None: inferred from their ids.
        encoder: embeds a file's texts for depths.
        min_domains: minimum number of domains in a file.
    Raises: InvalidInput if it cannot be read; UnknownChoice for options that do not apply.
    """
    if not is_own(data):
        refuse_own(own)
        folder = DatasetFolder.open(data)
        yield OpenedData(folder, subset or find_subset(predictions, folder), domain_titles(folder))
        return
    if subset not in (None, "all"):
        raise UnknownChoice(
            Problem("this option is for a dataset folder, but --data is a file", "--subset", str(subset))
        )
    with open_own_data(
        data,
        own.columns,
        predictions,
        kind=own.kind,
        min_texts=own.min_texts,
        encoder=encoder,
        min_domains=min_domains,
    ) as rows:
        yield OpenedData(rows.folder, "all", domain_titles(rows.folder), rows, own)
