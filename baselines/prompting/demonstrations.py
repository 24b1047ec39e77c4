"""Selection of the training rows shown to a model as demonstrations."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from shiftbench.validation.report import InvalidInput, Problem

ChooseDemonstrations = Callable[[pl.DataFrame, pl.DataFrame, int], Sequence[Sequence[int]]]
"""Maps training rows, test rows and a seed to the training row indices of each test row's demonstrations, in order."""


def random_demonstrations(shots: int, *, is_fixed: bool = False) -> ChooseDemonstrations:
    """Sample demonstrations for each test row separately (DR paper, appendix E), or one set for all.

    A sample depends only on the seed and the test row's id, so neither order nor concurrency changes it. With labels
    and more than one shot, every label occurs; with more labels than shots, no label occurs twice.

    Args:
        shots: number of demonstrations, 1 or more.
        is_fixed: sample one set for all test rows: the BOSS paper uses one prompt per data set.
    """

    def choose(train: pl.DataFrame, rows: pl.DataFrame, seed: int) -> list[list[int]]:
        require_rows(train, shots)
        by_label = _places_by_label(train) if shots > 1 else None
        if is_fixed:
            return [_draw(np.random.default_rng([seed]), len(train), by_label, shots)] * len(rows)
        return [_draw(_generator(seed, id_), len(train), by_label, shots) for id_ in rows["id"]]

    return choose


def require_rows(train: pl.DataFrame, shots: int) -> None:
    """Raise InvalidInput if there are more demonstrations than training rows."""
    if shots > len(train):
        found, cure = f"{shots} shots, {len(train):,} train rows", "use fewer shots"
        domains = " and ".join(train["domain"].unique(maintain_order=True))
        raise InvalidInput(Problem(f"{domains} has too few train rows for the demonstrations", "--shots", found, cure))


def _generator(seed: int, id_: str) -> np.random.Generator:
    return np.random.default_rng([seed, int.from_bytes(hashlib.sha256(id_.encode()).digest()[:8])])


def _places_by_label(train: pl.DataFrame) -> list[list[int]] | None:
    """List the row indices of each label; None if rows have no label."""
    if "label" not in train.columns:
        return None
    places = train.with_row_index("place").group_by("label").agg("place").sort("label")["place"]
    return [part.to_list() for part in places]


def _draw(rng: np.random.Generator, n_rows: int, by_label: list[list[int]] | None, shots: int) -> list[int]:
    if by_label is None:
        return [int(place) for place in rng.choice(n_rows, size=shots, replace=False)]
    labels = rng.permutation(len(by_label))[:shots]
    chosen = [int(rng.choice(by_label[label])) for label in labels]
    while len(chosen) < shots:  # fill up with any other rows
        place = int(rng.integers(n_rows))
        if place not in chosen:
            chosen.append(place)
    return [chosen[place] for place in rng.permutation(shots)]
