"""Which predictions are not forecast, and why."""

import polars as pl
import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.forecasting.samples import ONE_LABEL, reason_against_forecasts


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ("neutral neutral neutral neutral", ONE_LABEL),
        ("neutral neutral entailment entailment", ONE_LABEL),  # each run has a label of its own
        ("neutral neutral neutral entailment", None),
        ("neutral entailment entailment neutral", None),
    ],
)
def test_runs_of_one_label_are_not_forecast(synthetic: DatasetFolder, labels: str, reason: str | None) -> None:
    rows = pl.DataFrame({"source": ["a", "a", "b", "b"], "seed": [0, 0, 0, 0], "prediction": labels.split()})
    assert reason_against_forecasts(synthetic.task("nli"), rows) == reason
    assert reason_against_forecasts(synthetic.task("nli"), rows.head(0)) is None
