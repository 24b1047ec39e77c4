"""DFR: the last layer is fitted anew on balanced rows of the source's validation split (Kirichenko et al. 2023)."""

import numpy as np
from numpy.typing import NDArray

from shiftbench.baselines.robust.last_layer import fit_layer
from shiftbench.validation.report import InvalidInput, Problem

DRAWS = 10


def fit_balanced_layer(
    features: NDArray[np.float32],
    labels: NDArray[np.int64],
    domains: NDArray[np.int64],
    n_classes: int,
    generator: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit the last layer on rows balanced over all pairs of label and domain, and average ten such fits.

    Args:
        features: of validation rows of the source, never of a target, shape (n, d).
        labels: shape (n,).
        domains: shape (n,).
        n_classes: number of labels of the task, C.
        generator: draws the rows.
    Returns: weights, shape (C, d), and biases, shape (C,).
    Raises: InvalidInput when a label has no row.
    Source: Kirichenko et al. 2023, sec. 5, with L2 in place of L1, as scikit-learn's L1 is for two classes.
    """
    lacking = sorted(set(range(n_classes)) - set(labels.tolist()))
    if lacking:
        what, cure = (
            "the source's validation rows lack a label, so that no layer can be fitted",
            "leave out --method dfr",
        )
        raise InvalidInput(Problem(what, "--method dfr", f"labels {lacking}", cure))
    groups = labels * (domains.max() + 1) + domains
    places = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    least = min(map(len, places))
    fits = []
    for _ in range(DRAWS):
        drawn = np.concatenate([generator.choice(part, least, replace=False) for part in places])
        fits.append(fit_layer(features[drawn], labels[drawn], n_classes))
    return np.mean([weights for weights, _ in fits], axis=0), np.mean([biases for _, biases in fits], axis=0)
