"""The compared figures of a task: the ranked mean, other means, and every shift's scores and drops."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.scoring.comparing.cells import DEPTH_LAMBDAS, EntryTask, ScoreKey
from shiftbench.scoring.comparing.shape import AVERAGE_DROP, DEPTH_F1, FIGURES, MEAN_OOD, MEAN_ST
from shiftbench.scoring.scores.summary import small_domains
from shiftbench.scoring.scores.values import Cell
from shiftbench.validation.vocabulary import OUTSIDE_SOURCES, source_parts

Statistic = Mapping[ScoreKey, float]
"""Weights of mean scores; negative weights subtract."""


class TaskFigure(NamedTuple):
    """A figure to compare.

    Attributes:
        name: as in ``Difference.figure``.
        cells: the shifts that it covers.
        weights: weight of each score in the figure; None if a score is missing.
    """

    name: str
    cells: Sequence[Cell]
    weights: Statistic | None

    @property
    def has_drop(self) -> bool:
        """Return whether the figure is a drop, a difference of scores."""
        return self.weights is not None and min(self.weights.values()) < 0


def shift_figures(cell: Cell, a: EntryTask, b: EntryTask) -> list[TaskFigure]:
    """Return ST, SD and TD of a shift. SS of a joined source is the mean over its parts.

    A model trained on none of the domains has no in-domain score, so its drops have no weights.
    """
    source, target = cell
    here = {(source, target, ""): 1.0}
    away = {(source, target, ""): -1.0}
    parts = source_parts(source)
    home = {(source, part, ""): 1 / len(parts) for part in parts}
    own = {(target, target, ""): 1.0}
    weightings = (here, {**home, **away} if home else None, {**own, **away})
    return [
        TaskFigure(name, [cell], _present(weights, a, b)) for name, weights in zip(FIGURES, weightings, strict=True)
    ]


def mean_figures(cells: Sequence[Cell], a: EntryTask, b: EntryTask) -> list[TaskFigure]:
    """Return the means of a task: the ranked mean, then average drop, mean OOD of other sources, Depth F1.

    Args:
        cells: the shifts that both entries have; those of domains too small for a mean are skipped.
        a: one entry.
        b: the other.

    Returns: at least the ranked mean.
    """
    info = a.folder.task(a.name)
    small = small_domains(info, info.domains)
    meant = [cell for cell in cells if not small.keys() & {*source_parts(cell[0]), cell[1]}]
    groups = _groups_of_shifts(meant or cells, info)
    ranked = groups[0]
    name = MEAN_OOD if info.id_domain is not None else MEAN_ST
    figures = [_mean(name, ranked, a, b)]
    drops = [shift_figures(cell, a, b)[1].weights for cell in ranked]
    if all(drops):
        figures.append(TaskFigure(AVERAGE_DROP, ranked, _average([each for each in drops if each])))
    figures += [_mean(name, group, a, b) for group in groups[1:] if len(group) > 1]
    # A model trained on none of the domains is compared only by its score under shift.
    for lambda_ in () if a.outside or b.outside else DEPTH_LAMBDAS:
        there = [cell for cell in ranked if lambda_ in a.depth_weightings(*cell)]
        if there and len(there) == len(ranked):
            weights = _average([{(*cell, str(lambda_)): 1.0} for cell in ranked])
            figures.append(TaskFigure(f"{DEPTH_F1}{lambda_}", ranked, weights))
    return figures


def _groups_of_shifts(cells: Sequence[Cell], info: TaskInfo) -> list[list[Cell]]:
    """Group shifts as a board averages them; the ranked group comes first."""
    if info.id_domain is not None:
        away = [cell for cell in cells if cell[1] != info.id_domain] or list(cells)
        by_source: dict[str, list[Cell]] = {}
        for cell in away:
            by_source.setdefault(cell[0], []).append(cell)
        order = sorted(by_source, key=lambda source: (source != info.id_domain, source not in OUTSIDE_SOURCES))
        return [by_source[source] for source in order]
    single = [cell for cell in cells if cell[0] in info.domains]
    whole = [cell for cell in cells if cell[0] == info.joined_source]
    outside = [[cell for cell in cells if cell[0] == source] for source in OUTSIDE_SOURCES]
    return [next(group for group in (whole, single, *outside, list(cells)) if group)]


def _mean(name: str, cells: Sequence[Cell], a: EntryTask, b: EntryTask) -> TaskFigure:
    return TaskFigure(name, cells, _present(_average([{(*cell, ""): 1.0} for cell in cells]), a, b))


def _average(statistics: Sequence[Statistic]) -> Statistic:
    weights: dict[ScoreKey, float] = {}
    for each in statistics:
        for place, weight in each.items():
            weights[place] = weights.get(place, 0.0) + weight / len(statistics)
    return weights


def _present(weights: Statistic | None, a: EntryTask, b: EntryTask) -> Statistic | None:
    """Return the weights if both entries have every score in them; None otherwise."""
    if weights is None or any((source, target) not in a.cells & b.cells for source, target, _ in weights):
        return None
    known = all(each.score(place).is_known for place in weights for each in (a, b))
    return weights if known else None
