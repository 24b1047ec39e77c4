"""Titles of a user dataset's domains, as written by the user: shown instead of internal names, never stored."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.comparing.shape import Comparison
from shiftbench.scoring.forecasting.shape import Forecasts
from shiftbench.scoring.scores.limits import GateReport
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.vocabulary import SOURCE_JOINER

M = TypeVar("M", bound=BaseModel)
Report = TypeVar("Report", bound=GateReport)
_QUOTED = re.compile("'([^' ]+)'")
"""A domain's name, or a joined source's, in a sentence."""


def domain_titles(folder: DatasetFolder) -> dict[str, str]:
    """Return the titles of a user dataset's domains, by internal name; empty for other benchmarks.

    Titles that contain the sign that joins sources are omitted, as they would be read as several domains.
    """
    domains = [item for task in folder.manifest.tasks.values() for item in task.domains.items()]
    return {name: facts.title for name, facts in domains if facts.title and SOURCE_JOINER not in facts.title}


def _with_titles(parts: Iterable[M], titles: Mapping[str, str], *fields: str) -> tuple[M, ...]:
    """Return records with names replaced by titles in some fields: a domain, a joined source, or several domains."""
    return tuple(
        part.model_copy(update={name: _titled(getattr(part, name), titles) for name in fields}) for part in parts
    )


def _titled(name: Any, titles: Mapping[str, str]) -> Any:
    if isinstance(name, tuple):
        return tuple(_titled(each, titles) for each in name)
    return name and SOURCE_JOINER.join(titles.get(part, part) for part in name.split(SOURCE_JOINER))


def with_titles(scores: Scores, titles: Mapping[str, str]) -> Scores:
    """Return scores with domains renamed to their titles; those without one keep their names."""
    if not titles:
        return scores
    tasks = []
    for task in _with_titles(scores.tasks, titles, "domains"):
        shifts = _with_titles(task.shifts, titles, "source", "target")
        homes = _with_titles(task.in_domain, titles, "domain")
        tasks.append(task.model_copy(update={"shifts": shifts, "in_domain": homes}))
    missing = _with_titles(scores.missing, titles, "source", "target")
    return scores.model_copy(update={"tasks": tuple(tasks), "missing": missing})


def with_comparison_titles(pair: Comparison, titles: Mapping[str, str]) -> Comparison:
    """Return a comparison with domains renamed to their titles; those without one keep their names."""
    shifts = _with_titles(pair.shifts, titles, "source", "target")
    return pair.model_copy(update={"shifts": shifts, "means": _with_titles(pair.means, titles, "source", "targets")})


def with_gate_titles(report: Report, titles: Mapping[str, str]) -> Report:
    """Return a gate's decision with domains renamed to their titles; those without one keep their names."""
    (report,) = _with_titles([report], titles, "home")
    left_out = {titles.get(name, name): n for name, n in report.left_out.items()}
    return report.model_copy(update={"verdicts": _with_titles(report.verdicts, titles, "domain"), "left_out": left_out})


def domain_key(name: str, names: Mapping[str, str]) -> str:
    """Return the internal name of a domain or joined source, given its title and the names by title."""
    return SOURCE_JOINER.join(sorted(names.get(part, part) for part in name.split(SOURCE_JOINER)))


def with_forecast_titles(forecasts: Forecasts, titles: Mapping[str, str]) -> Forecasts:
    """Return forecasts with domains renamed to their titles; those without one keep their names."""
    tasks = []
    for task in _with_titles(forecasts.tasks, titles, "domains", "labelled"):
        shifts = _with_titles(task.shifts, titles, "source", "target", "set_on")
        orders = _with_titles(task.orders, titles, "source")
        notes = tuple(_QUOTED.sub(lambda name: f"'{_titled(name[1], titles)}'", note) for note in task.notes)
        tasks.append(task.model_copy(update={"shifts": shifts, "orders": orders, "notes": notes}))
    return forecasts.model_copy(update={"tasks": tuple(tasks)})
