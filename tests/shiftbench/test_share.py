"""``shiftbench board share``: files of entries and of files, pull requests to a Hub on this machine, bad input."""

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import polars as pl
import pytest
import yaml
from huggingface_hub import HfApi
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.shared_files import send_shared
from shiftbench.scoring.interchange.every_eval_ever import DATASTORE
from shiftbench.scoring.interchange.shared_entry import SharedEntry
from shiftbench.validation.cards import Card, write_card
from shiftbench.validation.report import InvalidInput
from tests.command_line import run
from tests.hub.server import WRITE, LoopbackHub, running_hub
from tests.hub.spaces import stored_model
from tests.leaderboard.conftest import Filled
from tests.scoring.interchange.conftest import good

__all__ = ["good"]

NAMES = ("--dataset", "org/data", "--model", "lab/model")


@pytest.fixture
def sent(filled: Filled, tmp_path: Path) -> Path:
    """A prediction file with a card that lets everybody have it."""
    path = Path(shutil.copy(filled.files["good"], tmp_path / "preds.parquet"))
    write_card(filled.card("good").model_copy(update={"share_predictions": True}), tmp_path / "preds.card.yaml")
    return path


@pytest.fixture
def scored(filled: Filled, sent: Path) -> tuple[str | Path, ...]:
    """What the command takes of scores that were computed before."""
    place = sent.with_name("scores.json")
    scores = filled.store.scores(filled.entries["good"], filled.folder)
    place.write_text(scores.model_dump_json())
    shutil.copy(sent.with_name("preds.card.yaml"), sent.with_name("scores.card.yaml"))
    return (place,)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[LoopbackHub]:
    with running_hub(tmp_path / "hub") as running:
        running.stored.create(stored_model("lab/model"), private=False)
        running.stored.create(DATASTORE, private=False)
        yield running


