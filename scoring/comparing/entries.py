"""Comparison of stored entries: the first with each of the others, or all pairs. The store caches each pair.

Cached comparisons may be deleted; they are recomputed after a change of the data or the metrics.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Protocol

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.comparing.files import Entrant, compare_entrants
from shiftbench.scoring.comparing.shape import (
    Comparison,
    NoSharedShift,
    correct_p_values,
    mirror_comparison,
    select_task,
)
from shiftbench.scoring.scores.score import token_encoder
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.scoring.scores.summary import depth_encoder_name, encoder_name
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.versions import DataVersion

MAX_ENTRIES = 4
"""Maximum number of entries in a comparison of the first with each of the others."""
MAX_PAIRWISE = 12
"""Maximum number of entries compared in all pairs: 66 pairs, whose p values are corrected together."""


@dataclass(frozen=True)
class ComparedEntry:
    """An entry to compare: its id, model name, prediction file, dataset, and tuning trials."""

    id: str
    name: str
    predictions: Path
    version: DataVersion
    subset: str
    tuning_trials: int | None = None


class PairStore(Protocol):
    """A store's interface for caching comparisons of entries by their ids."""

    def comparison(self, first: str, other: str) -> bytes | None:
        """Return the cached comparison of a pair, or None; InvalidInput for an invalid id."""

    def cache_comparison(self, first: str, other: str, content: bytes) -> None:
        """Cache a pair's comparison."""


def compare_with_first(
    sides: Sequence[ComparedEntry],
    folder: DatasetFolder,
    store: PairStore,
    task: str | None = None,
) -> tuple[Comparison, ...]:
    """Compare the first of 2 to 4 entries with each of the others; all tests are corrected together.

    Args:
        sides: the entries.
        folder: the dataset that all are for.
        store: cache of pairs.
        task: the only task to compare on; None for every task that both have.

    Returns: a comparison for each entry except the first, with ids instead of files.

    Raises: InvalidInput if entries are on different data or subsets, identical, too many, or share no shift, and if
        labels are withheld.
    """
    _check_compared(sides, folder, MAX_ENTRIES)
    entrants = _entrants(sides, folder)
    pairs = [
        _pair((sides[0], other), (entrants[0], entrant), store)
        for other, entrant in zip(sides[1:], entrants[1:], strict=True)
    ]
    chosen = pairs if task is None else [select_task(pair, task) for pair in pairs]
    return correct_p_values(chosen)


def compare_in_pairs(
    sides: Sequence[ComparedEntry],
    folder: DatasetFolder,
    store: PairStore,
    task: str,
    *,
    progress: Callable[[int, int], None] = lambda n_done, n_pairs: None,
) -> Mapping[tuple[str, str], Comparison]:
    """Compare all pairs of entries on a task; the tests of all pairs are one family.

    A pair has the same test as in ``compare_with_first`` at a smaller level, so anything significant here is
    significant there, too.

    Args:
        sides: 2 to ``MAX_PAIRWISE`` entries.
        folder: the dataset that all are for.
        store: cache of pairs.
        task: the task to compare on.
        progress: called after each pair with the number of pairs done and in total; it may yield to other work.

    Returns: each pair in both directions, by the ids of both entries; pairs that share no shift are omitted.

    Raises: as ``compare_with_first``, except for entries that share no shift.
    """
    _check_compared(sides, folder, MAX_PAIRWISE)
    every = list(combinations(zip(sides, _entrants(sides, folder), strict=True), 2))
    pairs = []
    for number, ((a, first), (b, second)) in enumerate(every, start=1):
        with suppress(NoSharedShift):  # a pair without a shared shift is left out of the result
            pairs.append(select_task(_pair((a, b), (first, second), store), task))
        progress(number, len(every))
    corrected = correct_p_values(pairs)
    return {(pair.a, pair.b): pair for each in corrected for pair in (each, mirror_comparison(each))}


