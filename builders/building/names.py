"""Finding tasks and domains by the names that people type."""

from collections.abc import Sequence

from shiftbench.builders.specs.spec import TaskSpec
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice, did_you_mean

CANDIDATES = "candidates"
"""Names all tasks of data sets that a benchmark might have been made of."""


def find_tasks(name: str, specs: tuple[TaskSpec, ...], benchmark: str) -> tuple[tuple[TaskSpec, ...], str | None]:
    """Find the task of a name, or of the name that a pairing has in the paper, or all tasks of candidates.

    Returns: the tasks, and the one domain of the task that is named, as in ``sa.sst``; None where the task is.
    """
    name = name.removeprefix(f"{benchmark}/")
    name = {spec.pairing.name: spec.name for spec in specs if spec.pairing}.get(name, name)
    candidates = tuple(spec for spec in specs if spec.candidates_for is not None)
    names = [*(spec.name for spec in specs), *([CANDIDATES] if candidates else [])]
    task, _, domain = name.partition(".")
    known = find_known(task, names, f"task of {benchmark}")
    chosen = candidates if known == CANDIDATES else (specs[names.index(known)],)
    if not domain:
        return chosen, None
    having = tuple(spec for spec in chosen if domain in {each.name for each in spec.domains})
    find_known(domain, [each.name for spec in chosen for each in spec.domains], f"domain of {task}")
    if any(spec.pairing for spec in having):
        what, cure = "a pairing cannot be built from one of its domains", f"give {task}"
        raise InvalidInput(Problem(what, "command line", f"'{name}'", cure))
    return having, domain


def find_known(name: str, names: Sequence[str], what: str) -> str:
    """Return a name that is among the known ones; InvalidInput says what it is not, and suggests the nearest."""
    if name not in names:
        raise UnknownChoice(Problem(f"there is no such {what}", "command line", f"'{name}'", did_you_mean(name, names)))
    return name
