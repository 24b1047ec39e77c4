"""Which train rows are shown to a model before a test example."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from shiftbench.validation.report import InvalidInput, Problem

ChooseDemonstrations = Callable[[pl.DataFrame, pl.DataFrame, int], Sequence[Sequence[int]]]
"""Train rows, test rows and seed in; for each test row the places of its demonstrations in train, in order, out."""


def random_demonstrations(shots: int) -> ChooseDemonstrations:
    """Draw demonstrations for each test row on its own (DR paper, appendix E).

    A draw depends on the seed and the test row's id alone, so neither order nor concurrency changes it. With labels and
    more than one shot, every label is among them; where there are more labels than shots, no label is there twice.

    Args:
        shots: demonstrations of each test row, 1 or more.
    Returns: a function (train rows, test rows, seed) -> for each test row the places of its demonstrations in the train
        rows.
    """

    def choose(train: pl.DataFrame, rows: pl.DataFrame, seed: int) -> list[list[int]]:
        require_rows(train, shots)
        by_label = _places_by_label(train) if shots > 1 else None
        return [_draw(_generator(seed, id_), len(train), by_label, shots) for id_ in rows["id"]]

    return choose


def fixed_demonstrations(shots: int) -> ChooseDemonstrations:
    """Draw one set of demonstrations for all test rows, as the BOSS paper has one prompt for a data set.

    Args:
        shots: demonstrations, 1 or more; every label is among them as in ``random_demonstrations``.
    Returns: a function (train rows, test rows, seed) -> the same places in the train rows for each test row.
    """

    def choose(train: pl.DataFrame, rows: pl.DataFrame, seed: int) -> list[list[int]]:
        require_rows(train, shots)
        by_label = _places_by_label(train) if shots > 1 else None
        return [_draw(np.random.default_rng([seed]), len(train), by_label, shots)] * len(rows)

    return choose


def require_rows(train: pl.DataFrame, shots: int) -> None:
    """Raise InvalidInput if more demonstrations are asked for than the source has train rows.

    Args:
        train: the source's train rows, with ``domain``.
        shots: demonstrations of each test row.
    Raises: InvalidInput naming both numbers.
    """
    if shots > len(train):
        found, cure = f"{shots} shots, {len(train):,} train rows", "ask for fewer shots"
        domains = " and ".join(train["domain"].unique(maintain_order=True))
        raise InvalidInput(Problem(f"{domains} has too few train rows for the demonstrations", "--shots", found, cure))


def _generator(seed: int, id_: str) -> np.random.Generator:
    return np.random.default_rng([seed, int.from_bytes(hashlib.sha256(id_.encode()).digest()[:8])])


def _places_by_label(train: pl.DataFrame) -> list[list[int]] | None:
    """List the places of each label's rows; None where rows have no label."""
    if "label" not in train.columns:
        return None
    places = train.with_row_index("place").group_by("label").agg("place").sort("label")["place"]
    return [part.to_list() for part in places]


def _draw(rng: np.random.Generator, n_rows: int, by_label: list[list[int]] | None, shots: int) -> list[int]:
    if by_label is None:
        return [int(place) for place in rng.choice(n_rows, size=shots, replace=False)]
    labels = rng.permutation(len(by_label))[:shots]
    chosen = [int(rng.choice(by_label[label])) for label in labels]
    while len(chosen) < shots:  # the rest: any other rows
        place = int(rng.integers(n_rows))
        if place not in chosen:
            chosen.append(place)
    return [chosen[place] for place in rng.permutation(shots)]
