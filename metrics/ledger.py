"""Flip ledger: losses and gains of individual predictions that a target drop of zero may hide.

TD is a net effect: TD = loss - gain. Transfer loss is the fraction of examples that the target-trained model gets right
and the source-trained model gets wrong; transfer gain is the reverse. Two large flows can cancel. But any two models
differ on some examples even without a shift. Two runs of one recipe on the same training set differ a little (churn);
models trained on different samples of one domain differ much more. Compare flows with the difference between such
models, which a placebo task measures, because its domains are samples of one domain.

All counts are additive over examples: ``flip_counts`` returns one row per example or group, and ``flip_ledger`` accepts
sums of rows, weighted or not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_N_COLUMNS = 7


@dataclass(frozen=True)
class FlipLedger:
    """Mean flows per example, fractions in [0, 1], arrays of shape ``totals.shape[:-1]``.

    Attributes:
        target_in_domain: TT, mean over runs and examples.
        cross_domain: ST, mean over runs and examples.
        transfer_loss: mean positive part of the target-trained minus the source-trained score.
        transfer_gain: mean negative part. ``transfer_loss - transfer_gain = TT - ST = TD``.
        churn_in_domain: mean difference between two runs trained on the target; NaN with a single run.
        churn_cross_domain: mean difference between two runs trained on the source; NaN with a single run.
    """

    target_in_domain: Floats
    cross_domain: Floats
    transfer_loss: Floats
    transfer_gain: Floats
    churn_in_domain: Floats
    churn_cross_domain: Floats

    @property
    def target_drop(self) -> Floats:
        """Return TD, in [-1, 1]; positive: the shift hurts."""
        return np.asarray(self.transfer_loss - self.transfer_gain)

    @property
    def turnover(self) -> Floats:
        """Return loss plus gain, in [0, 1]: how often a source-trained and a target-trained run differ."""
        return np.asarray(self.transfer_loss + self.transfer_gain)

    def excess_turnover(self, without_shift: ArrayLike) -> Floats:
        """Return the turnover in excess of that without a shift, in [-1, 1].

        Args:
            without_shift: turnover of models trained on different samples of one domain: of a placebo's shifts, or of
                disjoint halves. Churn between seeds is not suitable because the runs share a training set.
        Returns: about 0 if training on the source changes answers no more than resampling the training texts does.
        """
        return np.asarray(self.turnover - np.asarray(without_shift, dtype=np.float64))


def flip_counts(
    target_in_domain: ArrayLike,
    cross_domain: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_groups: int | None = None,
) -> Floats:
    """Compute the additive flows of each example or group, averaged over all pairs of runs.

    For graded scores loss and gain are the positive and the negative part of the difference, and churn is its
    absolute value; for scores of 0 and 1 these are the fractions of pairs that flip. The score must be a mean over
    examples (accuracy, token F1, BERTScore), unlike span F1 and macro F1.

    Args:
        target_in_domain: scores of the runs trained on the target, per test example, shape (n_runs_tt, n), fractions
            in [0, 1] or booleans.
        cross_domain: scores of the runs trained on the source, for the same examples in the same order, shape
            (n_runs_st, n).
        weights: weight of each example (e.g. depth weights), shape (n,), finite and >= 0. Default: 1 each.
        groups: group code of each example, shape (n,), integers in [0, n_groups). Default: rows are examples.
        n_groups: number of groups; required with ``groups``.
    Returns: shape (n or n_groups, 7): weight, then weighted TT, ST, loss, gain and the two churns. Churn is NaN for a
        side with a single run.
    Raises: ValueError when shapes do not fit, there is no run or no example, a score is outside [0, 1] or
        missing, a weight is negative or not finite, or a group code is out of range.
    Source: this project's.

    >>> flip_counts([[1, 1, 0]], [[1, 0, 1]])[:, 3:5].tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    tt, st = _scores("target_in_domain", target_in_domain), _scores("cross_domain", cross_domain)
    if tt.shape[1] != st.shape[1]:
        raise ValueError(
            f"both sides must score the same test examples, got {tt.shape[1]} and {st.shape[1]}; shape is (runs, n)"
        )
    n = tt.shape[1]
    loss, gain = np.zeros(n), np.zeros(n)
    for run in tt:  # one run at a time, to limit memory
        difference = run - st
        loss += np.maximum(difference, 0.0).mean(axis=0)
        gain += np.maximum(-difference, 0.0).mean(axis=0)
    columns = [np.ones(n), tt.mean(axis=0), st.mean(axis=0), loss / len(tt), gain / len(tt), _churn(tt), _churn(st)]
    counts = np.stack(columns, axis=1)
    if weights is not None:
        counts *= _example_weights(weights, n)[:, None]
    if groups is None:
        return counts
    codes = np.asarray(groups)
    if n_groups is None:
        raise ValueError("groups needs n_groups, the number of groups")
    if codes.shape != (n,) or not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(f"groups must be integer codes of shape {(n,)}, got {codes.dtype} of shape {codes.shape}")
    if codes.min() < 0 or codes.max() >= n_groups:
        raise ValueError(f"group codes must lie in [0, {n_groups}), got {codes.min()} to {codes.max()}")
    summed = [np.bincount(codes, weights=column, minlength=n_groups) for column in counts.T]
    return np.stack(summed, axis=1)


