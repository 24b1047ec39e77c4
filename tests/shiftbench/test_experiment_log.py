"""``--log-to``: what MLflow and Trackio hold after a command, read back with their own clients; nothing leaves."""

import json
import socket
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.cli.experiment_log import Tracker, card_params, check_tracker, score_metrics
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.cards import write_card
from shiftbench.validation.report import InvalidInput
from tests.command_line import run
from tests.leaderboard.conftest import Filled


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that both trackers keep runs in; Trackio reads its name when it is imported."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        # Files, because to make a database takes MLflow ten times as long.
        patch.setenv("MLFLOW_TRACKING_URI", f"file:{folder}/mlflow")
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        patch.setenv("TRACKIO_DIR", str(folder / "trackio"))
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.delitem(sys.modules, "trackio", raising=False)
        patch.chdir(folder)
        yield folder


@pytest.fixture
def sent(filled: Filled, tmp_path: Path) -> Path:
    path = tmp_path / "good.parquet"
    path.write_bytes(filled.files["good"].read_bytes())
    write_card(filled.card("good").model_copy(update={"contact": "ada@example.org"}), tmp_path / "good.card.yaml")
    return path


def mlflow_runs() -> list[Any]:
    import mlflow

    return list(mlflow.search_runs(experiment_names=["shiftbench"], output_format="list"))


def test_score_logs_figures_settings_picture_and_report_to_mlflow(filled: Filled, sent: Path, place: Path) -> None:
    import mlflow

    report = sent.with_name("report.html")
    done = run(
        "score", sent, "--data", filled.folder.path, "--log-to", "mlflow", "--report", report, "--json", "-", cwd=place
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)["tasks"][0]["summary"]  # nothing else is on standard output
    (logged,) = [each for each in mlflow_runs() if each.info.run_name == "good"]
    for end in ("", "_low", "_high"):
        assert logged.data.metrics[f"nli/mean_st{end}"] == summary["mean_st"][end.strip("_") or "value"]
    assert logged.data.params["name"] == "Good model"
    assert logged.data.params["parameters"] == "22700000"
    assert logged.data.params["data"] == filled.folder.content_hash
    assert "ada@example.org" not in str(logged.data.params)
    files = {item.path for item in mlflow.artifacts.list_artifacts(run_id=logged.info.run_id)}
    assert files == {"nli-matrix.png", "report.html"}


def test_several_files_are_several_runs_of_trackio(filled: Filled, sent: Path, place: Path) -> None:
    words = ("score", sent, filled.files["poor"], "--data", filled.folder.path, "--names", "Ours,Theirs")
    done = run(*words, "--log-to", "trackio", "--json", "-", cwd=place)
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)["scores"]
    with sqlite3.connect(place / "trackio/shiftbench.db") as kept:
        rows = kept.execute("select run_name, metrics from metrics").fetchall()
        configs = dict(kept.execute("select run_name, config from configs").fetchall())
    found = {name: json.loads(metrics) for name, metrics in rows}
    assert set(found) == {"Ours", "Theirs"}
    for name, metrics in found.items():
        assert metrics["nli/mean_st"] == scores[name]["tasks"][0]["summary"]["mean_st"]["value"]
        assert metrics["nli-matrix"]["_type"] == "trackio.image"
    assert json.loads(configs["Ours"])["name"] == "Good model"
    assert list((place / "trackio/media").rglob("*.png"))


def test_training_is_scored_and_logged_with_its_card(filled: Filled, place: Path, tmp_path: Path) -> None:
    out = tmp_path / "majority.parquet"
    words = ("train", "majority", "nli", "--data", filled.folder.path, "--out", out, "--log-to", "mlflow")
    done = run(*words, cwd=place)
    assert done.returncode == 0, done.stderr
    (logged,) = [each for each in mlflow_runs() if each.info.run_name == "Majority"]
    scores = score_file(out, filled.folder)
    assert logged.data.metrics == pytest.approx(score_metrics(scores))
    assert logged.data.params["family"] == "majority"


