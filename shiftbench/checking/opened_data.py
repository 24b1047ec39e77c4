"""Opening of data: a dataset folder, or a file of one's own with how it is read."""

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
from shiftbench.scoring.reports.titles import domain_titles, untitled
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice, did_you_mean
from shiftbench.validation.vocabulary import TaskKind


class OwnColumns(TypedDict, total=False):
    """How a table of one's own is read, as arguments of the notebook's functions; those of a dataset folder take none.

    Attributes:
        domain: the column of domains; by default ``domain``.
        label: the column that is to be predicted; by default ``label``, ``tags``, ``answers`` or ``target_text``.
        text: the column of texts, or the two of premises and hypotheses, or of contexts and questions; by default those
            of the usual names.
        id: the column of ids, which predictions name.
        split: the column of train, validation and test; without it all rows are test rows.
        group: the column of what makes rows belong together, such as a document; by default ``group``, or equal texts.
        by: ``week``, ``month``, ``quarter`` or ``year``, where ``domain`` is a column of dates.
        kind: ``labels``, ``tags``, ``answers`` or ``texts``; by default from the columns.
        min_texts: test texts below which a domain is left out of means; 30.
        prediction: the column of predictions in prediction files and tables; by default ``prediction``. Their column of
            ids is ``id``, or is called as that of the rows.
        label_map: the rows' label by the model's name of it, where names differ.
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
    """How a file of one's own is read; as it is by default where ``--data`` is a dataset folder.

    Attributes:
        columns: which of its columns hold what.
        kind: what is predicted; None where the file or its columns say it.
        min_texts: test texts below which a domain is left out of means.
    """

    columns: Columns = field(default_factory=Columns)
    kind: TaskKind | None = None
    min_texts: int = MIN_TEXTS

    @classmethod
    def of(
        cls, columns: Sequence[str] | None, min_texts: int | None, label_map: Mapping[str, str] | None = None
    ) -> "OwnFile":
        """Return what ``--columns``, ``--min-texts`` and ``--label-map`` say; None where they were not given.

        Raises: UnknownChoice when the columns cannot be parsed.
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
        """Return what the arguments of a function of the notebook say (``OwnColumns``).

        Raises: InvalidInput for an unknown kind or span of time.
        """
        if by is not None and by not in SPANS:
            raise InvalidInput(Problem("dates are not grouped by this", "by", repr(by), did_you_mean(by, SPANS)))
        texts = () if text is None else (text,) if isinstance(text, str) else tuple(text)
        pairs = tuple((label_map or {}).items())
        read = Columns(domain, label, texts, id, split, group, by, prediction, pairs)
        return cls(read, find_kind(kind), min_texts)

    def with_defaults(self, other: "OwnFile") -> "OwnFile":
        """Return how the file is read where ``other`` says what this one leaves open."""
        columns = {name: value or getattr(other.columns, name) for name, value in vars(self.columns).items()}
        if self.columns.domain:
            columns["domain_by"] = self.columns.domain_by
        return replace(self, columns=Columns(**columns), kind=self.kind or other.kind)


def refuse_own(own: OwnFile) -> None:
    """Refuse what is said of a file where ``--data`` is a dataset folder."""
    given = "--min-texts" if own == replace(OwnFile(), min_texts=own.min_texts) else "--columns"
    if own != OwnFile():
        raise UnknownChoice(Problem("this is for a file, but --data is a dataset folder", given))


@dataclass(frozen=True)
class OpenedData:
    """What ``--data`` names, opened.

    Attributes:
        folder: the dataset; of a file, the one that its rows became.
        subset: the subset that predictions cover.
        titles: what the file calls its domains, by their names; empty of a dataset folder of a benchmark.
        own: the file of one's own; None of a dataset folder.
        own_file: how the file was read.
    """

    folder: DatasetFolder
    subset: str
    titles: dict[str, str]
    own: OwnData | None = None
    own_file: OwnFile = field(default_factory=OwnFile)

    def checked(self, predictions: Path | PredictionInput) -> pl.DataFrame:
        """Read and check a prediction file; InvalidInput with every problem found in it."""
        if self.own is not None:
            return self.own.checked(predictions)
        return checked_predictions(predictions, self.folder, self.subset)

    def domain(self, name: str) -> str:
        """Return a domain's name, or a joined source's, which may be typed as the file writes it."""
        if self.own is not None:
            return self.own.domain(name)
        return untitled(name, {title: each for each, title in self.titles.items()})


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
    """Open what ``--data`` names, for as long as the context lasts.

    Args:
        data: a dataset folder, or a file of one's own.
        own: how the file is read; refused for a folder.
        predictions: a prediction file, the first of several.
        subset: the subset of a folder that predictions cover; None finds it from their ids.
        encoder: of a file, embeds its texts for depths.
        min_domains: fewest domains of a file.
    Raises: InvalidInput when it cannot be read; UnknownChoice for what does not fit.
    """
    if not is_own(data):
        refuse_own(own)
        folder = DatasetFolder.open(data)
        yield OpenedData(folder, subset or find_subset(predictions, folder), domain_titles(folder))
        return
    if subset not in (None, "all"):
        raise UnknownChoice(Problem("this is for dataset folders, but --data is a file", "--subset", str(subset)))
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
