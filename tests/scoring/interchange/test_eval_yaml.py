"""``eval.yaml``: only keys that Inspect's reader allows, only tasks that it can run, configs that load."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.building.synthetic_grid import build_grid
from shiftbench.builders.folder.configs import configs
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.data import benchmark_file
from shiftbench.scoring.interchange.eval_yaml import ANSWER, benchmark_tasks
from tests.leaderboard.shapes import build_dealt_folder

SOLVERS = {"prompt_template", "system_message", "user_message", "chain_of_thought", "generate", "multiple_choice"}
SCORERS = {"includes", "match", "pattern", "answer", "exact", "f1", "choice"}
TASK_KEYS = {"id", "config", "split", "field_spec", "shuffle_choices", "epochs", "epoch_reducer", "solvers", "scorers"}
"""The keys that inspect_ai/_eval/task/hf.py (0.3.285) allows."""


def read(folder: DatasetFolder) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(benchmark_file(folder.manifest)["eval.yaml"])
    return content


def test_it_has_the_shape_that_the_hub_and_inspect_read(synthetic: DatasetFolder) -> None:
    content = read(synthetic)
    assert list(content) == ["name", "description", "evaluation_framework", "tasks"]
    assert content["evaluation_framework"] == "inspect-ai"
    assert content["name"] == synthetic.manifest.title
    known = {config.name: config for config in configs(synthetic.manifest)}
    ids = [task["id"] for task in content["tasks"]]
    assert len(set(ids)) == len(ids)
    assert {"nli", "sa", "nli.harbour"} <= set(ids)
    for task in content["tasks"]:
        assert set(task) <= TASK_KEYS
        config = known[task["config"]]
        assert task["split"] in config.paths
        columns = {column.name for column in config.columns}
        fields = task["field_spec"]
        assert {fields["input"], fields["target"], *fields["metadata"]} <= columns
        assert {solver["name"] for solver in task["solvers"]} <= SOLVERS
        assert {scorer["name"] for scorer in task["scorers"]} <= SCORERS


def test_the_prompt_shows_every_input_and_the_number_of_every_label(
    synthetic: DatasetFolder, wording: SnapshotAssertion
) -> None:
    (nli,) = [task for task in read(synthetic)["tasks"] if task["id"] == "nli"]
    template = nli["solvers"][0]["args"]["template"]
    assert template.format(prompt="{A}", id="x", domain="y", hypothesis="B") == wording
    assert nli["scorers"] == [{"name": "pattern", "args": {"pattern": ANSWER}}]


def test_what_no_scorer_of_inspect_computes_is_left_out(tmp_path: Path) -> None:
    build_grid(tmp_path / "grid", scale=0.01, n_train=3)
    manifest = DatasetFolder.open(tmp_path / "grid").manifest
    kinds = {task.kind.value for task in benchmark_tasks(manifest).values()}
    assert kinds == {"classification"} < {task.kind.value for task in manifest.tasks.values()}


def test_placebos_and_candidates_are_left_out(id_folder: DatasetFolder, tmp_path: Path) -> None:
    assert list(benchmark_tasks(id_folder.manifest)) == ["sa", "nli"]
    assert "OOD" in read(id_folder)["description"]
    dealt = build_dealt_folder(tmp_path / "dealt", ["books", "films"])
    assert list(benchmark_tasks(dealt.manifest)) == ["moods"]


@pytest.mark.parametrize("side", ["public", "gold"])
def test_there_is_none_where_labels_are_withheld(side: str, tmp_path: Path) -> None:
    build_synthetic(tmp_path / "pair", n_train=30, n_test=20, encoder=None, withhold_labels=True)
    assert benchmark_file(DatasetFolder.open(tmp_path / "pair" / side).manifest) == {}
