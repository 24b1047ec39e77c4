"""A small folder of every task kind, which several tests of scoring read."""

import pytest

from shiftbench.builders.building.synthetic_grid import build_grid
from shiftbench.builders.folder.reader import DatasetFolder


@pytest.fixture(scope="session")
def grid(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    out = tmp_path_factory.mktemp("grid") / "grid"
    build_grid(out, scale=0.03)
    return DatasetFolder.open(out)
