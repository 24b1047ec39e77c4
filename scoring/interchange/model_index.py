"""``model-index`` in a model's README: the Hub's older form of results, built with its client's classes.

A task has two metrics, in points: the figure that entries are compared by, and the drop, whose name says that less is
better. Intervals stand in the metrics' arguments.
"""

from typing import TYPE_CHECKING, Any

from shiftbench.builders.folder.citations import task_category
from shiftbench.scoring.interchange.figures import SharedFigure, drop_of, headlines
from shiftbench.scoring.interchange.shared_entry import SharedEntry, made_with
from shiftbench.validation.report import InvalidInput, Problem

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

MODEL_INDEX = "model-index.yaml"
_METRICS = {"accuracy": "accuracy", "bert_score": "bertscore"}
"""The Hub's ids of our metrics; all others are kinds of F1."""


def model_index(shared: SharedEntry) -> dict[str, str]:
    """Write the lines for the front matter of a model's README.

    Args:
        shared: the entry; its dataset and model are repositories of the Hub.
    Returns: text by the file's name; one file.
    Raises: InvalidInput when the entry has no figure to share.
    """
    from huggingface_hub import ModelCardData

    name = shared.model_repository().partition("/")[2]
    data: Any = ModelCardData(model_name=name, eval_results=_results(shared))
    return {MODEL_INDEX: data.to_yaml() + "\n"}


def model_index_metadata(shared: SharedEntry) -> dict[str, Any]:
    """Build the metadata that ``huggingface_hub.metadata_update`` merges into the README of a model."""
    from huggingface_hub.repocard_data import eval_results_to_model_index

    name = shared.model_repository().partition("/")[2]
    return {"model-index": eval_results_to_model_index(name, _results(shared))}


def _results(shared: SharedEntry) -> "list[EvalResult]":
    dataset = shared.published_dataset()
    results = []
    for task, figure in headlines(shared.scores).items():
        drop = drop_of(shared.scores, task)
        results += [_result(shared, dataset, each) for each in (figure, drop) if each is not None]
    if not results:
        cure = "see what 'shiftbench score' says is missing"
        raise InvalidInput(Problem("the entry has no figure over shifts to share", "entry", cure=cure))
    return results


def _result(shared: SharedEntry, dataset: str, figure: SharedFigure) -> "EvalResult":
    from huggingface_hub import EvalResult

    info = shared.manifest.tasks[figure.task]
    better = "lower" if figure.is_drop else "higher"
    interval = {"low": figure.estimate.low, "high": figure.estimate.high}
    bounds = {f"interval_{end}": round(100 * value, 2) for end, value in interval.items() if value is not None}
    return EvalResult(
        task_type=task_category(shared.manifest, figure.task),
        task_name=info.title,
        dataset_type=dataset,
        dataset_name=shared.manifest.title,
        dataset_config=shared.config(figure.task),
        dataset_split="test",
        metric_type=_METRICS.get(figure.metric, "f1"),
        metric_name=f"{figure.words}, {figure.metric}, points, {better} is better",
        metric_value=round(100 * figure.value, 2),
        metric_args={**bounds, "made_with": made_with(shared.scores)},
        source_name="shiftbench" if shared.report else None,
        source_url=shared.report,
    )
