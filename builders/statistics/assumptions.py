"""Whether a task's rows keep what the benchmark assumes of them: each assumption with its worst case and place.

Domain Robustness paper, appendix D.2, assumptions 3 and 4 (equal train sizes, equal priors), and what any test
split needs: nothing of it in train. Own data may break them and still be of use; what is met is reported, not forced.
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
"""Largest difference of a class share between domains. With 2,000 rows a domain two shares of one half differ by 0.03
in one draw of twenty, so this bound separates a prior shift from chance; DR's unbalanced QA (table 10) exceeds it."""

NO_ANSWER_TOLERANCE = 0.01
"""Largest distance from the no-answer share that the spec asks for: it is filled by count, so only whole groups that
do not fit leave a rest."""

LENGTH_DISTANCE = 0.1
"""Largest Kolmogorov-Smirnov distance of two domains' target lengths. Chance alone gives 0.086 in one draw of twenty
with 500 rows each, the smallest test split of a generation task (DR table 2)."""

NEAR_SHARE = 0.01
"""Largest share of near-duplicates across splits: 1% of a test split known by heart moves its score by at most a point,
less than the drops of interest."""


@dataclass(frozen=True)
class Assumption:
    """One assumption and how far the rows are from it.

    Attributes:
        name: what is measured, in words.
        holds: whether it is met; None where it is given for information.
        worst: the worst value found; None where there is nothing to measure it on.
        unit: what ``worst`` counts: ``share`` a fraction in [0, 1] (printed in points), ``distance`` in [0, 1], or
            ``rows`` or ``groups``.
        where: the domain and split, or two of them, of the worst value; empty when ``worst`` is None or 0.
        wanted: the value wanted, in words; empty where it is given for information.
    """

    name: str
    holds: bool | None
    worst: float | None
    unit: Literal["share", "distance", "rows", "groups"]
    where: str
    wanted: str


Measured = tuple[float, str]
"""A value and where it was found."""


def check_assumptions(statistics: TaskStatistics, *, equal: bool = True, as_upstream: bool = False) -> list[Assumption]:
    """Compare a task's statistics with the assumptions that apply to its kind.

    Args:
        statistics: of one task.
        equal: whether domains are to be of one size; else their difference is for information.
        as_upstream: whether rows are kept as upstream has them, so that all of it is for information.
    Returns: the assumptions, in a fixed order. One that needs two domains, or two splits, is there with ``worst``
        and ``holds`` None when there is only one.
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
        name = "difference of a class share between domains"
        yield _assumption(name, _share_gaps(statistics, lambda split: split.shares), "share", CLASS_SHARE_TOLERANCE)
        name = "distance of a class share from that of equally frequent classes"
        yield _measurement(name, _distances(statistics, lambda split: 1 / len(split.shares)), "share")
    elif statistics.kind is TaskKind.EXTRACTIVE_QA:
        wanted = statistics.no_answer_wanted
        if wanted is not None:
            name = f"distance of the no-answer share from {100 * wanted:.0f} points"
            yield _assumption(name, _distances(statistics, lambda _: wanted), "share", NO_ANSWER_TOLERANCE)
        else:
            name = "difference of the no-answer share between domains"
            yield _assumption(name, _share_gaps(statistics, _no_answer), "share", CLASS_SHARE_TOLERANCE)
    elif statistics.kind is TaskKind.TAGGING:
        name = "difference of a tag share between domains"
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
    """Compare each share of each split between the domains that have the split."""
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
    """Compare the classes' shares, or the no-answer share, with the one wanted, in every split."""
    for domain, facts in statistics.domains.items():
        for name, split in facts.splits.items():
            shares = split.shares if split.unanswered is None else _no_answer(split)
            for label, share in shares.items():
                yield abs(share - wanted(split)), f"{domain}/{name}, {label}"


def _gap(what: str, values: Mapping[str, float]) -> Measured:
    """Find the largest difference among named values, and between which two."""
    low, high = min(values, key=lambda name: values[name]), max(values, key=lambda name: values[name])
    return values[high] - values[low], f"{what}: {high}, {low}"


def _assumption(
    name: str, measured: Iterable[Measured], unit: Literal["share", "distance", "rows", "groups"], at_most: float
) -> Assumption:
    measurement = _measurement(name, measured, unit)
    # Rounding must not break an assumption that counts keep: 0.21 - 0.2 is a little more than 0.01.
    holds = None if measurement.worst is None else measurement.worst <= at_most + 1e-9
    wanted = f"at most {_format_value(at_most, unit)}" if at_most else "none"
    return Assumption(name, holds, measurement.worst, unit, measurement.where, wanted)


def _measurement(
    name: str, measured: Iterable[Measured], unit: Literal["share", "distance", "rows", "groups"]
) -> Assumption:
    worst, where = max(measured, key=lambda each: each[0], default=(None, ""))
    return Assumption(name, None, worst, unit, where if worst else "", "")


def assumption_lines(assumptions: Sequence[Assumption]) -> Iterator[RenderableType]:
    """List a row for each assumption: whether it is met, the worst value, where it was found, and what is wanted."""
    judged = any(assumption.wanted for assumption in assumptions)
    yield "assumptions (DR appendix D.2)" if judged else "how unlike the domains are"
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
