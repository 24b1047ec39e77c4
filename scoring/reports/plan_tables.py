"""Power analysis before training, as sentences and tables."""

from collections.abc import Iterator, Sequence
from math import inf
from statistics import median

from rich.console import RenderableType

from shiftbench.metrics.precision import MIN_RUNS
from shiftbench.scoring.reports.frame.sentences import sentence, sentences
from shiftbench.scoring.reports.numbers import plain_points
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.plan import OVER_CLASSES, DetectionPlan, Need, PlannedDrop, TaskPlan


def plan_lines(plan: DetectionPlan) -> Iterator[RenderableType]:
    """List each task's smallest detectable drops, the runs and texts that detect 1, 2 and 5 points, and assumptions.

    Args:
        plan: the power analysis.
    """
    for task in plan.tasks:
        columns = ("drop", "these trained models", "corrected", f"the recipe, {plan.runs} runs", "corrected")
        title = f"{task.task}: smallest true drop of {task.metric} detected with 80% power at the 5% level, points"
        yield PlainTable(title, columns, [row for figure in _figures(task) for row in _drop_rows(task, figure)])
        texts = f"texts per domain, {plan.runs} runs" if plan.runs >= MIN_RUNS else "texts per domain, these models"
        needed = ("drop", "size in points", "runs, with the texts in the data", texts)
        yield PlainTable(f"{task.task}: size needed to detect a drop", needed, [_need_row(n) for n in task.needs])
        texts = "each class's texts" if task.metric == OVER_CLASSES else "texts"
        yield sentence("terminal", "assumed", task.assumed, texts, task.test_texts.values())
    yield from sentences("terminal", "plan", plan.not_planned, plan.runs, MIN_RUNS)


def _figures(task: TaskPlan) -> list[str]:
    return list(dict.fromkeys(item.figure for item in task.detectable))


def _drop_rows(task: TaskPlan, figure: str) -> Iterator[list[str]]:
    """Yield the median over a figure's shifts and the hardest shift; a single row for the average drop."""
    items = [item for item in task.detectable if item.figure == figure]
    if len(items) > 1:
        middle = [_median(column) for column in zip(*map(_detectable_drops, items), strict=True)]
        yield [f"{figure}, median of {len(items)} shifts", *map(plain_points, middle)]
    hardest = max(items, key=lambda item: inf if item.models is None else item.models)
    where = f", {hardest.source} -> {hardest.target}" if hardest.source else ""
    yield [f"{figure}{where}", *map(plain_points, _detectable_drops(hardest))]


def _median(drops: Sequence[float | None]) -> float | None:
    """Return the median of detectable drops; undetectable ones (None) count as infinite."""
    middle = median(inf if drop is None else drop for drop in drops)
    return middle if middle < inf else None


def _detectable_drops(item: PlannedDrop) -> tuple[float | None, ...]:
    return item.models, item.models_corrected, item.recipe, item.recipe_corrected


def _need_row(need: Need) -> list[str]:
    name = f"{need.figure}, median shift" if need.figure in ("SD", "TD") else need.figure
    counts = (f"{count:,}" if count is not None else "none" for count in (need.runs, need.texts))
    return [name, f"{100 * need.drop:g}", *counts]
