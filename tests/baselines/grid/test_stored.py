"""Trials are the same from their folders and packed: every file, every value, and what a grid makes of them."""

import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.grid.collect import by_entry, collect
from shiftbench.baselines.grid.progress import collect_done, not_done
from shiftbench.baselines.grid.stored import PACK, RECORDS, StoredTrials, pack_board, read_results, unpack_board
from shiftbench.baselines.grid.trial import Trial
from shiftbench.baselines.results.pack import _files_of, _is_same
from shiftbench.validation.cards import Card, card_path, write_card
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

DATA = "d" * 64


def make_trial(model: str, source: str, seed: int = 0, task: str = "nli") -> Trial:
    return Trial(model, "majority", ("--probabilities",), task, source, seed, DATA, ("python 3.11", "programs 1"))


def rows(trial: Trial, n: int, kind: str) -> pl.DataFrame:
    """Invent predictions whose values have every digit: nothing is rounded on the way."""
    rng = np.random.default_rng(len(trial.key) + trial.seed + n)
    frame = pl.DataFrame(
        {"source": [trial.source] * n, "id": [f"x/nli/b/test/{place:012x}" for place in range(n)]}
    ).with_columns(seed=pl.lit(trial.seed, pl.Int64))
    if kind == "tags":
        return frame.with_columns(prediction=pl.Series([["O", "B-x"][: 1 + place % 2] for place in range(n)])).select(
            "source", "id", "prediction", "seed"
        )
    table = rng.dirichlet([1, 1, 1], size=n)
    frame = frame.with_columns(
        prediction=pl.Series([f"label-{place}" for place in table.argmax(axis=1)]),
        probabilities=pl.Series(table.tolist(), dtype=pl.List(pl.Float64)),
    )
    frame = frame.with_columns(confidence=pl.col("probabilities").list.max())
    return frame.select("source", "id", "prediction", "seed", "confidence", "probabilities")


def write_trial(board: Path, trial: Trial, kind: str = "labels", *, validation: bool = True) -> None:
    folder = board / "runs" / trial.folder
    folder.mkdir(parents=True)
    (folder / "trial.json").write_text(trial.record, encoding="utf-8")
    for name, n in (("predictions", 40), *([("predictions.validation", 7)] if validation else [])):
        file = folder / f"{name}.parquet"
        rows(trial, n, kind).write_parquet(file)
        write_card(
            Card(name=trial.model, paradigm="other", data=DATA, command=f"train {trial}", training_size=9),
            card_path(file),
        )
    (folder / "predictions.training.json").write_text('[\n {\n  "loss": 0.1\n }\n]', encoding="utf-8")


@pytest.fixture
def board(tmp_path: Path) -> Path:
    board = tmp_path / "x-nli"
    for source in ("a", "b"):
        for seed in (0, 1):
            write_trial(board, make_trial("m", source, seed))
    write_trial(board, make_trial("n", "a"), validation=False)
    write_card(Card(name="m", paradigm="other", data=DATA), board / "m.card.yaml")
    (board / "m.scores.json").write_text('{\n  "tasks": [\n    0.1\n  ]\n}\n', encoding="utf-8")
    return board


def test_every_file_comes_back_as_it_was(board: Path, tmp_path: Path) -> None:
    written = pack_board(board)
    assert [file.name for file in written] == [PACK, RECORDS]
    unpack_board(board, tmp_path / "back")
    files = list(_files_of(board))
    assert len(files) == 5 * 4 + 4 * 2 + 2
    assert all(_is_same(file, tmp_path / "back" / file.relative_to(board)) for file in files)
    spoilt = next((tmp_path / "back").rglob("predictions.parquet"))
    frame = pl.read_parquet(spoilt)
    nudged = [np.nextafter(frame["confidence"][0], 1), *frame["confidence"][1:]]
    frame.with_columns(confidence=pl.Series(nudged)).write_parquet(spoilt)
    assert not _is_same(board / spoilt.relative_to(tmp_path / "back"), spoilt)


