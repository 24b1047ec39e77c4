"""The recommended next step for each domain that a model was checked on, decided by tests at a margin fixed in advance.

A domain is accepted only if its loss is significantly below the margin (one-sided, 5% over all domains by Holm's
procedure), so at most 5% of checks accept a domain whose true loss is the margin. Repeating a check with more labels
adds another 5%. If a loss is significant and at least the margin, the probes decide the step. Otherwise the step is to
label more texts, enough for a decision with 80% power if the true loss equals the observed one. A model that is not
shown to be above chance is not accepted, because it cannot lose accuracy.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from math import ceil
from typing import NamedTuple

from shiftbench.metrics.power import LEVEL, POWER
from shiftbench.metrics.ranking import holm
from shiftbench.scoring.scores.figures import Figure
from shiftbench.scoring.scores.shape import NextStep

MARGIN = 0.05
"""Default loss below which a domain is accepted."""


_MOST = 20
"""Maximum suggested multiple of the labelled texts; the number needed is unbounded for a loss near the margin."""


class Step(StrEnum):
    """The recommended step for a domain."""

    ACCEPT = "accept"
    LABEL = "label"
    LOOK = "look at the labels"
    RETRAIN = "retrain with it"
    HARDER = "harder for any model"


class Domain(NamedTuple):
    """The results on a domain.

    Attributes:
        score: the model's score there.
        n_texts: number of labelled test texts.
        loss: its loss relative to the source domain, or to the mean of the other domains; None if it has too few texts.
        p: p value of the test for any loss or gain, corrected over the domains; NaN without a test.
        at_floor: whether the model is not shown to be above the no-skill level there.
    """

    score: Figure
    n_texts: int
    loss: Figure | None
    p: float
    at_floor: bool = False


class Labels(NamedTuple):
    """The number of additional labels needed for a decision.

    Attributes:
        texts: labels in the domain, at least 1; None if no feasible number is enough.
        of_home: whether the same number of labels is also needed in the source domain.
    """

    texts: int | None
    of_home: bool = False


def next_steps(
    domains: Mapping[str, Domain],
    *,
    margin: float = MARGIN,
    min_texts: int = 0,
    home: Domain | None = None,
    unlabelled: Collection[str] = (),
    harder: Collection[str] = (),
    doubted: Collection[str] = (),
) -> tuple[NextStep, ...]:
    """Choose the next step for each domain except the source.

    Args:
        domains: labelled domains, by name.
        margin: loss below which a domain is accepted, a fraction above 0, fixed in advance.
        min_texts: minimum number of texts of a tested domain.
        home: results on the source domain; None without one.
        unlabelled: domains without any labelled text.
        harder: domains that probes show to be harder for any model, rather than shifted.
        doubted: domains where the model and the probes agree on predictions that contradict the labels.

    Returns: one step per domain, in their order, those without labels last.
    """
    is_lost = home is not None and home.at_floor
    tested = {name: each.loss for name, each in domains.items() if each.loss is not None and each.loss.has_interval}
    accepting = dict(zip(tested, holm([1 - loss.p_above(margin) for loss in tested.values()]), strict=True))
    n_tests = len(tested) + len(unlabelled)
    steps = []
    for name, each in domains.items():
        p, loss = accepting.get(name), tested.get(name)
        if is_lost:
            steps.append(NextStep(domain=name, step=Step.LABEL))
        elif loss is None or p is None:
            n_more = None if each.loss is not None or each.n_texts >= min_texts else min_texts - each.n_texts
            steps.append(NextStep(domain=name, step=Step.LABEL, texts=n_more))
        elif p < LEVEL and not each.at_floor:
            steps.append(NextStep(domain=name, step=Step.ACCEPT, p=float(p)))
        elif each.p < LEVEL and loss.value >= margin:
            step = Step.LOOK if name in doubted else Step.HARDER if name in harder else Step.RETRAIN
            steps.append(NextStep(domain=name, step=step, p=each.p))
        elif each.at_floor:  # more labels would not lift it above chance
            steps.append(NextStep(domain=name, step=Step.LABEL))
        else:
            steps.append(_to_label(name, texts_to_decide(each, margin, home, n_tests)))
    if unlabelled:
        known = None if home is None or is_lost or not home.score.has_interval else home
        texts = Labels(None) if known is None else texts_of_new_domain(known, margin, n_tests)
        texts = texts._replace(texts=None if texts.texts is None else max(texts.texts, min_texts))
        steps += [_to_label(name, texts) for name in unlabelled]
    return tuple(steps)


def _to_label(domain: str, labels: Labels) -> NextStep:
    return NextStep(domain=domain, step=Step.LABEL, texts=labels.texts, of_home=labels.of_home)


def texts_to_decide(domain: Domain, margin: float, home: Domain | None = None, n_tests: int = 1) -> Labels:
    """Compute how many more labels a decision on a domain needs at 80% power, if its true loss equals the observed one.

    A loss below the margin (or a gain, which counts as no loss) is decided once it is shown to be below; any other loss
    once it is shown to be above 0.

    Args:
        domain: the domain with its loss.
        margin: a fraction above 0.
        home: results on the source domain; None without one.
        n_tests: number of domains tested; the level is divided by it (Bonferroni, hence an upper bound).
    """
    if domain.loss is None or not domain.loss.has_interval:
        return Labels(None)
    loss, own = domain.loss.value, domain.score.se**2
    apart, level = (margin - max(loss, 0.0), LEVEL) if loss < margin else (loss, LEVEL / 2)
    here = _Precision(own * domain.n_texts, domain.n_texts)
    others = max(domain.loss.se**2 - own, 0.0)
    there = None if home is None else _Precision(others * home.n_texts, home.n_texts)
    return _labels(here, there, others, apart, level / n_tests)


def texts_of_new_domain(home: Domain, margin: float, n_tests: int = 1) -> Labels:
    """Compute how many labels show with 80% power that a new domain's loss is below the margin, if it is truly 0.

    Args:
        home: results on the source domain; texts of the new one are assumed to have the same variance.
        margin: a fraction above 0.
        n_tests: number of domains tested; the level is divided by it.
    """
    own = home.score.se**2
    there = _Precision(own * home.n_texts, home.n_texts)
    return _labels(there._replace(texts=0), there, own, margin, LEVEL / n_tests)


class _Precision(NamedTuple):
    """The per-text variance of a domain's score, and the number of labelled texts."""

    variance: float
    texts: int


