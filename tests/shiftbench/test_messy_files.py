"""Files as people have them: labels and domains spelt in several ways, labels missing, predictions with own names."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

import shiftbench as sb
from shiftbench.cli.command import app
from shiftbench.validation.notices import DataWarning
from tests.refusals import refusal
from tests.shiftbench.test_own_functions import assert_same

NAMES: dict[str, Any] = {"domain": "Shop", "label": "Mood", "text": "Review text", "id": "Key"}
OPTIONS = ("--columns", "domain=Shop,label=Mood,text=Review text,id=Key,prediction=said")
MAP = {"neg": "Bad", "pos": "Good"}
MAPPED = ("--label-map", "neg=Bad", "--label-map", "pos=Good")


def rows() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows without a fault, and predictions with names of their own for columns and labels."""
    rng = np.random.default_rng(5)
    right, shops, n = {"Inn": 0.95, "Cafe north": 0.7, "mill": 0.85}, ["Inn", "Cafe north", "mill"], 240
    moods = rng.choice(["Good", "Bad"], n).tolist()
    kept = [rng.random() < right[shops[row % 3]] for row in range(n)]
    said = [
        mood if is_right else {"Good": "Bad", "Bad": "Good"}[mood] for mood, is_right in zip(moods, kept, strict=True)
    ]
    sure = rng.uniform(0.5, 1, n)
    positive = [chance if each == "Good" else 1 - chance for each, chance in zip(said, sure, strict=True)]
    keys = [f"k{row}" for row in range(n)]
    frame = pl.DataFrame(
        {
            "Key": keys,
            "Shop": [shops[row % 3] for row in range(n)],
            "Mood": moods,
            "Review text": [f"it {n}" for n in keys],
        }
    )
    predicted = pl.DataFrame(
        {
            "Key": keys,
            "said": ["POS" if each == "Good" else "neg" for each in said],
            "prob_pos": positive,
            "prob_neg": [1 - each for each in positive],
            "ms": list(range(n)),
        }
    )
    return frame, predicted


def messy(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows with blanks and cases by chance, and six more without a label."""
    row = pl.int_range(pl.len())
    spelt = frame.with_columns(
        Shop=pl.when(row % 17 == 0).then(pl.col("Shop").str.to_uppercase()).otherwise("Shop"),
        Mood=pl.when(row % 13 == 0)
        .then(pl.col("Mood") + " ")
        .when(row % 29 == 1)
        .then(pl.lit("good"))
        .otherwise("Mood"),
    ).with_columns(Mood=pl.when(frame["Mood"] == "Bad").then(pl.col("Mood").replace("good", "bad")).otherwise("Mood"))
    more = frame.head(6).with_columns(Key=pl.col("Key") + "x", Mood=pl.lit(" "), Text=pl.lit("later")).drop("Text")
    return pl.concat([spelt, more])


def answer(place: Path, *arguments: str) -> tuple[Any, str]:
    """Run a command; return its JSON and the warnings that it ended with."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        result = CliRunner().invoke(app, [*arguments, "--json", str(place / "out.json")], catch_exceptions=False)
    assert result.exit_code in (0, 3), result.output
    said = "\n".join(str(each.message) for each in warned)
    return json.loads((place / "out.json").read_text(encoding="utf-8")), said


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, pl.DataFrame, pl.DataFrame]:
    frame, predicted = rows()
    more = predicted.head(6).with_columns(Key=pl.col("Key") + "x")
    predicted = pl.concat([predicted, more])
    messy(frame).write_csv(tmp_path / "mine.csv")
    predicted.write_csv(tmp_path / "preds.csv")
    return tmp_path, frame, predicted


def test_a_messy_file_is_scored_as_the_clean_one_through_both_doors(files: Any) -> None:
    place, frame, predicted = files
    own = ("--data", str(place / "mine.csv"), *OPTIONS, *MAPPED)
    plain = predicted.rename({"Key": "id"}).select(
        "id",
        prediction=pl.col("said").replace({"POS": "Good", "neg": "Bad"}),
        confidence=pl.max_horizontal("^prob_.*$"),
    )
    clean = plain.filter(~pl.col("id").str.ends_with("x"))
    asked = {"prediction": "said", "label_map": MAP, **NAMES}
    for command, limits in (("check", {}), ("gate", {"min_score": 60}), ("score", {})):
        more = [each for name, value in limits.items() for each in (f"--{name.replace('_', '-')}", str(value))]
        more += ["--report", str(place / "r.html")] if command == "check" else []
        found, said = answer(place, command, str(place / "preds.csv"), *own, *more)
        ours = getattr(sb, command)
        assert "'Mood': 6 rows" in said + json.dumps(found)
        assert "'INN' (" in said + json.dumps(found, ensure_ascii=False)
        assert_same(found, ours(predicted, messy(frame), **limits, **asked).to_json())
        if command == "gate":
            expected = ours(clean, frame, **limits, **NAMES)
            assert_same(found["verdicts"], expected.to_json()["verdicts"])
        elif command == "score":
            expected = ours(clean, frame, **NAMES).scores.tasks[0].summary.model_dump(mode="json")
            assert_same(found["tasks"][0]["summary"], expected)
        else:
            scores = [each.score for each in ours(clean, frame, **NAMES).found.domains]
            assert found["domains"][0]["confidence"]
            assert_same([each["score"] for each in found["domains"]], [each.model_dump(mode="json") for each in scores])


