"""Batches: every row once an epoch, like lengths together, padded no further than their longest."""

import numpy as np
import pytest
import torch

from shiftbench.baselines.training.batches import FeatureRows, LengthBatches, Padding

LENGTHS = np.random.default_rng(0).integers(3, 90, 1000)


def batches(seed: int = 0, epoch: int = 0, size: int = 16) -> list[list[int]]:
    found = LengthBatches(LENGTHS, size, seed)
    found.set_epoch(epoch)
    assert len(list(found)) == len(found)
    return list(found)


@pytest.mark.parametrize("size", [1, 16, 999, 5000])
def test_every_row_comes_once_an_epoch(size: int) -> None:
    assert sorted(index for batch in batches(size=size) for index in batch) == list(range(1000))


def test_seed_and_epoch_decide_the_batches() -> None:
    assert batches() == batches()
    assert batches() != batches(epoch=1)
    assert batches() != batches(seed=1)


def test_batches_of_like_lengths_waste_little() -> None:
    padded = sum(len(batch) * LENGTHS[batch].max() for batch in batches())
    by_chance = np.random.default_rng(1).permutation(1000).reshape(-1, 20)
    assert padded < 1.1 * LENGTHS.sum()
    assert sum(20 * LENGTHS[batch].max() for batch in by_chance) > 1.5 * LENGTHS.sum()


def test_long_batches_do_not_come_first() -> None:
    longest = [int(LENGTHS[batch].max()) for batch in batches()]
    assert longest != sorted(longest, reverse=True)


def test_domains_come_evenly_where_a_loss_compares_them() -> None:
    domains = np.repeat([0, 1, 2], [700, 290, 10])
    found = LengthBatches(LENGTHS, 16, 0, domains)
    each = [np.bincount(domains[batch], minlength=3) for batch in found]
    assert sum(map(sum, each)) == len(LENGTHS)
    assert max(max(counts) - min(counts) for counts in each) <= 1
    rows = np.bincount([row for batch in found for row in batch], minlength=1000)
    assert rows[:700].max() == 1  # rows of a large domain come once at most
    assert set(rows[700:990]) == {1, 2}
    assert set(rows[990:]) == {33, 34}  # no row comes again before all others of its domain came


def test_even_domains_waste_little_padding_either() -> None:
    found = LengthBatches(LENGTHS, 16, 0, np.arange(1000) % 4)
    padded = sum(len(batch) * LENGTHS[batch].max() for batch in found)
    assert padded < 1.25 * sum(LENGTHS[batch].sum() for batch in found)


def test_padding_goes_to_the_longest_of_a_batch() -> None:
    rows = [
        {"input_ids": [5, 6], "attention_mask": [1, 1], "labels": 2},
        {"input_ids": [7], "attention_mask": [1], "labels": 0},
    ]
    found = Padding(9)(rows)
    assert found["input_ids"].tolist() == [[5, 6], [7, 9]]
    assert found["attention_mask"].tolist() == [[1, 1], [1, 0]]
    assert found["labels"].tolist() == [2, 0]
    assert Padding(9, multiple=8)(rows)["input_ids"].shape == (2, 8)


def test_labels_of_tokens_are_padded_with_what_losses_leave_out() -> None:
    found = Padding(0)([{"input_ids": [5, 6], "labels": [1, 2]}, {"input_ids": [7], "labels": [3]}])
    assert found["labels"].tolist() == [[1, 2], [3, -100]]
    assert found["labels"].dtype == torch.int64


def test_rows_know_their_lengths() -> None:
    rows = FeatureRows([{"input_ids": [1, 2, 3]}, {"input_ids": [1]}])
    assert rows.lengths.tolist() == [3, 1]
    assert rows[1] == {"input_ids": [1]}
