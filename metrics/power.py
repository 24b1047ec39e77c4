"""Power analysis of a comparison: the minimum detectable drop, before and after training.

After training, the minimum detectable drop is (t at .975 + t at .80) standard errors of the statistic (Bloom 1995,
"Minimum detectable effects"). It does not use the observed drop: power computed from the observed drop is a function of
its p value (Hoenig & Heisey 2001, "The abuse of power").

Before training the standard error is unknown and depends on the drop: the variance of a score depends on its level, and
two models must disagree on at least the fraction of texts given by the drop. A model is therefore described by its
recall, equal for all classes, from which the score, its variance and its covariance with another model's score follow
(``Answers``). ``scoring.scores.plan`` solves for the drop with the test that scoring uses.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.precision import satterthwaite

Floats = NDArray[np.float64]

LEVEL = 0.05
POWER = 0.80


@dataclass(frozen=True)
class Variance:
    """Variance components of a drop or of a mean drop.

    Attributes:
        texts: sampling variance over test texts.
        texts_dof: degrees of freedom of its estimate (groups minus one per test set).
        training: variance over training runs; 0 if the models are treated as fixed.
        training_dof: degrees of freedom of its estimate; infinite if ``training`` is 0.
    """

    texts: float
    texts_dof: float
    training: float = 0.0
    training_dof: float = float("inf")

    @property
    def se(self) -> float:
        """Return the standard error, a fraction."""
        return float(np.sqrt(self.texts + self.training))

    @property
    def dof(self) -> float:
        """Return Satterthwaite's degrees of freedom of the sum."""
        return float(satterthwaite([self.texts, self.training], [self.texts_dof, self.training_dof]))


def minimum_detectable(se: ArrayLike, dof: ArrayLike = np.inf, n_tests: int = 1) -> Floats:
    """Compute the true drop that a two-sided test detects with 80% power: (t at .975 + t at .80) se.

    Args:
        se: standard error of the drop, a fraction at least 0.
        dof: degrees of freedom of the standard error; the two shapes must broadcast.
        n_tests: number of tests to correct for. The level of Holm's first step is used, which is conservative.
    Returns: fractions, at least 0, in the broadcast shape; NaN where ``dof`` is below 1.
    Raises: ValueError with fewer than 1 test.
    Source: Bloom 1995, eq. 1.

    >>> round(float(minimum_detectable(0.01)), 4)
    0.028
    """
    from scipy.special import stdtrit

    if n_tests < 1:
        raise ValueError(f"n_tests must be at least 1, got {n_tests}")
    errors, freedom = np.broadcast_arrays(np.asarray(se, dtype=np.float64), np.asarray(dof, dtype=np.float64))
    safe = np.where(freedom >= 1, freedom, np.nan)
    return np.asarray((stdtrit(safe, 1 - LEVEL / n_tests / 2) + stdtrit(safe, POWER)) * errors)


@dataclass(frozen=True)
class Answers:
    """A model of the predictions on a test set, which relates a recall to the score and its variance.

    The recall is the same for every class, and errors are uniform over the other classes.

    Attributes:
        shares: class prior for macro-F1, summing to 1; a single class means a score that is a mean over texts.
    """

    shares: tuple[float, ...]

    def score(self, recall: ArrayLike) -> Floats:
        """Compute the score at a recall (for a mean over texts, the recall itself).

        Args:
            recall: in [0, 1], any shape.

        >>> Answers((1.0,)).score(0.9).tolist(), Answers((0.1, 0.9)).score(0.9).round(3).tolist()
        (0.9, 0.792)
        """
        each = np.asarray(recall, dtype=np.float64)
        return each if len(self.shares) == 1 else _class_scores(self.shares, each)[0].mean(axis=-1)

    def recall(self, score: float) -> float:
        """Find the recall that leads to a score, clipped to the possible range."""
        if len(self.shares) == 1:
            return min(max(score, 0.0), 1.0)
        recalls, scores = self._grid
        return float(np.interp(score, scores, recalls))

    def covariance(self, recall: float, other: float, discordance: float) -> float:
        """Compute the covariance of two models' scores under resampling of texts, per text.

        Args:
            recall: recall of the first model, in [0, 1].
            other: recall of the second model, in [0, 1].
            discordance: probability that exactly one of them is correct, at least ``|recall - other|``. If both are
                wrong, their predictions are independent.
        """
        (right, wrong, _), (other_right, other_wrong, _) = _slopes(self.shares, recall), _slopes(self.shares, other)
        alone, other_alone = (discordance + recall - other) / 2, (discordance - recall + other) / 2
        both = recall - alone
        neither = 1 - both - alone - other_alone
        mixed = alone * right * other_wrong + other_alone * wrong * other_right
        return float(np.array(self.shares) @ (both * right * other_right + mixed + neither * wrong * other_wrong))

    def variance(self, recall: float) -> float:
        """Compute the variance of a model's score under resampling of texts, per text.

        Args:
            recall: the model's recall, in [0, 1].
        """
        right, _, wrong_square = _slopes(self.shares, recall)
        return float(np.array(self.shares) @ (recall * right**2 + (1 - recall) * wrong_square))

    @cached_property
    def _grid(self) -> tuple[Floats, Floats]:
        recalls = np.linspace(0.0, 1.0, 2001)
        return recalls, self.score(recalls)


