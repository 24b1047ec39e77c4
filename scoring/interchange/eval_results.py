"""``.eval_results/*.yaml`` in a model's repository, shown by the Hub on the model page and the dataset's leaderboard.

The file has one value per task of the dataset's ``eval.yaml`` (``shiftbench.scoring.interchange.eval_yaml``), in
points, higher is better; the drop and the intervals are in the notes. The Hub's client defines the file's format.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

import yaml

from shiftbench.scoring.interchange.eval_yaml import benchmark_tasks
from shiftbench.scoring.interchange.figures import SharedFigure, figures_of, headlines
from shiftbench.scoring.interchange.shared_entry import SharedEntry
from shiftbench.validation.report import InvalidInput, Problem


def eval_results(shared: SharedEntry) -> dict[str, str]:
    """Build the file of an entry's results.

    Args:
        shared: the entry; its dataset and model are repositories of the Hub.

    Returns: text by path in the model's repository; one file.

    Raises: InvalidInput if none of the entry's tasks is in the dataset's ``eval.yaml``.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    dataset = shared.published_dataset()
    if shared.scores.subset != "all":
        cure = "share predictions for all test texts, or use --to every-eval-ever"
        what = "the Hub's leaderboards are for complete test splits"
        raise InvalidInput(Problem(what, "entry", f"subset '{shared.scores.subset}'", cure))
    source = {"source_url": shared.report, "source_name": "shiftbench"} if shared.report else {}
    entries = [
        EvalResultEntry(
            dataset_id=dataset,
            task_id=task_id,
            value=round(100 * figure.value, 2),
            date=shared.evaluated_at,
            notes=shared.notes(figure),
            **source,
        )
        for task_id, figure in _values(shared)
    ]
    if not entries:
        what = "none of the entry's tasks is in the dataset's eval.yaml, which lists only tasks with public labels"
        found = ", ".join(task.task for task in shared.scores.tasks)
        raise InvalidInput(Problem(what, dataset, found, "share it with --to every-eval-ever or csv"))
    text = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True, width=120)
    return {f".eval_results/{PurePosixPath(dataset).name.lower()}.yaml": text}


def tasks_left_out(shared: SharedEntry) -> list[str]:
    """List the entry's tasks without a value in the file, because they are not in the dataset's ``eval.yaml``."""
    return [task.task for task in shared.scores.tasks if task.task not in {f.task for _, f in _values(shared)}]


def _values(shared: SharedEntry) -> Iterator[tuple[str, SharedFigure]]:
    """List the values for the file: the task's id in the dataset's ``eval.yaml``, and the figure."""
    listed = benchmark_tasks(shared.manifest)
    figures, best = figures_of(shared.scores), headlines(shared.scores)
    for task in shared.scores.tasks:
        if task.task not in listed:
            continue
        if task.task in best:
            yield shared.config(task.task), best[task.task]
        into = Counter(shift.target for shift in task.shifts)
        for figure in figures:
            # With several sources, a domain has several scores, and the file allows only one.
            if (figure.task, figure.name) == (task.task, "st") and into[str(figure.target)] == 1:
                yield f"{shared.config(task.task)}.{figure.target}", figure
