"""Simulated scores over time, independent of the tests: periods with groups of texts, correct or wrong."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Periods(NamedTuple):
    """Design of simulated periods, such as weeks.

    Attributes:
        n_groups: groups per period.
        size: texts per group.
        correlation: within-group correlation, in [0, 1).
        jitter: standard deviation of the periods' accuracies around their means, a fraction.
    """

    n_groups: int
    size: int = 10
    correlation: float = 0.1
    jitter: float = 0.0

    def draw(self, accuracies: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
        """Sample the number of correct texts in each group.

        Args:
            accuracies: accuracies of the periods before jitter, in (0, 1), shape (n_periods,).
            n_draws: number of histories.
            rng: generator of jitter (normal), groups (beta) and texts.
        Returns: number of correct texts, shape (n_draws, n_periods, n_groups).
        """
        noise = self.jitter * rng.standard_normal((n_draws, accuracies.size))
        own = np.clip(accuracies + noise, 1e-3, 1 - 1e-3)[..., None]
        chances = np.broadcast_to(own, (*noise.shape, self.n_groups))
        if self.correlation > 0:
            more = 1 / self.correlation - 1
            chances = rng.beta(chances * more, (1 - chances) * more)
        return rng.binomial(self.size, chances).astype(np.float64)
