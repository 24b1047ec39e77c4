"""The values of scores as a flat list with intervals, shared by all writers of results.

Fractions, unrounded; undefined values are omitted.
"""

from collections.abc import Iterator
from typing import NamedTuple

from shiftbench.scoring.scores.shape import Estimate, Interval, Scores, TaskScores, Total
from shiftbench.scoring.scores.summary import ID_OOD
from shiftbench.validation.vocabulary import PLACEBO

_OF_SHIFTS = {"st": False, "sd": True, "td": True}
"""Figures of a shift, and whether each is a drop; SS and TT are among the in-domain scores."""
_OF_TASKS = {
    "mean_ss": False, "mean_st": False, "lowest_st": False, "highest_st": False, "average_drop": True, "mean_sd": True,
    "mean_td": True, "worst_sd": True, "worst_td": True,
}  # fmt: skip
_WORDS = {
    "mean_ss": "mean in-domain score (mean SS)",
    "mean_st": "mean score under shift (mean ST)",
    "lowest_st": "lowest score under shift",
    "highest_st": "highest score under shift",
    "average_drop": "average drop",
    "mean_sd": "mean drop from the in-domain score of the source (mean SD)",
    "mean_td": "mean drop from models trained on the target (mean TD)",
    "worst_sd": "worst drop from the in-domain score of the source (worst SD)",
    "worst_td": "worst drop from models trained on the target (worst TD)",
    "id": "score on the training domain (ID)",
    "mean_ood": "mean score on the other domains (mean OOD)",
    "drop": "drop from ID to mean OOD",
    "st": "score under shift (ST)",
    "ss": "in-domain score (SS)",
    "sd": "drop from the in-domain score of the source (SD)",
    "td": "drop from a model trained on the target (TD)",
    "depth_f1": "Depth F1",
}


class SharedFigure(NamedTuple):
    """One exported value.

    Attributes:
        task: its task.
        name: its name, such as ``mean_st``; Depth F1 ends in ``@<lambda>``.
        metric: the metric of the scores.
        source: source of a shift, or the domain of an in-domain score; None for a value of the whole task.
        target: target of a shift, or the domain of an in-domain score; None for a value of the whole task.
        estimate: a fraction, with its 95% interval over other test texts.
        total: the 95% interval that includes training variance; None if it was not measured.
        is_drop: whether lower is better.
        n: number of test texts; None for a value over several targets.
        runs: trained models per source; None for a value over several targets.
    """

    task: str
    name: str
    metric: str
    source: str | None
    target: str | None
    estimate: Estimate
    total: Interval | None
    is_drop: bool
    n: int | None = None
    runs: int | None = None

    @property
    def value(self) -> float:
        """Return the figure's value."""
        assert self.estimate.value is not None  # undefined values are omitted
        return self.estimate.value

    @property
    def bounds(self) -> tuple[float | None, float | None, float | None, float | None]:
        """Return both ends of the interval over test texts, and of the one that includes training variance."""
        total = (None, None) if self.total is None else (self.total.low, self.total.high)
        return (self.estimate.low, self.estimate.high, *total)

    @property
    def key(self) -> str:
        """Return its unique name within the scores: ``nli/mean_st``, ``nli/st/fiction->slate``."""
        where = "" if self.source is None else f"/{self.source}->{self.target}"
        return f"{self.task}/{self.name}{where}"

    @property
    def words(self) -> str:
        """Return its display name."""
        name, _, lambda_ = self.name.partition("@")
        return _WORDS[name] + (f" at lambda {lambda_}" if lambda_ else "")


def figures_of(scores: Scores) -> list[SharedFigure]:
    """List all defined values of scores, task by task.

    Args:
        scores: an entry's scores.

    Returns: for each task the values of the whole task, then the in-domain scores, then the values of each shift.
    """
    listed = [figure for task in scores.tasks for figure in (*_task_figures(task), *_domain_figures(task))]
    return [figure for figure in listed if figure.estimate.value is not None]


def headlines(scores: Scores) -> dict[str, SharedFigure]:
    """Return, for each task, the value by which entries are compared; higher is better.

    Returns: by task, Depth F1 over all target texts for a pairing, mean OOD for a task with one training domain,
        otherwise mean ST; tasks without that value, and placebos, are omitted.
    """
    wanted = {task.task: _headline(task) for task in scores.tasks if not task.task.endswith(PLACEBO)}
    whole = [figure for figure in figures_of(scores) if figure.source is None]
    return {figure.task: figure for figure in whole if wanted.get(figure.task) == figure.name}


def drop_of(scores: Scores, task: str) -> SharedFigure | None:
    """Return the drop shown with a task's headline; None if no drop was measured."""
    drops = {figure.name: figure for figure in figures_of(scores) if figure.task == task and figure.source is None}
    return next((drops[name] for name in ("drop", "average_drop", "mean_td", "mean_sd") if name in drops), None)


def _headline(task: TaskScores) -> str:
    if task.summary.basis == "pairing":
        return "depth_f1@0"
    return "mean_ood" if task.id_ood is not None else "mean_st"


def _task_figures(task: TaskScores) -> Iterator[SharedFigure]:
    def figure(name: str, estimate: Estimate, total: Total, metric: str = task.metric) -> SharedFigure:
        is_drop = _OF_TASKS.get(name, name == "drop")
        return SharedFigure(task.task, name, metric, None, None, estimate, total.get(name), is_drop)

    summary, id_ood = task.summary, task.id_ood
    if id_ood is not None:
        yield from (figure(name, getattr(id_ood, name), id_ood.total) for name in ("id", "mean_ood", "drop"))
    for name in _OF_TASKS:
        # The summary repeats ID, mean OOD and their difference.
        if id_ood is None or summary.basis != ID_OOD or name not in ("mean_ss", "mean_st", "average_drop"):
            yield figure(name, getattr(summary, name), summary.total)
    yield from (figure(f"depth_f1@{part}", each, {}, "depth_f1") for part, each in summary.depth_f1.items())


def _domain_figures(task: TaskScores) -> Iterator[SharedFigure]:
    """List the in-domain scores, then the values of each shift."""
    for own in task.in_domain:
        where, total = (own.domain, own.domain), own.total.get("score")
        yield SharedFigure(task.task, "ss", task.metric, *where, own.score, total, False, own.n, own.runs)
    for shift in task.shifts:
        where = (shift.source, shift.target)
        for name, is_drop in _OF_SHIFTS.items():
            estimate, total = getattr(shift, name), shift.total.get(name)
            yield SharedFigure(task.task, name, task.metric, *where, estimate, total, is_drop, shift.n, shift.runs)
        for part, estimate in shift.depth_f1.items():
            name = f"depth_f1@{part}"
            yield SharedFigure(task.task, name, "depth_f1", *where, estimate, None, False, shift.n, shift.runs)
