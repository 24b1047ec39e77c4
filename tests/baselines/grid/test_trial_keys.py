"""A trial is keyed by the rows of its task: other tasks do not matter, and former keys are still found."""

import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from shiftbench.baselines import majority
from shiftbench.baselines.grid.plan import read_plan
from shiftbench.baselines.grid.progress import collect_done, not_done
from shiftbench.baselines.grid.stored import FORMER_DATA, StoredTrials, pack_board
from shiftbench.baselines.grid.trial import PREDICTIONS, Trial, find_dataset, trial_data
from shiftbench.builders.assembling.assemble import assemble
from shiftbench.builders.building.build import build
from shiftbench.builders.building.synthetic import (
    _PLACES,
    _PRODUCTS,
    NLI,
    SA,
    _pairs,
    _reviews,
    _split,
    write_generated,
)
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.help import imported_command
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.cards import card_path, read_card
from tests.baselines.test_results import BOARDS, RESULTS

GRID = "tasks = {tasks}\n[[models]]\nname = 'most'\nprogram = 'majority'\noptions = {{ validation = true }}\n"
TASKS = ["nli", "sa"]


def folder_of(out: Path, *, nli_only: bool = False, changed: str = "") -> DatasetFolder:
    """Write invented rows of both tasks, or of one; a row of the changed task has another text."""
    made = {NLI: {place: _pairs(place, 0, 90) for place in _PLACES}}
    if not nli_only:
        made[SA] = {product: _reviews(product, 0, 90) for product in _PRODUCTS}
    tasks = []
    for spec, domains in made.items():
        rows = {domain: _split(frame, 30) for domain, frame in domains.items()}
        if spec.name == changed:
            first = next(iter(rows))
            text = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("Nobody wrote this.")).otherwise(spec.inputs[0])
            rows[first] = rows[first] | {"test": rows[first]["test"].with_columns(text.alias(spec.inputs[0]))}
        tasks.append(assemble(spec, rows, dict.fromkeys(rows, ("generated",)), seed=0, equal=False))
    write_generated(out, tasks, title="Invented", texts="Invented", seed=0, encoder=None)
    return DatasetFolder.open(out)


@pytest.fixture
def whole(tmp_path: Path) -> DatasetFolder:
    return folder_of(tmp_path / "whole")


def plan(folder: DatasetFolder, place: Path, *tasks: str) -> tuple[Trial, ...]:
    file = place / "grid.toml"
    file.write_text(f"data = '{folder.path}'\n{GRID.format(tasks=list(tasks))}", encoding="utf-8")
    return read_plan(file, imported_command("train", "shiftbench.cli.train")).trials


def train(trials: tuple[Trial, ...], folder: DatasetFolder, runs: Path) -> None:
    for trial in trials:
        place = runs / trial.folder
        place.mkdir(parents=True)
        (place / "trial.json").write_text(trial.record, encoding="utf-8")
        majority.main(trial.task, folder.path, place / PREDICTIONS, source=[trial.source], validation=True)


def test_a_folder_of_one_task_restores_its_trials_and_their_scores(whole: DatasetFolder, tmp_path: Path) -> None:
    out = tmp_path / "results"
    train(plan(whole, tmp_path, *TASKS), whole, out / "runs")
    part = folder_of(tmp_path / "part", nli_only=True)
    assert part.content_hash != whole.content_hash
    trials = plan(part, tmp_path, "nli")
    assert (len(trials), not_done(trials, out / "runs")) == (4, [])
    collect_done(trials, out)
    file = out / "nli/most.parquet"
    card = read_card(card_path(file))
    assert card.version == part.version  # of the folder at hand, whichever the trials were trained in
    assert score_file(file, part).tasks[0].summary.mean_st is not None
    assert "trial.json" in {path.name for path in (out / "runs" / trials[0].folder).iterdir()}


@pytest.mark.parametrize("changed", TASKS)
def test_a_changed_row_voids_the_trials_of_its_task_alone(changed: str, whole: DatasetFolder, tmp_path: Path) -> None:
    train(plan(whole, tmp_path, *TASKS), whole, tmp_path / "runs")
    other = folder_of(tmp_path / "other", changed=changed)
    waiting = not_done(plan(other, tmp_path, *TASKS), tmp_path / "runs")
    assert {trial.task for trial in waiting} == {changed}
    assert len(waiting) == 4


