"""Confidence metrics against independent implementations, on rows of a synthetic folder."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.priors import adjust_to_prior, fit_temperature
from shiftbench.scoring.scores.score import score_predictions
from shiftbench.scoring.scores.shape import Confidence
from shiftbench.validation.predictions import check_predictions
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import UNPARSED
from tests.leaderboard.confident import TASK, confident, score


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    out = tmp_path_factory.mktemp("confident") / "data"
    build_synthetic(out, n_train=90, n_test=150)
    return DatasetFolder.open(out)


@pytest.fixture(scope="module")
def frame(folder: DatasetFolder) -> pl.DataFrame:
    return confident(folder)


@pytest.fixture(scope="module")
def found(frame: pl.DataFrame, folder: DatasetFolder) -> Confidence:
    confidence = score(frame, folder).tasks[0].confidence
    assert confidence is not None
    return confidence


def rows_of(frame: pl.DataFrame, folder: DatasetFolder, source: str, target: str, seed: int) -> Any:
    gold = folder.split(TASK, target, "test").select("id", "label")
    rows = frame.filter(source=source, seed=seed).join(gold, on="id", how="inner", maintain_order="right")
    table = np.array(rows["probabilities"].to_list())
    codes = rows["prediction"].replace_strict(
        {label: code for code, label in enumerate(folder.task(TASK).labels)}, return_dtype=pl.Int64
    )
    return table, codes.to_numpy(), rows["label"].to_numpy()


def test_figures_of_a_shift(frame: pl.DataFrame, folder: DatasetFolder, found: Confidence) -> None:
    shift = found.shifts[0]
    over, brier, auroc = [], [], []
    for seed in range(2):
        table, said, gold = rows_of(frame, folder, shift.source, shift.target, seed)
        over.append(table.max(axis=1).mean() - (said == gold).mean())
        brier.append(((table - np.eye(3)[gold]) ** 2).sum(axis=1).mean())
        auroc.append(roc_auc_score(said == gold, table.max(axis=1)))
    for name, expected in (("overconfidence", over), ("brier", brier), ("failure_auroc", auroc)):
        estimate = getattr(shift.figures, name)
        assert estimate.value == pytest.approx(np.mean(expected), abs=1e-9)
        assert estimate.low < estimate.value < estimate.high


def test_a_difference_is_out_less_in_domain(found: Confidence) -> None:
    homes = {home.domain: home.figures for home in found.in_domain}
    assert found.given == "probabilities"
    assert (len(found.in_domain), len(found.shifts)) == (4, 12)
    for shift in found.shifts:
        assert shift.difference is not None
        for name in type(shift.figures).model_fields:
            out, at_home = getattr(shift.figures, name).value, getattr(homes[shift.source], name).value
            assert getattr(shift.difference, name).value == pytest.approx(out - at_home, abs=1e-12)
    assert found.mean_difference is not None
    assert found.mean_out is not None
    assert found.mean_in_domain is not None
    # The grid is complete, and predictions are overconfident out of domain.
    mean = found.mean_out.overconfidence.value - found.mean_in_domain.overconfidence.value  # type: ignore[operator]
    assert found.mean_difference.overconfidence.value == pytest.approx(mean, abs=1e-12)
    assert found.mean_difference.overconfidence.low > 0.05  # type: ignore[operator]


def test_intervals_of_means_have_the_width_of_their_standard_error(
    frame: pl.DataFrame, folder: DatasetFolder, found: Confidence
) -> None:
    """Check 1.96 standard errors of the seed-averaged differences, with texts that are their own groups."""
    gaps = []
    home = found.in_domain[0]
    for seed in range(2):
        table, said, gold = rows_of(frame, folder, home.domain, home.domain, seed)
        gaps.append(table.max(axis=1) - (said == gold))
    groups = folder.split(TASK, home.domain, "test").sort("id")
    means = pl.DataFrame({"gap": np.mean(gaps, axis=0), "group": groups["group"]}).group_by("group").agg(pl.sum("gap"))
    error = means["gap"].std() * np.sqrt(len(means)) / len(groups)
    estimate = home.figures.overconfidence
    assert estimate.high - estimate.low == pytest.approx(2 * 1.97 * error, rel=0.2)  # type: ignore[operator]


def test_label_shift_is_what_reweighting_gives(frame: pl.DataFrame, folder: DatasetFolder) -> None:
    scores = score(frame, folder).tasks[0]
    assert scores.confidence is not None
    shift = next(each for each in scores.confidence.shifts if (each.source, each.target) == ("harbour", "orchard"))
    plain = next(each for each in scores.shifts if (each.source, each.target) == ("harbour", "orchard"))
    train = np.bincount(folder.split(TASK, "harbour", "train")["label"].to_numpy(), minlength=3)
    train = train / train.sum()
    adjusted, temperatures = [], []
    for seed in range(2):
        at_home, _, home_gold = rows_of(frame, folder, "harbour", "harbour", seed)
        temperatures.append(fit_temperature(at_home, home_gold))
        table, _, gold = rows_of(frame, folder, "harbour", "orchard", seed)
        chosen = adjust_to_prior(table, train, np.bincount(gold, minlength=3) / gold.size, temperatures[-1])
        adjusted.append(f1_score(gold, chosen.argmax(axis=1), average="macro"))
    assert shift.label_shift is not None
    parts = shift.label_shift
    assert parts.temperature == pytest.approx(np.mean(temperatures))
    assert parts.adjusted.value == pytest.approx(np.mean(adjusted), abs=1e-9)
    assert parts.label_shift.value == pytest.approx(np.mean(adjusted) - (plain.st.value or 0), abs=1e-9)
    assert (parts.label_shift.value or 0) + (parts.rest.value or 0) == pytest.approx(plain.td.value, abs=1e-9)
    assert parts.rest.low < parts.rest.value < parts.rest.high  # type: ignore[operator]


def test_confidences_alone(frame: pl.DataFrame, folder: DatasetFolder, found: Confidence) -> None:
    alone = score(frame.drop("probabilities"), folder).tasks[0].confidence
    assert alone is not None
    assert alone.given == "confidence"
    assert alone.mean_label_shift is None
    assert all(shift.label_shift is None for shift in alone.shifts)
    for one, other in zip(alone.shifts, found.shifts, strict=True):
        for name in ("overconfidence", "calibration_error", "failure_auroc", "excess_aurc"):
            assert getattr(one.figures, name).value == pytest.approx(getattr(other.figures, name).value, abs=1e-9)
        assert one.figures.brier.value < other.figures.brier.value  # type: ignore[operator]


def test_without_confidences_nothing_changes(frame: pl.DataFrame, folder: DatasetFolder, found: Confidence) -> None:
    plain = score(frame.drop("probabilities", "confidence"), folder)
    assert plain.tasks[0].confidence is None
    whole = score(frame, folder)
    assert whole.tasks[0].model_copy(update={"confidence": None}) == plain.tasks[0]


def test_an_unusable_output_is_sure_of_nothing(frame: pl.DataFrame, folder: DatasetFolder) -> None:
    one = frame.filter(pl.col("source") == "harbour", pl.col("seed") == 0)
    lost = pl.int_range(pl.len()) < 3
    broken = one.with_columns(
        prediction=pl.when(lost).then(pl.lit(UNPARSED)).otherwise("prediction"),
        probabilities=pl.when(lost).then(None).otherwise("probabilities"),
    )
    even = one.with_columns(
        prediction=pl.when(lost).then(pl.lit(UNPARSED)).otherwise("prediction"),
        probabilities=pl.when(lost).then(pl.lit([1 / 3] * 3)).otherwise("probabilities"),
    )
    scores = [score(each, folder).tasks[0].confidence for each in (broken, even)]
    assert scores[0] == scores[1]


def test_a_folder_that_withholds_labels_says_nothing(tmp_path: Path) -> None:
    build_synthetic(tmp_path / "data", n_train=90, n_test=30, withhold_labels=True)
    public, gold = (DatasetFolder.open(tmp_path / "data" / name) for name in ("public", "gold"))
    checked = check_predictions(confident(gold, seeds=1), [public.prediction_task(TASK)], "p")
    with pytest.raises(InvalidInput, match="withheld"):
        score_predictions(checked, public)


def test_curves_are_over_all_shifts(frame: pl.DataFrame, folder: DatasetFolder, found: Confidence) -> None:
    curves = found.curves_out
    assert curves is not None
    assert curves.confidence == tuple(sorted(curves.confidence))
    assert curves.coverage[-1] == 1
    errors = [1 - np.mean(np.equal(*rows_of(frame, folder, s.source, s.target, seed)[1:]))
              for s in found.shifts for seed in range(2)]  # fmt: skip
    assert curves.risk[-1] == pytest.approx(np.mean(errors))
