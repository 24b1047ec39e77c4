"""Coverage of test ids by the runs of a prediction file, in eight bytes per row to save memory."""

from collections.abc import Container
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

Run = tuple[str, int]
"""A source and a seed."""


class KnownIds:
    """The test ids of some tasks, numbered from 0; ids of a domain have consecutive numbers.

    ``frame`` has one row per id with columns id, task, target (a domain) and number.
    """

    def __init__(self, tests: dict[str, pl.DataFrame]) -> None:
        """Number the ids; ``tests`` has a frame with columns id and domain for each task."""
        parts = [rows.select("id", task=pl.lit(name), target="domain").sort("target") for name, rows in tests.items()]
        self.frame = pl.concat(parts).with_row_index("number")
        sizes = self.frame.group_by("task", "target", maintain_order=True).len()
        self.cells: list[tuple[str, str]] = sizes.select("task", "target").rows()
        """Task and domain of each block of numbers."""
        self.ends = np.cumsum(sizes["len"].to_numpy(), dtype=np.int64)
        """End of each block (exclusive)."""

    def __len__(self) -> int:
        """Count the ids."""
        return len(self.frame)

    def locate_ids(self, part: pl.DataFrame) -> pl.DataFrame:
        """Add columns task, target and number to rows by their id; null for unknown ids."""
        return part.join(self.frame, on="id", how="left", maintain_order="left")


class ShortRun(NamedTuple):
    """A run with only some of a domain's test ids."""

    source: str
    seed: int
    target: str
    given: int
    size: int
    first_missing: str


class RunLedger:
    """The ids of each run, added part by part; call ``repeats`` and ``short_runs`` at the end."""

    def __init__(self, known: KnownIds) -> None:
        self.known = known
        self.rows = 0
        self._runs: dict[Run, int] = {}
        self._parts: list[npt.NDArray[np.int64]] = []

    def __len__(self) -> int:
        """Count the runs."""
        return len(self._runs)

    def add(self, placed: pl.DataFrame) -> bool:
        """Record rows.

        Args:
            placed: columns source, seed and number (from ``KnownIds.locate_ids``).
        Returns: whether an id occurs twice in a run within these rows; ``repeats`` also compares with earlier rows.
        """
        runs = placed.select("source", "seed").unique(maintain_order=True)
        numbers = [self._runs.setdefault((source, seed), len(self._runs)) for source, seed in runs.iter_rows()]
        runs = runs.with_columns(run=pl.Series(numbers, dtype=pl.Int64))
        run_of_row = placed.join(runs, on=["source", "seed"], how="left", maintain_order="left")["run"]
        # Unknown ids get unique negative keys, so that they never count as repeats.
        alone = -1 - self.rows - pl.int_range(len(placed), eager=True)
        keys = (run_of_row * len(self.known) + placed["number"].cast(pl.Int64)).zip_with(
            placed["number"].is_not_null(), alone
        )
        self._parts.append(keys.to_numpy())
        self.rows += len(placed)
        return keys.n_unique() < len(keys)

    def repeats(self) -> npt.NDArray[np.int64]:
        """Return the rows (0-based, in file order) whose id occurred before in the same run."""
        self._parts = [keys] = [np.concatenate(self._parts)]
        in_order = np.sort(keys)
        if not (in_order[1:] == in_order[:-1]).any():
            self._parts = [in_order]
            return np.empty(0, np.int64)
        again = np.ones(len(keys), bool)
        again[np.unique(keys, return_index=True)[1]] = False
        return np.flatnonzero(again)

    def row(self, number: int) -> tuple[Run, str]:
        """Return run and id of a row (0-based) with a known id."""
        run, id_ = divmod(int(np.concatenate(self._parts)[number]), len(self.known))
        return list(self._runs)[run], str(self.known.frame["id"][id_])

    def ids(self) -> pl.DataFrame:
        """Return the rows of ``KnownIds.frame`` whose ids occur in any run."""
        keys = np.concatenate(self._parts)
        numbers = np.unique(keys[keys >= 0] % len(self.known))
        return self.known.frame[numbers]

    def short_runs(self, most: int, without: Container[str] = ()) -> tuple[list[ShortRun], int]:
        """Find the runs with missing test ids.

        Args:
            most: maximum number of runs to describe.
            without: tasks to skip.
        Returns: the first ``most`` runs by task, source, domain and seed, and the total number.
        """
        keys = np.sort(np.concatenate(self._parts))
        keys = keys[np.diff(keys, prepend=keys[0] - 1) > 0]  # drops repeats from sorted keys
        bounds = np.concatenate([[0], self.known.ends])
        short = []
        for (source, seed), number in self._runs.items():
            given = np.diff(np.searchsorted(keys, number * len(self.known) + bounds))
            for cell in np.flatnonzero((given > 0) & (given < np.diff(bounds))).tolist():
                task, target = self.known.cells[cell]
                if task not in without:
                    short.append((task, source, target, seed, cell))
        listed = sorted(short)[:most]
        return [self._short_run(keys, source, seed, cell) for _, source, _, seed, cell in listed], len(short)

    def _short_run(self, keys: npt.NDArray[np.int64], source: str, seed: int, cell: int) -> ShortRun:
        first, end = (int(self.known.ends[cell - 1]) if cell else 0), int(self.known.ends[cell])
        given = keys - self._runs[source, seed] * len(self.known)
        given = given[(given >= first) & (given < end)]
        missing = np.setdiff1d(np.arange(first, end), given)
        target = self.known.cells[cell][1]
        return ShortRun(source, seed, target, len(given), end - first, str(self.known.frame["id"][missing].min()))
