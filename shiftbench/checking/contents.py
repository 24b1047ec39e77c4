"""Text summaries of a prediction file or a dataset folder: tasks, sources, targets, seeds."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import plural
from shiftbench.validation.vocabulary import NO_SOURCE

_NAMED = 12
"""Maximum number of names listed; further names are only counted."""


def coverage_of(predictions: pl.DataFrame) -> dict[str, dict[str, list[Any]]]:
    """Return the sorted sources, targets and seeds of checked predictions (``CHECKED_PREDICTIONS``) by task."""
    return {
        str(task): {f"{name}s": rows[name].unique().sort().to_list() for name in ("source", "target", "seed")}
        for (task,), rows in predictions.group_by("task", maintain_order=True)
    }


def prediction_lines(predictions: pl.DataFrame, folder: DatasetFolder, subset: str = "all") -> Iterator[str]:
    """Summarise the coverage of checked predictions: a line per task, and lines for missing domains and tasks.

    Args:
        predictions: in the format of ``CHECKED_PREDICTIONS``.
        folder: the dataset.
        subset: the subset that the predictions cover.
    """
    covered = coverage_of(predictions)
    for task, runs in covered.items():
        sources, targets = runs["sources"], runs["targets"]
        pairs = predictions.filter(task=task).select("source", "target").n_unique()
        trained = [source for source in sources if source != NO_SOURCE]
        models = f"trained on {_listed(trained)}" if trained else "trained on none of these domains"
        if trained and len(trained) < len(sources):
            models += f", and {NO_SOURCE}"
        seeds = f"{plural(len(runs['seeds']), 'seed')} ({_listed(runs['seeds'])})"
        grid = f"{pairs} of {len(sources) * len(targets)} pairs of source and target"
        yield f"  {task}: {models}; tested on {_listed(targets)}; {seeds}; {grid}"
        there = folder.task(task).domains
        untested = [domain for domain in there if domain not in targets and "test" in there[domain].splits]
        if untested and subset == "all":
            yield f"    no predictions on {_listed(untested)}"
    others = [name for name, info in folder.manifest.tasks.items() if name not in covered and subset in info.subsets]
    if others:
        yield f"  no predictions for {_listed(others)}"


def next_for_predictions(path: Path, data: Path, card: Path | None) -> str:
    """Format the next command: scoring, or submitting if there is a card."""
    where = f"{quote(str(path))} --data {quote(str(data))}"
    if card is not None:
        return f"next: shiftbench submit {where} --card {quote(str(card))} --to URL_OR_STORE"
    return f"next: shiftbench score {where}"


def folder_lines(folder: DatasetFolder) -> Iterator[str]:
    """Format the content of a dataset folder, one line per task."""
    for name, info in folder.manifest.tasks.items():
        splits = {split: sum(split in facts.splits for facts in info.domains.values()) for split in ("train", "test")}
        n_tests = sum(facts.splits["test"].rows for facts in info.domains.values() if "test" in facts.splits)
        subsets = [subset for subset in info.subsets if subset != "all"]
        parts = [
            f"{info.kind}, {info.metric}",
            f"domains {_listed(list(info.domains))}",
            f"{splits['train']} with train rows, {splits['test']} with test rows ({n_tests:,})",
        ]
        parts += [f"subsets {_listed(subsets)}"] if subsets else []
        yield f"  {name}: {'; '.join(parts)}"


def next_for_folder(folder: DatasetFolder, data: Path) -> str:
    """Format the next command: a baseline on the first task."""
    task = next(iter(folder.manifest.tasks))
    return f"next: shiftbench train majority {task} --data {quote(str(data))} --out preds.parquet"


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(map(str, names[:_NAMED]))
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"
