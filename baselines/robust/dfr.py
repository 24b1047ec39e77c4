"""DFR: refits the last layer on balanced rows of the source's validation split (Kirichenko et al. 2023)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftbench.baselines.robust.last_layer import fit_layer, set_last_layer
from shiftbench.baselines.robust.method import MethodTraining, TrainingMethod, strength
from shiftbench.baselines.training.trainer import Trajectory
from shiftbench.validation.report import InvalidInput, Problem

DRAWS = 10
_STREAM = 2
"""Added to the seed of DFR's draws, so that they are independent of other draws of the same seed."""


@dataclass(frozen=True)
class Dfr(TrainingMethod):
    """DFR: refits the last layer on validation rows of the source, balanced by label and domain."""

    of_validation = True
    models = "encoders"
    inverse_penalty: float = strength(1.0, "0.01 to 1, of L1 (Kirichenko et al. 2023)", least=1e-6, draws=(1e-2, 10))
    draws: int = strength(DRAWS, "20 in the authors' code", least=1)

    def finish(self, training: MethodTraining, trajectory: Trajectory) -> Mapping[str, Any]:
        """Refit the last layer."""
        rows = training.validation
        assert rows is not None
        assert training.features is not None
        domains = rows["domain"].rank("dense").to_numpy().astype(np.int64) - 1
        labels = rows["label"].to_numpy().astype(np.int64)
        generator = np.random.default_rng([training.seed, _STREAM])
        features = training.features(trajectory.model, rows)
        fitted = fit_balanced_layer(
            features, labels, domains, training.n_classes, generator, self.inverse_penalty, self.draws
        )
        set_last_layer(trajectory.model, *fitted)
        return {}


def fit_balanced_layer(
    features: NDArray[np.float32],
    labels: NDArray[np.int64],
    domains: NDArray[np.int64],
    n_classes: int,
    generator: np.random.Generator,
    inverse_penalty: float = 1.0,
    draws: int = DRAWS,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit the last layer on rows balanced over all pairs of label and domain, averaged over several samples.

    Args:
        features: features of the source's validation rows, never of a target, shape (n, d).
    Returns: weights, shape (C, d), and biases, shape (C,).
    Raises: InvalidInput if a label has no row.
    Source: Kirichenko et al. 2023, sec. 5, with L2 in place of L1, which liblinear supports for two classes only.
    """
    lacking = sorted(set(range(n_classes)) - set(labels.tolist()))
    if lacking:
        what = "not every label occurs in the source's validation rows, so the last layer cannot be fitted"
        cure = "omit --method dfr"
        raise InvalidInput(Problem(what, "--method dfr", f"labels {lacking}", cure))
    groups = labels * (domains.max() + 1) + domains
    places = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    least = min(map(len, places))
    fits = []
    for _ in range(draws):
        drawn = np.concatenate([generator.choice(part, least, replace=False) for part in places])
        fits.append(fit_layer(features[drawn], labels[drawn], n_classes, inverse_penalty))
    return np.mean([weights for weights, _ in fits], axis=0), np.mean([biases for _, biases in fits], axis=0)
