"""Warnings about a model's predictions: labels that seem permuted, and texts that it did not read in full."""

import math
import shlex
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from shiftbench.baselines.models.loaded import LoadedModel
from shiftbench.validation.report import plural

FAR_BETTER = 0.1
"""Minimum gain in balanced accuracy for a warning about permuted labels."""
ALPHA = 0.01


def list_doubts(
    model: LoadedModel, gold: pl.Series | None, predicted: pl.Series, labels: Sequence[str]
) -> tuple[str, ...]:
    """List warnings about a model's predictions, one sentence each.

    Args:
        model: the model, which has counted the texts that it did not read in full.
        gold: codes of the gold labels; None if the task has no label codes. Not used if any label is withheld.
        predicted: the predictions, one for each gold label.
        labels: the task's labels.
    """
    doubts = []
    if gold is not None and len(gold) and not gold.null_count():
        mixed_up = permutation_warning(gold.to_numpy(), predicted.to_list(), labels)
        doubts += [mixed_up] if mixed_up else []
    counts = model.counts
    if cut := counts.truncated_share:
        share = f"{counts.truncated:,} of {counts.rows:,} ({100 * cut:.1f}%)"
        doubts.append(f"{share} texts exceed the model's maximum length and were truncated")
    if counts.empty:
        doubts.append(f"{plural(counts.empty, 'row')} of {counts.rows:,} had an empty text")
    unlike = {ending: n for ending, n in counts.endings.items() if ending != "complete"}
    if unlike:
        found = ", ".join(f"{n:,} {ending}" for ending, n in sorted(unlike.items()))
        doubts.append(f"some of {sum(counts.endings.values()):,} answers are incomplete: {found}")
    return tuple(doubts)


def permutation_warning(gold: ArrayLike, predicted: ArrayLike, labels: Sequence[str]) -> str | None:
    """Build a warning if the model would score far better with its labels permuted; None if not.

    The score is balanced accuracy (mean recall of the labels that occur), so a constant prediction gains nothing. The
    best permutation is found by linear assignment on the recalls. It is reported only if it gains at least 10 points,
    significant at 1%: under the hypothesis that a fixed permutation gains nothing, Hoeffding's inequality bounds the
    probability of a gain t by exp(-t^2 / (2 sum_g 1 / (K^2 n_g))), where K labels occur, and label g occurs n_g times.
    The bound is multiplied by k! - 1, the number of other permutations of all k labels (Bonferroni).

    Args:
        gold: codes or names of the gold labels, shape (n,).
        predicted: codes or names of the predicted labels, shape (n,), or probabilities, shape (n, n_labels). Names that
            are not labels count as wrong under any permutation.
    Returns: a sentence, with the ``--label-map`` that undoes the permutation; None without a warning.

    >>> permutation_warning([0] * 50 + [1] * 50, [1] * 50 + [0] * 50, ["no", "yes"])
    "labels look permuted: with 'yes' mapped to 'no', 'no' mapped to 'yes', balanced accuracy would be 100.0 instead of
    0.0; check the model's id2label, or add --label-map yes=no --label-map no=yes"
    """
    from scipy.optimize import linear_sum_assignment

    golds, guesses = _codes(gold, labels), _codes(predicted, labels)
    k = len(labels)
    counts = np.zeros((k, k))
    known = (golds >= 0) & (guesses >= 0)
    np.add.at(counts, (golds[known], guesses[known]), 1)
    n_gold = np.bincount(golds[golds >= 0], minlength=k)
    occurring = n_gold > 0
    n_occurring = int(occurring.sum())
    if n_occurring < 2:
        return None
    recalls = counts / np.maximum(n_gold, 1)[:, None] / n_occurring  # (gold, predicted)
    rows, columns = linear_sum_assignment(recalls, maximize=True)
    now, best = float(np.trace(recalls)), float(recalls[rows, columns].sum())
    gain = best - now
    variance = float((1 / (n_occurring**2 * n_gold[occurring])).sum())
    log_p = math.lgamma(k + 1) - gain**2 / (2 * variance)
    if gain < FAR_BETTER or log_p >= math.log(ALPHA):
        return None
    moved = [(labels[guess], labels[truth]) for truth, guess in zip(rows, columns, strict=True) if truth != guess]
    read = ", ".join(f"'{guess}' mapped to '{truth}'" for guess, truth in moved)
    line = " ".join(f"--label-map {shlex.quote('='.join(pair))}" for pair in moved)
    return (
        f"labels look permuted: with {read}, balanced accuracy would be {100 * best:.1f} instead of "
        f"{100 * now:.1f}; check the model's id2label, or add {line}"
    )


def _codes(values: ArrayLike, labels: Sequence[str]) -> NDArray[np.int64]:
    """Convert codes, names or probabilities to label codes; -1 for unknown names."""
    array = np.asarray(values)
    if array.ndim == 2:
        return np.asarray(array.argmax(axis=1), dtype=np.int64)
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    code_of = {label: code for code, label in enumerate(labels)}
    return np.array([code_of.get(str(value), -1) for value in array.tolist()], dtype=np.int64)
