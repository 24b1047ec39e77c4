"""Claims of a comparison: about recipes with five runs or more, otherwise about trained models; no drops at chance."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.comparing.files import Entrant, compare_entrants
from shiftbench.scoring.comparing.shape import RECIPES, TRAINED_MODELS, Comparison, Difference, winner
from shiftbench.scoring.comparing.words import about_lines, sentence
from shiftbench.scoring.reports.comparison import csv_table
from shiftbench.scoring.reports.plain_tables import as_markdown
from shiftbench.scoring.reports.terminal import comparison_lines
from shiftbench.scoring.scores.score import score_file

RECIPE_WORDS = ("more robust", "recipe")


def runs(folder: DatasetFolder, errors: float, n_runs: int, seed: int = 0, sd: float = 0.0) -> pl.DataFrame:
    """Simulate runs of every source with an error rate, doubled out of domain; ``sd`` is that between runs."""
    rng = np.random.default_rng(seed)
    labels = np.array(folder.task("nli").labels)
    parts = []
    for source in folder.task("nli").domains:
        for run in range(n_runs):
            share = errors + sd * rng.normal()
            for target in folder.task("nli").domains:
                rows = folder.split("nli", target, "test").sort("id")
                wrong = rng.random(len(rows)) < share * (1 if source == target else 1.5)
                codes = (rows["label"].to_numpy() + wrong) % len(labels)
                columns = {"source": pl.lit(source), "seed": pl.lit(run), "prediction": pl.Series(labels[codes])}
                parts.append(rows.select("id", **columns))
    return pl.concat(parts)


def constant(folder: DatasetFolder) -> pl.DataFrame:
    rows = pl.concat(folder.split("nli", target, "test") for target in folder.task("nli").domains)
    label = folder.task("nli").labels[0]
    return pl.concat(
        rows.select("id", source=pl.lit(source), prediction=pl.lit(label)) for source in folder.task("nli").domains
    )


def compared(folder: DatasetFolder, root: Path, *frames: pl.DataFrame) -> Comparison:
    paths = [root / f"{name}.parquet" for name in "ab"]
    for path, frame in zip(paths, frames, strict=True):
        frame.write_parquet(path)
    return compare_entrants(*(Entrant(path, folder, name=path.stem) for path in paths))


def everything(pair: Comparison) -> str:
    """Concatenate all text about a comparison."""
    names = ("First", "Second")
    parts = [sentence(pair, names, "dr"), *about_lines([pair]), *(task.runs_missing for task in pair.tasks)]
    parts += [as_markdown(comparison_lines([pair])), csv_table([pair], names)]
    return "\n".join([*parts, pair.model_dump_json()])


def test_five_runs_on_both_sides_speak_of_recipes_and_use_all_runs(
    synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    pair = compared(synthetic, tmp_path, runs(synthetic, 0.05, 5), runs(synthetic, 0.25, 6, seed=1))
    (task,) = pair.tasks
    assert (task.about, task.runs_a, task.runs_b, pair.about) == (RECIPES, 5, 6, RECIPES)
    assert {shift.runs for shift in pair.shifts} == {5}
    ranked = pair.means[0]
    assert ranked.ranked
    assert winner(ranked.difference) == "a"
    scores = [score_file(tmp_path / f"{name}.parquet", synthetic).tasks[0].summary for name in "ab"]
    assert ranked.difference.value == pytest.approx(scores[0].mean_st.value - scores[1].mean_st.value, abs=1e-12)
    drop = pair.means[1].difference

    assert drop.value == pytest.approx(scores[0].average_drop.value - scores[1].average_drop.value, abs=1e-12)
    assert sentence(pair, ("First", "Second"), "dr") == wording
    assert TRAINED_MODELS not in everything(pair)


def test_better_on_average_stands_beside_both_counts_of_failed_runs(
    synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    """Simulate a failed run of A (of five per source): it is counted, and its share is bounded above."""
    a = runs(synthetic, 0.05, 5)
    first = next(iter(synthetic.task("nli").domains))
    worse = runs(synthetic, 0.45, 1, seed=2).filter(pl.col("source") == first)
    a = pl.concat([a.filter((pl.col("source") != first) | (pl.col("seed") != 0)), worse])
    pair = compared(synthetic, tmp_path, a, runs(synthetic, 0.25, 5, seed=1))
    (task,) = pair.tasks
    assert task.failures_a is not None
    assert task.failures_b is not None
    assert (task.failures_a.n_failed, task.failures_a.n_runs, task.failures_b.n_failed) == (1, 20, 0)
    assert task.failures_a.share_at_most == pytest.approx(0.2161, abs=1e-4)  # Clopper-Pearson, from tables
    assert [sentence(pair, ("First", "Second"), "dr"), *about_lines([pair])] == wording
    assert sum(len(source.scores) for source in task.run_scores_a) == 20


def test_runs_that_differ_are_no_difference_of_recipes(synthetic: DatasetFolder, tmp_path: Path) -> None:
    pair = compared(synthetic, tmp_path, runs(synthetic, 0.2, 5, 3, 0.08), runs(synthetic, 0.2, 5, 4, 0.08))
    trained = compared(synthetic, tmp_path, *(runs(synthetic, 0.2, 4, seed, 0.08) for seed in (3, 4)))
    assert pair.means[0].difference.p is not None
    assert pair.means[0].difference.p > 0.01
    assert trained.tasks[0].about == TRAINED_MODELS


@pytest.mark.parametrize("n_runs", [(1, 1), (4, 9), (5, 4)])
def test_fewer_runs_speak_of_these_trained_models_everywhere(
    synthetic: DatasetFolder, tmp_path: Path, n_runs: tuple[int, int]
) -> None:
    pair = compared(synthetic, tmp_path, runs(synthetic, 0.05, n_runs[0]), runs(synthetic, 0.25, n_runs[1], 1))
    assert winner(pair.means[0].difference) == "a"
    without = everything(pair).replace("claims about recipes need", "")
    assert not [word for word in RECIPE_WORDS if word in without]
    (task,) = json.loads(pair.model_dump_json())["tasks"]
    assert (task["about"], task["runs_needed"]) == (TRAINED_MODELS, 5)
    assert Comparison.model_validate_json(pair.model_dump_json()) == pair


def test_a_constant_predictor_wins_no_drop(
    synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    pair = compared(synthetic, tmp_path, constant(synthetic), runs(synthetic, 0.1, 1))
    assert pair.tasks[0].at_floor == "a"
    assert winner(pair.means[0].difference) == "b"
    drops = [each for shift in pair.shifts for each in shift.differences[1:]]
    drops += [mean.difference for mean in pair.means if mean.difference.figure == "average drop"]
    assert {(each.at_floor, each.p, each.p_corrected, winner(each)) for each in drops} == {("a", None, None, None)}
    # The drops are shown anyway, and they favour this entry.
    assert all(each.value is not None and each.value < 0.1 for each in drops)
    assert sentence(pair, ("Constant", "Model"), "dr") == wording
    lines = as_markdown(comparison_lines([pair])).splitlines()
    (ranked,) = [line for line in lines if "(ranked by)" in line]
    assert "A is at chance" in ranked


def test_older_comparisons_are_read() -> None:
    old = {"figure": "TD", "value": -0.1, "p": 0.001, "p_holm": 0.01}
    shift = {"task": "nli", "source": "x", "target": "y", "n": 9, "runs": 1, "differences": [old]}
    facts = {"a": "a", "b": "b", "data": "d", "subset": "all", "metric_version": "4", "n_swaps": 100_000, "seed": 0}
    pair = Comparison.model_validate({**facts, "shifts": [shift], "only_a": [], "only_b": []})
    difference: Difference = pair.shifts[0].differences[0]
    assert difference.p_corrected == 0.01
    assert winner(difference) == "a"
    assert len(about_lines([pair])) == 1
