"""Selection from a dataset folder: facts, similarity and scores against hand counts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.papers.protocol.choice import DatasetChoice, Decision
from shiftbench.scoring.papers.protocol.run import choose_measured, measured_scores, measured_study
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

from .conftest import ERRORS, predicted


@pytest.fixture(scope="module")
def choice(suite: DatasetFolder, predictions: Path, word_encoder: Any) -> DatasetChoice:
    word_encoder.name, word_encoder.revision = "word-encoder", "1"
    return choose_measured(suite, "nli", 2, encoder=word_encoder, predictions=predictions)


def of(choice: DatasetChoice, name: str) -> Decision:
    return next(item for item in choice.candidates if item.name == name)


def test_facts_are_those_of_the_rows(choice: DatasetChoice, suite: DatasetFolder) -> None:
    assert [item.name for item in choice.candidates] == ["Wide", "Hard", "Law", "Court", "Novel"]
    wide, court = of(choice, "Wide"), of(choice, "Court")
    train = suite.split("nli", "wide", "train")["label"].to_list()
    smallest = min(train.count(code) for code in range(3))
    assert (wide.train, wide.test, wide.n_classes) == (len(train), 60, 3)
    assert (wide.smallest_class, wide.domain) == (smallest, "wide")
    assert not wide.smallest_class_is_bound
    assert (court.train, court.n_classes, court.smallest_class) == (0, 2, 0)
    assert court.words["premise"].train is None
    assert wide.words["premise"].test == 6
    assert wide.text_sources == ("Letters", "Speeches")


def test_similarity_is_of_distinct_premises(choice: DatasetChoice, suite: DatasetFolder, word_encoder: Any) -> None:
    def centroid(task: str, domain: str) -> Any:
        texts = sorted(set(suite.split(task, domain, "test")["premise"]))
        assert len(texts) < 60
        mean = word_encoder.encode(texts).mean(axis=0)
        return mean / np.linalg.norm(mean)

    expected = float(centroid("nli", "wide") @ centroid("nli_more", "novel"))
    assert choice.similarity["Wide"]["Novel"] == pytest.approx(expected, abs=1e-6)
    assert choice.similarity["Novel"]["Novel"] == pytest.approx(1)
    assert of(choice, "Novel").similarity == choice.similarity["Wide"]["Novel"]
    assert choice.encoder == "word-encoder@1"


def test_scores_are_shares_of_right_predictions_with_labels_folded(choice: DatasetChoice) -> None:
    for domain, share in ERRORS.items():
        score = of(choice, domain.capitalize()).score
        assert score is not None
        assert score.value == pytest.approx(1 - share)
        assert score.low is not None
        assert score.low < 1 - share < (score.high or 0)
    drop = of(choice, "Court").drop
    assert drop is not None
    assert drop.value == pytest.approx(0.35)


def test_the_choice_and_its_reasons(choice: DatasetChoice, wording: SnapshotAssertion) -> None:
    assert (choice.id, choice.id_by_rule, choice.ood) == ("Wide", None, ("Hard", "Court"))
    found = {item.name: (item.reason, item.rival) for item in choice.candidates}
    # Without Court, Law may be chosen, which shares a source with Court.
    assert found == {
        "Wide": ("the ID", None),
        "Hard": ("chosen", "Novel"),
        "Law": ("source taken", "Court"),
        "Court": ("chosen", "Law"),
        "Novel": ("drop", "Court"),
    }
    margin = of(choice, "Law").margin
    assert margin is not None
    assert margin.value == pytest.approx(0.1)
    assert sum(item.frequency or 0 for item in choice.candidates) == pytest.approx(2)
    assert choice.notes == wording


def test_json_has_the_promised_shape(choice: DatasetChoice) -> None:
    read = json.loads(choice.model_dump_json())
    assert (read["task"], read["id"], read["ood"]) == ("nli", "Wide", ["Hard", "Court"])
    assert set(read["candidates"][1]["margin"]) == {"value", "low", "high", "no_interval"}
    assert DatasetChoice.model_validate(read) == choice


def test_without_encoder_and_predictions(suite: DatasetFolder, wording: SnapshotAssertion) -> None:
    choice = choose_measured(suite, "nli", 3)
    assert (choice.id, choice.ood, choice.similarity, choice.model) == ("Wide", None, {}, None)
    assert all(item.score is None and item.reason is None and not item.chosen for item in choice.candidates)
    assert choice.notes == wording


def test_a_partial_grid(suite: DatasetFolder, tmp_path: Path) -> None:
    path = tmp_path / "preds.parquet"
    predicted(suite, domains=("law", "novel")).write_parquet(path)
    choice = choose_measured(suite, "nli", 2, predictions=path)
    assert choice.ood == ("Law", "Novel")
    assert of(choice, "Law").drop is None  # the ID was not tested
    three = choose_measured(suite, "nli", 3, predictions=path)
    assert any("2 of 3 OOD" in note for note in three.notes)


def test_zero_shot_predictions_stand_in(suite: DatasetFolder, tmp_path: Path) -> None:
    path = tmp_path / "preds.parquet"
    predicted(suite, source="none").write_parquet(path)
    choice = choose_measured(suite, "nli", 2, id_="law", predictions=path)
    assert (choice.id, choice.ood) == ("Law", ("Hard", "Novel"))
    assert choice.model is not None
    assert choice.model.startswith("zero-shot ")


def test_refusals(suite: DatasetFolder, predictions: Path, tmp_path: Path, wording: SnapshotAssertion) -> None:
    own = tmp_path / "own.parquet"
    pl.concat([predicted(suite), predicted(suite, "none")]).write_parquet(own)
    messages = {
        "no such task": refusal(InvalidInput, choose_measured, suite, "nil", 3),
        "no such ID": refusal(InvalidInput, choose_measured, suite, "nli", 3, id_="Lav"),
        "trained on another": refusal(
            InvalidInput, choose_measured, suite, "nli", 3, id_="Law", predictions=predictions
        ),
        "trained on two others": refusal(InvalidInput, choose_measured, suite, "nli", 3, id_="Law", predictions=own),
    }
    assert messages == wording


def test_data_of_ones_own(synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion) -> None:
    study = measured_study(synthetic, "sa")
    assert [facts.name for facts in study.facts] == list(synthetic.task("sa").domains)
    assert {(facts.candidate.text_sources, facts.candidate.breadth) for facts in study.facts} == {((), 1)}
    choice = choose_measured(synthetic, "sa", 2)
    assert choice.id is None
    assert choice.notes == wording
    path = tmp_path / "preds.parquet"
    rows = synthetic.test("nli", columns=["id"]).select(source=pl.lit("harbour"), id="id", prediction=pl.lit("neutral"))
    rows.write_parquet(path)
    assert [
        refusal(InvalidInput, choose_measured, synthetic, "sa", 2, predictions=path, **options)
        for options in ({}, {"id_": "tents"})
    ] == wording


def test_an_id_that_is_not_in_the_folder(suite: DatasetFolder) -> None:
    info = suite.task("nli").model_copy(update={"id_domain": "gone"})
    manifest: Manifest = suite.manifest.model_copy(update={"tasks": suite.manifest.tasks | {"nli": info}})
    choice = choose_measured(DatasetFolder(suite.path, manifest), "nli", 3)
    assert choice.id is None
    assert any(", gone, " in note for note in choice.notes)


def test_the_same_file_can_be_scored(suite: DatasetFolder, predictions: Path, wording: SnapshotAssertion) -> None:
    scores = score_file(predictions, suite)
    tasks = {task.task: task for task in scores.tasks}
    shifts = {shift.target: shift.st.value for shift in tasks["nli_more"].shifts}
    assert shifts == pytest.approx({"court": 0.6, "novel": 0.8})
    assert {shift.ss.value for shift in tasks["nli_more"].shifts} == {None}
    assert tasks["nli"].shifts[0].depth_f1
    assert not tasks["nli_more"].shifts[0].depth_f1
    assert {item.what for item in scores.missing if item.task == "nli_more"} == wording


def test_drops_are_of_runs_that_are_on_every_target(suite: DatasetFolder, tmp_path: Path) -> None:
    first = predicted(suite)
    bad = predicted(suite, domains=("wide",)).with_columns(pl.lit("entailment").alias("prediction"))
    both = pl.concat([first.with_columns(seed=pl.lit(0)), bad.with_columns(seed=pl.lit(1))])
    alone, mixed = tmp_path / "alone.parquet", tmp_path / "mixed.parquet"
    first.with_columns(seed=pl.lit(0)).write_parquet(alone)
    both.write_parquet(mixed)
    study = measured_study(suite, "nli")
    scores = [measured_scores(path, suite, study, "Wide").scores for path in (alone, mixed)]
    assert {name: figure.value for name, figure in scores[0].items()} == {
        name: figure.value for name, figure in scores[1].items()
    }