@pytest.fixture
def here(hub: LoopbackHub, basic_uploads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point the Hub's client of this process at the loopback Hub."""
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", hub.url)
    monkeypatch.setenv("HF_TOKEN", WRITE)


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_an_entry_of_a_store_and_its_file_share_the_same_results(filled: Filled, sent: Path, tmp_path: Path) -> None:
    data = ("--data", filled.folder.path, *NAMES)
    entry = filled.entries["good"]
    done = run(
        "board", "share", entry.id, "--store", filled.store.root, "--to", "eval-results", "--out", tmp_path / "a", *data
    )
    assert done.returncode == 0, done.stderr
    done = run("board", "share", sent, "--to", "eval-results", "--out", tmp_path / "b", *data)
    assert done.returncode == 0, done.stderr
    first, second = (yaml.safe_load((tmp_path / out / ".eval_results/data.yaml").read_text()) for out in "ab")
    assert first[0].pop("date") == entry.submitted_at
    assert first == second


def test_scores_alone_are_shared_as_their_predictions_are(
    filled: Filled, sent: Path, scored: tuple[str | Path, ...], tmp_path: Path
) -> None:
    to = ("--to", "every-eval-ever", "--organization", "The lab", *NAMES, "--data", filled.folder.path)
    texts = []
    for out, entry in (("a", sent), ("b", *scored)):
        done = run("board", "share", entry, *to, "--out", tmp_path / out)
        assert done.returncode == 0, done.stderr
        (path,) = files(tmp_path / out)
        texts.append((path, json.loads((tmp_path / out / path).read_text())["evaluation_results"]))
    assert texts[0] == texts[1]


def test_options_of_the_former_version_cost_a_line(filled: Filled, sent: Path, tmp_path: Path) -> None:
    card = shutil.move(tmp_path / "preds.card.yaml", tmp_path / "elsewhere.yaml")
    to = ("--to", "every-eval-ever", "--organization", "The lab", *NAMES, "--data", filled.folder.path)
    former = ("--card", card, "--evaluator", "third_party")
    done = run("board", "share", sent, *to, "--out", tmp_path / "out", *former)
    assert done.returncode == 0, done.stderr
    assert {"--card:", "--evaluator:"} <= set(done.stderr.split())
    (path,) = files(tmp_path / "out")
    assert '"evaluator_relationship": "third_party"' in (tmp_path / "out" / path).read_text()
    shown = run("board", "share", "--help").stdout
    assert "--organization" in shown
    assert "--card" not in shown
    assert "--evaluator" not in shown


def test_model_and_dataset_are_taken_from_card_and_data(filled: Filled, sent: Path, tmp_path: Path) -> None:
    card = filled.card("good").model_copy(update={"model_url": "https://huggingface.co/lab/model"})
    write_card(card, tmp_path / "preds.card.yaml")
    done = run(
        "board", "share", sent, "--to", "csv", "--data", filled.folder.path, "--out", tmp_path / "out", "--json", "-"
    )
    assert json.loads(done.stdout) == {"files": ["scores.csv"], "pull_request": None}
    assert (tmp_path / "out/scores.csv").read_text().splitlines()[1].startswith("lab/model,synthetic,")


def test_a_pull_request_brings_the_file_to_the_model(
    filled: Filled, scored: tuple[str | Path, ...], hub: LoopbackHub, here: None
) -> None:
    done = run(
        "board",
        "share",
        *scored,
        "--to",
        "eval-results",
        "--data",
        filled.folder.path,
        *NAMES,
        "--create-pr",
        "--json",
        "-",
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pull_request"].endswith("/discussions/1")
    model = stored_model("lab/model")
    assert hub.stored.files(model) == {}  # nothing is merged
    (path,) = hub.stored.files(model, "refs/pr/1")
    assert path == ".eval_results/data.yaml"
    title = hub.stored.by_name[model].commit("refs/pr/1").title
    assert "Synthetic" in title


def test_results_go_to_the_datastore(filled: Filled, sent: Path, hub: LoopbackHub, here: None, tmp_path: Path) -> None:
    to = ("--to", "every-eval-ever", "--organization", "The lab", "--create-pr", "--out", tmp_path / "eee")
    done = run("board", "share", sent, "--data", filled.folder.path, *NAMES, *to)
    assert done.returncode == 0, done.stderr
    (there,) = hub.stored.files(DATASTORE, "refs/pr/1")
    assert [there] == files(tmp_path / "eee")
    assert there.startswith("data/shiftbench/lab/model/")


def test_no_network_is_one_clear_message(good: SharedEntry, tmp_path: Path, waits: list[float]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nowhere = HfApi(endpoint=f"http://127.0.0.1:{free.getsockname()[1]}", token=WRITE)
    (tmp_path / "a.yaml").write_text("[]")
    with pytest.raises(InvalidInput, match="lab/model"):
        send_shared(good, "eval-results", {"a.yaml": tmp_path / "a.yaml"}, nowhere)


def test_a_refused_pull_request_leaves_no_file(
    filled: Filled, scored: tuple[str | Path, ...], hub: LoopbackHub, here: None, tmp_path: Path
) -> None:
    names = ("--dataset", "org/data", "--model", "lab/none")
    words = ("--data", filled.folder.path, *names, "--create-pr", "--out", tmp_path / "out")
    done = run("board", "share", *scored, "--to", "eval-results", *words)
    assert done.returncode == 1
    assert "lab/none:" in done.stderr
    assert not (tmp_path / "out").exists()


def test_bad_input_is_one_clear_message_and_no_file(
    filled: Filled, sent: Path, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    broken, card = tmp_path / "broken.json", tmp_path / "preds.card.yaml"
    broken.write_text('{"benchmark": "dr"}')
    said = {}
    for name, words in {
        "no such entry": ("0123456789abcdef", "--store", filled.store.root),
        "no id": ("good", "--store", filled.store.root),
        "no file": (tmp_path / "none.parquet",),
        "no card": (shutil.copy(filled.files["good"], tmp_path / "lonely.parquet"),),
        "a card": (card, "--card", card),
        "no scores": (broken, "--card", card),
        "no repository": (sent, "--model", "model"),
        "no https": (sent, "--report", "http://example.org"),
        "a full folder": (sent, "--out", tmp_path),
    }.items():
        out = () if "--out" in words else ("--out", tmp_path / "out")
        done = run("board", "share", *words, *out, "--to", "csv", "--data", filled.folder.path)
        assert done.returncode == 1, name
        said[name] = done.stderr
        assert not (tmp_path / "out").exists()
    assert said == wording


def test_a_withheld_board_is_refused(tmp_path: Path) -> None:
    build_synthetic(tmp_path / "pair", n_train=30, n_test=20, encoder=None, withhold_labels=True)
    gold = DatasetFolder.open(tmp_path / "pair/gold")
    rows = gold.test("nli", columns=["id"]).with_columns(source=pl.lit("none"), prediction=pl.lit("neutral"))
    rows.write_parquet(tmp_path / "preds.parquet")
    card = Card(name="m", paradigm="zero-shot", data=gold.content_hash, share_predictions=True)
    write_card(card, tmp_path / "preds.card.yaml")
    for side in ("public", "gold"):
        words = ("--to", "csv", "--data", tmp_path / "pair" / side, "--out", tmp_path / "out")
        done = run("board", "share", tmp_path / "preds.parquet", *words)
        assert done.returncode == 1
        assert "withheld" in done.stderr
        assert not (tmp_path / "out").exists()


def test_options_that_do_not_fit_are_named(sent: Path, filled: Filled, tmp_path: Path) -> None:
    words = ("board", "share", sent, "--data", filled.folder.path, *NAMES)
    for more, message in (
        (("--to", "csv"), "give --out"),
        (("--to", "csv", "--create-pr"), "--create-pr does not send CSV"),
        (("--to", "every-eval-ever", "--out", tmp_path / "out"), "give --organization"),
    ):
        done = run(*words, *more)
        assert done.returncode == 2
        assert message in done.stderr
