"""Placebo domains: a task's groups assigned to pseudo-domains at random, to measure drops without a shift.

Scores on placebo domains vary only by sampling and training. The effect of a real shift is its excess over the placebo.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.int64]


def placebo_domains(groups: ArrayLike, splits: ArrayLike, n_domains: int, rng: np.random.Generator) -> Codes:
    """Assign groups at random to domains of equal size; every row stays in its split.

    Within a split the groups are sorted by size and assigned in rounds of ``n_domains``, one to each domain in random
    order. So each group is equally likely to get any domain, and if no group is in two splits, the domains' row counts
    in a split differ by at most the size of its largest group (by at most 1 for groups of one row). A group with rows
    in several splits is assigned as a whole, in rounds of groups that occur in the same splits.

    Args:
        groups: group code of each row of a task, unique across its domains, integers >= 0, shape (n,). Codes may have
            gaps.
        splits: split code of each row, integers, shape (n,).
        n_domains: number of domains, at least 2; usually that of the task.
        rng: seeded for this task. The assignment depends on codes and seed, not on the order of the rows.
    Returns: domain codes in [0, n_domains), shape (n,).
    Raises: ValueError when shapes differ, codes are not integers or negative, there are fewer than 2 domains, or
        a split has fewer groups than domains, so that some domain would have no row.
    Source: this project's.

    >>> groups, splits = [0, 0, 1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 1, 1, 1]
    >>> domains = placebo_domains(groups, splits, 2, np.random.default_rng(0))
    >>> bool(domains[0] == domains[1]), sorted(np.bincount(domains[:5]).tolist())
    (True, [2, 3])
    """
    group_codes, split_codes = _codes("groups", groups), _codes("splits", splits)
    if group_codes.shape != split_codes.shape:
        raise ValueError(f"groups and splits must be of equal length, got {group_codes.shape} and {split_codes.shape}")
    if n_domains < 2:
        raise ValueError(f"n_domains must be at least 2, got {n_domains}")
    distinct, row_group = np.unique(group_codes, return_inverse=True)
    split_names, row_split = np.unique(split_codes, return_inverse=True)
    sizes = np.zeros((distinct.size, split_names.size), dtype=np.int64)
    np.add.at(sizes, (row_group, row_split), 1)
    for split, n_groups in zip(split_names.tolist(), (sizes > 0).sum(axis=0).tolist(), strict=True):
        if n_groups < n_domains:
            raise ValueError(
                f"split {split} has {n_groups} groups, fewer than the {n_domains} placebo domains to assign them to; "
                "use fewer domains, or drop the "
                "split"
            )
    assigned = np.empty(distinct.size, dtype=np.int64)
    for found_in in np.unique(sizes > 0, axis=0):
        members = np.flatnonzero(((sizes > 0) == found_in).all(axis=1))
        members = rng.permutation(members)  # equal sizes in random order
        members = members[np.argsort(-sizes[members].sum(axis=1), kind="stable")]
        rounds = -(-members.size // n_domains)
        orders = rng.permuted(np.tile(np.arange(n_domains), (rounds, 1)), axis=1)  # one random order per round
        assigned[members] = orders.ravel()[: members.size]
    domains = assigned[row_group]
    for column, split in enumerate(split_names.tolist()):
        empty = np.setdiff1d(np.arange(n_domains), domains[row_split == column])
        if empty.size:
            raise ValueError(
                f"split {split}: domain {empty[0]} got no row, because its groups also occur in other splits"
            )
    return np.asarray(domains)


def _codes(name: str, values: ArrayLike) -> Codes:
    codes = np.asarray(values)
    if codes.ndim != 1 or codes.size == 0 or not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(f"{name} must be integer codes of shape (n,), n >= 1, got {codes.dtype} {codes.shape}")
    if codes.min() < 0:
        raise ValueError(f"{name} codes must not be negative, got {codes.min()}")
    return codes.astype(np.int64)