@pytest.mark.parametrize("packed", [False, True])
def test_former_keys_are_found_in_their_folder_and_by_the_table(
    packed: bool, whole: DatasetFolder, tmp_path: Path
) -> None:
    """Trials were keyed by the content hash of all tasks: a folder of one task finds them by the table alone."""
    board = tmp_path / "results/invented"
    today = plan(whole, tmp_path, *TASKS)
    former = tuple(replace(trial, data=whole.content_hash) for trial in today)
    train(former, whole, board / "runs")
    if packed:
        pack_board(board)
        shutil.rmtree(board / "runs")
    assert not {trial.folder for trial in today} & {trial.folder for trial in former}
    assert not_done(today, board / "runs") == []
    trials = plan(folder_of(tmp_path / "part", nli_only=True), tmp_path, "nli")
    assert not_done(trials, board / "runs") == list(trials)
    table = "".join(f"{task} = '{trial_data(whole, task, ())}'\n" for task in TASKS)
    (board.parent / FORMER_DATA).write_text(f"[{whole.content_hash}]\n{table}", encoding="utf-8")
    assert not_done(trials, board / "runs") == []
    kept = StoredTrials(board)
    assert kept.trials() == sorted(today, key=lambda trial: trial.folder)
    assert kept.predictions(trials[0]).equals(kept.predictions(former[0]))
    assert len(kept.files(trials[0])) == 2


def test_a_tables_trial_is_packed_by_todays_key(whole: DatasetFolder, tmp_path: Path) -> None:
    board = tmp_path / "results/invented"
    today = plan(whole, tmp_path, "sa")
    train(tuple(replace(trial, data=whole.content_hash) for trial in today), whole, board / "runs")
    (board.parent / FORMER_DATA).write_text(f"[{whole.content_hash}]\nsa = '{today[0].data}'\n", encoding="utf-8")
    pack_board(board)
    shutil.rmtree(board / "runs")
    (board.parent / FORMER_DATA).unlink()
    assert not_done(today, board / "runs") == []
    assert StoredTrials(board).trials() == sorted(today, key=lambda trial: trial.folder)


def test_candidates_count_where_they_are_predicted(whole: DatasetFolder) -> None:
    tasks = whole.manifest.tasks
    candidates = tasks["sa"].model_copy(update={"candidates_for": "nli"})
    folder = replace(whole, manifest=whole.manifest.model_copy(update={"tasks": tasks | {"sa": candidates}}))
    assert trial_data(folder, "nli", ()) == trial_data(whole, "nli", ("--candidates",)) == whole.tasks_hash(["nli"])
    assert trial_data(folder, "nli", ("--candidates",)) == folder.tasks_hash(["nli", "sa"])


def test_rows_that_are_not_here_do_not_count(whole: DatasetFolder) -> None:
    info = whole.task("sa")
    (first, facts), *others = info.domains.items()
    less = info.model_copy(update={"domains": dict(others), "withheld": {first: facts}})
    public = replace(whole, manifest=whole.manifest.model_copy(update={"tasks": {"sa": less}}))
    assert public.tasks_hash(["sa"]) != whole.tasks_hash(["sa"])


def test_every_published_trial_has_a_row_in_the_table() -> None:
    former = {(trial.data, trial.task) for board in BOARDS for trial in StoredTrials(board).trials()}
    text = (RESULTS / FORMER_DATA).read_text(encoding="utf-8")
    assert all(f'= "{data}"' in text for data, _ in former)
    assert len({data for data, _ in former}) == text.count(' = "')


@pytest.mark.real
def test_published_nli_trials_need_the_nli_files_alone(real_raw: Path, tmp_path: Path) -> None:
    build("dr", "nli", real_raw, tmp_path / "nli", partial=True)
    folder = DatasetFolder.open(tmp_path / "nli")
    found = {}
    for board in BOARDS:
        kept = StoredTrials(board)
        at_hand = [replace(trial, dataset=folder.version) for trial in kept.trials() if find_dataset(trial, [folder])]
        assert all(kept.is_done(trial) for trial in at_hand)
        found[board.name] = len(at_hand)
    assert {name: n for name, n in found.items() if n} == {"dr-nli": 90, "dr-nli-lodo": 20}


@pytest.mark.real
@pytest.mark.long
def test_published_trials_have_the_rows_of_the_table(real_raw: Path, real_whole: Path, tmp_path: Path) -> None:
    for benchmark in ("dr", "boss", "df1"):
        build(benchmark, None, [real_whole, real_raw], tmp_path / benchmark, partial=True)
    folders = [DatasetFolder.open(tmp_path / benchmark) for benchmark in ("dr", "boss", "df1")]
    trials = [trial for board in BOARDS for trial in StoredTrials(board).trials()]
    assert len(trials) == 161
    for trial in trials:
        folder = find_dataset(trial, folders)
        assert folder is not None, trial
        assert trial.data == trial_data(folder, trial.task, trial.options)
