"""The store with entries that tests of the leaderboard use, for tests of the front door."""

from typing import Any

import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from tests.leaderboard.conftest import Filled, fill, synthetic
from tests.leaderboard.id_folder import build_id_folder

__all__ = ["synthetic"]  # the same folder as in the leaderboard's tests, in the place of the root's


@pytest.fixture(scope="session")
def filled(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Filled:
    return fill(synthetic, tmp_path_factory.mktemp("filled"))


@pytest.fixture(scope="session")
def id_folder(tmp_path_factory: pytest.TempPathFactory, word_encoder: Any) -> DatasetFolder:
    return build_id_folder(tmp_path_factory.mktemp("id") / "boss", word_encoder)
