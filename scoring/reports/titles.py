"""Titles of a user dataset's domains, as written by the user: shown instead of internal names, never stored."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.vocabulary import SOURCE_JOINER

M = TypeVar("M", bound=BaseModel)
_NAMES = frozenset({"source", "target", "domain", "domains", "home", "targets", "set_on", "labelled"})
_QUOTED = re.compile("'([^' ]+)'")
"""A domain's name, or a joined source's, in a sentence."""


def domain_titles(folder: DatasetFolder) -> dict[str, str]:
    """Return the titles of a user dataset's domains, by internal name.

    Titles that contain ``SOURCE_JOINER`` are omitted, because they would be read as several domains.

    Args:
        folder: the dataset.

    Returns: titles by internal name; empty for benchmarks.
    """
    domains = [item for task in folder.manifest.tasks.values() for item in task.domains.items()]
    return {name: facts.title for name, facts in domains if facts.title and SOURCE_JOINER not in facts.title}


def rename_domains(result: M, titles: Mapping[str, str]) -> M:
    """Rename a result's domains to their titles.

    Names are replaced in the fields ``_NAMES`` at any depth, in keys of ``left_out``, and in quotes in ``notes``.

    Args:
        result: scores, a comparison, a gate's decision or forecasts.
        titles: titles by internal name; a name without a title stays.
    """

    def renamed(field: str, value: Any) -> Any:
        if isinstance(value, BaseModel):
            return rename_domains(value, titles)
        if isinstance(value, tuple):
            return tuple(renamed(field, each) for each in value)
        if isinstance(value, dict) and field == "left_out":
            return {titles.get(name, name): n for name, n in value.items()}
        if isinstance(value, str) and field == "notes":
            return _QUOTED.sub(lambda name: f"'{renamed('domain', name[1])}'", value)
        if isinstance(value, str) and field in _NAMES:
            return SOURCE_JOINER.join(titles.get(part, part) for part in value.split(SOURCE_JOINER))
        return value

    if not titles:
        return result
    return result.model_copy(update={name: renamed(name, getattr(result, name)) for name in type(result).model_fields})


def domain_key(name: str, names: Mapping[str, str]) -> str:
    """Return the internal name of a domain or joined source.

    Args:
        name: its title, or the titles of a joined source.
        names: internal names by title; a title without one stays.
    """
    return SOURCE_JOINER.join(sorted(names.get(part, part) for part in name.split(SOURCE_JOINER)))
