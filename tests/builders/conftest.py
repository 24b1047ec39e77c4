"""What tests of builders share: a folder of two sources, of which one may not be published, and a Hub to publish to."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from shiftbench.builders.assembling.assemble import AssembledTask, Splits
from shiftbench.builders.building import build as build_module
from shiftbench.builders.building import synthetic as demo
from shiftbench.builders.building.synthetic_grid import build_grid
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import SourceFacts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.spec import TaskSpec, Upstream
from shiftbench.builders.writing.writer import write_folder
from tests.hub.server import LoopbackHub, running_hub

CLOSED = ("nli.harbour", "sa.kettles")
"""Domains that are made from the closed source; the first of each task."""
DOMAINS = ("harbour", "kitchen", "orchard")
"""Domains of the small versions."""
ROWS = {"train": 20, "validation": 6, "test": 9}
SOURCES = {
    name: SourceFacts(
        title=f"{name.capitalize()} texts",
        url=f"https://example.org/{name}",
        revision="1",
        licence=licence,
        open_licence=name == "open",
        citation="",
    )
    for name, licence in {"open": "CC0", "closed": "research use only"}.items()
}

Mix = Callable[..., DatasetFolder]


@pytest.fixture
def unrecorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Record nothing of the upstream files: the invented ones are not the real ones."""
    monkeypatch.setattr(build_module, "upstream", lambda: Upstream(files={}, rows={}))


@pytest.fixture(scope="session")
def mix(synthetic: DatasetFolder, word_encoder: Encoder) -> Mix:
    """Write a part of the synthetic folder anew, with the domains ``closed`` from the closed source."""

    def write(out: Path, closed: tuple[str, ...] = CLOSED) -> DatasetFolder:
        tasks = [_task(spec, synthetic, closed) for spec in (demo.NLI, demo.SA)]
        facts = {"seed": 0, "partial": False, "synthetic": True}
        write_folder(out, tasks, SOURCES, title="Mixed sources", encoder=word_encoder, **facts)  # type: ignore[arg-type]
        return DatasetFolder.open(out)

    return write


@pytest.fixture(scope="session")
def _mixed(mix: Mix, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mix(tmp_path_factory.mktemp("mixed") / "mixed").path


@pytest.fixture
def mixed(_mixed: Path, tmp_path: Path) -> DatasetFolder:
    """Tasks nli and sa, four domains each, the first of them closed: a copy, which a test may change."""
    return DatasetFolder.open(shutil.copytree(_mixed, tmp_path / "mixed"))


@pytest.fixture(scope="session")
def grid(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """A folder with a task of each kind, for reading."""
    out = tmp_path_factory.mktemp("grid") / "grid"
    build_grid(out, scale=0.01, n_train=3)
    return DatasetFolder.open(out)


def _task(spec: TaskSpec, folder: DatasetFolder, closed: tuple[str, ...]) -> AssembledTask:
    """Return a task with the subsets ``all``, ``early`` (of its first two domains) and ``late`` (of the others)."""
    domains: dict[str, Splits] = {
        domain: {split: folder.split(spec.name, domain, split).head(n) for split, n in ROWS.items()}
        for domain in folder.task(spec.name).domains
    }
    ids = [splits["test"].select("id") for splits in domains.values()]
    parts = {"all": ids, "early": ids[:2], "late": ids[2:]}
    return AssembledTask(
        replace(spec, notes=(f"The texts of {spec.name} are generated.",)),
        domains,
        {domain: ("closed",) if f"{spec.name}.{domain}" in closed else ("open",) for domain in domains},
        subsets={name: pl.concat(part).sort("id") for name, part in parts.items()},
    )


@pytest.fixture(scope="module")
def versions(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> tuple[DatasetFolder, DatasetFolder]:
    """Two versions of a small dataset folder, without a row in common."""
    out = tmp_path_factory.mktemp("versions")
    source = SourceFacts(
        title="Generated texts", url="https://example.org", revision="1", licence="CC0", open_licence=True, citation=""
    )
    for name, first in (("0", 0), ("1", 9)):
        domains: dict[str, Splits] = {
            domain: {split: synthetic.split("nli", domain, split)[first : first + 9] for split in ("train", "test")}
            for domain in DOMAINS
        }
        ids = pl.concat([splits["test"].select("id") for splits in domains.values()]).sort("id")
        task = AssembledTask(demo.NLI, domains, dict.fromkeys(DOMAINS, ("open",)), subsets={"all": ids})
        facts = {"title": "Demo", "seed": 0, "partial": False, "synthetic": True, "encoder": None}
        write_folder(out / name, [task], {"open": source}, **facts)  # type: ignore[arg-type]
    return DatasetFolder.open(out / "0"), DatasetFolder.open(out / "1")


@pytest.fixture(scope="module")
def _hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackHub]:
    # A small page, so that trees come in several answers.
    with running_hub(tmp_path_factory.mktemp("hub"), page=10) as hub:
        yield hub


@pytest.fixture
def hub(_hub: LoopbackHub) -> LoopbackHub:
    """Return the Hub without repositories, objects, log and faults."""
    _hub.stored.by_name.clear()
    for stored in _hub.stored.objects.iterdir():
        stored.unlink()
    _hub.faults.plan()
    return _hub
