"""The spread of runs: against scikit-learn and scipy, and against simulated studies."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from baselines.results.run_spread import main, mean_interval, scores_by_run, smallest_difference
from builders.folder.reader import DatasetFolder

SOURCE = "harbour+kitchen+orchard"


def noisy_rows(folder: DatasetFolder, seed: int) -> pl.DataFrame:
    """Predict right, but for every fifth text or so."""
    names = np.array(folder.task("nli").labels)
    test = folder.test("nli").filter(domain="workshop")
    gold = test["label"].to_numpy()
    shifted = (gold + (np.random.default_rng(seed).random(len(gold)) < 0.2)) % len(names)
    return test.select("id", source=pl.lit(SOURCE), seed=pl.lit(seed), prediction=pl.Series(names[shifted]))


def test_scores_are_those_of_scikit_learn(synthetic: DatasetFolder) -> None:
    rows = pl.concat(noisy_rows(synthetic, seed) for seed in (3, 1))
    scores = scores_by_run(synthetic, rows)
    assert list(scores) == [1, 3]
    gold = dict(synthetic.test("nli").select("id", "label").iter_rows())
    for seed, score in scores.items():
        run = rows.filter(seed=seed)
        truth = [synthetic.task("nli").labels[gold[one]] for one in run["id"]]
        assert score == pytest.approx(f1_score(truth, run["prediction"], average="macro"))


def test_texts_of_the_sources_do_not_count(synthetic: DatasetFolder) -> None:
    rows = noisy_rows(synthetic, 0)
    home = synthetic.test("nli").filter(domain="harbour").select("id")
    wrong = home.select("id", source=pl.lit(SOURCE), seed=pl.lit(0), prediction=pl.lit("neutral"))
    assert scores_by_run(synthetic, pl.concat([rows, wrong])) == scores_by_run(synthetic, rows)


def test_an_answer_that_is_no_label_is_wrong(synthetic: DatasetFolder) -> None:
    rows = noisy_rows(synthetic, 0)
    names = synthetic.task("nli").labels
    none = rows.with_columns(
        prediction=pl.when(pl.col("prediction") == names[0]).then(pl.lit("__unparsed__")).otherwise("prediction")
    )
    assert 0 < scores_by_run(synthetic, none)[0] < scores_by_run(synthetic, rows)[0]


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
    files = [tmp_path / name for name in ("pooled.parquet", "method.parquet", "again/method.parquet")]
    (tmp_path / "again").mkdir()
    for number, path in enumerate(files):
        seeds = range(5 * number, 5 * number + 5)
        rows = pl.concat(noisy_rows(synthetic, seed).with_columns(seed=pl.lit(seed % 5)) for seed in seeds)
        rows.write_parquet(path)
    main(synthetic.path, files)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "smallest detectable difference in points, 5 runs each:",
        "  4.0 (planned standard deviation 2.0)",
    ]
    assert [line.split(":")[0] for line in lines[3:]] == ["pooled", *["method", "  minus pooled, by seed"] * 2]
