"""Non-inferiority of all drops: falsely claimed in at most 5% of studies, on all shifts jointly."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.builders.building.synthetic_grid import noisy_predictions
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.command import app
from shiftbench.scoring.reports.score_words import margin_lines
from shiftbench.scoring.scores.figures import Figure, Reason, Score, difference, single
from shiftbench.scoring.scores.limits import AT_CHANCE, highest_bound
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import BoundedDrop, Scores
from shiftbench.validation.report import InvalidInput
from tests.scoring.comparing.test_recipes import constant

N, HOME, MARGIN = 500, 0.7, 0.05


def score(share: float) -> Figure:
    return single(Score(share, N, N - 1, object(), np.zeros(N), np.zeros(N), N))


def claims(drops: tuple[float, ...], n_studies: int) -> float:
    """Return the share of studies in which all drops are claimed to be below the margin."""
    rng = np.random.default_rng(2)
    made = 0
    for _ in range(n_studies):
        home = [score(right / N) for right in rng.binomial(N, HOME, len(drops))]
        away = [score(rng.binomial(N, HOME - drop) / N) for drop in drops]
        shown = [difference(one, other) for one, other in zip(home, away, strict=True)]
        found = highest_bound("sd", [("a", "b")] * len(drops), shown, MARGIN)
        made += bool(found.margin_holds)
    return made / n_studies


def test_a_drop_as_large_as_the_margin_is_claimed_away_in_one_study_of_twenty() -> None:
    assert claims((MARGIN,), 1_500) == pytest.approx(0.05, abs=0.017)  # three standard errors


def test_of_several_shifts_the_worst_one_decides_without_correction() -> None:
    assert claims((MARGIN, -0.1, -0.1), 1_500) == pytest.approx(0.05, abs=0.017)
    assert claims((MARGIN,) * 4, 300) < 0.02


def test_a_drop_far_below_the_margin_is_shown_to_be() -> None:
    assert claims((-0.1, -0.1), 200) > 0.95


def test_the_bound_is_one_sided_95_percent() -> None:
    found = highest_bound("sd", [("a", "b")], [difference(score(0.7), score(0.7))], 0.06)
    assert found.upper == pytest.approx(1.648 * np.sqrt(2 * 0.21 / N), rel=0.01)
    assert (found.margin_holds, found.margin_holds_recipe) == (True, None)


def test_without_an_interval_nothing_is_claimed() -> None:
    drops = [difference(score(0.7), score(0.7)), single(Score(0.0, groups=3, no_interval=Reason.FEW_GROUPS))]
    found = highest_bound("td", [("a", "b"), ("b", "a")], drops, 0.9)
    assert (found.margin_holds, found.upper, found.reason) == (None, None, Reason.FEW_GROUPS)


def scored(folder: DatasetFolder, frame: pl.DataFrame, path: Path, margin: float | None) -> Scores:
    frame.write_parquet(path / "p.parquet")
    return score_file(path / "p.parquet", folder, margin=margin)


def bounds(scores: Scores) -> dict[str, BoundedDrop]:
    found = scores.tasks[0].non_inferiority
    assert found is not None
    return {claim.figure: claim for claim in found.claims}


def test_a_file_is_scored_against_the_margin(
    synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    scores = scored(synthetic, noisy_predictions(synthetic, n_runs=5), tmp_path, 0.9)
    task = scores.tasks[0]
    found = bounds(scores)
    assert set(found) == {"sd", "td", "average_drop"}
    for name in ("sd", "td"):
        claim, drops = found[name], [getattr(shift, name) for shift in task.shifts]
        assert claim.n_shifts == len(task.shifts)
        # A one-sided 95% bound lies between the drop and the end of its 95% interval.
        assert max(drop.value for drop in drops) < (claim.upper or 0) < max(drop.high for drop in drops)
        assert (claim.upper_recipe or 0) >= (claim.upper or 1)
        assert (claim.margin_holds, claim.margin_holds_recipe) == (True, True)
    tight = scored(synthetic, noisy_predictions(synthetic), tmp_path, 0.0001)
    assert not any(claim.margin_holds for claim in bounds(tight).values())
    assert [*margin_lines(task), *margin_lines(tight.tasks[0])] == wording


def test_of_a_constant_predictor_nothing_is_claimed(synthetic: DatasetFolder, tmp_path: Path) -> None:
    found = bounds(scored(synthetic, constant(synthetic), tmp_path, 0.5))
    assert {claim.reason for claim in found.values()} == {AT_CHANCE}
    assert {claim.margin_holds for claim in found.values()} == {None}


def test_without_a_margin_there_is_no_claim_and_a_wrong_one_is_refused(
    synthetic: DatasetFolder, tmp_path: Path
) -> None:
    scores = scored(synthetic, noisy_predictions(synthetic), tmp_path, None)
    assert scores.tasks[0].non_inferiority is None
    assert list(margin_lines(scores.tasks[0])) == []
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        scored(synthetic, noisy_predictions(synthetic), tmp_path, 2.0)


def test_the_commands_take_points_and_print_the_margin(synthetic: DatasetFolder, tmp_path: Path) -> None:
    path, out = tmp_path / "p.parquet", tmp_path / "scores.json"
    noisy_predictions(synthetic).write_parquet(path)
    data = ["--data", str(synthetic.path)]
    result = CliRunner().invoke(app, ["score", str(path), *data, "--margin", "2.5", "--json", str(out)])
    assert result.exit_code == 0, result.output
    assert "margin 2.5" in result.output
    assert json.loads(out.read_text())["tasks"][0]["non_inferiority"]["margin"] == 0.025
    result = CliRunner().invoke(app, ["compare", str(path), str(path), *data, "--margin", "2.5"])
    assert "2.5 points" in " ".join(result.output.split())
    refused = CliRunner().invoke(app, ["score", str(path), *data, "--margin", "0"])
    assert refused.exit_code != 0