@lru_cache(maxsize=4096)  # a plan asks for the same recalls in every pair of scores
def _slopes(class_shares: tuple[float, ...], recall: float) -> tuple[Floats, Floats, Floats]:
    """Return three influences of a text, by class: if correct, the mean if wrong, and the mean square if wrong.

    A correct answer adds 2 (1 - F1) / (gold + predicted) to the F1 of its class; a wrong one subtracts
    F1 / (gold + predicted) from the F1 of its gold class and of the predicted class.
    """
    k = len(class_shares)
    if k == 1:
        return np.array([1 - recall]), np.array([-recall]), np.array([recall**2])
    f1, size = _class_scores(class_shares, np.array(recall))
    lost = f1 / size / k
    wrong = -(lost[:, None] + lost)[~np.eye(k, dtype=bool)].reshape(k, k - 1)
    return 2 * (1 - f1) / size / k, wrong.mean(axis=1), (wrong**2).mean(axis=1)


def _class_scores(class_shares: tuple[float, ...], recall: Floats) -> tuple[Floats, Floats]:
    """Return each class's F1, and its gold plus predicted texts as a fraction of all, both (..., n_classes)."""
    shares = np.array(class_shares)
    right = recall[..., None] * shares
    size = shares + right + (1 - recall[..., None]) * (1 - shares) / (shares.size - 1)
    return 2 * right / size, size


def groups_with(probability: float, sizes: ArrayLike, correlation: float) -> float:
    """Compute the expected effective number of groups that contain a kind of text, such as misclassified ones.

    Args:
        probability: probability that a text is of the kind, in [0, 1].
        sizes: number of texts per group, at least 0, shape (n_groups,).
        correlation: intraclass correlation within groups, in [0, 1].

    >>> round(groups_with(0.1, [1] * 50, 0.0), 6), round(groups_with(0.1, [10] * 50, 0.2), 1)
    (5.0, 14.2)
    """
    texts = np.asarray(sizes, dtype=np.float64)
    own = texts * probability * (1 - probability) * (1 + (texts - 1) * correlation)
    square = float((own + (texts * probability) ** 2).sum())
    return float((texts.sum() * probability) ** 2 / square) if square > 0 else 0.0


def expected_design_effect(mean_group: float, n_groups: float, correlation: float) -> float:
    """Compute the expected value of a study's estimated design effect, which has sampling error and is at least 1.

    Args:
        mean_group: mean group size per text (``sum m^2 / sum m``), at least 1.
        n_groups: effective number of groups, above 1.
        correlation: intraclass correlation within groups, in [0, 1].

    >>> expected_design_effect(1.0, 100.0, 0.2), round(expected_design_effect(20.0, 12.0, 0.0), 2)
    (1.0, 1.17)
    """
    from scipy.special import ndtr

    true = 1 + (mean_group - 1) * correlation
    spread = true * np.sqrt(2 * (1 - 1 / mean_group) / (n_groups - 1))
    if spread == 0:
        return float(true)
    above = (true - 1) / spread
    return float(1 + (true - 1) * ndtr(above) + spread * np.exp(-(above**2) / 2) / np.sqrt(2 * np.pi))
