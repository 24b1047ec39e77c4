"""Misclassified examples of an entry: of every task kind, and never if they may not be shown."""

import time
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building.synthetic_grid import noisy_predictions
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores import examples
from shiftbench.scoring.scores.examples import MAX_LETTERS, why_hidden, wrong_examples
from shiftbench.validation.vocabulary import UNPARSED
from tests.leaderboard.shapes import build_dealt_folder, labels_with_errors


@pytest.fixture(scope="module")
def noisy(grid: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("noisy") / "p.parquet"
    noisy_predictions(grid).sort("source", "id").write_parquet(path)
    return path


@pytest.mark.parametrize("task", ["sa", "nli", "ab", "qa", "qg"])
def test_every_kind_has_examples_that_are_wrong(grid: DatasetFolder, noisy: Path, task: str) -> None:
    found = wrong_examples(noisy, grid, task, "d0", "d1")
    assert len(found) == 5
    assert found == wrong_examples(noisy, grid, task, "d0", "d1"), "the same each time"
    rows = grid.split(task, "d1", "test")
    said = dict(pl.read_parquet(noisy).filter(source="d0").select("id", "prediction").iter_rows())
    for example in found:
        assert example.id in set(rows["id"])
        assert example.gold != example.predicted
        assert 0 <= example.score < 1
        assert all(len(text) <= MAX_LETTERS for _, text in example.texts)
        if said[example.id] != UNPARSED and task in ("sa", "nli"):
            assert example.predicted == said[example.id]
    assert [example.score for example in found] == sorted(example.score for example in found)


def test_gold_and_texts_are_those_of_the_row(grid: DatasetFolder, noisy: Path) -> None:
    example = wrong_examples(noisy, grid, "nli", "d0", "d1", n=1)[0]
    row = grid.split("nli", "d1", "test").filter(id=example.id).row(0, named=True)
    assert example.gold == grid.task("nli").labels[row["label"]]
    assert dict(example.texts)["hypothesis"] == row["hypothesis"]
    assert [name for name, _ in wrong_examples(noisy, grid, "qa", "d0", "d1")[0].texts] == ["question", "context"]


def test_rows_that_a_model_of_the_target_gets_right_come_first(grid: DatasetFolder, tmp_path: Path) -> None:
    gold = grid.split("sa", "d1", "test")
    labels = grid.task("sa").labels
    right = gold["label"].replace_strict(dict(enumerate(labels)), return_dtype=pl.String)
    number = pl.Series(range(len(gold)))
    wrong = pl.Series([labels[(code + 1) % len(labels)] for code in gold["label"]])
    # Out of domain all rows are wrong, in domain all except every third.
    away = gold.select("id", source=pl.lit("d0"), prediction=wrong)
    home = gold.select("id", source=pl.lit("d1"), prediction=right.zip_with(number % 3 == 0, wrong))
    pl.concat([away, home]).write_parquet(tmp_path / "p.parquet")
    found = wrong_examples(tmp_path / "p.parquet", grid, "sa", "d0", "d1", n=len(gold))
    assert len(found) == len(gold)
    at_home = [example.at_home for example in found]
    assert at_home == sorted(at_home, reverse=True)
    assert {example.id for example in found if example.at_home} == set(gold["id"].filter(number % 3 == 0))
    at_home_itself = wrong_examples(tmp_path / "p.parquet", grid, "sa", "d1", "d1")
    assert {example.at_home for example in at_home_itself} == {None}


def test_unusable_and_empty_answers_are_said_to_be(
    grid: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    ids = grid.split("qa", "d1", "test")["id"]
    answerable = grid.split("qa", "d1", "test").filter(pl.col("answers").struct.field("text").list.len() > 0)["id"]
    frame = pl.DataFrame({"source": "d0", "id": ids, "prediction": ""})
    frame.write_parquet(tmp_path / "empty.parquet")
    found = wrong_examples(tmp_path / "empty.parquet", grid, "qa", "d0", "d1", n=1000)
    assert {example.id for example in found} == set(answerable)
    (empty,) = {example.predicted for example in found}
    frame.with_columns(prediction=pl.lit(UNPARSED)).write_parquet(tmp_path / "bad.parquet")
    bad = wrong_examples(tmp_path / "bad.parquet", grid, "qa", "d0", "d1", n=1)[0].predicted
    assert [empty, bad] == wording


def test_a_look_at_the_first_rows_finds_what_a_look_at_all_would(
    grid: DatasetFolder, noisy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {task: wrong_examples(noisy, grid, task, "d0", "d1") for task in ("nli", "ab", "qa", "qg")}
    monkeypatch.setattr(examples, "_AT_FIRST", 9)
    assert {task: wrong_examples(noisy, grid, task, "d0", "d1") for task in whole} == whole


def test_the_lowest_seed_is_looked_at(grid: DatasetFolder, tmp_path: Path) -> None:
    gold = grid.split("sa", "d1", "test")
    labels = dict(enumerate(grid.task("sa").labels))
    right = gold.select(
        "id", source=pl.lit("d0"), prediction=pl.col("label").replace_strict(labels, return_dtype=pl.String)
    )
    wrong = right.with_columns(prediction=pl.lit(UNPARSED))
    both = pl.concat([right.with_columns(seed=pl.lit(3)), wrong.with_columns(seed=pl.lit(7))])
    both.write_parquet(tmp_path / "p.parquet")
    assert wrong_examples(tmp_path / "p.parquet", grid, "sa", "d0", "d1") == ()
    assert wrong_examples(tmp_path / "p.parquet", grid, "sa", "d2", "d1") == (), "no such source"


def test_nothing_is_shown_of_withheld_labels_or_closed_texts(
    tmp_path: Path, word_encoder: object, grid: DatasetFolder, noisy: Path
) -> None:
    closed = build_dealt_folder(tmp_path / "closed", ["a", "b"], open_licence=False)
    path = tmp_path / "p.parquet"
    labels_with_errors(closed, "moods", ["a", "b"], 0.5).write_parquet(path)
    assert "licence" in why_hidden(closed, "moods", "b")
    assert wrong_examples(path, closed, "moods", "a", "b") == ()
    manifest = grid.manifest.model_copy(update={"label_key": "0" * 64})
    gold = DatasetFolder(grid.path, manifest)
    assert "withheld" in why_hidden(gold, "sa", "d1")
    assert wrong_examples(noisy, gold, "sa", "d0", "d1") == ()


def test_a_full_size_target_is_quick(tmp_path: Path) -> None:
    folder = build_dealt_folder(tmp_path / "full", ["a", "b"], n_test=2500)
    path = tmp_path / "p.parquet"
    labels_with_errors(folder, "moods", ["a", "b"], 0.2, range(20)).write_parquet(path)
    wrong_examples(path, folder, "moods", "a", "b")
    start = time.perf_counter()
    assert len(wrong_examples(path, folder, "moods", "a", "b")) == 5
    seconds = time.perf_counter() - start
    print(f"examples of 2,500 rows among {len(pl.read_parquet(path)):,} predictions: {1000 * seconds:.0f} ms")
    assert seconds < 0.6
