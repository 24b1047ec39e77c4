"""The command ``forecast``: own files with domains without labels, dataset folders, and what it refuses."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.baselines.grid.trial import Trial
from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.command import app
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.forecasting.samples import ONE_LABEL
from shiftbench.validation.cards import read_card
from shiftbench.validation.notices import DataWarning
from shiftbench.validation.report import InvalidInput
from tests.conftest import WordEncoder
from tests.refusals import refusal
from tests.shiftbench.checked import stable

LABELS = ["neg", "pos"]
ACCURACIES = {"Site A": 0.9, "Site B": 0.8, "Site C": 0.75, "Site D": 0.78, "Site E": 0.83, "Site F": 0.8}
N = 150


def own_rows() -> tuple[pl.DataFrame, pl.DataFrame, float]:
    """Rows of six sites, the last without labels, and calibrated predictions; and the accuracy on the last site."""
    rng = np.random.default_rng(0)
    rows, predictions, right = [], [], []
    for site, accuracy in ACCURACIES.items():
        for number in range(N):
            label = LABELS[rng.integers(2)]
            chance = float(np.clip(rng.beta(8 * accuracy, 8 * (1 - accuracy)), 0.5, 0.99))
            is_right = rng.random() < chance
            predicted = label if is_right else LABELS[1 - LABELS.index(label)]
            sure = [round(chance, 6), round(1 - chance, 6)]
            identity = f"{site[-1]}{number}"
            shown = None if site == "Site F" else label
            rows.append({"id": identity, "site": site, "text": f"{label} {rng.integers(10**6)}", "label": shown})
            probabilities = sure if predicted == "neg" else sure[::-1]
            predictions.append(
                {"source": "Site A", "id": identity, "prediction": predicted, "probabilities": probabilities}
            )
            if site == "Site F":
                right.append(is_right)
    return pl.DataFrame(rows), pl.DataFrame(predictions), float(np.mean(right))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    rows, predictions, _ = own_rows()
    rows.write_csv(tmp_path / "mine.csv")
    predictions.write_parquet(tmp_path / "preds.parquet")
    return tmp_path


def run(folder: Path, *options: str, data: str = "mine.csv", file: str = "preds.parquet") -> dict:
    columns = ["--columns", "id=id,domain=site,label=label"] if data == "mine.csv" else []
    command = ["forecast", str(folder / file), "--data", str(folder / data), *columns, *options]
    result = CliRunner().invoke(app, [*command, "--json", "-"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def refused(folder: Path, *options: str) -> str:
    with pytest.raises(InvalidInput) as error:
        run(folder, *options)
    return str(error.value)


def test_a_site_without_labels_is_forecast_with_an_interval(own: Path) -> None:
    _, _, truth = own_rows()
    (task,) = run(own, "--report", str(own / "f.html"))["tasks"]
    assert task["labelled"] == ["Site B", "Site C", "Site D", "Site E"]
    (shift,) = [each for each in task["shifts"] if each["target"] == "Site F"]
    assert shift["truth"] is None
    assert shift["level"] == 0.8
    assert shift["set_on"] == task["labelled"]
    by_name = {each["method"]: each for each in shift["forecasts"]}
    assert by_name["cot"]["value"] == pytest.approx(truth, abs=0.06)
    assert by_name["doc"]["low"] < by_name["doc"]["value"] < by_name["doc"]["high"]
    errors = {each["method"]: each for each in task["errors"]}
    assert errors["doc"]["held"]["n_domains"] == 4
    page = (own / "f.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "concept" in page


def test_with_labels_at_home_alone_there_are_forecasts_without_intervals(own: Path, wording: SnapshotAssertion) -> None:
    rows, _, truth = own_rows()
    rows.with_columns(label=pl.when(pl.col("site") == "Site A").then("label")).write_csv(own / "mine.csv")
    (task,) = run(own, "--target", "Site F")["tasks"]
    assert (task["labelled"], task["errors"]) == ([], [])
    by_name = {each["method"]: each for each in task["shifts"][0]["forecasts"]}
    assert by_name["doc"]["value"] == pytest.approx(truth, abs=0.06)
    assert all(each["low"] is None for each in by_name.values())
    assert task["notes"] == wording


def test_labels_of_the_forecast_site_change_nothing_of_its_forecasts(own: Path) -> None:
    (task,) = run(own)["tasks"]
    rows, _, _ = own_rows()
    known = rows.with_columns(pl.col("label").fill_null("neg"))
    known.write_csv(own / "mine.csv")
    (told,) = run(own)["tasks"]
    before, after = ([each for each in found["shifts"] if each["target"] == "Site F"] for found in (task, told))
    for one, other in zip(before[0]["forecasts"], after[0]["forecasts"], strict=True):
        assert one["method"] == other["method"]
        for name in ("value", "low", "high"):
            assert one[name] == (None if one[name] is None else pytest.approx(other[name], abs=1e-9))
    assert after[0]["truth"] is not None


def test_the_terminal_says_what_may_be_believed(own: Path, wording: SnapshotAssertion) -> None:
    columns = ["--columns", "id=id,domain=site,label=label"]
    command = ["forecast", str(own / "preds.parquet"), "--data", str(own / "mine.csv"), *columns]
    said = [
        stable(CliRunner().invoke(app, [*command, *more], catch_exceptions=False).output)
        for more in ((), ("--method", "doc"))
    ]
    assert said == wording
    assert "ATC" not in said[1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.with_columns(pl.col("probabilities").list.reverse()), "in a different order"),
        (
            lambda f: f.with_columns(probabilities=pl.lit([0.5, 0.6], dtype=pl.List(pl.Float64))),
            "do not add up to 1",
        ),
        (
            lambda f: f.filter(~pl.col("id").str.starts_with("A")),
            "preds.parquet: no run has predictions on labelled held-out texts of its own source; found task 'own', "
            "sources 'Site A'; also predict the source's labelled test rows",
        ),
        (lambda f: f.with_columns(source=pl.lit("Site F")), "a model's source domain has no labels"),
        (lambda f: f.filter(pl.col("id") != "F3"), "test ids are missing"),
        (lambda f: f.filter(~pl.col("id").str.starts_with("F")), "the file has no predictions of unlabelled rows"),
    ],
)
def test_predictions_that_cannot_be_used_are_refused(own: Path, change, words: str) -> None:  # type: ignore[no-untyped-def]
    _, predictions, _ = own_rows()
    change(predictions).write_parquet(own / "preds.parquet")
    assert words in refused(own)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.with_columns(label=pl.lit("")), "no row has a label"),
        (
            lambda f: f.with_columns(text=pl.when(pl.col("id") == "F7").then(pl.lit("")).otherwise("text")),
            "a row without a label has no value in this column",
        ),
    ],
)
def test_rows_that_cannot_be_used_are_refused(own: Path, change, words: str) -> None:  # type: ignore[no-untyped-def]
    rows, _, _ = own_rows()
    change(rows).write_csv(own / "mine.csv")
    assert words in refused(own)


def test_rows_without_a_label_where_others_have_one_are_left_out(own: Path) -> None:
    rows, _, _ = own_rows()
    some = rows.with_columns(label=pl.when(pl.col("id").is_in(["B1", "B2", "D1"])).then(pl.lit(" ")).otherwise("label"))
    some.write_csv(own / "mine.csv")
    with pytest.warns(DataWarning, match=r"3 rows \(Site B: 2, Site D: 1\)"):
        (left,) = run(own)["tasks"]
    rows.filter(~pl.col("id").is_in(["B1", "B2", "D1"])).write_csv(own / "mine.csv")
    with pytest.warns(DataWarning, match="3 predictions"):
        (never_there,) = run(own)["tasks"]
    assert left == never_there


def test_targets_and_methods_that_are_not_there_are_refused(own: Path, wording: SnapshotAssertion) -> None:
    assert {
        " ".join(options): refused(own, *options)
        for options in (("--method", "magic"), ("--method", "gde"), ("--target", "Site A"), ("--target", "Site X"))
    } == wording
    gone = CliRunner().invoke(app, ["forecast", "p.csv", "--data", "d.csv", "--encoder", "wordllama"])
    assert gone.exit_code == 2


def test_test_texts_that_stand_in_the_train_texts_are_named(own: Path, wording: SnapshotAssertion) -> None:
    rows, predictions, _ = own_rows()
    copied = rows.filter(site="Site B").head(3).with_columns(id=pl.concat_str(pl.lit("t"), "id"), site=pl.lit("Site A"))
    unknown = rows.filter(site="Site F").head(2)
    more = unknown.with_columns(id=pl.concat_str(pl.lit("t"), "id"), site=pl.lit("Site A"), label=pl.lit("neg"))
    train = pl.concat([copied, more]).with_columns(split=pl.lit("train"))
    splits = [rows.with_columns(split=pl.lit("test")), train]
    pl.concat(splits).write_csv(own / "mine.csv")
    predictions.write_parquet(own / "preds.parquet")
    (task,) = run(own, "--columns", "split=split", "--method", "doc")["tasks"]
    assert [note for note in task["notes"] if "duplicates" in note] == wording


def test_one_label_alone_is_said(own: Path, wording: SnapshotAssertion) -> None:
    _, predictions, _ = own_rows()
    at_f = pl.col("id").str.starts_with("F")
    sure = pl.lit([0.9, 0.1], dtype=pl.List(pl.Float64))
    constant = predictions.with_columns(
        prediction=pl.when(at_f).then(pl.lit("neg")).otherwise("prediction"),
        probabilities=pl.when(at_f).then(sure).otherwise("probabilities"),
    )
    constant.write_parquet(own / "preds.parquet")
    (task,) = run(own)["tasks"]
    assert task["notes"] == wording


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, word_encoder: WordEncoder) -> Path:
    out = tmp_path_factory.mktemp("forecast") / "data"
    build_synthetic(out, encoder=word_encoder, n_train=90, n_test=60)  # type: ignore[arg-type]
    command = ["train", "tfidf-lr", "nli", "--data", str(out), "--probabilities", "--validation"]
    CliRunner().invoke(app, [*command, "--out", str(out.parent / "preds.parquet")], catch_exceptions=False)
    return out.parent


def test_validation_rows_beside_the_file_are_read(folder: Path) -> None:
    (task,) = run(folder, data="data")["tasks"]
    dataset = DatasetFolder.open(folder / "data")
    splits = [facts.splits for facts in dataset.task("nli").domains.values()]
    assert task["n_validation"] == sum(each["validation"].rows for each in splits)


def test_what_cannot_be_forecast_is_refused(folder: Path, tmp_path: Path, wording: SnapshotAssertion) -> None:
    def forecast() -> dict:
        return run(tmp_path, data=str(folder / "data"))

    command = ["train", "majority", "sa", "--data", str(folder / "data"), "--validation", "--probabilities"]
    CliRunner().invoke(app, [*command, "--out", str(tmp_path / "preds.parquet")], catch_exceptions=False)
    pl.read_parquet(folder / "preds.parquet").write_parquet(tmp_path / "preds.parquet")
    said = {"validation rows of another task": refusal(InvalidInput, forecast)}
    pl.read_parquet(folder / "preds.validation.parquet")[1:].write_parquet(tmp_path / "preds.validation.parquet")
    said["validation rows that lack a row"] = refusal(InvalidInput, forecast)
    rows = [{"id": f"{site}{n}", "site": site, "tokens": "a b", "tags": "B-X O"} for site in "ab" for n in range(3)]
    pl.DataFrame(rows).write_csv(tmp_path / "tags.csv")
    predictions = [{"source": "a", "id": row["id"], "prediction": row["tags"]} for row in rows]
    pl.DataFrame(predictions).write_csv(tmp_path / "preds.csv")
    command = ["forecast", str(tmp_path / "preds.csv"), "--data", str(tmp_path / "tags.csv"), "--columns", "id=id"]
    command += ["--columns", "domain=site"]
    message = refusal(InvalidInput, lambda: CliRunner().invoke(app, command, catch_exceptions=False))
    _, said["a kind without accuracy"] = message.split(": ", 1)  # of a folder of its own
    assert said == wording


def test_a_folder_that_withholds_its_labels_is_forecast_from_validation_rows(tmp_path: Path) -> None:
    build_synthetic(tmp_path / "both", n_train=40, n_test=20, withhold_labels=True)
    public = str(tmp_path / "both" / "public")
    command = ["train", "tfidf-lr", "nli", "--data", public, "--probabilities", "--validation"]
    CliRunner().invoke(app, [*command, "--out", str(tmp_path / "preds.parquet")], catch_exceptions=False)
    (task,) = run(tmp_path, "--method", "doc", data="both/public")["tasks"]
    assert task["labelled"] == []
    assert task["errors"] == []
    doc = task["shifts"][0]["forecasts"][-1]
    assert doc["value"] is not None
    assert doc["low"] is None
    (tmp_path / "preds.validation.parquet").unlink()
    with pytest.raises(InvalidInput, match=r"NAME\.validation"):
        run(tmp_path, data="both/public")


def test_methods_are_compared_on_files_and_on_a_store(folder: Path, tmp_path: Path) -> None:
    dataset, preds = DatasetFolder.open(folder / "data"), folder / "preds.parquet"
    store = Store(tmp_path / "store")
    store.submit(preds, read_card(folder / "preds.card.yaml"), [dataset])
    shifts = run(folder, "--method", "doc", data="data")["tasks"][0]["shifts"]
    rows = [
        {"task": "nli", "source": each["source"], "target": each["target"], "seed": 0, "value": each["truth"]}
        for each in shifts
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "oracle.csv")

    def compared(*options: str) -> dict:
        command = ["score-forecasts", *options, "--data", str(folder / "data"), "--json", "-"]
        result = CliRunner().invoke(app, command, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return dict(json.loads(result.stdout))

    (board,) = compared(str(tmp_path / "oracle.csv"), "--predictions", str(preds))["boards"]
    by_name = {each["method"]: each for each in board["standings"]}
    assert by_name["oracle"]["error"] == 0.0
    assert by_name["oracle"]["skill"]["source-accuracy"] == 1.0
    assert by_name["doc"]["p"]["source-accuracy"] is None  # four domains cannot tell
    page = tmp_path / "page.html"
    (stored,) = compared("--store", str(tmp_path / "store"), "--method", "doc", "--report", str(page))["boards"]
    assert "concept" in page.read_text(encoding="utf-8")
    assert len(stored["models"]) == 1
    assert {each["method"] for each in stored["standings"]} == {"source-accuracy", "mean-drop", "doc"}


def test_a_folder_of_runs_is_a_model_with_its_seeds_and_constant_ones_are_left_out(
    folder: Path, tmp_path: Path
) -> None:
    dataset, preds = DatasetFolder.open(folder / "data"), pl.read_parquet(folder / "preds.parquet")
    source = preds["source"][0]
    runs = {
        "lr": [preds.filter(source=source, seed=0).with_columns(seed=pl.lit(seed, pl.Int64)) for seed in (0, 1)],
        "flat": [
            preds.filter(source=source, seed=0).with_columns(prediction=pl.lit("entailment")).drop("probabilities")
        ],
    }
    for model, seeds in runs.items():
        for seed, rows in enumerate(seeds):
            trial = Trial(model, "tfidf-lr", (), "nli", source, seed, dataset.content_hash, ())
            place = tmp_path / "runs" / trial.folder
            place.mkdir(parents=True)
            (place / "trial.json").write_text(trial.record, encoding="utf-8")
            rows.write_parquet(place / "predictions.parquet")
            shutil.copy(folder / "preds.card.yaml", place / "predictions.card.yaml")
    command = [
        "score-forecasts",
        "--predictions",
        str(tmp_path / "runs"),
        "--data",
        str(folder / "data"),
        "--json",
        "-",
    ]
    found = json.loads(CliRunner().invoke(app, command, catch_exceptions=False).stdout)
    (board,) = found["boards"]
    assert board["models"] == ["lr"]
    assert [each.endswith(ONE_LABEL) for each in found["left_out"]] == [True]
    doc = next(each for each in board["standings"] if each["method"] == "doc")
    assert (doc["n_models"], doc["n_shifts"]) == (1, len(dataset.task("nli").domains) - 1)
    (tmp_path / "empty").mkdir()
    command[2] = str(tmp_path / "empty")
    with pytest.raises(InvalidInput, match="no trials"):
        CliRunner().invoke(app, command, catch_exceptions=False)


def test_answers_have_the_methods_that_need_no_labels(tmp_path: Path, wording: SnapshotAssertion) -> None:
    rng, rows, predictions = np.random.default_rng(4), [], []
    for site, chance in zip("abcdef", (0.9, 0.8, 0.7, 0.75, 0.8, 0.6), strict=True):
        for number in range(60):
            identity = f"{site}{number}"
            context = f"In {site} there is a river {number} and a hill."
            rows.append((identity, site, context, "What is there?", f"river {number}"))
            answer = f"river {number}" if rng.random() < chance else "hill"
            predictions.append({"source": "a", "id": identity, "prediction": answer})
    columns = ["id", "domain", "context", "question", "answer"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(tmp_path / "qa.csv")
    pl.DataFrame(predictions).write_csv(tmp_path / "preds.csv")
    command = ["forecast", str(tmp_path / "preds.csv"), "--data", str(tmp_path / "qa.csv"), "--columns", "id=id"]
    result = CliRunner().invoke(app, [*command, "--json", "-"], catch_exceptions=False)
    (task,) = json.loads(result.stdout)["tasks"]
    assert task["metric"] == "token_f1"
    by_name = {each["method"]: each for each in task["shifts"][0]["forecasts"]}
    right = np.mean([each["prediction"].startswith("river") for each in predictions if each["id"].startswith("a")])
    assert by_name["source-accuracy"]["value"] == pytest.approx(right)
    assert by_name["mean-drop"]["low"] is not None
    assert [task["notes"], *(by_name[name]["reason"] for name in ("doc", "atc", "cot", "cot-corrected"))] == wording


def eight_sites(folder: Path, n_unlabelled: int) -> dict[str, float]:
    """Write rows of nine sites, the last ones without labels, with calibrated predictions; returns accuracies."""
    rng, rows, predictions, right = np.random.default_rng(2), [], [], {}
    names = [f"Site {letter}" for letter in "ABCDEFGHI"]
    for place, site in enumerate(names):
        accuracy = 0.92 - 0.045 * place if place % 2 else 0.6 + 0.035 * place
        hits = 0
        for number in range(400):
            label = LABELS[rng.integers(2)]
            chance = float(np.clip(rng.beta(20 * accuracy, 20 * (1 - accuracy)), 0.5, 0.99))
            is_right = rng.random() < chance
            hits += is_right
            predicted = label if is_right else LABELS[1 - LABELS.index(label)]
            table = [round(chance, 6), round(1 - chance, 6)]
            key = f"{site[-1]}{number}"
            shown = None if place >= len(names) - n_unlabelled else label
            rows.append({"id": key, "site": site, "text": f"{label} {key}", "label": shown})
            table = table if predicted == "neg" else table[::-1]
            predictions.append({"source": "Site A", "id": key, "prediction": predicted, "probabilities": table})
        right[site] = hits / 400
    pl.DataFrame(rows).write_csv(folder / "mine.csv")
    pl.DataFrame(predictions).write_parquet(folder / "preds.parquet")
    return right


def test_domains_without_labels_stand_worst_first_with_what_shows_their_order(
    tmp_path: Path, wording: SnapshotAssertion
) -> None:
    right = eight_sites(tmp_path, 2)
    command = ["forecast", str(tmp_path / "preds.parquet"), "--data", str(tmp_path / "mine.csv")]
    command += ["--columns", "id=id,domain=site,label=label"]
    said = " ".join(CliRunner().invoke(app, command, catch_exceptions=False).output.split())
    worst, other = sorted(("Site H", "Site I"), key=right.__getitem__)
    assert said.index(f"Worst of 2: {worst}") < said.index(f"{worst} 400") < said.index(f"{other} 400")
    printed = [said.split("Domains without labels:")[0]]
    order = run(tmp_path)["tasks"][0]["orders"][0]
    assert order["n_domains"] == 6
    assert order["p"] < 0.05
    eight_sites(tmp_path, 5)
    said = " ".join(CliRunner().invoke(app, command, catch_exceptions=False).output.split())
    assert [stable(text) for text in (*printed, said.split("Domains without labels:")[0])] == wording
