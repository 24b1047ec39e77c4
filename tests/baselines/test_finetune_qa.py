"""Extractive answers are trained end to end: spans are found, and questions without an answer are told."""

from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines import finetune_qa
from shiftbench.baselines.training.options import Adapter
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.report import InvalidInput
from tests.baselines.kinds import WORDS
from tests.baselines.tiny import save_bert
from tests.refusals import refusal


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_bert(tmp_path_factory.mktemp("bert"), WORDS))


@pytest.fixture(scope="module")
def grid(kinds: DatasetFolder, bert: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("qa") / "p.parquet"
    finetune_qa.main("questions", kinds.path, out, model=bert, epochs=3, learning_rate=5e-3, batch_size=16)
    return out


def test_answers_are_found_and_missing_ones_told(grid: Path, kinds: DatasetFolder) -> None:
    (scores,) = score_file(grid, kinds).tasks
    by_source = {shift.source: shift.ss.value for shift in scores.shifts}
    assert by_source["solved"] > 0.95
    assert by_source["open"] > 0.9
    gold = kinds.split("questions", "open", "test").filter(pl.col("answers").struct["text"].list.len() == 0)
    told = pl.read_parquet(grid).filter(source="open").join(gold, on="id", how="semi")
    assert (told["prediction"] == "").mean() > 0.8


def test_a_source_where_all_have_an_answer_always_answers(grid: Path) -> None:
    assert (pl.read_parquet(grid).filter(source="solved")["prediction"] != "").all()


@pytest.mark.parametrize("without", ["validation", "nothing"])
def test_without_validation_rows_the_threshold_is_zero(
    without: str, kinds: DatasetFolder, bert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shiftbench.baselines.runs import Run
    from shiftbench.baselines.training.options import TrainingOptions
    from shiftbench.baselines.training.qa_windows import SpanAnswers

    answerer = finetune_qa.QaFinetuner(kinds.task("questions"), TrainingOptions(model=bert))
    rows = kinds.split("questions", "open", "train").head(6)
    preference = [-2.0 if row["answers"]["text"] else 5.0 for row in rows.to_dicts()]
    texts = [(row["answers"]["text"] or ["x"])[0] for row in rows.to_dicts()]
    found = SpanAnswers(texts, pl.Series(preference).to_numpy())
    monkeypatch.setattr(answerer, "_answers", lambda *_: found)
    run = Run("open", 0, rows, None if without == "validation" else rows)
    answers, confidence = answerer.predictor(run, None)(rows)
    assert list(answers) == [text if text != "x" else "" for text in texts]
    assert confidence is None
    assert answerer._threshold(run, None if without == "validation" else found) == (
        0.0 if without == "validation" else -2.0
    )


def test_what_cannot_answer_is_refused(
    kinds: DatasetFolder, bert: str, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    given = "questions", kinds.path, tmp_path / "p.parquet"
    assert [
        refusal(InvalidInput, finetune_qa.main, *given, model=bert, adapter=Adapter.PROMPT),
        refusal(InvalidInput, finetune_qa.main, *given, model=bert, eval_max_length=16),
    ] == wording
