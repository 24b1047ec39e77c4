"""Figures of one entry as a table: one row a figure, fractions, drops in [-1, 1]."""

from shiftbench.scoring.interchange.figures import figures_of
from shiftbench.scoring.interchange.shared_entry import SharedEntry
from shiftbench.scoring.scores.estimate import Interval
from shiftbench.validation.csv_export import guarded_csv

SCORES_CSV = "scores.csv"
COLUMNS = (
    "model", "benchmark", "data", "subset", "metric_version", "depth_encoder", "task", "metric", "figure", "source",
    "target", "value", "low", "high", "total_low", "total_high", "lower_is_better", "n", "runs",
)  # fmt: skip
"""``low`` and ``high``: the 95% interval over resampled test texts; ``total_...``: over training runs, too."""


def scores_csv(shared: SharedEntry) -> dict[str, str]:
    """Write all figures of an entry.

    Returns: CSV text by the file's name; one file.
    """
    scores = shared.scores
    made = (scores.benchmark, scores.data, scores.subset, scores.metric_version, scores.depth_encoder)
    rows = [
        (
            shared.model or shared.card.model_name, *made, each.task, each.metric, each.name, each.source, each.target,
            each.value, each.estimate.low, each.estimate.high, *_interval_ends(each.total), str(each.is_drop).lower(),
            each.n, each.runs,
        )
        for each in figures_of(scores)
    ]  # fmt: skip
    return {SCORES_CSV: guarded_csv(COLUMNS, rows)}


def _interval_ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval.low, interval.high)
