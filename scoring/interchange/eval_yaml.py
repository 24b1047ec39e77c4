"""``eval.yaml`` of a published dataset, which makes it a benchmark on the Hub that Inspect can run.

The Hub accepts only listed frameworks (``EVALUATION_FRAMEWORKS`` in huggingface.js, packages/tasks/src/eval.ts), so the
framework is ``inspect-ai``. Its reader of the file (inspect_ai/_eval/task/hf.py) allows only the keys below and reads
all tasks before it runs one. It passes one column to a model unchanged and others through a prompt template, and the
expected answer is the label's code (in version 0.3.285; early versions converted it to a letter). So the file has only
classification tasks, for prompted models: no scorer of Inspect has the metrics of tags, answers and generated texts.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import yaml

from shiftbench.builders.folder.configs import config_name
from shiftbench.builders.folder.manifest import Manifest, TaskInfo
from shiftbench.validation.vocabulary import PLACEBO, TaskKind

EVAL_YAML = "eval.yaml"
FRAMEWORK = "inspect-ai"
ANSWER = r"ANSWER\s*:\s*(\d+)"
"""The pattern that finds a label's number in a model's output."""


class Words(Protocol):
    """The prompt of a task: the instruction, and the input columns with their display names."""

    @property
    def instruction(self) -> str:
        """Return the instruction, which asks for a label's number in the format that ``ANSWER`` matches."""

    @property
    def fields(self) -> Sequence[tuple[str, str]]:
        """Return columns and display names, in display order."""


def benchmark_tasks(manifest: Manifest) -> dict[str, TaskInfo]:
    """Find the tasks of a dataset that its ``eval.yaml`` can contain.

    Args:
        manifest: of the dataset folder.

    Returns: facts by the task's name; empty if test labels are withheld.
    """
    if not manifest.has_public_labels:
        return {}
    return {
        name: task
        for name, task in manifest.tasks.items()
        if task.kind is TaskKind.CLASSIFICATION
        and task.candidates_for is None
        and not name.endswith(PLACEBO)
        and _test_domains(task)
    }


def eval_yaml(manifest: Manifest, words: Callable[[str], Words]) -> str | None:
    """Build the content of ``eval.yaml``.

    Args:
        manifest: of the dataset folder.
        words: returns a task's prompt, given the task's name.

    Returns: YAML, deterministic given manifest and prompts; None if it would have no task.
    """
    tasks = benchmark_tasks(manifest)
    if not tasks:
        return None
    content = {
        "name": manifest.title,
        "description": _description(manifest, tasks),
        "evaluation_framework": FRAMEWORK,
        "tasks": [entry for name, task in tasks.items() for entry in _entries(name, task, words(name))],
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)


def _entries(name: str, task: TaskInfo, words: Words) -> Iterator[dict[str, Any]]:
    """List the entry of a task over all its domains, and one entry for each domain."""
    whole = config_name(name, task)
    for config in (whole, *(f"{whole}.{domain}" for domain in _test_domains(task))):
        (first, _), *_ = words.fields
        others = [column for column, _ in words.fields if column != first]
        yield {
            "id": config,
            "config": config,
            "split": "test",
            "field_spec": {"input": first, "target": "label", "metadata": ["id", "domain", *others]},
            "solvers": [
                {"name": "prompt_template", "args": {"template": _template(words)}},
                {"name": "generate"},
            ],
            "scorers": [{"name": "pattern", "args": {"pattern": ANSWER}}],
        }


def _template(words: Words) -> str:
    """Build the prompt as a Python format string: the first column is ``prompt``, the others have their own names."""
    (first, _), *_ = words.fields
    shown = [f"{name}: {{{'prompt' if column == first else column}}}" for column, name in words.fields]
    return "\n".join([words.instruction.replace("{", "{{").replace("}", "}}"), "", *shown])


def _test_domains(task: TaskInfo) -> list[str]:
    return [domain for domain, facts in task.domains.items() if "test" in facts.splits]


def _description(manifest: Manifest, tasks: dict[str, TaskInfo]) -> str:
    """Write the benchmark's description for the Hub: its tasks, what values mean, and what Inspect measures."""
    lines = [f"{manifest.title}: texts of several domains, for measuring how much accuracy models lose between them."]
    lines += [f"{config_name(name, task)}: {_headline(task)}." for name, task in tasks.items()]
    lines.append(
        "A task named after a domain is the score on the domain's test texts of a model that was not trained on that "
        "domain. Values are in points, higher is better; drops and intervals are in the notes. Inspect asks a model "
        "about the test texts without training it, and prints the accuracy over all texts. Where the metric is not "
        "accuracy, or is a mean over domains, score the predictions with shiftbench instead."
    )
    if manifest.synthetic:
        lines.append("Synthetic data: every text was generated by a program.")
    return " ".join(lines)


def _headline(task: TaskInfo) -> str:
    if task.pairing is not None:
        return "Depth F1 over all target texts (lambda 0)"
    if task.id_domain is not None:
        return f"mean {task.metric} on the domains other than {task.id_domain}, of models trained on it (mean OOD)"
    return f"mean {task.metric} on domains that a model was not trained on (mean ST)"
