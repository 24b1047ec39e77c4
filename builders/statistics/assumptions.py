"""Check the benchmark's assumptions on a task's rows, each with its worst case and where it occurs.

Domain Robustness paper, appendix D.2, assumptions 3 and 4 (equal train sizes, equal priors), and separation of train
and test. User data may violate them and still be useful, so they are reported, not enforced.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from shiftbench.builders.folder.statistics import Repeats, SplitRepeats, SplitStatistics, TaskStatistics
from shiftbench.validation.vocabulary import SPLITS, TaskKind

CLASS_SHARE_TOLERANCE = 0.05
"""Largest difference of a class proportion between domains. With 2,000 rows per domain, two proportions of one half
differ by 0.03 in one of twenty samples, so this bound separates a prior shift from chance; DR's unbalanced QA (table
10) exceeds it."""

NO_ANSWER_TOLERANCE = 0.01
"""Largest deviation from the spec's no-answer proportion: rows are selected by count, so deviations only arise from
groups that cannot be split."""

LENGTH_DISTANCE = 0.1
"""Largest Kolmogorov-Smirnov distance of two domains' target lengths. By chance it reaches 0.086 in one of twenty
samples of 500 rows each, the smallest test split of a generation task (DR table 2)."""

NEAR_SHARE = 0.01
"""Largest proportion of near-duplicates across splits: if 1% of a test split is memorised, its score changes by at most
one point, less than the drops of interest."""


@dataclass(frozen=True)
class Assumption:
    """One assumption and the rows' largest deviation from it.

    Attributes:
        name: the measured quantity, as text.
        holds: whether it is met; None if only reported for information.
        worst: the worst value; None if not measurable.
        unit: unit of ``worst``: ``share`` (a fraction in [0, 1], printed in points), ``distance`` in [0, 1], ``rows``
            or ``groups``.
        where: the domain and split, or two of them, of the worst value; empty if ``worst`` is None or 0.
        wanted: the required value, as text; empty if only reported for information.
    """

    name: str
    holds: bool | None
    worst: float | None
    unit: Literal["share", "distance", "rows", "groups"]
    where: str
    wanted: str


Measured = tuple[float, str]
"""A value and its domain and split."""


def check_assumptions(statistics: TaskStatistics, *, equal: bool = True, as_upstream: bool = False) -> list[Assumption]:
    """Compare a task's statistics with the assumptions that apply to its kind.

    Args:
        statistics: statistics of one task.
        equal: whether domains must have equal sizes; otherwise their difference is reported for information.
        as_upstream: whether upstream's splits are used unchanged; everything is then reported for information.
    Returns: the assumptions, in a fixed order. If there is only one domain or split to compare, ``worst`` and ``holds``
        are None.
    Source: DR appendix D.2, assumptions 3 and 4; the tolerances are this project's.
    """
    assumptions = [_train_sizes(statistics, equal=equal), *_priors(statistics), *_separation(statistics)]
    return [replace(assumption, holds=None, wanted="") for assumption in assumptions] if as_upstream else assumptions


def _train_sizes(statistics: TaskStatistics, *, equal: bool) -> Assumption:
    sizes = {
        domain: facts.splits["train"].rows for domain, facts in statistics.domains.items() if "train" in facts.splits
    }
    measured = (_gap("train", sizes),) if len(sizes) > 1 else ()
    name = "difference of train sizes between domains"
    return _assumption(name, measured, "rows", 0) if equal else _measurement(name, measured, "rows")


def _priors(statistics: TaskStatistics) -> Iterator[Assumption]:
    if statistics.kind is TaskKind.CLASSIFICATION:
        name = "difference of a class proportion between domains"
        yield _assumption(name, _share_gaps(statistics, lambda split: split.shares), "share", CLASS_SHARE_TOLERANCE)
        name = "difference of a class proportion from a uniform distribution"
        yield _measurement(name, _distances(statistics, lambda split: 1 / len(split.shares)), "share")
    elif statistics.kind is TaskKind.EXTRACTIVE_QA:
        wanted = statistics.no_answer_wanted
        if wanted is not None:
            name = f"difference of the no-answer proportion from {100 * wanted:.0f} points"
            yield _assumption(name, _distances(statistics, lambda _: wanted), "share", NO_ANSWER_TOLERANCE)
        else:
            name = "difference of the no-answer proportion between domains"
            yield _assumption(name, _share_gaps(statistics, _no_answer), "share", CLASS_SHARE_TOLERANCE)
    elif statistics.kind is TaskKind.TAGGING:
        name = "difference of a tag proportion between domains"
        yield _measurement(name, _share_gaps(statistics, lambda split: split.shares), "share")
    else:
        measured = [
            (distance.distance, f"{distance.split}: {', '.join(distance.domains)}")
            for distance in statistics.target_lengths
        ]
        yield _assumption("distance between domains' target lengths", measured, "distance", LENGTH_DISTANCE)


def _separation(statistics: TaskStatistics) -> Iterator[Assumption]:
    duplicates = statistics.duplicates
    many = {domain: facts for domain, facts in statistics.domains.items() if len(facts.splits) > 1}
    groups = [(facts.groups_in_several_splits, domain) for domain, facts in many.items()]
    yield _assumption("groups in two splits of a domain", groups, "groups", 0)
    across = [(repeats.exact, _pair(repeats)) for repeats in duplicates.across_splits]
    yield _assumption("rows repeated in another split", across, "rows", 0)
    near = [(repeats.near / repeats.rows, _pair(repeats)) for repeats in duplicates.across_splits]
    yield _assumption("near-duplicates in another split", near, "share", NEAR_SHARE)
    yield _measurement("rows repeated within a split", _repeat_shares(duplicates.within, "exact"), "share")
    yield _measurement("near-duplicates within a split", _repeat_shares(duplicates.within, "near"), "share")
    yield _measurement("rows repeated in another domain", _repeat_shares(duplicates.across_domains, "exact"), "share")
    yield _measurement("near-duplicates in another domain", _repeat_shares(duplicates.across_domains, "near"), "share")


def _pair(repeats: SplitRepeats) -> str:
    return f"{repeats.domain}: {repeats.split} in {repeats.other}"


def _repeat_shares(repeats: Iterable[Repeats], kind: Literal["exact", "near"]) -> list[Measured]:
    return [(getattr(cell, kind) / cell.rows, f"{cell.domain}/{cell.split}") for cell in repeats]


def _no_answer(split: SplitStatistics) -> dict[str, float]:
    return {"no answer": split.shares["no answer"]}


def _share_gaps(
    statistics: TaskStatistics, shares: Callable[[SplitStatistics], Mapping[str, float]]
) -> Iterator[Measured]:
    """Yield the largest gap between domains in each proportion, per split."""
    for split in SPLITS:
        shares_of = {
            domain: shares(facts.splits[split])
            for domain, facts in statistics.domains.items()
            if split in facts.splits and facts.splits[split].shares
        }
        if len(shares_of) > 1:
            for name in next(iter(shares_of.values())):
                yield _gap(f"{split}, {name}", {domain: of[name] for domain, of in shares_of.items()})


def _distances(statistics: TaskStatistics, wanted: Callable[[SplitStatistics], float]) -> Iterator[Measured]:
    """Yield the deviation from a required proportion (of classes or unanswerable questions) in every split."""
    for domain, facts in statistics.domains.items():
        for name, split in facts.splits.items():
            shares = split.shares if split.unanswered is None else _no_answer(split)
            for label, share in shares.items():
                yield abs(share - wanted(split)), f"{domain}/{name}, {label}"


def _gap(what: str, values: Mapping[str, float]) -> Measured:
    """Return the largest difference among named values, and the two names."""
    low, high = min(values, key=lambda name: values[name]), max(values, key=lambda name: values[name])
    return values[high] - values[low], f"{what}: {high}, {low}"


def _assumption(
    name: str, measured: Iterable[Measured], unit: Literal["share", "distance", "rows", "groups"], at_most: float
) -> Assumption:
    measurement = _measurement(name, measured, unit)
    # Tolerance for floating-point errors: 0.21 - 0.2 is slightly more than 0.01.
    holds = None if measurement.worst is None else measurement.worst <= at_most + 1e-9
    wanted = f"at most {_format_value(at_most, unit)}" if at_most else "none"
    return Assumption(name, holds, measurement.worst, unit, measurement.where, wanted)


def _measurement(
    name: str, measured: Iterable[Measured], unit: Literal["share", "distance", "rows", "groups"]
) -> Assumption:
    worst, where = max(measured, key=lambda each: each[0], default=(None, ""))
    return Assumption(name, None, worst, unit, where if worst else "", "")


def assumption_lines(assumptions: Sequence[Assumption]) -> Iterator[RenderableType]:
    """Yield a table with one row per assumption: verdict, worst value, where it occurs, and required value."""
    judged = any(assumption.wanted for assumption in assumptions)
    yield "assumptions (DR appendix D.2)" if judged else "differences between domains"
    table = Table(box=box.SIMPLE)
    for column in ("", "largest ...", "found", "wanted", "where") if judged else ("largest ...", "found", "where"):
        table.add_column(column, overflow="fold")
    for assumption in assumptions:
        if not judged and assumption.worst is None:
            continue
        worst = "nothing to compare" if assumption.worst is None else _format_value(assumption.worst, assumption.unit)
        verdict = _verdict(assumption)
        style = {"not met": "bold red", "met": "green"}.get(verdict, "")
        if judged:
            cells = (assumption.name, worst, assumption.wanted, assumption.where)
            table.add_row(Text(verdict, style=style), *map(Text, cells))
        else:
            table.add_row(assumption.name, worst, assumption.where)
    yield table


def _verdict(assumption: Assumption) -> str:
    if assumption.holds is None:
        return "not measured" if assumption.wanted else "for information"
    return "met" if assumption.holds else "not met"


def _format_value(value: float, unit: str) -> str:
    if unit == "share":
        return f"{100 * value:.1f} points"
    if unit == "distance":
        return f"{value:.3f}"
    return f"{value:,.0f} {unit}"
