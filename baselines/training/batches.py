"""Length-bucketed batches with dynamic padding."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from shiftbench.baselines.runs import Features

IGNORED = -100
"""Label that the loss ignores (torch's default): of padding, and of all pieces of a word except the first."""
_POOL = 64
"""Batches per pool: rows are sorted by length only within a random pool, so that batches stay random."""


class FeatureRows(Dataset[Features]):
    """Rows of features, as a torch data set."""

    def __init__(self, rows: Sequence[Features]) -> None:
        self.rows = rows
        self.lengths = np.array([len(row["input_ids"]) for row in rows], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Features:
        return self.rows[index]


class LengthBatches(Sampler[list[int]]):
    """Length-bucketed batches, reshuffled each epoch; determined by seed and epoch only.

    Args:
        lengths: length of each row, shape (n,).
        batch_size: rows per batch; the last batch of an epoch may have fewer.
        domains: domain of each row, consecutive codes from 0, shape (n,), for losses that compare domains: the numbers
            of rows per domain in a batch then differ by at most one, and each of G domains gets n / G of an epoch's n
            rows. Rows of small domains are repeated, and some of a large one are skipped (GroupDRO's and WILDS's
            authors also sample groups evenly). Default: every row occurs once per epoch.
    """

    def __init__(self, lengths: np.ndarray, batch_size: int, seed: int, domains: np.ndarray | None = None) -> None:
        self.lengths, self.batch_size, self.seed, self.epoch = lengths, batch_size, seed, 0
        self._places = [np.arange(len(lengths))]
        if domains is not None:
            self._places = [np.flatnonzero(domains == domain) for domain in range(int(domains.max()) + 1)]

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next batches."""
        self.epoch = epoch

    def __len__(self) -> int:
        return math.ceil(len(self.lengths) / self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, self.epoch])
        n, n_domains = len(self.lengths), len(self._places)
        ordered = np.empty(n, dtype=np.int64)
        for domain, places in enumerate(self._places):  # domains alternate
            slots = np.arange(domain, n, n_domains)
            ordered[slots] = self._by_length(_draw(places, len(slots), rng), self.batch_size / n_domains)
        batches = [ordered[start : start + self.batch_size] for start in range(0, n, self.batch_size)]
        return iter([batches[index].tolist() for index in rng.permutation(len(batches))])

    def _by_length(self, order: np.ndarray, rows_a_batch: float) -> np.ndarray:
        """Sort rows by length within pools of several batches."""
        pool = max(1, round(_POOL * rows_a_batch))
        pools = [order[start : start + pool] for start in range(0, len(order), pool)]
        return np.concatenate([part[np.argsort(-self.lengths[part], kind="stable")] for part in pools])


def _draw(places: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Sample n indices; none is repeated before all others have occurred."""
    rounds = [rng.permutation(places) for _ in range(math.ceil(n / len(places)))]
    return np.concatenate(rounds)[:n]


class EpochLoader(DataLoader[Any]):
    """A loader that passes the epoch to its batch sampler, as the Trainer expects."""

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next batches."""
        self.batch_sampler.set_epoch(epoch)  # type: ignore[union-attr]


class BatchParts:
    """Splits a batch into at most n parts of similar size and length, each padded separately."""

    def __init__(self, padding: "Padding", n: int) -> None:
        self._padding, self._n = padding, n

    def __call__(self, rows: Sequence[Features]) -> list[dict[str, torch.Tensor]]:
        """Build the parts of a batch, in the order of its rows."""
        parts = np.array_split(np.arange(len(rows)), min(self._n, len(rows)))
        return [self._padding([rows[place] for place in part]) for part in parts]


class Padding:
    """Collates rows into tensors: lists are padded (labels by -100) to a multiple of a length, numbers stacked."""

    def __init__(self, pad_token_id: int, multiple: int = 1) -> None:
        self._fill = {"input_ids": pad_token_id, "decoder_input_ids": pad_token_id, "labels": IGNORED}
        self._multiple = multiple

    def __call__(self, rows: Sequence[Features]) -> dict[str, torch.Tensor]:
        """Build a tensor for each name, shape (rows, longest) or (rows,)."""
        return {name: self._tensor(name, [row[name] for row in rows]) for name in rows[0]}

    def _tensor(self, name: str, values: list[Any]) -> torch.Tensor:
        if not hasattr(values[0], "__len__"):
            return torch.tensor(values)
        longest = max(len(value) for value in values)
        width = -(-longest // self._multiple) * self._multiple
        filled = np.full((len(values), width), self._fill.get(name, 0), dtype=np.int64)
        for row, value in enumerate(values):
            filled[row, : len(value)] = value
        return torch.from_numpy(filled)
