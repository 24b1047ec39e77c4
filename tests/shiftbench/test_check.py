"""``shiftbench check``: one model on a CSV, from its rows to the report."""

import json
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn.metrics import f1_score
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.builders.building.own_columns import Columns
from shiftbench.checking.check_data import check_data
from shiftbench.checking.check_probes import TRAININGS, run_probes
from shiftbench.checking.opened_data import OwnFile
from shiftbench.cli.command import app
from shiftbench.validation.notices import notes_on_stderr
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.conftest import Visible
from tests.shiftbench.checked import N_TINY, headings, rows, stable, write_model

COLUMNS = Columns(domain="site", label="verdict", text=("body",), id="key")
OPTIONS = ["--columns", "domain=site,label=verdict,text=body,id=key"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows().write_csv(tmp_path / "mine.csv")
    write_model(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def run(*arguments: str, model: str = "own_words_model:classify", file: str = "mine.csv") -> Any:
    with notes_on_stderr():
        return CliRunner().invoke(app, ["check", model, "--data", file, *OPTIONS, *arguments])


def refusal(result: Any) -> str:
    assert isinstance(result.exception, InvalidInput), result.exception
    return str(result.exception)


def found(place: Path, *arguments: str) -> dict[str, Any]:
    result = run("--json", "out.json", *arguments)
    assert result.exit_code == 0, result.exception
    content: dict[str, Any] = json.loads((place / "out.json").read_text())
    return content


def test_scores_by_domain_without_a_home(place: Path) -> None:
    content = found(place, "--no-probes")
    domains = {each["domain"]: each for each in content["domains"]}
    assert list(domains) == ["garden", "kitchen", "Sci Fi", "toys"]
    frame = rows()
    is_good = pl.col("body").str.contains("great|lovely|superb|fine") & ~pl.col("body").str.contains("doll")
    said = frame.with_columns(said=pl.when(is_good).then(pl.lit("pos")).otherwise(pl.lit("neg")))
    for name, each in domains.items():
        part = said.filter(site=name)
        assert each["score"]["value"] == pytest.approx(f1_score(part["verdict"], part["said"], average="macro"))
    assert content["home"] is None
    assert content["mean_drop"] is None
    assert content["few_texts"] == {"garden": N_TINY}
    assert domains["garden"]["p"] is None
    assert domains["toys"]["p"] < 0.001
    assert domains["toys"]["at_floor"]
    assert domains["toys"]["difference"]["high"] < 0
    assert content["spread"]["lowest"] == "toys"
    assert content["mean"]["value"] == pytest.approx(
        sum(domains[name]["score"]["value"] for name in ("kitchen", "Sci Fi", "toys")) / 3
    )
    shifts = content["scores"]["tasks"][0]["shifts"]
    assert {shift["source"] for shift in shifts} == {"elsewhere"}


def test_the_report_says_first_what_was_found_and_what_to_do(place: Path, wording: SnapshotAssertion) -> None:
    assert run("--trained-on", "Sci Fi").exit_code == 0
    page = (place / "report.html").read_text(encoding="utf-8")
    assert headings(page) == wording
    text = Visible(page).text
    assert f"garden: {N_TINY} " in text
    assert "ki" in text  # ids as the CSV has them
    assert "own/own" not in text


def test_a_home_domain_gives_drops(place: Path) -> None:
    content = found(place, "--trained-on", "Sci Fi", "--no-probes")
    domains = {each["domain"]: each for each in content["domains"]}
    at_home = domains["Sci Fi"]["score"]["value"]
    for name in ("kitchen", "toys"):
        assert domains[name]["difference"]["value"] == pytest.approx(at_home - domains[name]["score"]["value"])
    assert domains["Sci Fi"]["p"] is None
    sd = {shift["target"]: shift["sd"]["value"] for shift in content["scores"]["tasks"][0]["shifts"]}
    assert sd["toys"] == pytest.approx(domains["toys"]["difference"]["value"])


def test_predictions_are_kept_and_taken_up(place: Path) -> None:
    assert "reused" not in run("--no-probes").output
    again = run("--no-probes", "--trained-on", "elsewhere")
    assert "reused" in again.output
    changed = rows().with_columns(pl.col("body") + " indeed")
    changed.write_csv(place / "mine.csv")
    assert "reused" not in run("--no-probes").output


def test_a_stopped_model_goes_on_where_it_was(place: Path, wording: SnapshotAssertion) -> None:
    (place / "fragile_model.py").write_text(
        "import os\nCALLS = []\n"
        "def classify(texts):\n"
        "    CALLS.append(len(texts))\n"
        "    if any('toys 7' in text.split(' doll ')[-1] for text in texts) and not os.path.exists('mended'):\n"
        "        raise ValueError('cannot read this')\n"
        "    return ['pos'] * len(texts)\n",
        encoding="utf-8",
    )
    assert stable(refusal(run(model="fragile_model:classify"))) == wording
    assert (place / "report.predictions.work").is_dir()
    (place / "mended").touch()
    assert run("--no-probes", model="fragile_model:classify").exit_code == 0
    assert not (place / "report.predictions.work").exists()


def test_leaked_texts_are_left_out_and_counted(place: Path) -> None:
    rows().filter(site="kitchen").head(20).select("body").write_csv(place / "train.csv")
    content = found(place, "--train-file", "train.csv", "--no-probes")
    assert content["leaks"]["n_train"] == 20
    assert content["leaks"]["exact"] == {"kitchen": 20}
    kitchen = next(each for each in content["domains"] if each["domain"] == "kitchen")
    assert kitchen["n"] == rows().filter(site="kitchen").height - 20
    assert any("distance" in note for note in content["notes"])


def test_probes_are_trained_at_equal_sizes_and_part_the_drop(place: Path, word_encoder: Any) -> None:
    with check_data(place / "mine.csv", "Sci Fi", None, OwnFile(COLUMNS)) as data:
        probes = run_probes(data, word_encoder)
        again = run_probes(data, word_encoder)
        tested = data.folder.test(data.task, columns=["id", "domain"])
    assert set(probes.without) == {"garden"}
    assert [probe.name for probe in probes.found] == ["TF-IDF + LR", "frozen embeddings + LR"]
    for probe, same in zip(probes.found, again.found, strict=True):
        assert probe.predictions.sort("id").equals(same.predictions.sort("id"))
        expected = sorted(tested.filter(pl.col("domain") != "garden")["id"])
        trainings = probe.predictions.partition_by("seed")
        assert [sorted(each["id"]) for each in trainings] == [expected] * TRAININGS
        assert not trainings[0].sort("id")["prediction"].equals(trainings[1].sort("id")["prediction"])
        assert 100 <= probe.n_train <= 160 * 4 / 5 + 1
        assert set(probe.n_texts) == {"kitchen", "sci-fi", "toys"}


def test_probes_part_the_drop(place: Path, word_encoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiftbench.checking.encoders.load_encoder", lambda _: word_encoder)
    monkeypatch.setenv("SHIFTBENCH_ENCODER", "words")
    content = found(place, "--trained-on", "Sci Fi")
    for each in content["explained"]:
        drop, difficulty, rest = (each[name]["value"] for name in ("drop", "difficulty", "rest"))
        assert drop == pytest.approx(difficulty + rest)
        assert difficulty == pytest.approx(sum(idd["value"] for idd in each["difficulties"].values()) / 2)
        assert each["verdict"] in (each["as_is"], "cannot tell")
    probes = {probe["name"]: probe["scores"] for probe in content["probes"]}
    toys = next(each for each in content["explained"] if each["domain"] == "toys")
    idd = probes["TF-IDF + LR"]["Sci Fi"]["value"] - probes["TF-IDF + LR"]["toys"]["value"]
    assert toys["difficulties"]["TF-IDF + LR"]["value"] == pytest.approx(idd)
    assert toys["verdict"] == "shifted"  # the model reads words about toys the wrong way round, probes learn them
    assert content["explained"][0]["verdict"] == "harder"  # three in ten labels of the kitchen are wrong


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--trained-on", "sci-fy"],
            "the model's source domain is not in the data; found 'sci-fy'; did you mean 'Sci Fi'",
        ),
        (["--task", "sa"], "a file has only one task"),
        (["--label-map", "POS"], "invalid label mapping"),
        (
            ["--model-arg", "max_length=16"],
            "max_length is only for transformers models; found 'own_words_model:classify'",
        ),
    ],
)
def test_what_cannot_be_checked_is_refused(place: Path, arguments: list[str], words: str) -> None:
    assert words in refusal(run(*arguments))