def _labels(here: _Precision, home: _Precision | None, others: float, apart: float, level: float) -> Labels:
    """Compute the number of labels with which a true difference of ``apart`` is significant with 80% power.

    If the comparison score takes up more than half of the allowed variance, the same number of new labels in the source
    domain is assumed, because even very many labels in the domain alone might not suffice.

    Args:
        here: precision in the domain.
        home: precision in the source domain; None without one.
        others: current variance of the score that the domain is compared with.
        apart: true distance from the tested value, a fraction; at 0 or below nothing can be shown.
        level: level of the one-sided test.
    """
    from scipy.special import ndtri

    if apart <= 0:
        return Labels(None)
    allowed = (apart / float(ndtri(1 - level) + ndtri(POWER))) ** 2
    most = _MOST * max(here.texts, home.texts if home else 0)
    if others <= allowed / 2 or (home is None and others < allowed):
        n_more = here.variance / (allowed - others) - here.texts
        return Labels(max(1, ceil(n_more)) if n_more <= most else None)
    if home is None:
        return Labels(None)
    # The larger root of allowed = here.variance / (here.texts + n) + home.variance / (home.texts + n).
    middle = allowed * (here.texts + home.texts) - here.variance - home.variance
    last = allowed * here.texts * home.texts - here.variance * home.texts - home.variance * here.texts
    n_more = (-middle + (middle**2 - 4 * allowed * last) ** 0.5) / (2 * allowed)
    return Labels(max(1, ceil(n_more)), of_home=True) if n_more <= most else Labels(None)
