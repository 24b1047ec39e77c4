"""What to do about each domain that a model was checked on: one step, decided by tests at a margin fixed beforehand.

A domain is accepted only where it is shown to lose less than the margin (one-sided, 5% over all domains by Holm's
procedure), so at most one file in twenty accepts a domain that truly loses the margin; that is of one check, and a file
that is checked again with more labels has another chance. Where a loss is shown, and it is no smaller than the margin
itself, the probes say what to do. Everything else hangs on labels: as many as would decide in four studies of five, if
the domain truly loses what it seems to. A model that is not shown to be above chance has nothing to lose: it is not
accepted.
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


_MOST = 20
"""Times as many texts as are labelled that are worth naming: more would be needed where a loss is at the margin."""


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
        at_floor: whether the model is not shown to be above what needs no skill there.
    """

    score: Figure
    n_texts: int
    loss: Figure | None
    p: float
    at_floor: bool = False


class Labels(NamedTuple):
    """How many more labels decide.

    Attributes:
        texts: of the domain, at least 1; None where no number within reach is enough.
        of_home: whether as many more of the home domain are needed, too.
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
    """Decide what to do about each domain but home.

    Args:
        domains: those with labels, by name.
        margin: loss below which a domain is accepted, above 0, a fraction that was fixed beforehand.
        min_texts: texts below which a domain is not counted.
        home: what is known of the home domain; None without one.
        unlabelled: domains of which no text is labelled.
        harder: domains that probes show to be harder for any model, and not shifted.
        doubted: domains whose labels the model and the probes agree against.
    Returns: a step for each domain, in their order, those without labels last.
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
        elif each.at_floor:  # no number of labels makes it better than chance
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
    """Compute how many more labels decide about a domain in four studies of five, if its loss is what it seems to be.

    A loss below the margin (or a gain, which counts as no loss) is decided where it is shown to be below, any other one
    where it is shown at all.

    Args:
        domain: with its loss.
        margin: a fraction above 0.
        home: what is known of the home domain; None without one.
        n_tests: domains that share the level: the first step of Holm's procedure, an upper bound of what it needs.
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
    """Compute how many labels show in four studies of five that a new domain loses less, if it loses nothing.

    Args:
        home: what is known of the home domain; a text of the new one is taken to be as uncertain as one of home.
        margin: a fraction above 0.
        n_tests: domains that share the level.
    """
    own = home.score.se**2
    there = _Precision(own * home.n_texts, home.n_texts)
    return _labels(there._replace(texts=0), there, own, margin, LEVEL / n_tests)


class _Precision(NamedTuple):
    """The variance that a score on one text of a domain would have, and how many texts are labelled."""

    variance: float
    texts: int


def _labels(here: _Precision, home: _Precision | None, others: float, apart: float, level: float) -> Labels:
    """Compute the labels with which a loss is shown to be ``apart`` from what is tested, in four studies of five.

    Where what the domain is compared with takes more than half of the variance that may be left, as many labels of home
    are counted, too: otherwise labels of the domain alone decide late or never.

    Args:
        here: of the domain.
        home: of the home domain; None without one.
        others: variance of what the domain is compared with, as it is.
        apart: a fraction; nothing is shown of 0 or less.
        level: of the one-sided test.
    """
    if apart <= 0:
        return Labels(None)
    allowed = (apart / float(norm.ppf(1 - level) + norm.ppf(POWER))) ** 2
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
