"""Gold folders that the tests of releases share."""

import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from tests.leaderboard.release.gold import DOMAINS, build_gold


@pytest.fixture(scope="session")
def gold(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """Two domains of 1,150 test texts, three classes: some 575 texts a half."""
    return build_gold(tmp_path_factory.mktemp("gold"), 1_150, classes=3, domains=DOMAINS[:2])


@pytest.fixture(scope="session")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """Three domains of 1,150 test texts, binary labels: what rounds can rank."""
    return build_gold(tmp_path_factory.mktemp("ranked"), 1_150)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """Three domains of 150 test texts, binary labels: too few for feedback."""
    return build_gold(tmp_path_factory.mktemp("small"), 150)
