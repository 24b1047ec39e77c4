"""What is done is skipped, what ends is collected, what fails is told: with an engine that trains nothing."""

import errno
import json
import re
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

import filelock
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.grid.collect import training_command
from shiftbench.baselines.grid.progress import collect_done, run_grid
from shiftbench.baselines.grid.trial import LOG, PREDICTIONS, EndedTrial, Trial
from shiftbench.baselines.program import write_outputs
from shiftbench.validation.cards import Card, read_card
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

HASH = "0" * 64


def trial(source: str, seed: int = 0, model: str = "m", version: str = "polars 2") -> Trial:
    return Trial(model, "majority", (), "nli", source, seed, HASH, (version,))


GRID = [trial(source, seed) for source in ("harbour", "kitchen") for seed in (5, 2)]


class Invented:
    """An engine that writes one prediction a trial, in another order than asked; some trials fail."""

    def __init__(self, fails: dict[tuple[str, int], str] | None = None, **card: object) -> None:
        self.fails, self.card = fails or {}, card
        self.ran: list[Trial] = []

    def __call__(self, trials: Sequence[Trial], runs: Path) -> Generator[EndedTrial, None, None]:
        for each in reversed(trials):
            self.ran.append(each)
            (runs / each.folder).mkdir(parents=True, exist_ok=True)
            error = self.fails.get((each.source, each.seed))
            if error is None:
                rows = pl.DataFrame({"source": [each.source], "id": ["x"], "prediction": ["y"], "seed": [each.seed]})
                card = Card(name="M", paradigm="other", data=HASH, command=str(each), **self.card)  # type: ignore[arg-type]
                write_outputs(rows, card, runs / each.folder / PREDICTIONS)
            yield EndedTrial(each, error)


def runs_in(file: Path) -> list[tuple[str, int]]:
    return pl.read_parquet(file).select("source", "seed").rows()


def test_trials_are_put_together_in_the_order_of_the_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/bin/shiftbench", "demo", "results", "--raw", "/home/ada/rows"])
    run_grid(GRID, tmp_path, Invented())
    assert runs_in(tmp_path / "nli/m.parquet") == [("harbour", 5), ("harbour", 2), ("kitchen", 5), ("kitchen", 2)]
    card = read_card(tmp_path / "nli/m.card.yaml")
    # What trained it, whoever put its trials together, and no folder of this machine.
    command = (
        "shiftbench train majority nli --data=DIR --out=predictions.parquet "
        "--source=harbour --source=kitchen --seed=5 --seed=2"
    )
    assert card == Card(name="M", paradigm="other", data=HASH, command=command)


def test_trials_of_several_settings_are_trained_by_a_command_each() -> None:
    tuned = replace(trial("none"), program="prompt", options=("--shots=3", "--model=a b"))
    assert training_command([*GRID[:2], replace(GRID[2], task="nli.placebo"), tuned]).splitlines() == [
        "shiftbench train majority nli --data=DIR --out=predictions.parquet --source=harbour --seed=5 --seed=2",
        "shiftbench train majority nli.placebo --data=DIR --out=predictions.parquet --source=kitchen --seed=5",
        "shiftbench train prompt nli --data=DIR --out=predictions.parquet --seed=0 --shots=3 '--model=a b'",
    ]


def test_what_is_done_is_not_run_again_and_files_stay_as_they_are(
    tmp_path: Path, heard: pytest.LogCaptureFixture
) -> None:
    run_grid(GRID[:3], tmp_path, Invented())
    before = (tmp_path / "nli/m.parquet").stat()
    again = Invented()
    run_grid(GRID[:3], tmp_path, again)
    assert (tmp_path / "nli/m.parquet").stat() == before
    run_grid(GRID, tmp_path, again)
    assert again.ran == [GRID[3]]
    assert len(runs_in(tmp_path / "nli/m.parquet")) == 4
    assert "3 done, 1" in heard.text


def test_each_trial_that_ends_has_a_line_with_the_count_so_far(
    tmp_path: Path, heard: pytest.LogCaptureFixture, wording: SnapshotAssertion
) -> None:
    run_grid(GRID[:1], tmp_path, Invented())
    with pytest.raises(InvalidInput):
        run_grid(GRID[:3], tmp_path, Invented({("harbour", 2): "it broke"}))
    lines = [line for line in heard.messages if line.startswith(("done", "failed"))]
    assert [re.sub(r"\d+ s\b", "0 s", line) for line in lines] == wording


def test_seeds_come_one_after_the_other_in_the_grids_order(tmp_path: Path) -> None:
    engine = Invented()
    run_grid([*GRID, trial("harbour", 5, model="n"), trial("harbour", 2, model="n")], tmp_path, engine)
    assert [each.seed for each in reversed(engine.ran)] == [5, 5, 5, 2, 2, 2]


def test_a_tasks_placebo_is_run_last_and_is_in_its_entry(tmp_path: Path) -> None:
    placebo = [replace(each, task="nli.placebo") for each in GRID]
    engine = Invented()
    run_grid([*placebo, *GRID], tmp_path, engine)
    assert [each.task for each in engine.ran] == ["nli.placebo"] * 4 + ["nli"] * 4  # in the order asked, backwards
    assert len(runs_in(tmp_path / "nli/m.parquet")) == 8
    assert not (tmp_path / "nli.placebo").exists()


def test_of_a_grid_of_which_nothing_is_done_nothing_is_written(tmp_path: Path, wording: SnapshotAssertion) -> None:
    assert refusal(InvalidInput, collect_done, GRID, tmp_path / "out") == wording
    assert not list(tmp_path.iterdir())


