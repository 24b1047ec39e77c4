"""Discovery of low-scoring slices of a test set: joined groups, random halves, search for rules, typical words.

A slice is a mask over texts. Slices are tested in ``shiftbench.scoring.scores.slices``.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.precision import Floats

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]

_ROWS = 10_000
"""Number of rows per matrix product, to limit memory."""


def join_groups(groups: ArrayLike, pairs: ArrayLike) -> Ints:
    """Merge groups that are connected by a pair of dependent texts.

    Args:
        groups: group code of each text, from 0, shape (n,).
        pairs: row indices of dependent texts, shape (n_pairs, 2).
    Returns: consecutive codes from 0, shape (n,).

    >>> join_groups([0, 1, 2, 3], [[0, 2]]).tolist()
    [0, 1, 0, 2]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    ends = codes[np.asarray(pairs, dtype=np.int64).reshape(-1, 2)]
    n = int(codes.max()) + 1
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1][codes], dtype=np.int64)


def draw_half(groups: Ints, rng: np.random.Generator) -> Mask:
    """Split texts into random halves by whole groups.

    Args:
        groups: consecutive codes from 0, shape (n,).
        rng: shuffles groups, which are then assigned to the smaller half, largest groups first.
    Returns: mask of the first half, shape (n,).
    """
    sizes = np.bincount(groups)
    order = rng.permutation(sizes.size)
    order = order[np.argsort(-sizes[order], kind="stable")]
    chosen, held = np.zeros(sizes.size, dtype=bool), [0, 0]
    for group in order:
        half = int(held[0] > held[1])
        chosen[group] = half == 0
        held[half] += int(sizes[group])
    return np.asarray(chosen[groups])


def search_rules(
    predicates: Mask, scores: ArrayLike, least: int, most: int, *, overlap: float = 0.5
) -> list[tuple[int, ...]]:
    """Search for single predicates, and conjunctions of two, whose texts score furthest below the rest.

    Rules are ranked by the difference in standard errors, computed as if texts were independent; this is not a test.

    Args:
        predicates: mask of each predicate, shape (n, n_predicates).
        scores: scores of the texts, in [0, 1], shape (n,).
        least: minimum number of texts in a rule and in its complement.
        most: maximum number of rules to return.
        overlap: maximum fraction of the smaller rule's texts that two returned rules may share.
    Returns: predicate indices of each rule, furthest below first; only rules that score below the rest.

    >>> wrong = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    >>> search_rules(np.arange(8)[:, None] < [2, 6], wrong, 2, 5)
    [(0,)]
    """
    values, n = np.asarray(scores, dtype=np.float64), len(predicates)
    if n == 0 or predicates.shape[1] == 0:
        return []
    # Element (i, j) is for the texts with predicates i and j; on the diagonal, with a single predicate.
    sizes, sums = np.zeros((predicates.shape[1],) * 2), np.zeros((predicates.shape[1],) * 2)
    for start in range(0, n, _ROWS):
        part = predicates[start : start + _ROWS].astype(np.float32)
        sizes += part.T @ part
        sums += part.T @ (part * values[start : start + _ROWS, None].astype(np.float32))
    middle = values.mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = sums / sizes - (values.sum() - sums) / (n - sizes)
        distance = apart / np.sqrt(middle * (1 - middle) * (1 / sizes + 1 / (n - sizes)))
    usable = (sizes >= least) & (n - sizes >= least) & (distance < 0) & np.triu(np.ones_like(sizes, dtype=bool))
    distance = np.where(usable, distance, 0.0)
    found: list[tuple[int, ...]] = []
    masks: list[Mask] = []
    for place in np.argsort(distance, axis=None, kind="stable"):
        one, other = (int(each) for each in np.unravel_index(place, distance.shape))
        if len(found) == most or distance[one, other] >= 0:
            break
        mask = predicates[:, one] & predicates[:, other]
        if all((mask & each).sum() <= overlap * min(mask.sum(), each.sum()) for each in masks):
            found.append((one,) if one == other else (one, other))
            masks.append(mask)
    return found


def typical_words(counts: Floats, members: Mask, n: int) -> list[int]:
    """Find the words most characteristic of a slice: the highest z-scores of log odds ratios.

    Args:
        counts: number of texts in the slice, and in total, that contain each word, shape (2, n_words).
        members: mask of the slice, shape (n_texts,).
        n: maximum number of words.
    Returns: indices of words that are more frequent in the slice, by decreasing z-score.
    Source: Monroe, Colaresi and Quinn, "Fightin' Words" (2008), with half a text added to each count as the prior.
    """
    size, whole = int(members.sum()), members.size
    inside, outside = counts[0] + 0.5, counts[1] - counts[0] + 0.5
    without = (size - counts[0] + 0.5, whole - size - (counts[1] - counts[0]) + 0.5)
    odds = np.log(inside / without[0]) - np.log(outside / without[1])
    z = odds / np.sqrt(1 / inside + 1 / outside + 1 / without[0] + 1 / without[1])
    return [int(word) for word in np.argsort(-z, kind="stable")[:n] if z[word] > 0]
