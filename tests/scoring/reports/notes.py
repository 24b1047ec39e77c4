"""The sentences below a task's figures."""

from shiftbench.scoring.reports.task_page import TaskPage
from shiftbench.scoring.scores.shape import METRIC_VERSION, Scores, TaskScores


def notes(task: TaskScores) -> str:
    """Return what a page says of one task alone."""
    scores = Scores.model_construct(
        benchmark="own", subset="all", tasks=(task,), missing=(), metric_version=METRIC_VERSION
    )
    return " ".join(TaskPage(scores, task).notes)