def test_refusals_of_files(place: Path, wording: SnapshotAssertion) -> None:
    said = {}
    text = rows().write_csv().replace("kitchen 3", "café 3")
    (place / "mine.csv").write_bytes(text.encode("cp1252"))
    said["another encoding"] = refusal(run())
    rows(600).write_csv(place / "mine.csv")
    options = ["--columns", "domain=key,label=verdict,text=body"]
    result = CliRunner().invoke(app, ["check", "own_words_model:classify", "--data", "mine.csv", *options])
    said["ids as domains"] = refusal(result)
    frame = rows().with_columns(verdict=pl.lit("pos"))
    frame = frame.with_columns(body=pl.when(pl.col("key") == "ki3").then(pl.lit("  ")).otherwise("body"))
    frame.write_csv(place / "mine.csv")
    said["one class, an empty text"] = refusal(run())
    assert said == wording


def test_a_dataset_folder_may_be_the_data(place: Path, synthetic: Any, wording: SnapshotAssertion) -> None:
    (place / "always.py").write_text("def classify(pairs):\n    return ['neutral'] * len(pairs)\n", encoding="utf-8")
    arguments = ["check", "always:classify", "--data", str(synthetic.path), "--json", "out.json"]
    several = CliRunner().invoke(app, arguments)
    said = {"several tasks": refusal(several)}
    done = CliRunner().invoke(app, [*arguments, "--task", "nli"])
    assert done.exit_code == 0, done.exception
    content = json.loads((place / "out.json").read_text())
    assert all(each["at_floor"] for each in content["domains"])
    own = CliRunner().invoke(app, [*arguments, "--task", "nli", "--columns", "domain=site", "--train-file", "t.csv"])
    said["options of a file"] = refusal(own)
    assert said == wording


