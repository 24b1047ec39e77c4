"""Evaluation of forecast rankings of domains: pairs ordered correctly, and regret of the predicted worst domain.

Only pairs of domains whose true scores differ significantly are evaluated. The null distribution of an uninformative
forecast comes from permutations of the domains (all of them if there are few), which is exact for any scores. The
selection between methods is repeated in each permutation.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

MIN_ORDERED = 6
"""Minimum number of labelled domains. With 4, only a perfect order is significant at 5%, and the best of several
uninformative methods orders most pairs correctly."""
_APART = 1.96
"""Minimum difference between two domains' scores, in standard errors: a two-sided test at the 5% level."""
_EXACT = 5040
"""Maximum number of permutations to enumerate: those of 7 domains."""
_CHUNK = 256
"""Number of permutations evaluated at once, to limit memory."""


def separated(scores: ArrayLike, errors: ArrayLike) -> Indices:
    """Find pairs of domains whose scores differ by more than 1.96 standard errors of the difference.

    Args:
        scores: score of each domain, shape (k,).
        errors: standard errors of the scores over test texts, same shape.
    Returns: 1 if the row's domain scores higher, -1 if lower, 0 if not significantly different, shape (k, k).

    >>> separated([0.9, 0.8, 0.89], [0.02, 0.02, 0.02]).tolist()
    [[0, 1, 0], [-1, 0, -1], [0, 1, 0]]
    """
    s, e = np.asarray(scores, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    apart = s[:, None] - s
    return np.where(np.abs(apart) > _APART * np.hypot(e[:, None], e), np.sign(apart), 0).astype(np.int64)


class Order(NamedTuple):
    """Cross-validated quality of a ranking of domains.

    Attributes:
        method: index of the method selected on all domains.
        right: number of pairs ordered correctly. Each pair is evaluated twice with weight 1/2, with the method selected
            without its first and without its second domain; tied forecasts count half.
        n_pairs: number of significantly different pairs.
        p: permutation p value of ``right``.
    """

    method: int
    right: float
    n_pairs: int
    p: float


def judge_order(forecasts: ArrayLike, signs: ArrayLike, rng: np.random.Generator) -> Order:
    """Evaluate the ranking of domains by the best of several methods, with leave-one-domain-out selection.

    For each domain, the method that orders most pairs of the *other* domains correctly is selected (the first of equal
    ones) and evaluated on the pairs with this domain.

    Args:
        forecasts: forecast of each method for each domain, shape (n_methods, k), k >= ``MIN_ORDERED``.
        signs: from ``separated``, shape (k, k).
        rng: samples 5,040 permutations (the observed order included) if there are more than 7 domains.
    Returns: the selected method, and the quality of the selection.
    Raises: ValueError when shapes differ or there are fewer domains.
    Source: permutation of whole domains, with the selection inside; Good, "Permutation, parametric and bootstrap tests
        of hypotheses" (2005), ch. 3.

    >>> forecasts = np.arange(6.0)
    >>> judge_order([forecasts], np.sign(forecasts[:, None] - forecasts), np.random.default_rng(0))
    Order(method=0, right=15.0, n_pairs=15, p=0.001388888888888889)
    """
    values, known = np.asarray(forecasts, dtype=np.float64), np.asarray(signs)
    k = len(known)
    if k < MIN_ORDERED or values.ndim != 2 or values.shape[1] != k or known.shape != (k, k):
        raise ValueError(f"need forecasts of {MIN_ORDERED} domains or more, got {values.shape} and {known.shape}")
    predicted = np.sign(values[:, :, None] - values[:, None, :])
    orders = _permutations(k, rng)
    found = [
        _choose_apart(np.einsum("mab,pab->pma", predicted, known[part[:, :, None], part[:, None, :]]))
        for part in _chunks(orders)
    ]
    scores = np.concatenate(found)
    n_pairs = int(np.abs(known).sum()) // 2
    method = int(np.einsum("mab,ab->m", predicted, known).argmax())
    return Order(method, float(scores[0] / 4 + n_pairs / 2), n_pairs, float((scores >= scores[0] - 1e-9).mean()))


def _choose_apart(agreed: Floats) -> Floats:
    """Sum the agreement over domains, each with the method that agrees best on the pairs without this domain.

    Args:
        agreed: pairs ordered correctly minus incorrectly, shape (n_orders, n_methods, k).
    """
    without = agreed.sum(axis=2, keepdims=True) / 2 - agreed
    chosen = without.argmax(axis=1)[:, None, :]
    return np.asarray(np.take_along_axis(agreed, chosen, axis=1)[:, 0].sum(axis=1))


class Ordering(NamedTuple):
    """Quality of a method's ranking of a board's domains, averaged over models and sources.

    Attributes:
        regret: true score of the predicted worst domain minus the true minimum.
        chance: expected regret of a random ordering.
        p_regret: permutation p value of ``regret``.
        pairs: fraction of the significantly different pairs ordered correctly; NaN without such pairs.
        p_pairs: permutation p value of ``pairs``.
        n_domains: number of target domains.
    """

    regret: float
    chance: float
    p_regret: float
    pairs: float
    p_pairs: float
    n_domains: int


class Board(NamedTuple):
    """Forecast and true scores of a board, NaN where missing.

    Attributes:
        forecasts: shape (n_models, n_sources, n_targets).
        truths: true scores, same shape.
        errors: standard errors of the true scores, same shape.
        at: index of each source among the targets, -1 if it is not a target, shape (n_sources,).
    """

    forecasts: Floats
    truths: Floats
    errors: Floats
    at: Indices


def order_boards(boards: Sequence[Board], rng: np.random.Generator) -> Ordering | None:
    """Evaluate a method's ordering of the targets of each source, on one board or several.

    Domains are permuted jointly as sources and targets (a Mantel test), identically for all models, because domain
    difficulty is correlated across models. Means over several boards are weighted by their number of domains.

    Args:
        boards: sources with fewer than two targets are ignored; so are boards without other sources or
            with a missing shift.
        rng: samples permutations if there are too many to enumerate.
    Returns: the evaluation; None if every board is ignored.
    Source: Mantel, "The detection of disease clustering and a generalized regression approach" (1967).
    """
    parts = [part for board in boards if (part := _order_board(board, rng)) is not None]
    if not parts:
        return None
    sizes = np.array([size for _, size in parts], dtype=np.float64)
    n = [len(found) for found, _ in parts]
    # Index 0 of each board is the observed order; boards are permuted independently.
    n_draws = int(np.prod(n)) if np.prod([float(each) for each in n]) <= _EXACT else _EXACT
    exact = n_draws == int(np.prod(n))
    places = np.array(np.unravel_index(np.arange(n_draws), n)) if exact else rng.integers(0, n, (n_draws, len(n))).T
    places[:, 0] = 0
    drawn = np.stack([found[place] for (found, _), place in zip(parts, places, strict=True)])  # (boards, draws, 2)
    weights = np.where(np.isnan(drawn), 0.0, sizes[:, None, None])
    with np.errstate(invalid="ignore"):
        mean = (np.nan_to_num(drawn) * weights).sum(axis=0) / weights.sum(axis=0)
    regret, pairs = mean.T
    p_pairs = float((pairs >= pairs[0] - 1e-9).mean()) if not np.isnan(pairs[0]) else float("nan")
    p_regret = float((regret <= regret[0] + 1e-9).mean())
    return Ordering(float(regret[0]), float(regret.mean()), p_regret, float(pairs[0]), p_pairs, int(sizes.sum()))


def _order_board(board: Board, rng: np.random.Generator) -> tuple[Floats, int] | None:
    """Compute regret and pair accuracy per permutation (identity first), shape (n, 2), and the number of targets."""
    known = ~np.isnan(board.truths)
    kept = (known.sum(axis=2) > 1).any(axis=0)
    if not kept.any() or np.isnan(board.forecasts[known]).any():
        return None
    k, n_sources = board.truths.shape[2], board.truths.shape[1]
    truths = np.where(kept[:, None], board.truths, np.nan)
    lowest = np.nanmin(np.where(known, truths, np.inf), axis=2, keepdims=True)
    apart = truths[..., :, None] - truths[..., None, :]
    far = np.abs(apart) > _APART * np.hypot(board.errors[..., :, None], board.errors[..., None, :])
    signs = np.where(far & ~np.isnan(apart), np.sign(apart), 0.0)
    source_of = {int(target): row for row, target in enumerate(board.at) if target >= 0}
    found = []
    for part in _chunks(_permutations(k, rng)):
        # A domain is permuted as target and as source: find the row that a source gets, -1 if that domain is not one.
        rows = np.tile(np.arange(n_sources), (len(part), 1))
        for row, target in enumerate(board.at):
            if target >= 0:
                rows[:, row] = [source_of.get(int(each), -1) for each in part[:, target]]
        values = board.forecasts[:, rows[:, :, None], part[:, None, :]]  # (models, permutations, sources, targets)
        used = np.broadcast_to((known & kept[:, None])[:, None], values.shape)
        if (rows < 0).any() or np.isnan(values[used]).any():
            return None
        masked = np.where(used, values, np.inf)
        named = (masked <= masked.min(axis=3, keepdims=True) + 1e-12) & used
        n_named = np.maximum(named.sum(axis=3), 1)
        lost = np.where(named, np.nan_to_num(truths - np.where(np.isinf(lowest), 0, lowest))[:, None], 0).sum(axis=3)
        has_row = used.any(axis=3)
        regret = (lost / n_named).sum(axis=(0, 2)) / has_row.sum(axis=(0, 2))
        predicted = np.sign(np.nan_to_num(values[..., :, None] - values[..., None, :]))
        n_pairs = np.abs(signs).sum()
        right = (
            (predicted * signs[:, None]).sum(axis=(0, 2, 3, 4)) / n_pairs / 2 + 0.5
            if n_pairs
            else np.full(len(part), np.nan)
        )
        found.append(np.stack([regret, right], axis=1))
    return np.concatenate(found), k


def _permutations(k: int, rng: np.random.Generator) -> Indices:
    """Return all permutations of k elements if at most ``_EXACT``, else a sample of that size; identity first."""
    if factorial(k) <= _EXACT:
        return np.array(list(permutations(range(k))), dtype=np.int64)
    drawn = rng.permuted(np.tile(np.arange(k), (_EXACT, 1)), axis=1)
    drawn[0] = np.arange(k)
    return drawn


def _chunks(orders: Indices) -> Iterator[Indices]:
    for start in range(0, len(orders), _CHUNK):
        yield orders[start : start + _CHUNK]
