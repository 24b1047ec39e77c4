"""Reference results on boards: from the trials of a checkout to entries of a store."""

import json
import shutil
from pathlib import Path

import pytest

from shiftbench.baselines import majority
from shiftbench.baselines.grid.stored import pack_board
from shiftbench.baselines.grid.trial import Trial
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli import demo_results
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.forecasting.samples import ONE_LABEL
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.cards import card_path
from shiftbench.validation.report import InvalidInput


def add_trial(results: Path, folder: DatasetFolder, source: str, data: str | None = None) -> None:
    trial = Trial("most", "majority", (), "sa", source, 0, data or folder.content_hash, ("programs 1",))
    place = results / "synthetic-sa/runs" / trial.folder
    place.mkdir(parents=True)
    (place / "trial.json").write_text(trial.record, encoding="utf-8")
    assert Trial.read(place / "trial.json") == trial
    majority.main("sa", folder.path, place / "predictions.parquet", source=[source], validation=True)
    pack_board(results / "synthetic-sa")
    shutil.rmtree(results / "synthetic-sa/runs")


def test_trials_become_entries_of_a_store(
    synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    monkeypatch.setattr(demo_results, "RESULTS", results)
    sources = list(synthetic.task("sa").domains)[:2]
    for source in sources:
        add_trial(results, synthetic, source)
    ((entry, folder),) = demo_results.stored_results([synthetic], tmp_path / "out")
    assert (entry.card.name, folder) == ("Majority", synthetic)
    assert entry.has_validation
    assert (tmp_path / f"out/store/entries/{entry.id}/validation.parquet").is_file()
    kept = Store(tmp_path / "out/store").forecasts(entry.id)
    assert kept is not None
    assert kept.reasons == {"sa": ONE_LABEL}
    assert (tmp_path / "out/synthetic-sa/sa/most.parquet").is_file()
    ((again, _),) = demo_results.stored_results([synthetic], tmp_path / "out")
    assert again.id == entry.id
    records = results / "synthetic-sa/records.jsonl"
    lines = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line["trial"]["data"] = "0" * 64
    records.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert not list(demo_results.stored_results([synthetic], tmp_path / "out"))
    assert "(000000000000)" in capsys.readouterr().err


def test_what_is_at_the_floor_is_kept_and_not_shown(
    synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    monkeypatch.setattr(demo_results, "RESULTS", results)
    sources = list(synthetic.task("sa").domains)[:2]
    for source in sources:
        add_trial(results, synthetic, source)
    board = results / "synthetic-sa"
    ((_, folder),) = demo_results.stored_results([synthetic], tmp_path / "out")
    file = tmp_path / "out/synthetic-sa/sa/most.parquet"
    scores = score_file(file, folder).model_dump(mode="json")
    (board / "most.scores.json").write_text(json.dumps(scores), encoding="utf-8")
    shutil.copy(card_path(file), board / "most.card.yaml")
    pack_board(board)
    assert not list(demo_results.stored_results([synthetic], tmp_path / "out"))
    assert "chance" in capsys.readouterr().err


def test_a_wheel_has_no_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_results, "RESULTS", tmp_path)
    with pytest.raises(InvalidInput, match="repository"):
        demo_results.build_folders([tmp_path], tmp_path / "out")


def test_what_is_built_stays(synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_results, "RESULTS", tmp_path / "results")
    add_trial(tmp_path / "results", synthetic, next(iter(synthetic.task("sa").domains)))
    for benchmark in demo_results.BENCHMARKS:
        (tmp_path / benchmark).symlink_to(synthetic.path)
    folders = demo_results.build_folders([tmp_path / "no files"], tmp_path)
    assert [folder.content_hash for folder in folders] == [synthetic.content_hash] * 3
