"""Scores against simple scikit-learn loops over the same predictions."""

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, f1_score
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.assembling.assemble import AssembledTask
from shiftbench.builders.building.synthetic import SA
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.writing.writer import write_folder
from shiftbench.metrics.depth import LAMBDAS
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import Scores, TaskScores
from shiftbench.validation.report import InvalidInput
from tests.close_figures import assert_close
from tests.refusals import refusal


def noisy(folder: DatasetFolder, task: str, sources: list[str], seeds: tuple[int, ...] = (0,)) -> pl.DataFrame:
    """Predict gold labels with errors, more of them out of domain."""
    rng = np.random.default_rng(5)
    info = folder.task(task)
    parts = []
    for source in sources:
        for target in info.domains:
            rows = folder.split(task, target, "test")
            for seed in seeds:
                wrong = rng.random(len(rows)) < (0.2 if target in source.split("+") else 0.4)
                codes = np.where(wrong, rng.integers(0, len(info.labels) + 1, len(rows)), rows["label"].to_numpy())
                names = [(*info.labels, "__unparsed__")[code] for code in codes]
                parts.append(rows.select("id", source=pl.lit(source), prediction=pl.Series(names), seed=pl.lit(seed)))
    return pl.concat(parts).select("source", "id", "prediction", "seed")


def scored(folder: DatasetFolder, frame: pl.DataFrame, tmp_path: Path, subset: str = "all") -> Scores:
    frame.write_parquet(tmp_path / "preds.parquet")
    return score_file(tmp_path / "preds.parquet", folder, subset)


def plain_score(folder: DatasetFolder, frame: pl.DataFrame, source: str, target: str, seed: int) -> float:
    gold = folder.split("nli", target, "test")
    rows = gold.join(frame.filter(source=source, seed=seed), on="id")
    labels = list(folder.task("nli").labels)
    names = [labels[code] for code in rows["label"]]
    return float(f1_score(names, rows["prediction"].to_list(), labels=labels, average="macro", zero_division=0))


@pytest.fixture(scope="module")
def domains(synthetic: DatasetFolder) -> list[str]:
    return list(synthetic.task("nli").domains)


