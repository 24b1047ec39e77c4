"""Power of a comparison before there are scores: standard errors from sizes, and the smallest detectable drop.

A drop is found when its two-sided test rejects at 5%. The minimum detectable drop is the true drop that is found with
80% probability: (t at .975 + t at .80) standard errors (Bloom 1995, "Minimum detectable effects"). It is a statement
about the design, so it is made of the standard error alone and never of the drop that was observed: a power that is
computed from the observed drop is another name for its p value (Hoenig & Heisey 2001, "The abuse of power").

All functions take one standard error model. A text's score has variance v = p (1 - p) around the accuracy p; two
models score the same text differently with probability d (discordance), so their scores on it have the covariance
v - d / 2. Texts of one group are alike, so a test set is worth fewer independent ones (``wilson.effective_n``). Each
run of a recipe lies ``run_sd`` from the recipe's own score.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEVEL = 0.05
POWER = 0.80


@dataclass(frozen=True)
class EvaluationSet:
    """The properties of a domain's test set that standard errors depend on.

    Attributes:
        n: texts, at least 1.
        effective_n: independent texts that would be worth as much (``wilson.effective_n``), at most ``n``.
        groups: groups of texts that belong together, at least 1.
    """

    n: int
    effective_n: float
    groups: int


@dataclass(frozen=True)
class Variance:
    """Variance of a drop or of a mean drop, by origin.

    Attributes:
        texts: what other test texts would change.
        texts_dof: degrees of freedom of its estimate (groups less one for each test set).
        training: what other training runs would change; 0 where the models are taken as they are.
        training_dof: degrees of freedom of its estimate; infinite where ``training`` is 0.
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
        parts = self.texts**2 / self.texts_dof + self.training**2 / self.training_dof
        return float((self.texts + self.training) ** 2 / parts) if parts > 0 else float("inf")


def source_drop_variance(
    source: EvaluationSet, target: EvaluationSet, accuracy: float, run_sd: float = 0.0, runs: int = 1
) -> Variance:
    """Compute the variance of SD = SS - ST: one model on two test sets, whose texts are independent.

    Args:
        source: test set of the domain that was trained on.
        target: test set of the other domain.
        accuracy: score of a text on average, a fraction.
        run_sd: standard deviation of a score over training runs, a fraction; 0 takes the models as they are.
        runs: training runs, at least 2 where ``run_sd`` is above 0.
    Returns: its parts. SS and ST are taken to move independently from run to run, which errs on the wide side.
    Raises: ValueError with one run and a ``run_sd`` above 0.
    """
    v = accuracy * (1 - accuracy)
    texts = v / source.effective_n + v / target.effective_n
    return Variance(texts, source.groups + target.groups - 2, *_training(2 * run_sd**2, runs, 1))


def target_drop_variance(target: EvaluationSet, discordance: float, run_sd: float = 0.0, runs: int = 1) -> Variance:
    """Compute the variance of TD = TT - ST: two models on the same texts.

    Args:
        target: the test set.
        discordance: share of texts that one of two models has right and the other wrong (for scores between: mean
            squared difference), in [0, 1].
        run_sd: as for ``source_drop_variance``.
        runs: as for ``source_drop_variance``.
    Returns: its parts, for a drop of 0 (a drop of x lowers the discordance by x^2).
    Raises: ValueError as ``source_drop_variance``.
    """
    return Variance(discordance / target.effective_n, target.groups - 1, *_training(2 * run_sd**2, runs, 2))


def mean_drop_variance(
    domains: Sequence[EvaluationSet], discordance: float, run_sd: float = 0.0, runs: int = 1
) -> Variance:
    """Compute the variance of the average drop of a complete grid: mean in-domain score less mean ST.

    On one text the in-domain model's score less the mean of the K - 1 others' has variance (d / 2) K / (K - 1). SD and
    TD have the same average.

    Args:
        domains: each domain's test set, at least 2; every domain is trained on.
        discordance: as for ``target_drop_variance``.
        run_sd: as for ``source_drop_variance``.
        runs: as for ``source_drop_variance``.
    Returns: its parts.
    Raises: ValueError with fewer than 2 domains, or as ``source_drop_variance``.
    """
    k = len(domains)
    if k < 2:
        raise ValueError("an average drop needs at least 2 domains")
    each = [discordance / 2 * k / (k - 1) / domain.effective_n / k**2 for domain in domains]
    dofs = [max(domain.groups - 1, 1) for domain in domains]
    total = sum(each)
    dof = total**2 / sum(part**2 / dof for part, dof in zip(each, dofs, strict=True)) if total else float("inf")
    return Variance(total, dof, *_training(run_sd**2 * (1 / k + 1 / (k * (k - 1))), runs, k))


def minimum_detectable(se: ArrayLike, dof: ArrayLike = np.inf, n_tests: int = 1) -> Floats:
    """Compute the true drop that a two-sided test finds with 80% probability: (t at .975 + t at .80) se.

    Args:
        se: standard error of the drop, a fraction at least 0.
        dof: degrees of freedom of the standard error; shapes of the two must broadcast.
        n_tests: tests that the level is shared by: the first step of Holm's procedure, an upper bound of what it needs.
    Returns: fractions, at least 0, in the broadcast shape; NaN where ``dof`` is below 1.
    Raises: ValueError with fewer than 1 test.
    Source: Bloom 1995, eq. 1.

    >>> round(float(minimum_detectable(0.01)), 4)
    0.028
    """
    from scipy.special import stdtrit

    if n_tests < 1:
        raise ValueError(f"a level is shared by at least 1 test, found {n_tests}")
    errors, freedom = np.broadcast_arrays(np.asarray(se, dtype=np.float64), np.asarray(dof, dtype=np.float64))
    safe = np.where(freedom >= 1, freedom, np.nan)
    return np.asarray((stdtrit(safe, 1 - LEVEL / n_tests / 2) + stdtrit(safe, POWER)) * errors)


def _training(variance_of_one: float, runs: int, models: int) -> tuple[float, float]:
    """Return the variance over training of a mean over runs, and its degrees of freedom."""
    if variance_of_one == 0:
        return 0.0, float("inf")
    if runs < 2:
        raise ValueError("one training run says nothing about others: give at least 2 runs, or run_sd = 0")
    return variance_of_one / runs, float(models * (runs - 1))
