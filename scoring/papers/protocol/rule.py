"""The rule that selects data sets: pure functions from facts and scores to decisions.

ID: the candidate that covers most subtypes, then the one with most train rows, among those that have all classes and
enough train rows and are not challenge sets. OOD: the candidates with the largest drops of the ID model, at most one
per text source and none from the ID's sources, except adversarial versions of the ID. Similarity is not used, because
no threshold on the paper's tables reproduces the paper's choices.

Source: BOSS paper, sec. 2.2 and appendix D.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

MIN_TRAIN = 10_000
"""Minimum number of train rows: of each class, or in total if there are no classes to count by."""

CHOSEN = "chosen"
CLASSES, SIZE, CHALLENGE, BREADTH, TRAIN_ROWS = "classes", "size", "challenge", "breadth", "train rows"
UNFIT = (CLASSES, SIZE, CHALLENGE)
"""Reasons why a candidate cannot be the ID."""
THE_ID, ID_SOURCE, SOURCE_TAKEN, DROP, NO_SCORE = "the ID", "source of the ID", "source taken", "drop", "no score"


@dataclass(frozen=True)
class Candidate:
    """The properties of a data set that the rule needs.

    Attributes:
        name: its name, unique among the candidates.
        text_sources: the origins of its texts; empty if unknown, then treated as shared with no other candidate.
        breadth: number of subtypes that it is known to cover.
        challenge: whether it was designed to be hard.
        made_from: name of the data set that it is an adversarial version of.
        train: number of train rows.
        n_classes: number of classes in its rows; None if there are none to count.
        smallest_class: train rows of its smallest class, or an upper bound; None for tasks without class labels (tags,
            answers, generated text).
    """

    name: str
    text_sources: tuple[str, ...] = ()
    breadth: int = 1
    challenge: bool = False
    made_from: str | None = None
    train: int = 0
    n_classes: int | None = None
    smallest_class: int | None = None


@dataclass(frozen=True)
class OodVerdict:
    """The decision whether a candidate is selected as OOD, with its reason.

    Attributes:
        chosen: whether it is selected.
        reason: the deciding criterion; one of this module's constants.
        rival: the data set that it lost to, or that would replace it; None without one.
        margin: the rival's score minus its own if it is selected, otherwise its own minus the rival's: the distance to
            a different selection, in units of the scores. None without a rival.
    """

    chosen: bool
    reason: str
    rival: str | None = None
    margin: float | None = None


def choose_id(candidates: Sequence[Candidate], min_train: int = MIN_TRAIN) -> tuple[str | None, dict[str, str]]:
    """Select the data set that models are trained on.

    Args:
        candidates: in the order that breaks ties.
        min_train: minimum number of train rows.
    Returns: its name (None if no candidate is eligible), and the deciding criterion for each candidate: ``classes``,
        ``size`` or ``challenge`` if not eligible, ``breadth`` or ``train rows`` if eligible but not selected.

    >>> choose_id([Candidate("a", train=20_000, breadth=2), Candidate("b", train=90_000), Candidate("c", train=9)])
    ('a', {'a': 'chosen', 'b': 'breadth', 'c': 'size'})
    """
    all_classes = max((candidate.n_classes or 0 for candidate in candidates), default=0)
    reasons = {candidate.name: _unfit(candidate, all_classes, min_train) for candidate in candidates}
    eligible = [candidate for candidate in candidates if not reasons[candidate.name]]
    if not eligible:
        return None, reasons
    # The first one wins ties.
    best = max(eligible, key=lambda candidate: (candidate.breadth, candidate.train))
    for candidate in eligible:
        reasons[candidate.name] = BREADTH if candidate.breadth < best.breadth else TRAIN_ROWS
    return best.name, reasons | {best.name: CHOSEN}


def _unfit(candidate: Candidate, all_classes: int, min_train: int) -> str:
    if (candidate.n_classes or 0) < all_classes:
        return CLASSES
    rows = candidate.train if candidate.smallest_class is None else candidate.smallest_class
    if rows < min_train:
        return SIZE
    return CHALLENGE if candidate.challenge else ""


def may_be_ood(candidates: Sequence[Candidate], id_name: str) -> NDArray[np.bool_]:
    """Return which candidates may be OOD, shape (n,): not the ID, and not from its text sources unless made from it."""
    sources = next(set(candidate.text_sources) for candidate in candidates if candidate.name == id_name)
    return np.array(
        [
            candidate.name != id_name and (candidate.made_from == id_name or sources.isdisjoint(candidate.text_sources))
            for candidate in candidates
        ]
    )


def choose_ood(candidates: Sequence[Candidate], scores: ArrayLike, id_name: str, n_ood: int) -> NDArray[np.bool_]:
    """Select the OOD data sets greedily by the ID model's lowest scores, which are the largest drops.

    Args:
        candidates: n of them; the first one wins ties.
        scores: the ID model's scores on each, shape (..., n), vectorised over draws. NaN: not scored.
        id_name: the ID.
        n_ood: number to select; fewer if text sources run out.
    Returns: mask of the selected ones, shape (..., n).

    >>> a, b, c = Candidate("a"), Candidate("b", ("Twitter",)), Candidate("c", ("Twitter",))
    >>> choose_ood([a, b, c], [0.9, 0.5, 0.6], "a", 2).tolist()
    [False, True, False]
    """
    table = np.asarray(scores, dtype=np.float64)
    flat = table.reshape(-1, len(candidates))
    free = may_be_ood(candidates, id_name) & ~np.isnan(flat)
    sources = _source_table(candidates)
    chosen = np.zeros(flat.shape, dtype=bool)
    taken = np.zeros((len(flat), sources.shape[1]), dtype=bool)
    rows = np.arange(len(flat))
    for place in np.argsort(flat, axis=1, kind="stable").T:  # (n_draws,): the next candidate of each draw
        own = sources[place]
        fits = free[rows, place] & ~(taken & own).any(axis=1) & (chosen.sum(axis=1) < n_ood)
        chosen[rows, place] = fits
        taken |= own & fits[:, None]
    return chosen.reshape(table.shape)


def _source_table(candidates: Sequence[Candidate]) -> NDArray[np.bool_]:
    every = sorted({source for candidate in candidates for source in candidate.text_sources})
    table = [[source in candidate.text_sources for source in every] for candidate in candidates]
    return np.array(table, dtype=bool).reshape(len(candidates), len(every))


def explain(candidates: Sequence[Candidate], scores: ArrayLike, id_name: str, n_ood: int) -> dict[str, OodVerdict]:
    """Explain for every candidate whether it is selected as OOD, the deciding criterion, and the margin.

    Args:
        candidates: n of them, as for ``choose_ood``.
        scores: the ID model's scores, shape (n,); NaN: not scored.
        id_name: the ID.
        n_ood: number to select.

    Returns: the verdicts, by name.
    """
    values = np.asarray(scores, dtype=np.float64)
    by_name = {candidate.name: float(value) for candidate, value in zip(candidates, values, strict=True)}
    chosen = choose_ood(candidates, values, id_name, n_ood)
    free = may_be_ood(candidates, id_name)
    winners = [candidate for candidate, is_chosen in zip(candidates, chosen, strict=True) if is_chosen]
    verdicts = {}
    for number, candidate in enumerate(candidates):
        if candidate.name == id_name:
            verdict = OodVerdict(chosen=False, reason=THE_ID)
        elif not free[number]:
            verdict = OodVerdict(chosen=False, reason=ID_SOURCE)
        elif np.isnan(values[number]):
            verdict = OodVerdict(chosen=False, reason=NO_SCORE)
        elif chosen[number]:
            rival = _next_in_line(candidates, values, number, id_name, n_ood)
            verdict = OodVerdict(True, CHOSEN, rival, _difference_to(by_name, rival, candidate.name))
        else:
            verdict = _explain_rejection(candidate, winners, by_name)
        verdicts[candidate.name] = verdict
    return verdicts


def _explain_rejection(candidate: Candidate, winners: Sequence[Candidate], scores: Mapping[str, float]) -> OodVerdict:
    """Explain why a candidate is not selected: the lowest-scoring data sets win, one per text source."""
    same = [other for other in winners if not set(other.text_sources).isdisjoint(candidate.text_sources)]
    if same:
        rival, reason = min(same, key=lambda other: scores[other.name]), SOURCE_TAKEN
    else:
        rival, reason = max(winners, key=lambda other: scores[other.name]), DROP
    return OodVerdict(False, reason, rival.name, _difference_to(scores, candidate.name, rival.name))


def _next_in_line(
    candidates: Sequence[Candidate], scores: Floats, leaving: int, id_name: str, n_ood: int
) -> str | None:
    """Return the candidate that would replace a selected one: the newly selected one with the lowest score."""
    before = choose_ood(candidates, scores, id_name, n_ood)
    without = scores.copy()
    without[leaving] = np.nan
    new = choose_ood(candidates, without, id_name, n_ood) & ~before
    return candidates[int(np.argmin(np.where(new, scores, np.inf)))].name if new.any() else None


def _difference_to(scores: Mapping[str, float], one: str | None, other: str) -> float | None:
    return None if one is None else scores[one] - scores[other]


def frequencies(candidates: Sequence[Candidate], drawn: ArrayLike, id_name: str, n_ood: int) -> Floats:
    """Return the share of draws in which each candidate is selected as OOD.

    Args:
        candidates: n of them, as for ``choose_ood``.
        drawn: draws of the ID model's scores, shape (n_draws, n).
        id_name: the ID.
        n_ood: number to select.

    Returns: shares in [0, 1], shape (n,); they sum to ``n_ood`` if text sources allow that many.
    """
    return np.asarray(choose_ood(candidates, drawn, id_name, n_ood).mean(axis=0))