@pytest.fixture(scope="module")
def grid(
    synthetic: DatasetFolder, domains: list[str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[pl.DataFrame, TaskScores]:
    frame = noisy(synthetic, "nli", domains, seeds=(0, 1))
    return frame, scored(synthetic, frame, tmp_path_factory.mktemp("grid")).tasks[0]


def test_every_score_is_the_mean_over_seeds(
    synthetic: DatasetFolder, domains: list[str], grid: tuple[pl.DataFrame, TaskScores]
) -> None:
    frame, task = grid
    assert len(task.shifts) == 12
    assert len(task.in_domain) == 4
    for shift in task.shifts:
        expected = np.mean([plain_score(synthetic, frame, shift.source, shift.target, seed) for seed in (0, 1)])
        assert shift.st.value == pytest.approx(expected, abs=1e-12)
        assert (shift.n, shift.runs) == (60, 2)
    for item in task.in_domain:
        expected = np.mean([plain_score(synthetic, frame, item.domain, item.domain, seed) for seed in (0, 1)])
        assert item.score.value == pytest.approx(expected, abs=1e-12)


def test_drops_add_up(grid: tuple[pl.DataFrame, TaskScores]) -> None:
    _, task = grid
    for shift in task.shifts:
        assert shift.sd.value == pytest.approx(shift.td.value + shift.idd.value, abs=1e-12)
    summary = task.summary
    assert summary.complete
    assert summary.mean_sd.value == pytest.approx(summary.average_drop.value, abs=1e-12)
    assert summary.mean_td.value == pytest.approx(summary.average_drop.value, abs=1e-12)


def test_depth_scores_from_the_shipped_tables(synthetic: DatasetFolder, grid: tuple[pl.DataFrame, TaskScores]) -> None:
    """Recompute depth F1 and the depth-weighted drops of each shift from the tables' published weights."""
    frame, task = grid
    labels = list(synthetic.task("nli").labels)
    for shift in task.shifts:
        table = synthetic.depth("nli", shift.source, shift.target).drop_nulls("weight")
        gold = synthetic.split("nli", shift.target, "test").join(table, on="id")
        for lambda_ in LAMBDAS:
            kept = gold.sort("depth").head(int(np.ceil(len(gold) * (100 - lambda_) / 100)))
            kept = gold.filter(pl.col("depth") <= kept["depth"].max())
            names = [labels[code] for code in kept["label"]]

            def by_run(
                source: str, seed: int, kept: pl.DataFrame = kept, names: list[str] = names
            ) -> tuple[float, float]:
                rows = frame.filter(source=source, seed=seed)
                predicted = kept.join(rows, on="id", maintain_order="left")["prediction"].to_list()
                weights = kept["weight"].to_numpy()
                macro = f1_score(
                    names, predicted, labels=labels, average=None, zero_division=np.nan, sample_weight=weights
                )
                return accuracy_score(names, predicted, sample_weight=weights), float(np.nanmean(macro))

            st = np.mean([by_run(shift.source, seed) for seed in (0, 1)], axis=0)
            tt = np.mean([by_run(shift.target, seed) for seed in (0, 1)], axis=0)
            key = str(lambda_)
            assert shift.depth_f1[key].value == pytest.approx(st[0], abs=1e-12)
            assert shift.depth_score[key].value == pytest.approx(st[1], abs=1e-12)
            assert shift.depth_td[key].value == pytest.approx(tt[1] - st[1], abs=1e-12)
            assert shift.depth_sd[key].value == pytest.approx(shift.ss.value - st[1], abs=1e-12)
            weights = kept["weight"].to_numpy()
            assert shift.effective_n[key] == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_unusable_output_is_counted_and_shown(synthetic: DatasetFolder, domains: list[str], tmp_path: Path) -> None:
    frame = noisy(synthetic, "nli", domains).with_columns(prediction=pl.lit("__unparsed__"))
    task = scored(synthetic, frame, tmp_path).tasks[0]
    assert task.summary.unparsed == 1.0
    assert task.summary.mean_st.value == 0.0
    assert {shift.scenario for shift in task.shifts} == {"Tie"}


def test_partial_grid_is_scored_and_what_is_missing_named(
    synthetic: DatasetFolder, domains: list[str], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    first, second = domains[:2]
    frame = noisy(synthetic, "nli", [first])
    scores = scored(synthetic, frame.filter(~pl.col("id").str.contains(f"/{second}/")), tmp_path)
    task = scores.tasks[0]
    assert [(shift.source, shift.target) for shift in task.shifts] == [(first, domain) for domain in domains[2:]]
    assert all(
        shift.scenario == "Unknown" and shift.tt.value is None and shift.sd.value is not None for shift in task.shifts
    )
    assert task.summary.average_drop.value is None
    assert not task.summary.complete
    assert [(item.task, item.source, item.target, item.what) for item in scores.missing] == wording


def test_joined_source(synthetic: DatasetFolder, domains: list[str], tmp_path: Path) -> None:
    joined = "+".join(domains[:2])
    frame = noisy(synthetic, "nli", [*domains, joined])
    task = scored(synthetic, frame, tmp_path).tasks[0]
    shifts = [shift for shift in task.shifts if shift.source == joined]
    assert [shift.target for shift in shifts] == domains[2:]
    own = [plain_score(synthetic, frame, joined, part, 0) for part in domains[:2]]
    for shift in shifts:
        assert shift.ss.value == pytest.approx(np.mean(own), abs=1e-12)
        assert shift.tt.value == pytest.approx(plain_score(synthetic, frame, shift.target, shift.target, 0), abs=1e-12)
        assert set(shift.depth_f1) == {str(lambda_) for lambda_ in LAMBDAS}
    alone = scored(synthetic, frame.filter(pl.col("source") != joined), tmp_path).tasks[0]
    # Intervals pool the test sets' properties over all of a task's models.
    assert task.summary.mean_st.value == pytest.approx(alone.summary.mean_st.value)
    assert task.summary.mean_st.low == pytest.approx(alone.summary.mean_st.low, abs=0.02)
    assert task.summary.n_shifts == 12


def test_older_depth_tables_still_score_joined_sources_and_say_so(
    synthetic: DatasetFolder, domains: list[str], tmp_path: Path
) -> None:
    """Check scores of builder 0.1.0's folders, which wrote no train texts of the target into depth tables."""
    older = DatasetFolder.open(Path(shutil.copytree(synthetic.path, tmp_path / "older")))
    manifest = older.manifest.model_copy(update={"target_train_depths": False})
    older = DatasetFolder(older.path, manifest)
    for path in older.path.glob("depth/nli/*.parquet"):
        table = pl.read_parquet(path)
        source, target = path.stem.split("--")
        is_theirs = pl.col("id").str.contains(f"/{target}/train/") & (source != target)
        table.filter(~is_theirs).write_parquet(path)
    joined = "+".join(domains[:2])
    frame = noisy(synthetic, "nli", [joined])
    then, now = scored(older, frame, tmp_path), scored(synthetic, frame, tmp_path)
    said = "the deepest text of this joined source is the mean of its parts' deepest ones"
    assert any(gap.source == joined and gap.what.startswith(said) for gap in then.missing)
    assert not any(gap.what.startswith(said) for gap in now.missing)
    assert then.tasks[0].shifts[0].st == now.tasks[0].shifts[0].st
    assert then.tasks[0].shifts[0].depth_f1["0"] != now.tasks[0].shifts[0].depth_f1["0"]


def test_depth_f1_of_a_joined_source_weighs_by_the_pools_deepest_text(
    synthetic: DatasetFolder, domains: list[str], tmp_path: Path
) -> None:
    joined, target = "+".join(domains[:2]), domains[2]
    frame = noisy(synthetic, "nli", [joined])
    shift = next(shift for shift in scored(synthetic, frame, tmp_path).tasks[0].shifts if shift.target == target)
    sizes = [len(synthetic.split("nli", part, "train")) for part in domains[:2]]
    gold = synthetic.split("nli", target, "test").sort("id")
    tables = [gold.select("id").join(synthetic.depth("nli", part, target), on="id") for part in domains[:2]]
    depth = np.average([table["depth"].to_numpy() for table in tables], axis=0, weights=sizes)
    deepest = synthetic.deepest_of_pool("nli", domains[:2])
    assert deepest is not None
    weights = np.maximum(0, deepest - depth)
    labels = np.array(synthetic.task("nli").labels)
    predicted = gold.select("id").join(frame, on="id", maintain_order="left")["prediction"].to_numpy()
    expected = np.average(predicted == labels[gold["label"].to_numpy()], weights=weights)
    assert shift.depth_f1["0"].value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("source", "basis"), [("none", "zero-shot"), ("elsewhere", "elsewhere")])
def test_models_of_no_domain_have_scores_and_no_drops(
    synthetic: DatasetFolder, tmp_path: Path, source: str, basis: str
) -> None:
    scores = scored(synthetic, noisy(synthetic, "nli", [source]), tmp_path)
    task = scores.tasks[0]
    assert task.summary.basis == basis
    assert len(task.shifts) == 4
    assert all(shift.scenario == "Unknown" and shift.ss.value is None for shift in task.shifts)
    assert task.summary.mean_st.value == pytest.approx(np.mean([shift.st.value for shift in task.shifts]))
    assert [item for item in scores.missing if item.task == "nli"] == []


def test_subset(synthetic: DatasetFolder, domains: list[str], tmp_path: Path, wording: SnapshotAssertion) -> None:
    chosen = synthetic.subset("nli", "fewshot")["id"]
    frame = noisy(synthetic, "nli", domains[:3])
    scores = scored(synthetic, frame.filter(pl.col("id").is_in(chosen.implode())), tmp_path, "fewshot")
    assert scores.subset == "fewshot"
    assert {shift.target for shift in scores.tasks[0].shifts} == set(domains[:3])
    assert [
        refusal(InvalidInput, scored, synthetic, frame, tmp_path, subset) for subset in ("fewshot", "tiny")
    ] == wording


def test_scores_are_the_same_whatever_the_row_order(
    synthetic: DatasetFolder, domains: list[str], tmp_path: Path
) -> None:
    frame = noisy(synthetic, "nli", domains, seeds=(0, 3))
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    assert_close(scored(synthetic, shuffled, tmp_path), scored(synthetic, frame, tmp_path))


def test_runs_on_some_targets_only_are_named_and_left_out(
    synthetic: DatasetFolder, domains: list[str], tmp_path: Path
) -> None:
    """Check that a seed with only in-domain predictions does not change SS, and hence every SD of the source."""
    home = domains[0]
    frame = noisy(synthetic, "nli", domains)
    extra = frame.filter(pl.col("source") == home, pl.col("id").str.contains(f"/{home}/")).with_columns(
        seed=pl.lit(7), prediction=pl.lit("neutral")
    )
    plain = scored(synthetic, frame, tmp_path)
    mixed = scored(synthetic, pl.concat([frame, extra.with_columns(pl.col("seed").cast(pl.Int32))]), tmp_path)
    assert_close(mixed.tasks[0].summary, plain.tasks[0].summary)
    for shift, before in zip(mixed.tasks[0].shifts, plain.tasks[0].shifts, strict=True):
        assert_close((shift.sd, shift.td, shift.runs), (before.sd, before.td, before.runs))
    said = {(item.source, item.target) for item in mixed.missing if "seed 7" in item.what}
    assert said == {(home, target) for target in domains[1:]}


def test_a_source_of_one_train_text_has_scores_and_no_depths(
    synthetic: DatasetFolder, domains: list[str], tmp_path: Path
) -> None:
    small = domains[0]
    info = synthetic.task("nli")
    facts = info.domains[small]
    few = facts.model_copy(
        update={"splits": facts.splits | {"train": facts.splits["train"].model_copy(update={"rows": 1})}}
    )
    task = info.model_copy(update={"domains": info.domains | {small: few}})
    manifest = synthetic.manifest.model_copy(update={"tasks": synthetic.manifest.tasks | {"nli": task}})
    scores = scored(DatasetFolder(synthetic.path, manifest), noisy(synthetic, "nli", domains), tmp_path)
    shifts = scores.tasks[0].shifts
    assert {shift.source for shift in shifts if not shift.depth_f1} == {small}
    assert len([item for item in scores.missing if item.source == small]) == 3


def test_shifts_whose_scenario_is_unknown_count_neither_way(
    synthetic: DatasetFolder, domains: list[str], tmp_path: Path
) -> None:
    summary = scored(synthetic, noisy(synthetic, "nli", [domains[0]]), tmp_path).tasks[0].summary
    assert summary.scenario_shares["Classic"] is None
    assert summary.resolved_share is None


def test_gaps_of_a_subset_are_those_of_its_domains(
    synthetic: DatasetFolder, domains: list[str], tmp_path: Path
) -> None:
    chosen = synthetic.subset("nli", "fewshot")
    covered = sorted(set(synthetic.test("nli", "fewshot")["domain"]))
    assert len(covered) < len(domains)
    frame = noisy(synthetic, "nli", covered).join(chosen, on="id", how="semi")
    scores = scored(synthetic, frame, tmp_path, subset="fewshot")
    assert scores.tasks[0].domains == tuple(covered)
    assert scores.tasks[0].summary.complete
    assert not [item for item in scores.missing if item.task == "nli"]


def test_a_task_of_one_domain_has_its_in_domain_score_and_no_drop(synthetic: DatasetFolder, tmp_path: Path) -> None:
    """Check a partial build, which may have a single domain of a task."""
    alone = AssembledTask(
        SA,
        {"lamps": {split: synthetic.split("sa", "lamps", split) for split in ("train", "test")}},
        {"lamps": ("generated",)},
        subsets={"all": synthetic.split("sa", "lamps", "test").select("id")},
    )
    facts = {"seed": 0, "partial": True, "synthetic": True, "encoder": None}
    write_folder(tmp_path / "one", [alone], synthetic.manifest.sources, title="one", **facts)  # type: ignore[arg-type]
    folder = DatasetFolder.open(tmp_path / "one")
    (task,) = scored(folder, noisy(folder, "sa", ["lamps"]), tmp_path).tasks
    assert task.summary.mean_ss.value == task.in_domain[0].score.value
    assert task.summary.n_shifts == 0
    assert task.summary.average_drop.value is None
    assert not task.summary.complete
