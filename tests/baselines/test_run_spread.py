"""The spread of runs: against scikit-learn and scipy, and against simulated studies."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from shiftbench.baselines.results.run_spread import (
    compared_runs,
    main,
    mean_interval,
    scores_by_run,
    smallest_difference,
)
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import UNPARSED

SOURCE = "harbour+kitchen+orchard"


def noisy_rows(folder: DatasetFolder, seed: int) -> pl.DataFrame:
    """Predict right, but for every fifth text or so."""
    names = np.array(folder.task("nli").labels)
    test = folder.test("nli").filter(domain="workshop")
    gold = test["label"].to_numpy()
    shifted = (gold + (np.random.default_rng(seed).random(len(gold)) < 0.2)) % len(names)
    return test.select("id", source=pl.lit(SOURCE), seed=pl.lit(seed), prediction=pl.Series(names[shifted]))


def noisy_runs(folder: DatasetFolder, *seeds: int) -> pl.DataFrame:
    return pl.concat(noisy_rows(folder, seed) for seed in seeds)


def written(rows: pl.DataFrame, path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    rows.write_parquet(path)
    return path


def test_scores_are_those_of_scikit_learn(synthetic: DatasetFolder, tmp_path: Path) -> None:
    rows = noisy_runs(synthetic, 3, 1).with_columns(
        prediction=pl.when(pl.int_range(pl.len()) % 7 == 0).then(pl.lit(UNPARSED)).otherwise("prediction")
    )
    runs = scores_by_run(synthetic, written(rows, tmp_path / "a.parquet"))
    assert (runs.task, runs.source, runs.targets, list(runs.scores)) == ("nli", SOURCE, "workshop", [1, 3])
    labels = synthetic.task("nli").labels
    gold = dict(synthetic.test("nli").select("id", "label").iter_rows())
    for seed, score in runs.scores.items():
        run = rows.filter(seed=seed)
        truth = [labels[gold[one]] for one in run["id"]]
        assert score == pytest.approx(f1_score(truth, run["prediction"], average="macro", labels=labels))


def test_texts_of_the_sources_do_not_count(synthetic: DatasetFolder, tmp_path: Path) -> None:
    rows = noisy_runs(synthetic, 0, 1)
    home = synthetic.test("nli").filter(domain="harbour").select("id")
    wrong = home.select("id", source=pl.lit(SOURCE), seed=pl.lit(0), prediction=pl.lit("neutral"))
    with_home = scores_by_run(synthetic, written(pl.concat([rows, wrong]), tmp_path / "home.parquet"))
    assert with_home == scores_by_run(synthetic, written(rows, tmp_path / "away.parquet"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows.head(0), "the file holds no predictions"),
        (lambda rows: rows.filter(seed=0), "at least two runs on domains other than the source; found 1 seed"),
        (lambda rows: rows.with_columns(source=pl.lit("workshop")), "other than the source; found 0 seeds"),
        (lambda rows: pl.concat([rows, rows.head(2)]), "an id is repeated"),
        (lambda rows: rows.slice(1), "test ids are missing; found"),
        (
            lambda rows: pl.concat([rows, rows.with_columns(source=pl.lit("harbour"))]),
            "runs must have one source; found",
        ),
        (lambda rows: rows.with_columns(prediction=pl.lit("maybe")), "a label is unknown; found 'maybe'"),
        (lambda rows: rows.with_columns(confidence=pl.lit(float("nan"))), "a confidence is not a number; found nan"),
    ],
)
def test_a_file_that_is_not_sound_is_refused(
    synthetic: DatasetFolder, tmp_path: Path, change: Callable[[pl.DataFrame], pl.DataFrame], words: str
) -> None:
    path = written(change(noisy_runs(synthetic, 0, 1)), tmp_path / "runs.parquet")
    with pytest.raises(InvalidInput, match=words) as refused:
        scores_by_run(synthetic, path)
    assert str(path) in str(refused.value)


def test_seeds_on_different_domains_are_refused(synthetic: DatasetFolder, tmp_path: Path) -> None:
    rows = noisy_runs(synthetic, 0, 1).with_columns(source=pl.lit("harbour"))
    more = synthetic.test("nli").filter(domain="kitchen").select("id", source=pl.lit("harbour"))
    more = more.with_columns(seed=pl.lit(1), prediction=pl.lit("neutral"))
    path = written(pl.concat([rows, more]), tmp_path / "runs.parquet")
    with pytest.raises(InvalidInput, match="different domains; found kitchen, workshop and workshop; predict the same"):
        scores_by_run(synthetic, path)


def test_a_task_without_labels_is_refused(kinds: DatasetFolder, tmp_path: Path) -> None:
    test = kinds.test("tags").with_columns(prediction=pl.col("tokens").list.eval(pl.lit("O")))
    rows = pl.concat(test.select("id", "prediction", source=pl.lit("none"), seed=pl.lit(seed)) for seed in (0, 1))
    with pytest.raises(InvalidInput, match=r"a task of labels; found 'tags' \(tagging\); .*'shiftbench score'"):
        scores_by_run(kinds, written(rows, tmp_path / "tags.parquet"))


def test_files_that_cannot_be_compared_are_refused(synthetic: DatasetFolder, tmp_path: Path) -> None:
    first = written(noisy_runs(synthetic, 0, 1), tmp_path / "first.parquet")
    other = written(noisy_runs(synthetic, 1, 2), tmp_path / "other.parquet")
    with pytest.raises(InvalidInput, match=r"other.parquet: not the seeds of the first file; found 1, 2; .* has 0, 1:"):
        compared_runs(synthetic, [first, other])
    outside = noisy_runs(synthetic, 0, 1).with_columns(source=pl.lit("none"))
    with pytest.raises(InvalidInput, match="not the source of the first file; found none"):
        compared_runs(synthetic, [first, written(outside, tmp_path / "outside.parquet")])
    with pytest.raises(InvalidInput, match="told apart by name; found 'first' twice"):
        compared_runs(synthetic, [first, written(noisy_runs(synthetic, 0, 1), tmp_path / "new" / "first.parquet")])


def test_the_interval_is_students() -> None:
    values = np.array([0.4, -1.1, 0.9, 0.3, 1.6])
    expected = stats.ttest_1samp(values, 0).confidence_interval()
    assert mean_interval(values) == pytest.approx((values.mean(), expected.low, expected.high))


def test_a_difference_of_that_size_is_found_in_four_of_five_studies() -> None:
    draws = np.random.default_rng(0).normal(size=(2, 4_000, 5))
    draws[0] += smallest_difference(1.0, 5)
    assert np.mean(stats.ttest_ind(*draws, axis=1).pvalue < 0.05) == pytest.approx(0.8, abs=0.02)


def test_the_smallest_difference_is_printed_first(
    synthetic: DatasetFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name, seeds in {"pooled": range(5), "method": range(5, 10)}.items():
        rows = noisy_runs(synthetic, *seeds).with_columns(seed=pl.col("seed") % 5)
        files.append(written(rows, tmp_path / f"{name}.parquet"))
    main(synthetic.path, files)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "smallest detectable difference in points, 5 runs each:",
        "  4.0 (planned standard deviation 2.0)",
    ]
    assert [line.split(":")[0] for line in lines[3:]] == ["pooled", "method", "  minus pooled, by seed"]
