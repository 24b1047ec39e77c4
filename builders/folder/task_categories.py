"""What the Hub calls the kinds of tasks."""

from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.folder.papers import PAPERS, SUMMARIES
from shiftbench.validation.vocabulary import PLACEBO, TaskKind

_CATEGORIES = {
    TaskKind.CLASSIFICATION: "text-classification",
    TaskKind.TAGGING: "token-classification",
    TaskKind.EXTRACTIVE_QA: "question-answering",
    TaskKind.GENERATION: "text-generation",
}


def task_category(manifest: Manifest, name: str) -> str:
    """Return the Hub's category of a task.

    Args:
        manifest: of the folder that the task is in.
        name: the task's name.
    """
    if manifest.benchmark in PAPERS and plain_task(name) in SUMMARIES:
        return "summarization"
    return _CATEGORIES[manifest.tasks[name].kind]


def plain_task(task: str) -> str:
    """Return a task's name without the suffix of a placebo or candidate task.

    >>> plain_task("nli.placebo"), plain_task("ner_candidates")
    ('nli', 'ner')
    """
    return task.removesuffix(PLACEBO).removesuffix("_candidates")