def test_probes_are_trained_unasked_on_a_small_file_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHIFTBENCH_ENCODER", raising=False)
    assert [each["name"] for each in found(place)["probes"]] == ["TF-IDF + LR"]
    assert not found(place, "--no-probes")["probes"]
    monkeypatch.setattr("shiftbench.checking.check.PROBED", 100)
    assert not found(place)["probes"]
    assert found(place, "--probes")["probes"]


def test_steps_have_evidence_and_a_command_that_runs(place: Path, wording: SnapshotAssertion) -> None:
    content = found(place, "--trained-on", "Sci Fi", "--margin", "45")
    steps = {each["domain"]: each for each in content["steps"]}
    kitchen, toys = steps["kitchen"], steps["toys"]
    assert steps["garden"]["texts"] == 30 - N_TINY
    assert {name: (each["step"], each["evidence"], each["command"]) for name, each in steps.items()} == wording
    assert shlex.split(toys["command"])[:3] == ["shiftbench", "check", "RETRAINED"]
    program, *words = shlex.split(kitchen["command"])
    assert program == "shiftbench"
    assert words[:2] == ["gate", "report.predictions.parquet"]
    gated = CliRunner().invoke(app, words)
    assert gated.exit_code == 3, gated.output  # toys breaks the limit that the kitchen keeps
    assert "toys" in gated.output


def test_no_minimum_score_is_recommended_that_chance_would_keep(place: Path) -> None:
    def commands() -> list[str | None]:
        steps = found(place, "--no-probes", "--margin", "45")["steps"]
        return [each["command"] for each in steps if each["step"] == "accept"]

    assert set(commands()) == {None}  # the model is at chance on toys
    rows().filter(pl.col("site") != "toys").write_csv(place / "mine.csv")
    (command,) = set(commands())
    assert command is not None
    assert 50 < int(command.split("--min-score ")[1]) < 70
    assert CliRunner().invoke(app, shlex.split(command)[1:]).exit_code == 0


def test_a_domain_without_labels_has_a_step_whose_command_draws_texts(place: Path) -> None:
    blank = rows(300).with_columns(verdict=pl.when(pl.col("site") != "toys").then("verdict"))
    blank.write_csv(place / "mine.csv")
    content = found(place, "--trained-on", "Sci Fi", "--margin", "12")
    (toys,) = (each for each in content["steps"] if each["domain"] == "toys")
    assert toys["step"] == "label"
    assert 30 < toys["texts"] < 300
    _, *words = shlex.split(toys["command"])
    drawn = CliRunner().invoke(app, words)
    assert drawn.exit_code == 0, drawn.output
    assert len(pl.read_csv(place / "to_label.csv")) == toys["texts"]
