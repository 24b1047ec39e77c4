"""Placebo domains: a task's groups split at random, to show the drops that occur without any shift.

Scores of models trained and tested on such domains vary by sampling and by training alone. Whatever a real shift
shows beyond its placebo value is the shift's.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.int64]


def placebo_domains(groups: ArrayLike, splits: ArrayLike, n_domains: int, rng: np.random.Generator) -> Codes:
    """Split groups at random into domains of equal size; every row keeps its split.

    Within a split the groups are put in order of size and dealt in rounds of ``n_domains``, one to each domain,
    at random within the round. So every group is as likely to come to any domain, and when no group is in two
    splits, the domains' rows in a split differ by at most the largest group there (by at most 1 for groups of
    one row). A group that has rows in several splits is dealt as a whole, in rounds of groups found in the same
    splits.

    Args:
        groups: group code of each row of a task, its domains pooled (so a code names one group of one domain),
            integers >= 0, shape (n,). Gaps in the codes do not matter.
        splits: split code of each row, integers, shape (n,).
        n_domains: number of domains, at least 2; as many as the task has.
        rng: seeded for this task. The deal depends on codes and seed, not on the order of the rows.
    Returns: domain codes in [0, n_domains), shape (n,).
    Raises: ValueError when shapes differ, codes are not integers or negative, there are fewer than 2 domains, or
        some domain would have no row of a split because it has fewer groups than domains.
    Source: this project's.

    >>> groups, splits = [0, 0, 1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 1, 1, 1]
    >>> domains = placebo_domains(groups, splits, 2, np.random.default_rng(0))
    >>> bool(domains[0] == domains[1]), sorted(np.bincount(domains[:5]).tolist())
    (True, [2, 3])
    """
    group_codes, split_codes = _codes("groups", groups), _codes("splits", splits)
    if group_codes.shape != split_codes.shape:
        raise ValueError(f"groups and splits must be of one length, got {group_codes.shape} and {split_codes.shape}")
    if n_domains < 2:
        raise ValueError(f"n_domains must be at least 2, got {n_domains}")
    distinct, row_group = np.unique(group_codes, return_inverse=True)
    split_names, row_split = np.unique(split_codes, return_inverse=True)
    sizes = np.zeros((distinct.size, split_names.size), dtype=np.int64)
    np.add.at(sizes, (row_group, row_split), 1)
    for split, n_groups in zip(split_names.tolist(), (sizes > 0).sum(axis=0).tolist(), strict=True):
        if n_groups < n_domains:
            raise ValueError(
                f"split {split} has {n_groups} groups, fewer than the {n_domains} domains to deal them to; "
                "deal into fewer domains, or leave the split out"
            )
    dealt = np.empty(distinct.size, dtype=np.int64)
    for found_in in np.unique(sizes > 0, axis=0):
        members = np.flatnonzero(((sizes > 0) == found_in).all(axis=1))
        members = rng.permutation(members)  # equal sizes in random order
        members = members[np.argsort(-sizes[members].sum(axis=1), kind="stable")]
        rounds = -(-members.size // n_domains)
        hands = rng.permuted(np.tile(np.arange(n_domains), (rounds, 1)), axis=1)
        dealt[members] = hands.ravel()[: members.size]
    domains = dealt[row_group]
    for column, split in enumerate(split_names.tolist()):
        empty = np.setdiff1d(np.arange(n_domains), domains[row_split == column])
        if empty.size:
            raise ValueError(f"split {split}: domain {empty[0]} got no row, its groups being found in other splits too")
    return np.asarray(domains)


def _codes(name: str, values: ArrayLike) -> Codes:
    codes = np.asarray(values)
    if codes.ndim != 1 or codes.size == 0 or not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(f"{name} must be integer codes of shape (n,), n >= 1, got {codes.dtype} {codes.shape}")
    if codes.min() < 0:
        raise ValueError(f"{name} codes must not be negative, got {codes.min()}")
    return codes.astype(np.int64)
