"""Models trained on none of the domains against trained ones: score under shift over the same targets, and no drops."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.comparing.entries import compare_with_first
from shiftbench.scoring.comparing.files import Entrant, compare_entrants
from shiftbench.scoring.comparing.shape import TRAINED_MODELS, Comparison, mirror_comparison
from shiftbench.scoring.comparing.words import sentence
from tests.leaderboard.conftest import Filled, predict
from tests.leaderboard.id_folder import id_predictions
from tests.leaderboard.repeated import build_repeating_folder
from tests.scoring.comparing.test_entries import sides


def compared(folder: DatasetFolder, a: pl.DataFrame, b: pl.DataFrame, root: Path) -> Comparison:
    paths = [root / "a.parquet", root / "b.parquet"]
    for frame, path in zip((a, b), paths, strict=True):
        frame.write_parquet(path)
    return compare_entrants(*(Entrant(path, folder) for path in paths))


def test_a_zero_shot_model_is_compared_by_what_the_board_ranks_by(
    filled: Filled, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    (pair,) = compare_with_first(sides(filled, "good", "zero-shot"), filled.folder, Store(tmp_path))
    means = [
        filled.store.scores(filled.entries[name], filled.folder).tasks[0].summary.mean_st.value
        for name in ("good", "zero-shot")
    ]
    assert [mean.difference.figure for mean in pair.means] == ["mean ST"]
    assert pair.means[0].difference.value == pytest.approx(means[0] - means[1], abs=1e-9)
    assert (pair.only_a, pair.only_b) == ((), ())
    assert len(pair.shifts) == 12
    for shift in pair.shifts:
        assert shift.differences[0].p is not None
        assert [(each.value, each.p) for each in shift.differences[1:]] == [(None, None)] * 2
    assert sentence(pair, ("Good", "Zero"), "synthetic") == wording
    assert (mirror_comparison(pair).tasks[0].outside, pair.tasks[0].outside) == ("a", "b")


def test_p_is_near_that_of_exchanging_all_runs_of_a_group_at_once(tmp_path: Path) -> None:
    """Compare with the swap test: per target, each group's contribution gets a random sign."""
    build_repeating_folder(tmp_path / "data", 0.0)
    folder = DatasetFolder.open(tmp_path / "data")
    domains = list(folder.task("tales").domains)
    a, b = predict(folder, domains, 0.2, "tales"), predict(folder, ["none"], 0.18, "tales")
    rng = np.random.default_rng(5)
    keep = pl.Series(rng.random(len(b)) < 0.9)  # other errors than A's
    labels = list(folder.task("tales").labels)
    b = b.with_columns(prediction=pl.when(keep).then("prediction").otherwise(pl.lit(labels[0])))
    found = compared(folder, a, b, tmp_path).means[0].difference
    pieces, variances = [], []
    for target in domains:
        gold = folder.split("tales", target, "test").select("id", "group", right=pl.col("label").cast(pl.Int64))
        right = {
            name: gold.join(frame, on="id").with_columns(
                hit=pl.col("prediction").replace_strict(labels, range(len(labels))) == pl.col("right")
            )
            for name, frame in (("a", a.filter(pl.col("source") != target)), ("b", b))
        }
        by_text = {name: frame.group_by("id", "group").agg(pl.col("hit").mean()) for name, frame in right.items()}
        both = by_text["a"].join(by_text["b"], on=["id", "group"])
        moved = both.group_by("group").agg(d=(pl.col("hit") - pl.col("hit_right")).sum() / len(gold) / len(domains))
        pieces.append(moved["d"].to_numpy())
        sizes = both.group_by("group", maintain_order=True).agg(
            n=pl.len() / len(gold), d=(pl.col("hit") - pl.col("hit_right")).sum()
        )
        apart = (sizes["d"] / len(gold) / len(domains)).to_numpy()
        centred = apart - sizes["n"].to_numpy() * apart.sum()
        variances.append(len(centred) / (len(centred) - 1) * (centred**2).sum())
    moves = np.concatenate(pieces)
    drawn = np.abs(rng.choice([-1.0, 1.0], size=(20_000, moves.size)) @ moves)
    p = (1 + (drawn >= abs(moves.sum()) - 1e-12).sum()) / 20_001
    assert found.value == pytest.approx(moves.sum(), abs=1e-9)
    assert 0.001 < p < 0.9
    assert p / 2 < found.p < 2 * p
    assert (found.high - found.low) / 2 / 1.98 == pytest.approx(np.sqrt(sum(variances)), rel=0.1)


def test_equal_predictions_are_a_tie_and_more_runs_say_nothing_of_recipes(
    id_folder: DatasetFolder, tmp_path: Path
) -> None:
    trained = id_predictions(id_folder, "sa", "amazon", seeds=range(5))
    zero = trained.with_columns(source=pl.lit("none"))
    pair = compared(id_folder, trained, zero, tmp_path)
    (mean,) = pair.means
    assert mean.difference.figure == "mean OOD"
    assert (mean.difference.value, mean.difference.p) == pytest.approx((0.0, 1.0))
    (facts,) = pair.tasks
    assert (facts.about, facts.runs_a, facts.runs_b, facts.runs_needed) == (TRAINED_MODELS, 5, 5, None)


def test_models_trained_elsewhere_meet_zero_shot_ones(synthetic: DatasetFolder, tmp_path: Path) -> None:
    a, b = predict(synthetic, ["elsewhere"], 0.1), predict(synthetic, ["none"], 0.4)
    pair = compared(synthetic, a, b, tmp_path)
    assert pair.tasks[0].outside == "b"
    assert {shift.source for shift in pair.shifts} == {"elsewhere"}
    assert pair.means[0].difference.value > 0.05


def test_targets_that_one_of_them_lacks_are_left_out(synthetic: DatasetFolder, tmp_path: Path) -> None:
    domains = list(synthetic.task("nli").domains)
    ids = synthetic.split("nli", domains[0], "test")["id"].implode()
    zero = predict(synthetic, ["none"], 0.2).filter(~pl.col("id").is_in(ids))
    pair = compared(synthetic, predict(synthetic, domains, 0.1), zero, tmp_path)
    assert {shift.target for shift in pair.shifts} == set(domains[1:])
    assert len(pair.only_a) == 3
    assert pair.only_b == ()
