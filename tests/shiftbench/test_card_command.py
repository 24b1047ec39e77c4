"""The command that writes a card: what the file tells is filled in, and nothing that is there is overwritten."""

import shutil
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder, subset_path
from shiftbench.validation.cards import Card, read_card
from tests.changed_folders import open_changed
from tests.command_line import run


@pytest.fixture
def predictions(synthetic: DatasetFolder, tmp_path: Path) -> Path:
    tests = synthetic.test("nli")
    labels = synthetic.task("nli").labels
    path = tmp_path / "my model.csv"
    source = tests["domain"].min()
    tests.select("id", source=pl.lit(source), prediction=pl.lit(labels[0])).write_csv(path)
    return path


def test_a_card_is_written_beside_the_file_and_says_what_else_there_is(
    synthetic: DatasetFolder, predictions: Path
) -> None:
    assert run("card", predictions, "--data", synthetic.path).returncode == 0
    written = predictions.with_name("my model.card.yaml")
    card = read_card(written)
    assert (card.name, card.paradigm, card.subset) == ("my model", "fine-tuned", "all")
    assert card.version == synthetic.version
    text = written.read_text()
    for key in set(Card.model_fields) - {"name", "paradigm", "data", "settings", "subset"}:
        assert f"# {key}:" in text
    assert run("validate", predictions, "--data", synthetic.path, "--card", written).returncode == 0
    again = run("card", predictions, "--data", synthetic.path)
    assert (again.returncode, str(written) in again.stderr) == (1, True)
    assert written.read_text() == text


def test_models_without_a_source_and_files_of_a_subset_are_recognised(
    synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    shutil.copytree(synthetic.path, tmp_path / "data")
    few, label = synthetic.subset("nli", "fewshot")[::3], synthetic.task("nli").labels[0]
    few.write_parquet(tmp_path / "data" / subset_path("nli", "fewshot"))
    synthetic = open_changed(tmp_path / "data")
    frame = few.select("id", source=pl.lit("none"), prediction=pl.lit(label))
    path, out = tmp_path / "few.jsonl", tmp_path / "out.yaml"
    frame.write_ndjson(path)
    assert run("card", path, "--data", synthetic.path, "--out", out).returncode == 0
    assert (read_card(out).paradigm, read_card(out).subset) == ("zero-shot", "fewshot")
    assert run("validate", path, "--data", synthetic.path, "--card", out).returncode == 0
    assert run("validate", path, "--data", synthetic.path).returncode == 0
    told = run("validate", path, "--data", synthetic.path, "--subset", "all")
    assert told.stderr == wording


def test_a_file_for_other_data_gets_no_card(synthetic: DatasetFolder, predictions: Path) -> None:
    frame = pl.read_csv(predictions).with_columns(id=pl.lit("dr/nli/x/test/000000000000"))
    frame.write_csv(predictions)
    answer = run("card", predictions, "--data", synthetic.path)
    assert (answer.returncode, "'dr/nli/x/test/000000000000'" in answer.stderr) == (1, True)
    assert not predictions.with_name("my model.card.yaml").exists()


def test_a_card_that_is_not_sound_keeps_nobody_from_scores(
    synthetic: DatasetFolder, predictions: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report.html"
    predictions.with_name("my model.card.yaml").write_text("name: [1, 2\n")
    answer = run("score", predictions, "--data", synthetic.path, "--report", report, "--json", tmp_path / "s.json")
    assert answer.returncode == 0, answer.stderr
    assert "my model.card.yaml" in answer.stderr
    assert report.exists()


def test_labels_by_index_score_as_their_names_do(synthetic: DatasetFolder, predictions: Path, tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.parquet"
    pl.read_csv(predictions).with_columns(prediction=pl.lit(0)).write_parquet(numbers)
    refused = run("score", numbers, "--data", synthetic.path)
    assert (refused.returncode, "0 is '" in refused.stderr) == (1, True)
    for path, more in ((numbers, ["--labels-by-index"]), (predictions, [])):
        answer = run("score", path, "--data", synthetic.path, "--json", tmp_path / f"{path.stem}.json", *more)
        assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "numbers.json").read_text() == (tmp_path / "my model.json").read_text()