def _entrants(sides: Sequence[ComparedEntry], folder: DatasetFolder) -> list[Entrant]:
    encoder = token_encoder(folder)
    return [Entrant(side.predictions, folder, side.subset, encoder, tuning_trials=side.tuning_trials) for side in sides]


def distinct_names(sides: Sequence[ComparedEntry]) -> list[str]:
    """Return the entries' names, in order; the first digits of the id are added to equal names."""
    names = [side.name for side in sides]
    return [f"{side.name} ({side.id[:6]})" if names.count(side.name) > 1 else side.name for side in sides]


def compare_command(sides: Sequence[ComparedEntry], task: str | None) -> str:
    """Return the command that repeats the comparison from the entries' prediction files.

    Args:
        sides: the entries, two or more, of one subset.
        task: the only task to compare; None for all.

    Returns: a shell command; DIR stands for the dataset folder.
    """
    files = " ".join(f"{side.id}.parquet" for side in sides)
    only = f" --task {task}" if task else ""
    return f"shiftbench compare {files} --data DIR{only}"


def _check_compared(sides: Sequence[ComparedEntry], folder: DatasetFolder, most: int) -> None:
    cure = f"choose 2 to {most} entries of one board"
    if not 2 <= len(sides) <= most:
        raise InvalidInput(Problem("too few or too many entries to compare", "compare", f"{len(sides)}", cure))
    where = " and ".join(side.id for side in sides)
    if len({side.id for side in sides}) < len(sides):
        raise InvalidInput(Problem("an entry cannot be compared with itself", where, cure=cure))
    for word, values in (
        ("data", {side.version.content for side in sides}),
        ("subsets", {side.subset for side in sides}),
    ):
        if len(values) > 1:
            found = " and ".join(sorted(value[:12] for value in values))
            raise InvalidInput(Problem(f"the entries are on different {word}", where, found, cure))
    if not folder.has_public_labels:
        cure = "see the ranks on the board"
        raise InvalidInput(Problem("entries cannot be compared if labels are withheld", where, cure=cure))
    for side in sides:
        if side.version.difference(folder.version):
            raise InvalidInput(Problem("the dataset of these entries is not available", where, str(side.version), cure))


def _pair(
    sides: tuple[ComparedEntry, ComparedEntry], entrants: tuple[Entrant, Entrant], store: PairStore
) -> Comparison:
    a, b = sides
    saved = _parse_comparison(store.comparison(a.id, b.id))
    if saved is None and (other_way := _parse_comparison(store.comparison(b.id, a.id))) is not None:
        saved = mirror_comparison(other_way)
    folder = entrants[0].folder
    encoders = (depth_encoder_name(folder), encoder_name(entrants[0].encoder))
    if (
        saved is not None
        and not saved.version.difference(folder.version)
        and saved.metric_version == METRIC_VERSION
        and (saved.depth_encoder, saved.token_encoder) == encoders
    ):
        # The cards may have been edited since the comparison was cached.
        return saved.model_copy(update={"tuning_trials_a": a.tuning_trials, "tuning_trials_b": b.tuning_trials})
    try:
        made = compare_entrants(*entrants)
    except InvalidInput as error:
        ids = {str(side.predictions): side.id for side in sides}
        # Of the same type, because callers treat ``NoSharedShift`` differently.
        raise type(error)(_by_id(problem, ids) for problem in error.problems) from error
    named = made.model_copy(update={"a": a.id, "b": b.id})
    store.cache_comparison(a.id, b.id, named.model_dump_json().encode())
    return named


def _parse_comparison(content: bytes | None) -> Comparison | None:
    try:
        return None if content is None else Comparison.model_validate_json(content)
    except ValueError:
        return None  # a damaged comparison is computed again


def _by_id(problem: Problem, ids: dict[str, str]) -> Problem:
    where = problem.file
    for path, identity in ids.items():
        where = where.replace(path, identity)
    return Problem(problem.what, where, problem.found, problem.cure)
