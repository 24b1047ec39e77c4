"""What tests of builders share: a dataset folder of two sources, of which one may not be published. All is invented."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders import build as build_module
from builders import synthetic as demo
from builders.assemble import AssembledTask, Splits
from builders.encoder import Encoder
from builders.folder import DatasetFolder
from builders.manifest import SourceFacts
from builders.specs import TaskSpec, Upstream
from builders.writer import write_folder

CLOSED = ("nli.harbour", "sa.kettles")
"""Domains that are made from the closed source; the first of each task."""
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


@pytest.fixture
def mixed(mix: Mix, tmp_path: Path) -> DatasetFolder:
    """Tasks nli and sa, four domains each, the first of them closed."""
    return mix(tmp_path / "mixed")


def _task(spec: TaskSpec, folder: DatasetFolder, closed: tuple[str, ...]) -> AssembledTask:
    """Give a task with the subsets ``all``, ``early`` (of its first two domains) and ``late`` (of the others)."""
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
