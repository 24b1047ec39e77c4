"""Logs of one benchmark compared: read, joined, tested, and described in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from shiftbench.metrics.comparison import N_SWAPS
from shiftbench.scoring.comparing.item_scores import compare_items
from shiftbench.scoring.interchange.joining import Joining, join_logs, model_names
from shiftbench.scoring.interchange.log import EvaluationLog
from shiftbench.scoring.interchange.reader import read_log
from shiftbench.scoring.reports.item_tables import ItemReport
from shiftbench.validation.report import InvalidInput, Problem


@dataclass(frozen=True)
class ComparedLogs:
    """A comparison of logs, with the logs and their models' names."""

    report: ItemReport
    logs: Sequence[tuple[str, EvaluationLog]]

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON data: what was compared and how, and every figure as fractions."""
        report = self.report
        return {
            "package": f"shiftbench {version('shiftbench')}",
            "task": report.task,
            "metric": report.metric,
            "by": report.by,
            "cluster": report.cluster,
            "logs": [_log_facts(name, log) for name, log in self.logs],
            "notes": list(report.notes),
            **report.comparison.model_dump(mode="json"),
        }


def read_logs(paths: Sequence[Path], how: Joining, filter_name: str | None = None) -> list[EvaluationLog]:
    """Read logs with the fields that their comparison needs.

    Args:
        paths: the logs.
        how: which fields are domain and cluster.
        filter_name: of lm-eval's filters, the one to read; None takes the first.
    Raises: InvalidInput with what is wrong with each log that cannot be read.
    """
    fields = tuple(dict.fromkeys(field for field in (how.by, how.cluster) if field is not None))
    logs: list[EvaluationLog] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            logs.append(read_log(path, filter_name=filter_name, fields=fields))
        except InvalidInput as error:
            problems += error.problems
    if problems:
        raise InvalidInput(problems)
    return logs


def compare_logs(
    logs: Sequence[EvaluationLog],
    how: Joining,
    *,
    names: Sequence[str] | None = None,
    n_swaps: int = N_SWAPS,
    seed: int = 0,
) -> ComparedLogs:
    """Compare the models of logs on the same items.

    Args:
        logs: at least two, of one benchmark.
        how: how they are joined.
        names: what to call the models; by default as the logs do.
        n_swaps: random swaps of each pair.
        seed: seed of swaps and of resampling.
    Raises: InvalidInput as ``joining.join_logs`` and ``item_scores.compare_items``.
    """
    called = model_names(logs) if names is None else list(names)
    joined = join_logs(logs, called, how)
    comparison = compare_items(joined.items, n_swaps=n_swaps, seed=seed)
    report = ItemReport(comparison, joined.task, joined.metric, how.by, how.cluster, joined.notes)
    return ComparedLogs(report, list(zip(called, logs, strict=True)))


def _log_facts(name: str, log: EvaluationLog) -> dict[str, Any]:
    return {
        "name": name,
        "model": log.model,
        "path": str(log.path),
        "tool": log.tool,
        "tool_version": log.version,
        "task": log.task,
        "task_version": log.facts.task_version,
        "items": log.samples["id"].n_unique(),
        "epochs": log.epochs,
        "prompts_hash": log.prompts_hash,
        "revision": log.facts.revision,
        "shots": log.facts.shots,
        "scorer": log.facts.scorer,
        "filter": log.facts.filter,
    }
