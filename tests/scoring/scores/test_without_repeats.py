"""Scores and drops, excluding test texts that repeat a train text of their own domain."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.report_page import task_report
from shiftbench.scoring.reports.task_page import TaskPage
from shiftbench.scoring.reports.terminal import score_lines
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import TaskScores, WithoutRepeats
from shiftbench.validation.plain_console import print_parts
from tests.leaderboard.repeated import DOMAINS, build_repeating_folder, nearest_text_predictions
from tests.scoring.reports.notes import notes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    place = tmp_path_factory.mktemp("repeats") / "data"
    build_repeating_folder(place, 0.3)
    return DatasetFolder.open(place)


@pytest.fixture(scope="module")
def predictions(folder: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("predictions") / "p.parquet"
    nearest_text_predictions(folder).write_parquet(path)
    return path


def without(task: TaskScores) -> WithoutRepeats:
    assert task.near_duplicates is not None
    assert task.near_duplicates.without is not None
    return task.near_duplicates.without


def mean_drops(repeated: float, n_folders: int, place: Path) -> tuple[float, float]:
    """Average the plain drop, and that without near-duplicates, over folders whose domains do not differ.

    One folder's drops also depend on its few train texts, which intervals over test texts do not show.
    """
    drops = []
    for seed in range(n_folders):
        build_repeating_folder(place / f"{seed}", repeated, seed=seed)
        folder = DatasetFolder.open(place / f"{seed}")
        nearest_text_predictions(folder).write_parquet(place / f"{seed}.parquet")
        task = score_file(place / f"{seed}.parquet", folder).tasks[0]
        plain = task.summary.average_drop.value
        assert plain is not None
        drops.append((plain, without(task).average_drop.value if repeated else plain))
    plain, clean = np.mean(drops, axis=0)
    print(f"{repeated:.0%} near-duplicates: drop {100 * plain:.1f}, without them {100 * clean:.1f}")
    return float(plain), float(clean)


def test_a_drop_that_repeats_make_is_gone_without_them(tmp_path: Path) -> None:
    plain, clean = mean_drops(0.3, 5, tmp_path)
    assert plain > 0.08
    assert clean == pytest.approx(0, abs=0.03)


@pytest.mark.long
@pytest.mark.parametrize(("repeated", "wanted"), [(0.0, 0.0), (0.1, 0.04), (0.3, 0.12)])
def test_repeats_make_drops_without_any_shift(repeated: float, wanted: float, tmp_path: Path) -> None:
    plain, clean = mean_drops(repeated, 20, tmp_path)
    assert plain == pytest.approx(wanted, abs=0.02)
    assert clean == pytest.approx(0, abs=0.015)


def test_the_drop_without_them_has_an_interval(folder: DatasetFolder, predictions: Path) -> None:
    drop = without(score_file(predictions, folder).tasks[0]).average_drop
    assert drop.value is not None
    assert drop.low is not None
    assert drop.high is not None
    assert drop.low < drop.value < drop.high


def test_figures_are_those_of_a_file_that_lacks_the_rows(folder: DatasetFolder, predictions: Path) -> None:
    found = without(score_file(predictions, folder).tasks[0])
    repeated = folder.repeated_tests("tales")
    assert repeated is not None
    gold = folder.test("tales", columns=["id", "domain", "label"])
    codes = {name: code for code, name in enumerate(folder.task("tales").labels)}
    rows = pl.read_parquet(predictions).join(gold, on="id").join(repeated, on="id", how="anti")
    right = rows.with_columns(right=pl.col("prediction").replace_strict(codes) == pl.col("label"))
    scores = {
        (source, target): (float(part["right"].mean()), len(part))  # type: ignore[arg-type]
        for (source, target), part in right.group_by("source", "domain")
    }
    assert found.left_out == len(repeated) == len(gold) - sum(scores[domain, domain][1] for domain in DOMAINS)
    assert len(found.shifts) == 6
    for shift in found.shifts:
        st, ss, tt = (scores[cell][0] for cell in (
            (shift.source, shift.target), (shift.source, shift.source), (shift.target, shift.target)))  # fmt: skip
        assert shift.n == scores[shift.source, shift.target][1]
        assert (shift.st.value, shift.ss.value, shift.tt.value) == pytest.approx((st, ss, tt))
        assert (shift.sd.value, shift.td.value) == pytest.approx((ss - st, tt - st))
    assert found.mean_st.value == pytest.approx(np.mean([scores[s.source, s.target][0] for s in found.shifts]))


def test_people_read_the_drop_beside_the_plain_one(folder: DatasetFolder, predictions: Path) -> None:
    scores = score_file(predictions, folder)
    console = Console(record=True, width=200)
    print_parts(score_lines(scores), console)
    found = f"{without(scores.tasks[0]).left_out:,} texts"
    assert found in str(task_report(TaskPage(scores, scores.tasks[0])))
    assert found in " ".join(console.export_text().split())


def test_a_folder_of_an_earlier_version_says_that_it_cannot(folder: DatasetFolder, predictions: Path) -> None:
    older = DatasetFolder(folder.path, folder.manifest.model_copy(update={"lists_repeats": False}))
    task = score_file(predictions, older).tasks[0]
    assert task.near_duplicates is not None
    assert task.near_duplicates.without is None
    assert "older" in notes(task)


def test_where_all_of_a_domain_repeats_there_is_no_drop(tmp_path: Path) -> None:
    build_repeating_folder(tmp_path / "data", 1.0)
    folder = DatasetFolder.open(tmp_path / "data")
    nearest_text_predictions(folder).write_parquet(tmp_path / "p.parquet")
    task = score_file(tmp_path / "p.parquet", folder).tasks[0]
    assert (without(task).average_drop.value, without(task).shifts) == (None, ())
    assert "n/a" in notes(task)
