"""All pairings of the Depth F1 paper, built once from invented upstream files."""

from pathlib import Path

import pytest

from shiftbench.builders.building import build as build_module
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.spec import Upstream
from tests.builders.df1.upstream_writer import Writer


@pytest.fixture(scope="session")
def invented_raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every upstream file, a little larger than the draws, with the traps of the real ones."""
    raw = tmp_path_factory.mktemp("invented-df1")
    Writer(raw).all()
    return raw


@pytest.fixture(autouse=True)
def _unrecorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Record nothing of the upstream files: the invented ones are not the real ones."""
    monkeypatch.setattr(build_module, "upstream", lambda: Upstream(files={}, rows={}))


@pytest.fixture(scope="session")
def pairings(invented_raw: Path, tmp_path_factory: pytest.TempPathFactory, word_encoder: Encoder) -> DatasetFolder:
    """All eight pairings, with depths."""
    out = tmp_path_factory.mktemp("df1") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_module, "upstream", lambda: Upstream(files={}, rows={}))
        built = build_module.build("df1", None, invented_raw, out, encoder=word_encoder)
    assert built.failed == {}
    return DatasetFolder.open(out)
