"""The reference models on the synthetic corpus: full grids, the same for the same seed, better than chance."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench.baselines import majority, sbert_lr, tfidf_lr
from shiftbench.baselines.runs import Run, train_and_predict
from shiftbench.builders.building.own import build_own
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import checked_predictions, score_file
from shiftbench.validation.cards import read_card
from shiftbench.validation.report import InvalidInput

Do = Callable[..., Path]


@pytest.fixture(scope="module")
def run(synthetic: DatasetFolder, word_encoder: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Run a program as its command does, with the stub encoder; returns the prediction file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sbert_lr, "Encoder", lambda name, prompt: word_encoder)

        def run(program: Any, task: str, **options: object) -> Path:
            out = tmp_path_factory.mktemp("predictions") / "p.parquet"
            program.main(task, synthetic.path, out, **options)
            return out

        yield run


def mean_in_domain(predictions: Path, folder: DatasetFolder) -> float:
    (task,) = score_file(predictions, folder).tasks
    return float(np.mean([shift.ss.value for shift in task.shifts]))


@pytest.mark.parametrize("program", [majority, tfidf_lr, sbert_lr])
@pytest.mark.parametrize("task", ["nli", "sa"])
def test_a_program_gives_a_full_grid_of_exactly_the_test_ids(program, task, run: Do, synthetic: DatasetFolder) -> None:  # type: ignore[no-untyped-def]
    out = run(program, task)
    frame = pl.read_parquet(out)
    domains, ids = list(synthetic.task(task).domains), sorted(synthetic.test(task)["id"])
    assert set(frame["source"]) == set(domains)
    for (_,), part in frame.group_by("source"):
        assert sorted(part["id"]) == ids
    assert set(frame["prediction"]) <= set(synthetic.task(task).labels)
    assert frame["confidence"].is_between(1 / len(synthetic.task(task).labels) - 1e-9, 1).all()
    (scores,) = score_file(out, synthetic).tasks
    assert len(scores.shifts) == 12
    card = read_card(out.with_name("p.card.yaml"))
    assert (card.data, card.tuning_trials) == (synthetic.content_hash, 1)


@pytest.mark.parametrize("program", [majority, tfidf_lr, sbert_lr])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_probabilities_of_all_labels_are_written_when_asked_for(  # type: ignore[no-untyped-def]
    program, suffix: str, synthetic: DatasetFolder, tmp_path: Path
) -> None:
    out = tmp_path / f"p{suffix}"
    program.main("nli", synthetic.path, out, source=["harbour"], target=["kitchen", "harbour"], probabilities=True)
    frame = checked_predictions(out, synthetic)
    labels = synthetic.task("nli").labels
    table = np.array(frame["probabilities"].to_list())
    assert table.shape == (60, 3)
    np.testing.assert_allclose(table.max(axis=1), frame["confidence"])
    assert (table != table.round(4)).any()  # as computed: a rounded probability may be 0
    assert [labels[code] for code in table.argmax(axis=1)] == frame["prediction"].to_list()
    confidence = score_file(out, synthetic).tasks[0].confidence
    assert confidence is not None
    assert confidence.given == "probabilities"
    assert confidence.shifts[0].label_shift is not None


@pytest.mark.parametrize("program", [majority, tfidf_lr, sbert_lr])
def test_validation_rows_of_the_source_are_predicted_when_asked_for(  # type: ignore[no-untyped-def]
    program, synthetic: DatasetFolder, tmp_path: Path
) -> None:
    sources = ["harbour", "harbour+kitchen"]
    program.main("nli", synthetic.path, tmp_path / "p.parquet", source=sources, probabilities=True, validation=True)
    frame = pl.read_parquet(tmp_path / "p.validation.parquet")
    rows = {domain: synthetic.split("nli", domain, "validation")["id"].to_list() for domain in ("harbour", "kitchen")}
    assert frame.filter(source="harbour")["id"].to_list() == rows["harbour"]
    assert frame.filter(source="harbour+kitchen")["id"].to_list() == rows["harbour"] + rows["kitchen"]
    tests = pl.read_parquet(tmp_path / "p.parquet")
    assert frame.columns == tests.columns
    assert set(frame["id"]).isdisjoint(tests["id"])
    assert read_card(tmp_path / "p.validation.card.yaml") == read_card(tmp_path / "p.card.yaml")


@pytest.mark.parametrize(("program", "least"), [(tfidf_lr, 0.6), (sbert_lr, 0.6)])
def test_a_trained_program_beats_majority_in_domain(program, least: float, run: Do, synthetic: DatasetFolder) -> None:  # type: ignore[no-untyped-def]
    floor = mean_in_domain(run(majority, "sa"), synthetic)
    assert floor < 0.45
    assert mean_in_domain(run(program, "sa"), synthetic) > max(least, floor + 0.15)


@pytest.mark.parametrize("program", [majority, tfidf_lr, sbert_lr])
def test_the_same_seed_gives_the_same_bytes(program, run: Do) -> None:  # type: ignore[no-untyped-def]
    options: dict[str, object] = {"seed": [3], "source": ["lamps", "kettles+lamps"], "target": ["tents"]}
    first, second = run(program, "sa", **options), run(program, "sa", **options)
    assert first.read_bytes() == second.read_bytes()
    frame = pl.read_parquet(first)
    assert set(frame["seed"]) == {3}
    assert set(frame["source"]) == {"lamps", "kettles+lamps"}
    assert len(frame) == 60


def test_majority_predicts_the_most_frequent_label_and_its_share() -> None:
    train = pl.DataFrame({"label": [2, 0, 2, 1, 2]})
    codes, shares = majority.fit(Run("a", 0, train))(train.head(2))
    assert codes.tolist() == [2, 2]
    assert shares is not None
    assert shares.tolist() == [[0.2, 0.2, 0.6]] * 2
    tied, _ = majority.fit(Run("a", 0, pl.DataFrame({"label": [1, 0]})))(train)
    assert tied.tolist() == [0] * 5


def test_labels_that_train_lacks_do_not_shift_the_others() -> None:
    words = {0: "red round apple", 2: "long green bean"}
    train = pl.DataFrame(
        {
            "domain": ["a"] * 20,
            "text": [f"{words[code]} {number}" for number in range(10) for code in words],
            "label": [code for _ in range(10) for code in words],
        }
    )
    codes, found = tfidf_lr.classifier(train, ("text",), 0).predict(pl.DataFrame({"text": list(words.values())}))
    assert codes.tolist() == [0, 2]
    assert found[:, 1].tolist() == [0, 0]
    assert found.sum(axis=1) == pytest.approx([1, 1])


def test_tfidf_keeps_premise_and_hypothesis_words_apart() -> None:
    train = pl.DataFrame(
        {
            "domain": ["a"] * 40,
            "premise": ["snow fell", "rain fell"] * 20,
            "hypothesis": ["rain fell", "snow fell"] * 20,
            "label": [0, 1] * 20,
        }
    )
    codes, _ = tfidf_lr.classifier(train, ("premise", "hypothesis"), 0).predict(train.head(2))
    assert codes.tolist() == [0, 1]


def test_cards_tell_the_programs_apart(run: Do) -> None:
    cards = {
        program: read_card(run(program, "sa").with_name("p.card.yaml")) for program in (majority, tfidf_lr, sbert_lr)
    }
    assert [card.name for card in cards.values()] == ["Majority", "TF-IDF + LR", "SBERT + LR"]
    assert [card.paradigm for card in cards.values()] == ["other", "fine-tuned", "fine-tuned"]
    assert cards[sbert_lr].base_model == "sentence-transformers/all-MiniLM-L6-v2"
    assert {"scikit-learn", "sentence-transformers", "torch"} <= cards[sbert_lr].versions.keys()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            "a,x,one fine day,train\na,x,one dull day,train\na,y,two,test\n",
            "--source: all train rows of a have the same label; choose other domains with --source",
        ),
        (
            "a,x,one,train\na,y,two,train\na,y,three,test\n",
            "--source: every word occurs in only one train text; found 2 rows; use a source with more train rows",
        ),
    ],
    ids=["one-label", "no-words"],
)
def test_rows_that_nothing_can_be_learnt_from_are_refused(rows: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(f"domain,label,text,split\n{rows}b,x,four,test\n")
    build_own("t", tmp_path / "c.csv", tmp_path / "out")
    folder = DatasetFolder.open(tmp_path / "out")
    with pytest.raises(InvalidInput) as refused:
        train_and_predict(
            lambda run: tfidf_lr.classifier(run.train, ("text",), run.seed).predict,
            folder, "t", sources=None, targets=None, seeds=None,
        )  # fmt: skip
    assert str(refused.value) == words
