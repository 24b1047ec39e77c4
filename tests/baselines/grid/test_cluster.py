"""The same grid on Ray: the same prediction files, whoever is lost on the way."""

import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shiftbench.baselines.grid.cluster import (
    _Dataset,
    _pack_dataset,
    _resources_of_trial,
    _run_on_worker,
    _unpack_dataset,
)
from shiftbench.baselines.grid.trial import Trial, installed_versions
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.command import app
from shiftbench.validation.report import InvalidInput

ray = pytest.importorskip("ray")
ROOT = Path(__file__).parents[3]


def grid_file(folder: Path, data: DatasetFolder, text: str) -> None:
    start = f"data = '{data.path}'\ntasks = ['sa']\nthreads = 1\n"
    (folder / "grid.toml").write_text(start + text, encoding="utf-8")


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "shiftbench", "grid", "grid.toml", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: "subprocess.Popen[str]") -> tuple[int, str]:
    told = process.communicate(timeout=600)[1]
    return process.returncode, told


def test_ray_gives_the_files_of_this_machine(synthetic: DatasetFolder, tmp_path: Path) -> None:
    grid_file(tmp_path, synthetic, "sources = ['lamps']\n[[models]]\nname = 'm'\nprogram = 'majority'\n")
    both = [start(tmp_path, *words) for words in (("--ray=local", "--out=ray"), ("--out=local",))]
    for process in both:
        code, told = finish(process)
        assert code == 0, told
    assert (tmp_path / "ray/sa/m.parquet").read_bytes() == (tmp_path / "local/sa/m.parquet").read_bytes()
    (log,) = (tmp_path / "ray").rglob("log.txt")
    assert log.read_text().startswith("$ shiftbench train majority sa")


@pytest.fixture
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


@pytest.mark.long
def test_a_node_killed_in_the_middle_changes_nothing(cluster: Any, synthetic: DatasetFolder, tmp_path: Path) -> None:
    grid_file(tmp_path, synthetic, "seeds = [0, 1]\n[[models]]\nname = 't'\nprogram = 'tfidf-lr'\n")
    code, told = finish(start(tmp_path, "--out=local"))
    assert code == 0, told
    process = start(tmp_path, f"--ray={cluster.address}", "--out=ray")
    until = time.monotonic() + 120
    while len(list((tmp_path / "ray").rglob("*.card.yaml"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
    assert len(list((tmp_path / "ray").rglob("*.card.yaml"))) < 8
    code, told = finish(process)
    assert code == 0, told
    assert (tmp_path / "ray/sa/t.parquet").read_bytes() == (tmp_path / "local/sa/t.parquet").read_bytes()


def test_only_what_trials_read_is_sent(synthetic: DatasetFolder) -> None:
    dataset = _pack_dataset(synthetic.path, {"sa"})
    with tarfile.open(fileobj=BytesIO(dataset.tar)) as tar:
        names = {"/".join(name.split("/")[:2]) for name in tar.getnames()}
    assert names == {"shiftbench.json", "data/sa", "subsets/sa"}
    folder = DatasetFolder.open(_unpack_dataset(dataset))
    assert folder.content_hash == synthetic.content_hash
    assert folder.split("sa", "lamps", "test").equals(synthetic.split("sa", "lamps", "test"))
    assert _unpack_dataset(dataset) == folder.path


def test_a_machine_with_other_versions_is_told(synthetic: DatasetFolder) -> None:
    trial = Trial(
        "m", "majority", (), "sa", "lamps", 0, synthetic.content_hash, (*installed_versions()[1:], "python 2.7")
    )
    returned = _run_on_worker(trial, _Dataset(b"", ""), 1, {})
    assert "python 2.7" in returned.refused
    assert installed_versions()[0] in returned.refused
    assert "polars" not in returned.refused


class Machines:
    """What Ray says of a cluster."""

    def __init__(self, *resources: dict[str, float]) -> None:
        self.resources = resources

    def cluster_resources(self) -> dict[str, float]:
        return {name: number for each in self.resources for name, number in each.items()}

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": each} for each in self.resources]


def test_a_trial_takes_a_gpu_or_its_threads() -> None:
    assert _resources_of_trial(Machines({"CPU": 4.0}, {"CPU": 8.0, "GPU": 2.0}), 6) == {"num_gpus": 1, "num_cpus": 0}
    assert _resources_of_trial(Machines({"CPU": 4.0}, {"CPU": 8.0}), 8) == {"num_cpus": 8}
    with pytest.raises(InvalidInput, match="found 9 threads, 8 CPUs on the largest; write 'threads = 8' into"):
        _resources_of_trial(Machines({"CPU": 4.0}, {"CPU": 8.0}), 9)


def test_an_address_without_a_cluster_is_refused(synthetic: DatasetFolder, tmp_path: Path) -> None:
    grid_file(tmp_path, synthetic, "[[models]]\nname = 'm'\nprogram = 'majority'\n")
    result = CliRunner().invoke(app, ["grid", str(tmp_path / "grid.toml"), "--ray=127.0.0.1:1"])
    assert isinstance(result.exception, InvalidInput)
    words = "there is no such Ray cluster; found '127.0.0.1:1'; start one with 'ray start --head', or write --ray local"
    assert str(result.exception) == f"--ray: {words}"
