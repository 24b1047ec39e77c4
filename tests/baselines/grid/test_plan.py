"""The grid file: what it may say, the trials that it asks for, and what is refused before anything runs."""

from pathlib import Path
from typing import Any

import pytest
import typer
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.grid.plan import GridPlan, read_plan
from shiftbench.baselines.grid.trial import Trial
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.command import app
from shiftbench.cli.help import imported_command
from shiftbench.cli.train import PROGRAMS
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

MODEL = "[[models]]\nname = 'most'\nprogram = 'majority'\n"


@pytest.fixture
def plan(synthetic: DatasetFolder, tmp_path: Path) -> Any:
    def read(text: str, tasks: list[str] | None = None) -> GridPlan:
        (tmp_path / "grid.toml").write_text(f"data = '{synthetic.path}'\n{text}", encoding="utf-8")
        return read_plan(tmp_path / "grid.toml", imported_command("train", "shiftbench.cli.train"), tasks)

    return read


def names(trials: tuple[Trial, ...]) -> list[tuple[str, str, str, int]]:
    return [(trial.task, trial.model, trial.source, trial.seed) for trial in trials]


def test_by_default_every_task_and_domain_is_trained_on_once(plan: Any, tmp_path: Path) -> None:
    read = plan(MODEL)
    places = ["harbour", "kitchen", "orchard", "workshop"]
    assert names(read.trials)[:4] == [("nli", "most", place, 0) for place in places]
    assert {trial.task for trial in read.trials} == {"nli", "sa"}
    assert len(read.trials) == 8
    assert (read.out, read.threads) == (tmp_path / "results", None)


def test_models_narrow_tasks_and_sources_and_trials_stand_in_the_order_of_files(plan: Any) -> None:
    text = "seeds = [3, 1, 3]\nthreads = 2\ntasks = ['sa', 'nli']\nout = 'x'\n"
    read = plan(text + MODEL + "tasks = ['nli']\nsources = ['orchard+harbour', 'kitchen']\n")
    assert names(read.trials) == [
        ("nli", "most", source, seed) for source in ("harbour+orchard", "kitchen") for seed in (3, 1)
    ]
    assert read.threads == 2


def test_options_are_those_of_the_command_line(plan: Any, tmp_path: Path) -> None:
    options = "options = { target = ['kitchen', 'orchard'], candidates = true }\n"
    trial = plan(f"tasks = ['nli']\n{MODEL}{options}").trials[0]
    assert trial.arguments(Path("/data"), Path("/p.parquet")) == [
        *("train", "majority", "nli", "--data=/data", "--out=/p.parquet", "--source=harbour", "--seed=0"),
        *("--target=kitchen", "--target=orchard", "--candidates"),
    ]
    assert plan(f"{MODEL}options = {{ candidates = false }}").trials[0].options == ()


def test_a_program_that_trains_on_nothing_is_given_no_source(plan: Any) -> None:
    trials = plan(f"tasks = ['nli']\nsources = ['none']\n{MODEL}").trials
    assert names(trials) == [("nli", "most", "none", 0)]
    assert not any("--source" in word for word in trials[0].arguments(Path("d"), Path("o")))


def test_another_option_or_seed_is_another_folder_and_the_same_is_the_same(plan: Any) -> None:
    first, again = plan(MODEL).trials[0], plan(MODEL).trials[0]
    assert first.folder == again.folder
    other = plan(f"{MODEL}options = {{ target = 'kitchen' }}").trials[0]
    assert other.folder.parent == first.folder.parent
    assert other.folder != first.folder


def test_what_cannot_be_done_is_refused_with_its_key(plan: Any, wording: SnapshotAssertion) -> None:
    texts = (
        "sead = [1]\n" + MODEL,
        MODEL + "task = ['nli']\n",
        "",
        "seeds = ['a']\n" + MODEL,
        "seeds = [true]\n" + MODEL,
        "seeds = [-1]\n" + MODEL,
        "tasks = []\n" + MODEL,
        "threads = 0\n" + MODEL,
        "seeds = [1\n" + MODEL,
        "tasks = ['nly']\n" + MODEL,
        MODEL + "sources = ['harbor']\ntasks = ['nli']\n",
        MODEL.replace("majority", "majorty"),
        MODEL.replace("most", "a/b"),
        MODEL + MODEL.replace("most", "Most"),
        MODEL + "options = { targets = 'x' }",
        MODEL + "options = { seed = 1 }",
        MODEL + "options = { target = { a = 1 } }",
        MODEL + "options = { target = false }",
        MODEL + "options = { candidates = 'x' }",
    )
    messages = [refusal(InvalidInput, plan, text) for text in texts]
    assert not [message for message in messages if "\n" in message]
    assert messages == wording


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_of_train_has_the_options_that_a_grid_sets(program: str) -> None:
    root: Any = typer.main.get_command(app)
    command = imported_command("train", "shiftbench.cli.train").get_command(typer.Context(root), program)
    assert {"--data", "--out", "--source", "--seed"} <= {option for param in command.params for option in param.opts}


def test_everything_wrong_is_named_at_once(plan: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        plan("tasks = ['nly', 'nli']\nsources = ['harbor']\n" + MODEL.replace("majority", "x") + MODEL)
    keys = [problem.key for problem in refused.value.problems]
    assert keys == ["models.1.program", "tasks", "sources", "models.2.name"]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    assert (
        refusal(InvalidInput, read_plan, tmp_path / "g.toml", imported_command("train", "shiftbench.cli.train"))
        == wording
    )


def test_some_tasks_of_a_grid_are_kept(plan: Any, wording: SnapshotAssertion) -> None:
    other = MODEL.replace("most", "other") + "tasks = ['sa']\n"
    text = f"tasks = ['nli', 'sa']\n{MODEL}{other}"
    assert {(trial.model, trial.task) for trial in plan(text, ["nli"]).trials} == {("most", "nli")}
    assert {trial.model for trial in plan(text, ["sa"]).trials} == {"most", "other"}
    assert refusal(InvalidInput, plan, text, ["nlj"]) == wording


def test_a_models_seeds_stand_before_the_grids(plan: Any) -> None:
    models = f"{MODEL}seeds = [7]\n{MODEL.replace('most', 'other')}"
    read = plan(f"tasks = ['nli']\nsources = ['kitchen']\nseeds = [0, 1]\n{models}")
    assert [(trial.model, trial.seed) for trial in read.trials] == [("most", 7), ("other", 0), ("other", 1)]
