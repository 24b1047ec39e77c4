"""The papers' own figures, which tests compare ours with."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# Pauses of a busy machine must not fail tests.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

REPORTED = Path(__file__).parents[3] / "shared" / "reported"


@pytest.fixture(scope="session")
def reported() -> Callable[[str], list[dict[str, str]]]:
    """A reader of the tables in ../shared/reported by name; the test is skipped where they are absent."""

    def read(name: str) -> list[dict[str, str]]:
        path = REPORTED / f"{name}.csv"
        if not path.is_file():
            pytest.skip(f"no reported figures at ../shared/reported/{name}.csv")
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    return read
