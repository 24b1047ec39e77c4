"""Test sets with known truth, sampled group by group with numpy only, independently of the estimators.

The correctness of a group's texts is sampled in two steps: the group's probability from a beta distribution, then its
texts with that probability, so that two texts of a group have correlation ``alike``, and texts of different groups are
independent. Latent normal variables, on which the estimators might have been tuned, are not used.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class TestSet:
    """A test set, and a model's accuracy on it.

    Attributes:
        sizes: number of texts in each group.
        p: probability of a correct answer.
        alike: correlation of the correctness of two texts in a group, in [0, 1].
        longer_is_harder: decrease of the probability in a group of twice the mean size (negative: increase). If it is
            not 0, sizes are resampled for every draw, and the true accuracy is the mean over texts.
    """

    __test__ = False
    sizes: tuple[int, ...]
    p: float
    alike: float = 0.0
    longer_is_harder: float = 0.0

    @property
    def groups(self) -> float:
        """Return the effective number of groups."""
        sizes = np.array(self.sizes, dtype=np.float64)
        return float(sizes.sum() ** 2 / (sizes**2).sum())

    @property
    def variance(self) -> float:
        """Return the variance of accuracy for fixed sizes."""
        sizes = np.array(self.sizes, dtype=np.float64)
        pairs = sizes.sum() + self.alike * (sizes * (sizes - 1)).sum()
        return float(self.p * (1 - self.p) * pairs / sizes.sum() ** 2)

    @property
    def truth(self) -> float:
        """Return the accuracy on infinitely many texts."""
        sizes = np.array(self.sizes, dtype=np.float64)
        return float((sizes * self._chances(sizes)).sum() / sizes.sum())

    @property
    def truth_of_groups(self) -> float:
        """Return the mean accuracy over groups."""
        return float(self._chances(np.array(self.sizes, dtype=np.float64)).mean())

    def _chances(self, sizes: Floats) -> Floats:
        return np.clip(self.p - self.longer_is_harder * (sizes / np.mean(self.sizes) - 1), 0.001, 0.999)

    def draw(self, n_draws: int, rng: np.random.Generator) -> tuple[Counts, Counts]:
        """Sample the number of correct answers and of texts in each group, shape (n_draws, n_groups)."""
        sizes = np.broadcast_to(np.array(self.sizes), (n_draws, len(self.sizes)))
        if self.longer_is_harder:
            sizes = rng.choice(np.array(self.sizes), size=sizes.shape)
        chances = beta(self._chances(sizes.astype(np.float64)), self.alike, rng)
        return rng.binomial(sizes, chances), sizes


def beta(p: Floats, alike: float, rng: np.random.Generator) -> Floats:
    """Sample group accuracies so that texts of a group have correlation ``alike``.

    Args:
        p: mean accuracy, in (0, 1), of any shape.
        alike: within-group correlation of correctness, in [0, 1].
        rng: the generator.
    Returns: probabilities of a correct answer, in the shape of ``p``.
    """
    if alike <= 0:
        return p
    if alike >= 1:
        return (rng.random(p.shape) < p).astype(np.float64)
    scale = (1 - alike) / alike
    return rng.beta(p * scale, (1 - p) * scale)


def drawn_sizes(groups: float, mean: float, spread: float, rng: np.random.Generator) -> tuple[int, ...]:
    """Sample lognormal group sizes until the effective number of groups is ``groups``.

    Args:
        groups: target effective number.
        mean: mean size of a group, at least 1.
        spread: standard deviation of sizes divided by their mean.
        rng: the generator.
    """
    sigma = np.sqrt(np.log1p(spread**2))
    sizes: list[int] = []
    while len(sizes) < 10_000:
        sizes.append(max(1, round(mean * float(np.exp(sigma * rng.normal() - sigma**2 / 2)))))
        if len(sizes) >= groups and sum(sizes) ** 2 / sum(size**2 for size in sizes) >= groups:
            break
    return tuple(sizes)


@dataclass(frozen=True)
class Labelled:
    """A test set with classes: each text is correct with probability ``p``, else predicted as another class.

    Attributes:
        sizes: number of texts in each group.
        p: probability of a correct answer.
        priors: class prior.
        alike: within-group correlation of correctness.
    """

    sizes: tuple[int, ...]
    p: float
    priors: tuple[float, ...]
    alike: float = 0.0

    @property
    def truth(self) -> float:
        """Return macro-F1 on infinitely many texts."""
        priors, k = np.array(self.priors), len(self.priors)
        claimed = priors * self.p + (1 - priors) * (1 - self.p) / (k - 1)
        return float((2 * priors * self.p / (priors + claimed)).mean())

    def draw(self, n_draws: int, rng: np.random.Generator) -> Counts:
        """Sample the confusion table of each group, shape (n_draws, n_groups, k, k): gold, then predicted."""
        n_groups, k = len(self.sizes), len(self.priors)
        sizes = np.broadcast_to(np.array(self.sizes), (n_draws, n_groups))
        gold = rng.multinomial(sizes, self.priors)
        chances = beta(np.full((n_draws, n_groups), self.p), self.alike, rng)
        right = rng.binomial(gold, chances[..., None])
        table = np.zeros((n_draws, n_groups, k, k), dtype=np.int64)
        for label in range(k):
            others = [other for other in range(k) if other != label]
            wrong = rng.multinomial(gold[..., label] - right[..., label], np.full(k - 1, 1 / (k - 1)))
            table[..., label, label] = right[..., label]
            table[..., label, others] = wrong
        return table


@dataclass(frozen=True)
class Pair:
    """Two models on the texts of one test set.

    Attributes:
        sizes: number of texts in each group.
        both: probability that both are correct, given that they agree.
        lost, won: probability that only the first, or only the second, is correct.
        alike: within-group correlation of these outcomes.
    """

    sizes: tuple[int, ...]
    both: float
    lost: float
    won: float
    alike: float = 0.0

    @property
    def truth(self) -> float:
        """Return the first model's score minus the second's."""
        return self.lost - self.won

    @property
    def agree(self) -> float:
        """Return the share of texts on which both models are correct, or both wrong."""
        return 1 - self.lost - self.won

    def draw(self, n_draws: int, rng: np.random.Generator) -> Counts:
        """Sample the number of texts per group and outcome.

        Returns: shape (n_draws, n_groups, 4): both models correct, only the first, only the second, both wrong.
        """
        shares = np.array([self.agree * self.both, self.lost, self.won, self.agree * (1 - self.both)])
        sizes = np.broadcast_to(np.array(self.sizes), (n_draws, len(self.sizes)))
        if self.alike <= 0:
            return rng.multinomial(sizes, shares)
        gamma = rng.standard_gamma(np.broadcast_to(shares * (1 - self.alike) / self.alike, (*sizes.shape, 4)))
        total = gamma.sum(axis=-1, keepdims=True)
        # With tiny shape parameters all four gamma variates may underflow to 0: such a group has a single outcome.
        whole = np.eye(4)[rng.choice(4, p=shares, size=sizes.shape)]
        chances = np.where(total > 0, gamma / np.where(total > 0, total, 1.0), whole)
        return rng.multinomial(sizes, chances / chances.sum(axis=-1, keepdims=True))


@dataclass(frozen=True)
class Recipe:
    """Runs of one recipe on ungrouped texts.

    Attributes:
        n: number of texts.
        p: probability of a correct answer in a typical run.
        n_runs: number of runs.
        run_sd: standard deviation of the probability over runs.
        collapses: share of runs that lose another 20 points.
    """

    n: int
    p: float
    n_runs: int
    run_sd: float
    collapses: float = 0.0

    @property
    def truth(self) -> float:
        """Return the mean score of infinitely many runs on infinitely many texts."""
        return self.p - 0.2 * self.collapses

    def moves(self, rng: np.random.Generator) -> Floats:
        """Sample by how much each run's accuracy differs from ``p``, shape (n_runs,)."""
        lost = 0.2 * (rng.random(self.n_runs) < self.collapses)
        return np.asarray(self.run_sd * rng.normal(size=self.n_runs) - lost)

    def draw(self, moves: Floats, rng: np.random.Generator) -> tuple[Counts, Counts]:
        """Sample whether each run is correct on each text, shape (n_runs, n), and the texts' groups, shape (n,)."""
        # Half of the random numbers are shared by the runs: a text is easy for all of them, or hard.
        shared, own = rng.random(self.n), rng.random((self.n_runs, self.n))
        luck = np.where(rng.random((self.n_runs, self.n)) < 0.5, shared, own)
        return (luck < self.p + moves[:, None]).astype(np.int64), np.arange(self.n)