def test_what_is_done_of_a_stopped_grid_is_written_without_running_anything(
    tmp_path: Path, heard: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(InvalidInput):
        run_grid(GRID, tmp_path, Invented(dict.fromkeys([("harbour", 2), ("kitchen", 2)], "it broke")))
    (tmp_path / "nli/m.parquet").unlink()
    collect_done(GRID, tmp_path)
    assert runs_in(tmp_path / "nli/m.parquet") == [("harbour", 5), ("kitchen", 5)]
    assert "2 done, 2" in heard.text


def test_an_entry_is_written_as_soon_as_its_last_trial_is_done(tmp_path: Path) -> None:
    other = trial("harbour", model="n")

    def engine(trials: Sequence[Trial], runs: Path) -> Generator[EndedTrial, None, None]:
        yield from Invented()([other], runs)
        assert (tmp_path / "nli/n.parquet").is_file()
        yield from Invented()(GRID, runs)

    run_grid([*GRID, other], tmp_path, engine)
    assert (tmp_path / "nli/m.parquet").is_file()


def test_a_damaged_file_is_made_again(tmp_path: Path) -> None:
    run_grid(GRID, tmp_path, Invented())
    file = tmp_path / "runs" / GRID[1].folder / PREDICTIONS
    file.write_bytes(file.read_bytes()[:-9])
    again = Invented()
    run_grid(GRID, tmp_path, again)
    assert again.ran == [GRID[1]]


def test_other_versions_are_other_trials_and_earlier_ones_stay(tmp_path: Path, heard: pytest.LogCaptureFixture) -> None:
    run_grid([trial("harbour")], tmp_path, Invented())
    newer = Invented()
    run_grid([trial("harbour", version="polars 3")], tmp_path, newer)
    assert len(newer.ran) == 1
    assert "1 trial " in heard.text
    back = Invented()
    run_grid([trial("harbour")], tmp_path, back)
    assert back.ran == []


def test_a_failed_trial_costs_no_other_and_is_told_and_tried_again(
    tmp_path: Path, heard: pytest.LogCaptureFixture, wording: SnapshotAssertion
) -> None:
    message = refusal(InvalidInput, run_grid, GRID, tmp_path, Invented({("kitchen", 5): "it broke"}))
    assert message.replace(str(tmp_path / "runs" / GRID[2].folder / LOG), "LOG") == wording
    assert "1 of 4 trials" in heard.text
    assert runs_in(tmp_path / "nli/m.parquet") == [("harbour", 5), ("harbour", 2), ("kitchen", 2)]
    again = Invented()
    run_grid(GRID, tmp_path, again)
    assert again.ran == [GRID[2]]
    assert len(runs_in(tmp_path / "nli/m.parquet")) == 4


def test_of_many_failed_trials_the_first_are_told(tmp_path: Path) -> None:
    grid = [trial("harbour", seed) for seed in range(25)]
    with pytest.raises(InvalidInput) as refused:
        run_grid(grid, tmp_path, Invented({("harbour", seed): "it broke" for seed in range(25)}))
    assert len(refused.value.problems) == 21
    assert "5 more" in str(refused.value)
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_full_disk_stops_the_grid_with_one_message(tmp_path: Path) -> None:
    engine = Invented({("kitchen", 5): "OSError: [Errno 28] No space left on device: 'x'"})
    with pytest.raises(InvalidInput, match="disk") as refused:
        run_grid(GRID, tmp_path, engine)
    assert len(refused.value.problems) == 1
    assert engine.ran == [GRID[3], GRID[1], GRID[2]]

    def own(trials: Sequence[Trial], runs: Path) -> Generator[EndedTrial, None, None]:
        raise OSError(errno.ENOSPC, "No space left on device")
        yield

    with pytest.raises(InvalidInput, match="disk"):
        run_grid(GRID, tmp_path, own)


def test_what_trials_spent_is_added_up_and_what_they_disagree_on_left_out(tmp_path: Path) -> None:
    facts = {"tokens": 10, "cost_usd": 0.5, "step": 3, "shots": 2, "model_selection": "none", "family": "a"}
    run_grid(GRID[:1], tmp_path, Invented(**facts))
    other = {"tokens": 7, "cost_usd": 0.25, "step": 4, "model_selection": "source-validation", "family": "b"}
    run_grid(GRID[:2], tmp_path, Invented(**facts | other))
    card = read_card(tmp_path / "nli/m.card.yaml")
    assert (card.tokens, card.cost_usd, card.step, card.shots) == (17, 0.75, 4, 2)
    assert (card.model_selection, card.family) == ("source-validation", None)


def test_states_and_what_trainings_tell_are_put_together_too(tmp_path: Path) -> None:
    def engine(trials: Sequence[Trial], runs: Path) -> Generator[EndedTrial, None, None]:
        for ended in Invented()(trials, runs):
            folder = runs / ended.trial.folder
            rows, card = pl.read_parquet(folder / PREDICTIONS), read_card(folder / "predictions.card.yaml")
            if ended.trial.seed == 2:
                write_outputs(rows, card, folder / "predictions.epoch-1.parquet")
            (folder / "predictions.training.json").write_text(f'[{{"seed": {ended.trial.seed}}}]')
            yield ended

    run_grid(GRID, tmp_path, engine)
    assert runs_in(tmp_path / "nli/m.epoch-1.parquet") == [("harbour", 2), ("kitchen", 2)]
    assert (tmp_path / "nli/m.epoch-1.card.yaml").is_file()
    assert json.loads((tmp_path / "nli/m.training.json").read_text()) == [{"seed": seed} for seed in (5, 2, 5, 2)]


def test_no_second_grid_works_in_the_same_folder(tmp_path: Path) -> None:
    with (
        filelock.FileLock(tmp_path / ".lock"),
        pytest.raises(InvalidInput, match="running"),
    ):
        run_grid(GRID, tmp_path, Invented())