def test_compare_maps_labels_and_its_claim_says_so(files: Any) -> None:
    place, _, predicted = files
    predicted.with_columns(said=pl.when(pl.col("ms") % 9 == 0).then(pl.lit("neg")).otherwise("said")).write_csv(
        place / "other.csv"
    )
    own = ("--data", str(place / "mine.csv"), *OPTIONS, *MAPPED)
    claim, _ = answer(place, "compare", str(place / "preds.csv"), str(place / "other.csv"), *own)
    assert claim["label_map"] == MAP
    result = CliRunner().invoke(app, ["study", "verify", str(place / "out.json")], catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_probabilities_follow_the_labels_of_the_rows(files: Any) -> None:
    _, frame, predicted = files
    named = predicted.rename({"prob_pos": "prob_good", "prob_neg": "prob_BAD"})
    one = sb.check(named, frame, prediction="said", label_map=MAP, **NAMES)
    other = sb.check(predicted, frame, prediction="said", label_map=MAP, **NAMES)
    assert one.predictions["probabilities"].to_list() == other.predictions["probabilities"].to_list()
    with pytest.raises(sb.InvalidInput, match="prob_fine"):
        sb.check(predicted.rename({"prob_pos": "prob_fine"}), frame, prediction="said", label_map=MAP, **NAMES)


def test_what_predictions_lack_is_said_with_its_cure(files: Any, wording: SnapshotAssertion) -> None:
    _, frame, predicted = files
    assert [
        refusal(sb.InvalidInput, sb.score, predicted.rename({"Key": "key"}), frame, **NAMES),
        refusal(sb.InvalidInput, sb.score, predicted, frame, prediction="sayd", **NAMES),
    ] == wording


def test_rows_are_called_as_in_the_file_where_some_are_left_out(files: Any) -> None:
    _, frame, _ = files
    few = frame.with_columns(
        Mood=pl.when(~pl.col("Key").is_in(["k0", "k4"])).then("Mood"),
        **{"Review text": pl.when(pl.col("Key") != "k9").then("Review text")},
    )
    with pytest.raises(sb.InvalidInput, match=", row 10:"):
        sb.check(["Good"] * len(frame), few, **NAMES)
    few = few.with_columns(**{"Review text": pl.col("Review text").fill_null("it k7")})
    found = sb.check(["Good"] * len(frame), few, **NAMES)
    assert any(note.endswith(" rows 8, 10") for note in found.found.notes)


def test_training_texts_may_have_names_and_labels_of_their_own(
    files: Any, word_encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiftbench.checking.encoders.load_encoder", lambda _: word_encoder)
    _, frame, predicted = files
    leaked = frame.filter(Shop="Inn").head(5)
    train = pl.DataFrame({"text": leaked["Review text"], "label": ["pos"] * 5})
    said = {"prediction": "said", "label_map": MAP, **NAMES}
    found = sb.check(predicted, frame, train=train, trained_on="inn", probes=False, **said)
    assert found.found.leaks is not None
    assert sum(found.found.leaks.exact.values()) == 5
    with pytest.raises(sb.InvalidInput, match="columns body;"):
        sb.check(predicted, frame, train={"body": ["a"]}, **said)


def test_a_model_at_chance_gets_no_number_of_labels(files: Any, wording: SnapshotAssertion) -> None:
    _, frame, _ = files
    found = sb.check(["Good"] * len(frame), frame, **NAMES)
    assert [(step.step, step.texts) for step in found.found.steps] == [("label", None)] * 3
    assert repr(found).splitlines()[0] == wording
    empty = frame.with_columns(Mood=pl.when(pl.col("Shop") != "mill").then("Mood"))
    with pytest.warns(DataWarning, match="mill"):
        sb.score({"id": frame["Key"], "prediction": frame["Mood"]}, empty, **NAMES)


def test_what_a_notebook_holds_is_taken_as_it_is(files: Any) -> None:
    datasets = pytest.importorskip("datasets")
    _, frame, predicted = files
    numbered = frame.with_columns(Key=pl.int_range(10**15, 10**15 + len(frame)))
    asked = {"prediction": "said", "label_map": MAP, **NAMES}
    said = predicted.head(len(frame)).with_columns(Key=numbered["Key"])
    expected = sb.score(said, numbered, **asked).to_json()
    rows_of_hub = datasets.Dataset.from_polars(numbered)
    classes = rows_of_hub.class_encode_column("Mood")
    with pytest.warns(DataWarning, match="ms") as all_:
        assert_same(expected, sb.score(said.to_pandas(), classes, **asked).to_json())
    assert {each.filename for each in all_} == {__file__}
    halves = said.to_pandas().astype({"Key": float})
    assert_same(expected, sb.score(halves, numbered, **asked).to_json())
    with pytest.raises(sb.InvalidInput, match=r"data\['train'\]"):
        sb.score(said, datasets.DatasetDict({"train": classes}), **asked)
    found = sb.check(said, numbered, probes=False, **asked)
    assert sb.gate(found.predictions, numbered, min_score=40, **NAMES).passed
    assert "sb.gate(" in repr(found)
    by_model = sb.check(lambda texts: ["Good"] * len(texts), numbered, probes=False, **NAMES)
    assert by_model.predictions["id"].sort().to_list() == numbered["Key"].cast(pl.String).sort().to_list()
    with pytest.raises(sb.InvalidInput, match=r"label_map=\{'fine': '\?', 'poor': '\?'\}"):
        sb.check(lambda texts: ["fine", "poor"] * (len(texts) // 2), numbered, probes=False, **NAMES)
    with pytest.raises(sb.InvalidInput, match="'a'"):
        sb.score({"id": ["a"] * 3, "prediction": ["Good"] * 3}, numbered, **NAMES)
