"""Invented scores over time, drawn apart from what tests them: periods of groups of texts, right or wrong."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Periods(NamedTuple):
    """How the texts of periods are drawn.

    Attributes:
        n_groups: groups of each period.
        size: texts of each group.
        correlation: of texts of a group, in [0, 1).
        jitter: standard deviation of periods' own accuracies, a fraction.
    """

    n_groups: int
    size: int = 10
    correlation: float = 0.1
    jitter: float = 0.0

    def draw(self, accuracies: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw how many texts of each group are right.

        Args:
            accuracies: of the periods, before they jitter, in (0, 1), shape (n_periods,).
            n_draws: histories.
            rng: draws jitter (normal), groups (beta) and texts.
        Returns: right texts, shape (n_draws, n_periods, n_groups).
        """
        noise = self.jitter * rng.standard_normal((n_draws, accuracies.size))
        own = np.clip(accuracies + noise, 1e-3, 1 - 1e-3)[..., None]
        chances = np.broadcast_to(own, (*noise.shape, self.n_groups))
        if self.correlation > 0:
            more = 1 / self.correlation - 1
            chances = rng.beta(chances * more, (1 - chances) * more)
        return rng.binomial(self.size, chances).astype(np.float64)
