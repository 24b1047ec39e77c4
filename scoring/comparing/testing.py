"""The difference of two entries in one figure: a weighted sum of their scores, its interval and its p values.

If both entries have enough runs of every source, training variance is included and claims are about recipes.
"""

from collections.abc import Sequence

import numpy as np

from shiftbench.metrics.precision import MIN_RUNS
from shiftbench.scoring.comparing.cells import EntryTask, ScoreKey
from shiftbench.scoring.comparing.figures import TaskFigure
from shiftbench.scoring.comparing.shape import AtFloor, Difference, SourceRuns
from shiftbench.scoring.scores.figures import detectable_drop, difference, none_if_nan


def fewest_runs(entry: EntryTask, sources: Sequence[str]) -> int:
    """Return the smallest number, over sources, of runs that are on all of the source's targets."""
    return min(len(entry.common_seeds(source)) for source in sources)


def about_recipes(sources: Sequence[str], a: EntryTask, b: EntryTask) -> bool:
    """Return whether tests on these sources support claims about recipes.

    They do not if either entry was trained on none of these sources (such as zero-shot), because its scores are then
    only matched to the other entry's shifts.
    """
    if a.outside or b.outside:
        return False
    return min(fewest_runs(entry, sources) for entry in (a, b)) >= MIN_RUNS


def compare_figure(
    figure: TaskFigure, a: EntryTask, b: EntryTask, *, recipes: bool, margin: float | None = None
) -> Difference:
    """Compare two entries by one figure.

    Args:
        figure: the figure.
        a: one entry.
        b: the other.
        recipes: whether to include training variance.
        margin: also test whether the difference lies within this fraction.

    Returns: A minus B; drops of scores that are at chance have no interval and no p.
    """
    if figure.weights is None:
        return Difference(figure=figure.name, value=None, p=None)
    apart = difference(a.figure(figure.weights), b.figure(figure.weights))
    shown = Difference(
        figure=figure.name,
        value=none_if_nan(apart.value),
        p=None,
        at_floor=_at_floor(figure, a, b),
        no_interval=apart.no_interval,
    )
    if shown.at_floor is not None or not apart.has_interval:
        return shown
    low, high = apart.limits(recipes=recipes)
    smallest = detectable_drop(apart)
    return shown.model_copy(
        update={
            "p": apart.p_value(recipes=recipes),
            "low": low,
            "high": high,
            "p_equivalent": None if margin is None else apart.p_within(margin, recipes=recipes),
            "detectable": None if smallest is None else smallest.recipe if recipes else smallest.models,
        }
    )


def run_scores(figure: TaskFigure, entry: EntryTask) -> tuple[SourceRuns, ...]:
    """Return the mean score of each run over its source's shifts, by source; empty if runs differ by target.

    Args:
        figure: the ranked mean.
        entry: the entry.
    """
    places: dict[str, list[ScoreKey]] = {}
    for place in figure.weights or ():
        places.setdefault(entry.outside or place[0], []).append(place)
    every = []
    for source, here in places.items():
        runs = [part.score.runs for place in here for part in entry.score(place).parts]
        known = [each for each in runs if each is not None]
        if len(known) < len(here) or len({each.seeds for each in known}) > 1:
            return ()
        scores = np.mean([each.values for each in known], axis=0)
        every.append(SourceRuns(source=source, scores=tuple(scores.tolist())))
    return tuple(every)


def _at_floor(figure: TaskFigure, a: EntryTask, b: EntryTask) -> AtFloor | None:
    """Return the entries for which one of the drop's scores is at chance; None if there is none, or for scores."""
    if not figure.has_drop:
        return None
    weights = figure.weights or {}
    signs = [
        {place: sign * weight for place, weight in weights.items() if sign * weight > 0 and not place[2]}
        for sign in (1, -1)
    ]
    marked = [any(entry.is_at_floor(_to_one(part)) for part in signs if part) for entry in (a, b)]
    names: dict[tuple[bool, bool], AtFloor] = {(True, True): "both", (True, False): "a", (False, True): "b"}
    return names.get((marked[0], marked[1]))


def _to_one(weights: dict[ScoreKey, float]) -> dict[ScoreKey, float]:
    total = sum(weights.values())
    return {place: weight / total for place, weight in weights.items()}
