"""Per-domain results of a board: the hardest target, the best source, and whether they depend on a single model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.scoring.scores.shape import Estimate


@dataclass(frozen=True)
class DomainFigures:
    """Means over models for one domain.

    Attributes:
        domain: its name.
        into: score on it of models trained on other domains.
        lost: target drop (TD) of these scores.
        out_of: score on other domains of models trained on it.
    """

    domain: str
    into: Estimate
    lost: Estimate
    out_of: Estimate


@dataclass(frozen=True)
class Extreme:
    """The first domain of an ordering, and its distance to the second.

    ``lead`` is the distance with a 95% interval over test texts (the two domains share none). ``others`` lists the
    domains that come first when one model is left out, each with the number of such models.
    """

    domain: str
    next: str
    lead: Estimate
    others: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class BoardDomains:
    """A board's domains, the hardest target first; extremes are None if fewer than two domains have a value."""

    n_models: int
    domains: tuple[DomainFigures, ...]
    hardest: Extreme | None
    easiest: Extreme | None
    best_source: Extreme | None


def board_domains(frame: pl.DataFrame) -> BoardDomains:
    """Average the ranked entries of a board that are above chance, by domain.

    The bounds of a mean over models are the means of the models' bounds. All models are scored on the same texts, so
    their errors may be correlated; averaging the widths is conservative whatever the correlation.

    Args:
        frame: the board's rows (``Index.frame``).
    """
    rows = frame.filter(pl.col("complete") & ~pl.col("at_floor").fill_null(value=False))
    long = rows.select("id", "by_domain").explode("by_domain").drop_nulls("by_domain").unnest("by_domain")
    if long.is_empty():
        return BoardDomains(rows.height, (), None, None, None)
    names = [name for name in long.columns if name not in ("id", "domain")]
    # A score that some models lack is averaged over the others; without the bounds of each of them there is no bound.
    means = long.group_by("domain", maintain_order=True).agg(
        pl.when(pl.col(name).count() == pl.col(name.split(".")[0]).count()).then(pl.col(name).mean()).alias(name)
        for name in names
    )
    found = [
        DomainFigures(row["domain"], *(_estimate(row, name) for name in ("into", "lost", "out_of")))
        for row in means.sort("into", nulls_last=True).iter_rows(named=True)
    ]
    return BoardDomains(
        rows.height,
        tuple(found),
        _extreme(long, [(each.domain, each.into) for each in found], "into", highest=False),
        _extreme(long, [(each.domain, each.into) for each in found], "into", highest=True),
        _extreme(long, [(each.domain, each.out_of) for each in found], "out_of", highest=True),
    )


def _estimate(row: dict[str, float | None], name: str) -> Estimate:
    return Estimate(value=row[name], low=row[f"{name}.low"], high=row[f"{name}.high"])


def _extreme(
    long: pl.DataFrame, figures: Sequence[tuple[str, Estimate]], name: str, *, highest: bool
) -> Extreme | None:
    """Find the first domain of an ordering, its lead, and the domains that come first if one model is left out."""
    known = [(domain, each) for domain, each in figures if each.value is not None]
    if len(known) < 2:
        return None
    known.sort(key=lambda pair: pair[1].value or 0.0, reverse=highest)
    (first, own), (second, other) = known[:2]
    # Same result as a pivot at a tenth of the time, since the rows of a model are consecutive.
    rows = long.select(model=pl.col("id").rle_id(), value=pl.col(name).cast(pl.Float64))
    columns = long["domain"].replace_strict({domain: n for n, (domain, _) in enumerate(known)}, default=None)
    is_known = columns.is_not_null()
    values = np.full((rows["model"].n_unique(), len(known)), np.nan)
    values[rows["model"].filter(is_known), columns.filter(is_known)] = rows["value"].filter(is_known)
    ends = _without_each(values).argmax(axis=1) if highest else _without_each(values).argmin(axis=1)
    counts = [(known[place][0], int((ends == place).sum())) for place in range(1, len(known))]
    return Extreme(first, second, _distance(own, other), tuple(each for each in counts if each[1]))


def _without_each(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return leave-one-model-out means, (n_models, n_domains); the mean itself if a domain has only one model."""
    is_there = np.isfinite(values)
    total, n = np.where(is_there, values, 0).sum(axis=0), is_there.sum(axis=0)
    left = n - is_there
    without = (total - np.where(is_there, values, 0)) / np.maximum(left, 1)
    whole = total / np.maximum(n, 1)
    return np.asarray(np.where(left > 0, without, whole), dtype=np.float64)


def _distance(one: Estimate, other: Estimate) -> Estimate:
    """Return the distance between two scores on disjoint texts, with an interval."""
    assert one.value is not None
    assert other.value is not None
    value = abs(one.value - other.value)
    if None in (one.low, one.high, other.low, other.high):
        return Estimate(value=value)
    # The lower bound combines the higher score's lower half-width with the lower score's upper half-width.
    high, low = (one, other) if one.value >= other.value else (other, one)
    down = np.hypot(high.value - high.low, low.high - low.value)  # type: ignore[operator]
    up = np.hypot(high.high - high.value, low.value - low.low)  # type: ignore[operator]
    return Estimate(value=value, low=value - float(down), high=value + float(up))