def flip_ledger(totals: ArrayLike) -> FlipLedger:
    """Compute mean flows from summed counts.

    Args:
        totals: rows of ``flip_counts`` summed, ``counts.sum(axis=0)`` or weighted, shape (..., 7).
    Returns: the ledger; all NaN if the weights sum to 0.
    Raises: ValueError when the last axis is not 7 long.

    >>> books = flip_ledger(flip_counts([[1, 1, 0, 0], [1, 1, 0, 1]], [[1, 0, 1, 0]]).sum(axis=0))
    >>> float(books.transfer_loss), float(books.transfer_gain), float(books.target_drop)
    (0.375, 0.25, 0.125)
    >>> float(books.churn_in_domain), float(books.churn_cross_domain)
    (0.25, nan)
    """
    sums = np.asarray(totals, dtype=np.float64)
    if sums.ndim < 1 or sums.shape[-1] != _N_COLUMNS:
        raise ValueError(f"totals must have shape (..., {_N_COLUMNS}), rows of flip_counts summed; got {sums.shape}")
    weight = sums[..., :1]
    means = np.divide(sums[..., 1:], weight, out=np.full(sums[..., 1:].shape, np.nan), where=weight > 0)
    return FlipLedger(*(np.asarray(means[..., column]) for column in range(_N_COLUMNS - 1)))


def _churn(scores: Floats) -> Floats:
    """Compute the mean absolute difference over all pairs of runs, per example.

    After sorting, run i of R is the larger one in i pairs and the smaller one in R - 1 - i.
    """
    n_runs = len(scores)
    if n_runs < 2:
        return np.full(scores.shape[1], np.nan)
    signs = 2.0 * np.arange(n_runs) - n_runs + 1
    return np.asarray(signs @ np.sort(scores, axis=0) / (n_runs * (n_runs - 1) / 2))


def _scores(name: str, values: ArrayLike) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"{name} must have shape (n_runs, n_examples), both at least 1, got {table.shape}")
    if not np.all((table >= 0) & (table <= 1)):
        raise ValueError(
            f"{name} must be fractions in [0, 1] without NaN, got {table.min():g} to {table.max():g}; "
            "did you pass points (x100)?"
        )
    return table


def _example_weights(weights: ArrayLike, n: int) -> Floats:
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n,):
        raise ValueError(f"weights must have shape {(n,)}, got {values.shape}")
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError("weights must be finite and not negative")
    return values
