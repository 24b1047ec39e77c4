"""An entry prepared for export: its scores, card, and the locations of data, model and report; its values as CSV."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version

from shiftbench.builders.folder.configs import config_name
from shiftbench.builders.folder.manifest import Manifest
from shiftbench.scoring.interchange.figures import SharedFigure, drop_of, figures_of
from shiftbench.scoring.reports.numbers import plain_points, plain_score
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.cards import Card
from shiftbench.validation.csv_export import guarded_csv
from shiftbench.validation.report import InvalidInput, Problem

COLUMNS = (
    "model", "benchmark", "data", "subset", "metric_version", "depth_encoder", "task", "metric", "figure", "source",
    "target", "value", "low", "high", "total_low", "total_high", "lower_is_better", "n", "runs",
)  # fmt: skip
"""Columns of ``scores.csv``: fractions, drops in [-1, 1]. ``low`` and ``high``: the 95% interval over other test texts;
``total_...``: the one that includes training variance.
"""


@dataclass(frozen=True)
class SharedEntry:
    """An entry to export to other tools.

    Attributes:
        scores: its scores.
        card: its card.
        manifest: manifest of the dataset that it is scored on.
        dataset: ``ORG/NAME`` of the published dataset; None if not known.
        model: ``ORG/NAME`` of the model's repository; None if not known.
        report: https URL of a report or a leaderboard's page of the entry; None if not known.
        evaluated_at: time of submission, ISO 8601; None for a file.
    """

    scores: Scores
    card: Card
    manifest: Manifest
    dataset: str | None = None
    model: str | None = None
    report: str | None = None
    evaluated_at: str | None = None

    def published_dataset(self) -> str:
        """Return the dataset's repository; InvalidInput if it is not known."""
        if self.dataset is None:
            cure = "give its repository on the Hub: --dataset ORG/NAME"
            raise InvalidInput(Problem("results must state their dataset", "--dataset", cure=cure))
        return self.dataset

    def model_repository(self) -> str:
        """Return the model's repository; InvalidInput if it is not known."""
        if self.model is None:
            cure = "give --model ORG/NAME, or model_url in the card"
            raise InvalidInput(Problem("results must state their model", "--model", cure=cure))
        return self.model

    def config(self, task: str) -> str:
        """Return the configuration name of a task in the published dataset."""
        return config_name(task, self.manifest.tasks[task])

    def notes(self, figure: SharedFigure) -> str:
        """Describe a value as text, in points: its interval, the corresponding drop, its shifts, and its provenance."""
        return "; ".join(self._notes(figure))

    def _notes(self, figure: SharedFigure) -> Iterator[str]:
        task = next(task for task in self.scores.tasks if task.task == figure.task)
        n = task.summary.n_shifts if figure.source is None else 1
        yield f"{figure.words}, {figure.metric}, in points, {n} shift{'' if n == 1 else 's'}"
        estimate, total = figure.estimate, figure.total
        if total is not None:
            ends = f"{plain_points(total.low)} to {plain_points(total.high)}"
            yield f"95% interval {ends} over test texts and training runs"
        elif estimate.low is None or estimate.high is None:
            yield f"no interval: {estimate.no_interval or 'undefined for this statistic'}"
        else:
            yield f"95% interval {plain_points(estimate.low)} to {plain_points(estimate.high)} over test texts"
        drop = drop_of(self.scores, figure.task)
        if drop is not None and figure.source is None and not figure.is_drop:
            yield f"{drop.words} {plain_score(drop.estimate)}"
        warnings = {
            "not significantly above the no-skill level": figure.source is None and task.summary.at_floor,
            "some shifts are missing": figure.source is None and not task.summary.complete,
            "partial data": self.scores.partial_data,
            "some upstream files match no record": self.scores.unverified_data,
            "synthetic data": self.scores.synthetic_data,
        }
        yield from (words for words, holds in warnings.items() if holds)
        yield provenance(self.scores)


def provenance(scores: Scores) -> str:
    """Describe how scores were computed: versions of the package, metrics and data, and the subset."""
    subset = "" if scores.subset == "all" else f", subset {scores.subset}"
    return f"shiftbench {version('shiftbench')}, metric version {scores.metric_version}, {scores.version}{subset}"


def scores_csv(shared: SharedEntry) -> dict[str, str]:
    """Format all values of an entry as CSV, one row per value.

    Args:
        shared: the entry.

    Returns: CSV text (columns ``COLUMNS``) by file name; one file.
    """
    scores = shared.scores
    made = (scores.benchmark, scores.data, scores.subset, scores.metric_version, scores.depth_encoder)
    rows = [
        (
            shared.model or shared.card.model_name, *made, each.task, each.metric, each.name, each.source, each.target,
            each.value, *each.bounds, str(each.is_drop).lower(), each.n, each.runs,
        )
        for each in figures_of(scores)
    ]  # fmt: skip
    return {"scores.csv": guarded_csv(COLUMNS, rows)}