def test_floats_come_back_bit_by_bit(board: Path) -> None:
    trial = make_trial("m", "b", 1)
    before = StoredTrials(board).predictions(trial)
    pack_board(board)
    shutil.rmtree(board / "runs")
    after = StoredTrials(board / "runs").predictions(trial)
    assert after.schema == before.schema
    for name in ("confidence", "probabilities"):
        values = [frame[name].explode() if name == "probabilities" else frame[name] for frame in (before, after)]
        bits = [b"".join(struct.pack("<d", value) for value in column) for column in values]
        assert bits[0] == bits[1]
    assert after.equals(before)


def test_the_same_trials_are_the_same_bytes(board: Path, tmp_path: Path) -> None:
    first = [file.read_bytes() for file in pack_board(board)]
    assert [file.read_bytes() for file in pack_board(board)] == first
    shutil.rmtree(board / "runs")
    assert [file.read_bytes() for file in pack_board(board)] == first  # packed again from what was packed
    assert pl.read_parquet(board / PACK)["id"].n_unique() == 40


def test_a_grid_takes_packed_trials_for_done_and_collects_them(board: Path, tmp_path: Path) -> None:
    trials = [make_trial("m", source, seed) for source in ("a", "b") for seed in (0, 1, 2)]
    outs = []
    for place in ("folders", "packed"):
        out = tmp_path / place
        shutil.copytree(board, out)
        if place == "packed":
            pack_board(out)
            shutil.rmtree(out / "runs")
        assert {trial.seed for trial in not_done(trials, out / "runs")} == {2}
        collect_done(trials, out)
        outs.append({file.name: file.read_bytes() for file in (out / "nli").iterdir()})
    assert outs[0].keys() == {
        "m.parquet", "m.card.yaml", "m.validation.parquet", "m.validation.card.yaml", "m.training.json",
    }  # fmt: skip
    assert outs[0] == outs[1]


def test_a_trial_of_its_own_folder_counts_first(board: Path, tmp_path: Path) -> None:
    pack_board(board)
    trial = make_trial("m", "a")
    file = board / "runs" / trial.folder / "predictions.parquet"
    pl.read_parquet(file).head(3).write_parquet(file)
    kept = StoredTrials(board)
    assert len(kept.predictions(trial)) == 3
    file.write_bytes(b"half a file")  # a run that was killed: the packed one is whole
    assert len(kept.predictions(trial)) == 40
    assert kept.is_done(trial)
    new = make_trial("m", "c")
    assert not kept.is_done(new)
    assert kept.files(new) == []
    write_trial(board, new)
    assert new in StoredTrials(board).trials()
    assert len(StoredTrials(board).trials()) == 6
    (entry, _) = by_entry(StoredTrials(board).trials())
    out = collect(entry, StoredTrials(board), tmp_path / "out")
    assert out is not None
    assert set(pl.read_parquet(out)["source"]) == {"a", "b", "c"}


def test_tags_and_answers_are_packed_as_they_are(tmp_path: Path) -> None:
    board = tmp_path / "x-ner"
    write_trial(board, trial := make_trial("m", "a"), "tags")
    before = StoredTrials(board).predictions(trial)
    pack_board(board)
    shutil.rmtree(board / "runs")
    assert StoredTrials(board).predictions(trial).equals(before)
    assert "confidence" not in before.columns


def test_a_confidence_that_could_not_be_given_back_is_refused(board: Path, wording: SnapshotAssertion) -> None:
    file = board / "runs" / make_trial("m", "a").folder / "predictions.parquet"
    pl.read_parquet(file).with_columns(confidence=pl.lit(0.5)).write_parquet(file)
    assert refusal(InvalidInput, pack_board, board) == wording


def test_results_without_trials_are_one_file(board: Path) -> None:
    shutil.rmtree(board / "runs")
    assert [file.name for file in pack_board(board)] == [RECORDS]
    result: Any = read_results(board)["m"]
    assert (result.card.name, result.scores) == ("m", {"tasks": [0.1]})
    assert StoredTrials(board).trials() == []
