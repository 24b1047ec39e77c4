"""Fixtures of the programs that fine-tune: a folder of easy tasks of all kinds."""

import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from tests.baselines.kinds import build_kinds


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """Tasks ``tags``, ``questions`` and ``copies``."""
    return build_kinds(tmp_path_factory.mktemp("data") / "kinds")


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Return the notes that a command would write on standard error."""
    caplog.set_level("INFO", logger="shiftbench")
    return caplog
