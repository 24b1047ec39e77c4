"""What to do about each domain that a model was checked on: one step, decided by tests at a margin fixed beforehand.

A domain is accepted only where it is shown to lose less than the margin (one-sided, 5% over all domains by Holm's
procedure), so at most one file in twenty accepts a domain that truly loses the margin. Where neither that nor a loss is
shown, labels decide: as many as would show in four studies of five that a domain loses less, if it truly lost nothing.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from math import ceil
from typing import NamedTuple

from scipy.stats import norm

from shiftbench.metrics.power import LEVEL, POWER
from shiftbench.metrics.ranking import holm
from shiftbench.scoring.scores.figures import Figure
from shiftbench.scoring.scores.shape import NextStep

MARGIN = 0.05
"""Loss below which a domain is accepted, where the user names none."""


class Step(StrEnum):
    """What to do about a domain."""

    ACCEPT = "accept"
    LABEL = "label"
    LOOK = "look at the labels"
    RETRAIN = "retrain with it"
    HARDER = "harder for any model"


class Domain(NamedTuple):
    """What is known of a domain.

    Attributes:
        score: the model's score there.
        n_texts: labelled test texts.
        loss: what it loses against home, or against the mean of the other domains; None where it is not counted.
        p: of the test that it loses or gains anything, corrected over the domains; NaN without a test.
    """

    score: Figure
    n_texts: int
    loss: Figure | None
    p: float


def next_steps(
    domains: Mapping[str, Domain],
    *,
    margin: float = MARGIN,
    min_texts: int = 0,
    harder: Collection[str] = (),
    doubted: Collection[str] = (),
) -> tuple[NextStep, ...]:
    """Decide what to do about each domain but home.

    Args:
        domains: by name.
        margin: loss below which a domain is accepted, above 0, a fraction that was fixed beforehand.
        min_texts: texts below which a domain is not counted.
        harder: domains that probes show to be harder for any model, and not shifted.
        doubted: domains whose labels the model and the probes agree against.
    Returns: a step for each domain, in their order.
    """
    tested = {name: each.loss for name, each in domains.items() if each.loss is not None and each.loss.has_interval}
    accepting = dict(zip(tested, holm([1 - loss.p_above(margin) for loss in tested.values()]), strict=True))
    steps = []
    for name, each in domains.items():
        p, loss = accepting.get(name), tested.get(name)
        if loss is None or p is None:
            n_more = None if each.loss is not None or each.n_texts >= min_texts else min_texts - each.n_texts
            steps.append(NextStep(domain=name, step=Step.LABEL, texts=n_more))
        elif p < LEVEL:
            steps.append(NextStep(domain=name, step=Step.ACCEPT, p=float(p)))
        elif each.p < LEVEL and loss.value > 0:
            step = Step.LOOK if name in doubted else Step.HARDER if name in harder else Step.RETRAIN
            steps.append(NextStep(domain=name, step=step, p=each.p))
        else:
            steps.append(NextStep(domain=name, step=Step.LABEL, texts=texts_to_decide(each, margin, len(tested))))
    return tuple(steps)


def texts_to_decide(domain: Domain, margin: float, n_tests: int = 1) -> int | None:
    """Compute how many more labels would show in four studies of five that a domain which loses nothing is acceptable.

    Args:
        domain: with its loss.
        margin: a fraction above 0.
        n_tests: domains that share the level: the first step of Holm's procedure, an upper bound of what it needs.
    Returns: texts of this domain, at least 1; None where no number is enough, as what it is compared with is too
        uncertain itself.
    """
    if domain.loss is None or not domain.loss.has_interval:
        return None
    reach = margin / float(norm.ppf(1 - LEVEL / n_tests) + norm.ppf(POWER))
    own = domain.score.se**2
    left = reach**2 - max(domain.loss.se**2 - own, 0.0)
    return max(1, ceil(domain.n_texts * (own / left - 1))) if left > 0 else None
