"""What version 0.1.0 (commit 9d56ca1) wrote opens, serves, scores, rescores and goes on as before.

``written_by_0_1_0`` was made by that version's own commands from ``rows.csv``, whose texts are invented: ``build own``,
``train``, ``score``, ``submit``, an index that kept its rows and ranks, and a ``grid`` of two trials. It was made on
another machine with other library versions, so rows are compared, not bytes, and figures with a tolerance.
"""

import json
import shutil
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.command import app
from shiftbench.leaderboard.app.server import serve
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.scores.shape import METRIC_VERSION
from tests.close_figures import FITTED, assert_close

WRITTEN = Path(__file__).parent / "written_by_0_1_0"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A copy, because a store and a grid are written to."""
    return Path(shutil.copytree(WRITTEN, tmp_path / "written"))


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def points(scores: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Collect the point figures of every shift, which no metric version may move; intervals may."""
    figures = ("st", "ss", "tt", "sd", "td")
    return [
        (shift["source"], shift["target"], shift["scenario"], *(shift[figure]["value"] for figure in figures))
        for shift in scores["tasks"][0]["shifts"]
    ]


def test_the_dataset_folder_opens_and_is_sound(written: Path) -> None:
    folder = DatasetFolder.open(written / "data")
    folder.check()
    assert folder.content_hash.startswith("90bc82ac5200")
    assert {name: len(folder.split("gadgets", name, "test")) for name in folder.task("gadgets").domains} == {
        "ferry": 40,
        "kettle": 40,
        "violin": 40,
    }


def test_the_same_rows_build_the_same_dataset(written: Path, tmp_path: Path) -> None:
    run("build", "own", "gadgets", "--raw", written / "rows.csv", "--out", tmp_path / "again", "--no-depth")
    files = sorted(path.relative_to(written / "data") for path in (written / "data/data").rglob("*.parquet"))
    assert len(files) == 9
    for file in files:
        assert_frame_equal(pl.read_parquet(tmp_path / "again" / file), pl.read_parquet(written / "data" / file))
    then, now = (DatasetFolder.open(folder) for folder in (written / "data", tmp_path / "again"))
    assert now.content_hash == then.content_hash


def test_training_gives_the_same_prediction_file(written: Path, tmp_path: Path) -> None:
    for program, name in (("majority", "majority"), ("tfidf-lr", "tfidf")):
        run("train", program, "gadgets", "--data", written / "data", "--out", tmp_path / f"{name}.parquet")
        now, then = (pl.read_parquet(folder / f"{name}.parquet") for folder in (tmp_path, written))
        assert_close(now, then, FITTED)


def test_the_prediction_file_has_the_same_scores(written: Path, tmp_path: Path) -> None:
    run("score", written / "tfidf.parquet", "--data", written / "data", "--json", tmp_path / "scores.json")
    then, now = (json.loads(path.read_text()) for path in (written / "scores.json", tmp_path / "scores.json"))
    assert_close(points(now), points(then))
    if now["metric_version"] == then["metric_version"]:
        assert_close(now, then)


def test_the_store_opens_with_what_its_index_kept(written: Path) -> None:
    folder, store = DatasetFolder.open(written / "data"), Store(written / "store")
    assert set(store.ids()) == {"6b008d4048332f36", "f77d793656760352"}
    index = Index([folder], store)
    index.settle()
    (board,) = index.boards()
    assert board.task == "gadgets"
    rows = index.frame(board)
    assert sorted(rows["name"]) == ["Majority", "TF-IDF + LR"]


def test_the_store_is_scored_again(written: Path) -> None:
    run("rescore", "--store", written / "store", "--data", written / "data", "--all")
    folder, store = DatasetFolder.open(written / "data"), Store(written / "store")
    then = json.loads((WRITTEN / "scores.json").read_text())
    now = store.scores(store.entry("f77d793656760352"), folder).model_dump(mode="json")
    assert now["metric_version"] == METRIC_VERSION
    assert_close(points(now), points(then))


def test_the_store_is_served(written: Path) -> None:
    server = serve([DatasetFolder.open(written / "data")], Store(written / "store"), port=0, block=False)
    try:
        until = time.monotonic() + 30
        page = ""
        while "TF-IDF" not in page and time.monotonic() < until:
            with urlopen(f"{server.url}/?board=own/gadgets", timeout=30) as answer:
                page = answer.read().decode()
        assert "TF-IDF + LR" in page
    finally:
        server.close()


def test_the_grid_goes_on_without_training_again(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written)
    before = {path: path.stat().st_mtime_ns for path in written.glob("results/runs/**/predictions.parquet")}
    predictions = pl.read_parquet(written / "results/gadgets/m.parquet")
    (written / "results/gadgets/m.parquet").unlink()
    run("grid", "grid.toml")
    assert_close(pl.read_parquet(written / "results/gadgets/m.parquet"), predictions)
    after = {path: path.stat().st_mtime_ns for path in written.glob("results/runs/**/predictions.parquet")}
    # With other versions of the libraries that compute, trials are others and run beside the old ones.
    assert after.items() >= before.items()
    assert len(after) in (len(before), 2 * len(before))