def test_a_grid_logs_a_run_for_each_model_and_task(filled: Filled, place: Path, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(
        f"data = '{filled.folder.path}'\nout = '{tmp_path / 'out'}'\ntasks = ['nli']\nsources = ['harbour']\n"
        "[[models]]\nname = 'floor'\nprogram = 'majority'\n"
    )
    done = run("grid", tmp_path / "grid.toml", "--log-to", "mlflow", cwd=place)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/nli/floor.parquet").is_file()
    assert len([each for each in mlflow_runs() if "grid" in each.data.params.get("command", "")]) == 1


def test_check_logs_its_scores_and_report(place: Path, tmp_path: Path) -> None:
    texts = [f"{word} thing number {n}" for n in range(60) for word in ("good", "bad")]
    labels = ["good", "bad"] * 60
    pl.DataFrame({"text": texts, "label": labels, "site": ["a", "b"] * 60}).write_csv(tmp_path / "mine.csv")
    (tmp_path / "constant.py").write_text("def classify(rows):\n    return ['good' for _ in rows]\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        done = run(
            "check", "constant:classify", "--data", tmp_path / "mine.csv", "--domain-column", "site", "--label-column",
            "label", "--report", tmp_path / "r.html", "--log-to", "mlflow", cwd=place,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (logged,) = [each for each in mlflow_runs() if each.info.run_name == "constant:classify"]
    assert logged.data.params["trained_on"] == "elsewhere"
    assert any(name.startswith("own/st.elsewhere.") for name in logged.data.metrics), logged.data.metrics


def test_of_withheld_labels_no_figure_is_logged(place: Path, tmp_path: Path) -> None:
    build_synthetic(tmp_path / "pair", n_train=30, n_test=20, encoder=None, withhold_labels=True)
    words = ("train", "majority", "sa", "--data", tmp_path / "pair/gold", "--out", tmp_path / "p.parquet")
    before = {each.info.run_id for each in mlflow_runs()}
    assert run(*words, "--log-to", "mlflow", cwd=place).returncode == 0
    (logged,) = [each for each in mlflow_runs() if each.info.run_id not in before]
    assert (logged.data.metrics, logged.data.params["family"]) == ({}, "majority")


@pytest.mark.parametrize("tracker", list(Tracker))
def test_a_tracker_that_is_not_installed_is_refused_before_the_work(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(InvalidInput, match=rf"pip install 'shiftbench\[{tracker.value}\]'"):
        check_tracker(tracker)
    done = run("train", "majority", "nli", "--data", tmp_path, "--out", tmp_path / "p.parquet", "--log-to", tracker)
    assert done.returncode == 1
    assert f"{tracker.value}: this needs a package that is not installed" in done.stderr


def test_what_mlflow_refuses_is_one_clear_message(
    filled: Filled, sent: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "x" * 600)
    done = run("score", sent, "--data", filled.folder.path, "--log-to", "mlflow", cwd=place)
    assert done.returncode == 1
    assert "error: good: MLflow did not accept the run" in done.stderr


def test_names_are_what_trackers_take(filled: Filled) -> None:
    scores = filled.store.scores(filled.entries["good"], filled.folder)
    metrics = score_metrics(scores)
    assert metrics["nli/sd.harbour.kitchen"] == next(
        shift.sd.value for shift in scores.tasks[0].shifts if (shift.source, shift.target) == ("harbour", "kitchen")
    )
    assert "nli/depth_f1_0" in metrics
    versions = card_params(filled.card("good").model_copy(update={"versions": {"numpy": "2"}, "contact": "x"}))
    assert versions["versions.numpy"] == "2"
    assert "contact" not in versions


def test_a_server_that_does_not_answer_is_named_before_the_work(
    sent: Path, filled: Filled, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: MLflow tried again for many minutes after the work."""
    monkeypatch.setattr("shiftbench.cli.experiment_log.SERVER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://ada:s3cret@127.0.0.1:{port}")
        began = time.monotonic()
        done = run("score", sent, "--data", filled.folder.path, "--log-to", "mlflow", cwd=place)
    assert (done.returncode, done.stdout) == (1, "")
    told = "the MLflow server does not answer; found timed out; start it"
    assert f"error: http://***@127.0.0.1:{port}: {told}" in done.stderr
    assert "s3cret" not in done.stderr
    assert time.monotonic() - began < 10
