"""The whole of BOSS, built once from invented upstream files."""

from pathlib import Path

import pytest

from shiftbench.builders.building import build as build_module
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.spec import Upstream
from tests.builders.boss.upstream_writer import Writer


@pytest.fixture(scope="session")
def invented_raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every upstream file of BOSS and its candidates, small, with the traps of the real ones."""
    raw = tmp_path_factory.mktemp("invented-boss")
    Writer(raw).all()
    return raw


@pytest.fixture(scope="session")
def suite(invented_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """The whole suite and its candidates, built from the invented files."""
    out = tmp_path_factory.mktemp("boss") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_module, "upstream", lambda: Upstream(files={}, rows={}))
        built = build_module.build("boss", None, invented_raw, out)
    assert built.failed == {}
    return DatasetFolder.open(out)
