"""Domains of own data as their makers write them: shown in the place of names, never stored."""

import re
from collections.abc import Mapping

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.comparing.shape import Comparison
from shiftbench.scoring.forecasting.shape import Forecasts, TaskForecast
from shiftbench.scoring.scores.shape import Scores, TaskScores
from shiftbench.validation.vocabulary import SOURCE_JOINER

_QUOTED = re.compile("'([^' ]+)'")
"""A domain's name, or a joined source's, in a sentence."""


def domain_titles(folder: DatasetFolder) -> dict[str, str]:
    """Return what own data calls its domains, by their names here; empty for other benchmarks.

    A title with the sign that joins sources in it would be taken for several, and is left out.
    """
    domains = [item for task in folder.manifest.tasks.values() for item in task.domains.items()]
    return {name: facts.title for name, facts in domains if facts.title and SOURCE_JOINER not in facts.title}


def with_titles(scores: Scores, titles: Mapping[str, str]) -> Scores:
    """Return scores in which domains are called by their titles; those without one keep their names."""

    def titled(name: str | None) -> str | None:
        return name and _titled(name, titles)

    def of_task(task: TaskScores) -> TaskScores:
        shifts = [
            shift.model_copy(update={"source": titled(shift.source), "target": titled(shift.target)})
            for shift in task.shifts
        ]
        homes = [own.model_copy(update={"domain": titled(own.domain)}) for own in task.in_domain]
        domains = tuple(titles.get(domain, domain) for domain in task.domains)
        return task.model_copy(update={"domains": domains, "shifts": tuple(shifts), "in_domain": tuple(homes)})

    if not titles:
        return scores
    missing = [
        item.model_copy(update={"source": titled(item.source), "target": titled(item.target)})
        for item in scores.missing
    ]
    return scores.model_copy(update={"tasks": tuple(map(of_task, scores.tasks)), "missing": tuple(missing)})


def with_comparison_titles(pair: Comparison, titles: Mapping[str, str]) -> Comparison:
    """Return a comparison in which domains are called by their titles; those without one keep their names."""
    shifts = tuple(
        shift.model_copy(update={name: _titled(getattr(shift, name), titles) for name in ("source", "target")})
        for shift in pair.shifts
    )
    means = tuple(
        mean.model_copy(
            update={
                "source": mean.source and _titled(mean.source, titles),
                "targets": tuple(titles.get(target, target) for target in mean.targets),
            }
        )
        for mean in pair.means
    )
    return pair.model_copy(update={"shifts": shifts, "means": means})


def _titled(name: str, titles: Mapping[str, str]) -> str:
    return SOURCE_JOINER.join(titles.get(part, part) for part in name.split(SOURCE_JOINER))


def untitled(name: str, names: Mapping[str, str]) -> str:
    """Return a domain's or joined source's name, given its title and names by title."""
    return SOURCE_JOINER.join(sorted(names.get(part, part) for part in name.split(SOURCE_JOINER)))


def with_forecast_titles(forecasts: Forecasts, titles: Mapping[str, str]) -> Forecasts:
    """Return forecasts in which domains are called by their titles; those without one keep their names."""

    def titled(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(titles.get(name, name) for name in names)

    def of_task(task: TaskForecast) -> TaskForecast:
        shifts = tuple(
            shift.model_copy(
                update={
                    "source": _titled(shift.source, titles),
                    "target": _titled(shift.target, titles),
                    "set_on": titled(shift.set_on),
                    "likeness": {titles.get(name, name): alike for name, alike in shift.likeness.items()},
                }
            )
            for shift in task.shifts
        )
        notes = tuple(_QUOTED.sub(lambda name: f"'{_titled(name[1], titles)}'", note) for note in task.notes)
        named = {"domains": titled(task.domains), "labelled": titled(task.labelled), "shifts": shifts, "notes": notes}
        return task.model_copy(update=named)

    return forecasts.model_copy(update={"tasks": tuple(map(of_task, forecasts.tasks))})
