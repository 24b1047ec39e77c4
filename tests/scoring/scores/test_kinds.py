"""End-to-end scores of every task kind, against simple scripts over the same rows."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rouge_score.rouge_scorer import RougeScorer
from syrupy.assertion import SnapshotAssertion

from benchmarks.scores import answer_f1_by_squad, span_f1_by_seqeval
from shiftbench.builders.building.synthetic_grid import noisy_predictions
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores import outcomes
from shiftbench.scoring.scores.score import checked_predictions, score_file
from shiftbench.scoring.scores.shape import Scores, Shift, TaskScores
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal


@pytest.fixture(scope="module")
def predictions(grid: DatasetFolder) -> pl.DataFrame:
    return noisy_predictions(grid)


@pytest.fixture(scope="module")
def path(predictions: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("predictions") / "predictions.parquet"
    predictions.write_parquet(path)
    return path


class _WordTokens:
    """Token vectors computed from the letters of words, instead of an encoder."""

    calls: list[int]
    name, revision = "word-tokens", "1"

    def __init__(self) -> None:
        self.calls = []

    def token_vectors(
        self, texts: list[str], description: str = "", *, keep: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        assert len(set(texts)) == len(texts)
        self.calls.append(len(texts))
        words = [text.split() for text in texts]
        vectors = [[1.0 + word.count(letter) for letter in "abcdefghij"] for text in words for word in text]
        offsets = np.concatenate([[0], np.cumsum([len(text) for text in words])])
        return np.array(vectors, dtype=np.float32).reshape(-1, 10), offsets


@pytest.fixture(scope="module")
def scores(grid: DatasetFolder, path: Path) -> Scores:
    return score_file(path, grid, encoder=_WordTokens())  # type: ignore[arg-type]


def task(scores: Scores, name: str) -> TaskScores:
    return next(item for item in scores.tasks if item.task == name)


def joined(grid: DatasetFolder, predictions: pl.DataFrame, name: str, shift: Shift) -> pl.DataFrame:
    gold = grid.split(name, shift.target, "test")
    return gold.join(predictions.filter(source=shift.source), on="id", how="inner", maintain_order="left")


def test_all_seven_tasks_are_complete(scores: Scores) -> None:
    assert [item.task for item in scores.tasks] == ["sa", "nli", "ab", "qa", "qg", "as", "tg"]
    assert all(item.summary.complete for item in scores.tasks)
    assert [len(item.shifts) for item in scores.tasks] == [30, 20, 20, 30, 30, 20, 30]
    assert not scores.missing


def test_span_f1_against_seqeval(grid: DatasetFolder, predictions: pl.DataFrame, scores: Scores) -> None:
    labels = grid.task("ab").labels
    for shift in task(scores, "ab").shifts[:6]:
        rows = joined(grid, predictions, "ab", shift)
        expected = span_f1_by_seqeval(labels, rows)
        assert shift.st.value == pytest.approx(expected, abs=1e-12)
        assert shift.unparsed == pytest.approx((rows["prediction"] == "__unparsed__").mean())


def test_token_f1_against_a_plain_script(grid: DatasetFolder, predictions: pl.DataFrame, scores: Scores) -> None:
    for shift in task(scores, "qa").shifts[:6]:
        rows = joined(grid, predictions, "qa", shift)
        each = np.array(
            [
                0.0 if text == "__unparsed__" else answer_f1_by_squad(text, answers["text"])
                for text, answers in zip(rows["prediction"], rows["answers"], strict=True)
            ]
        )
        has_answer = np.array([bool(answers["text"]) for answers in rows["answers"]])
        assert shift.st.value == pytest.approx(each.mean(), abs=1e-12)
        assert shift.secondary["answerable_f1"] == pytest.approx(each[has_answer].mean(), abs=1e-12)
        assert shift.secondary["unanswerable_f1"] == pytest.approx(each[~has_answer].mean(), abs=1e-12)


def test_depth_weights_a_per_example_score(grid: DatasetFolder, predictions: pl.DataFrame, scores: Scores) -> None:
    shift = task(scores, "qa").shifts[0]
    rows = joined(grid, predictions, "qa", shift)
    weights = grid.depth("qa", shift.source, shift.target).drop_nulls("weight")
    rows = rows.join(weights.select("id", "weight"), on="id", how="left", maintain_order="left")
    each = [
        0.0 if text == "__unparsed__" else answer_f1_by_squad(text, answers["text"])
        for text, answers in zip(rows["prediction"], rows["answers"], strict=True)
    ]
    expected = np.average(each, weights=rows["weight"].to_numpy())
    assert shift.depth_f1["0"].value == pytest.approx(expected, abs=1e-12)
    assert shift.depth_score["0"].value == pytest.approx(expected, abs=1e-12)


def test_rouge_l_against_its_package(grid: DatasetFolder, predictions: pl.DataFrame, scores: Scores) -> None:
    scorer = RougeScorer(["rougeL"])
    for shift in task(scores, "tg").shifts[:4]:
        rows = joined(grid, predictions, "tg", shift)
        each = [
            0.0 if text == "__unparsed__" else scorer.score(reference, text)["rougeL"].fmeasure
            for reference, text in zip(rows["target_text"], rows["prediction"], strict=True)
        ]
        assert shift.secondary["rouge_l"] == pytest.approx(np.mean(each), abs=1e-12)


def test_bertscore_embeds_each_text_once_and_scores_every_pair(
    grid: DatasetFolder, predictions: pl.DataFrame, path: Path, tmp_path: Path
) -> None:
    shifted = predictions.filter(pl.col("id").str.starts_with("synthetic/as/d1/"), source="d0")
    shifted.write_parquet(tmp_path / "one.parquet")
    encoder = _WordTokens()
    scored = score_file(tmp_path / "one.parquet", grid, encoder=encoder)  # type: ignore[arg-type]
    shift = task(scored, "as").shifts[0]
    rows = joined(grid, shifted, "as", shift)
    each = []
    for reference, text in zip(rows["target_text"], rows["prediction"], strict=True):
        if text == "__unparsed__":
            each.append(0.0)
            continue
        pair = [encoder.token_vectors([side])[0].astype(np.float64) for side in (text, reference)]
        left, right = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in pair)
        cosines = left @ right.T
        precision, recall = cosines.max(axis=1).mean(), cosines.max(axis=0).mean()
        each.append(2 * precision * recall / (precision + recall))
    assert shift.st.value == pytest.approx(np.mean(each), abs=1e-6)
    assert encoder.calls[:2] == [rows["target_text"].n_unique(), rows["prediction"].n_unique()]


def test_bertscore_in_pieces_is_bertscore(
    grid: DatasetFolder, path: Path, scores: Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "_CANDIDATES", 7)
    again = score_file(path, grid, encoder=_WordTokens())  # type: ignore[arg-type]
    for name in ("qg", "as", "tg"):
        for shift, other in zip(task(again, name).shifts, task(scores, name).shifts, strict=True):
            assert shift.st.value == pytest.approx(other.st.value, abs=1e-6)


def test_a_reference_without_an_encoder_gives_no_reference_td(grid: DatasetFolder, path: Path) -> None:
    scored = score_file(path, grid, reference=path)
    assert all(shift.reference_td is None for shift in task(scored, "tg").shifts)


def test_generation_without_an_encoder_is_a_named_gap(
    grid: DatasetFolder, path: Path, wording: SnapshotAssertion
) -> None:
    scored = score_file(path, grid)
    titles = task(scored, "tg")
    assert titles.summary.mean_st.value is None
    assert titles.shifts[0].secondary["rouge_l"] is not None
    assert [item.what for item in scored.missing if item.task == "tg"] == wording


def test_tags_are_read_from_every_format(grid: DatasetFolder, predictions: pl.DataFrame, tmp_path: Path) -> None:
    rows = predictions.filter(pl.col("id").str.starts_with("synthetic/ab/"))
    listed = rows.with_columns(pl.col("prediction").str.split(" "))
    rows.write_csv(tmp_path / "a.csv")
    listed.write_parquet(tmp_path / "a.parquet")
    listed.write_ndjson(tmp_path / "a.jsonl")
    first = checked_predictions(tmp_path / "a.csv", grid)
    assert first.equals(checked_predictions(tmp_path / "a.parquet", grid))
    assert first.equals(checked_predictions(tmp_path / "a.jsonl", grid))


def test_wrong_tags_are_refused(
    grid: DatasetFolder, predictions: pl.DataFrame, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    rows = predictions.filter(pl.col("id").str.starts_with("synthetic/ab/d0"), source="d0")
    first = rows.with_row_index().filter(pl.col("prediction").str.contains("T-POS"))["index"][0]
    rows = pl.concat([rows[first : first + 1], rows[:first], rows[first + 1 :]])
    tags = rows["prediction"][0]
    messages = {}
    for name, changed in {
        "a tag more": f"{tags} O",
        "an unknown tag": tags.replace("T-POS", "T-POZ"),
        "two spaces": tags.replace(" ", "  ", 1),
    }.items():
        path = tmp_path / "a.csv"
        rows.with_columns(pl.Series("prediction", [changed, *rows["prediction"][1:]])).write_csv(path)
        messages[name] = refusal(InvalidInput, checked_predictions, path, grid)
    assert messages == wording


def test_a_folder_of_every_kind_is_sound(grid: DatasetFolder) -> None:
    grid.check()
