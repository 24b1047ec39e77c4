"""Plain values rendered by the macros of ``templates/parts.html`` (README.md: how a page is built)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from shiftbench.scoring.reports.numbers import drop_points, points
from shiftbench.scoring.reports.pictures.axes import round_axis, tick_text
from shiftbench.scoring.scores.shape import Estimate

MOST_COLOUR = 62
"""Maximum percentage of a matrix's deepest colour in a cell, so that text stays readable in light and dark themes."""
UNKNOWN = Estimate(value=None)


@dataclass(frozen=True)
class Gap:
    """One model's score in domain (``home``) and under shift (``away``), as fractions; unknown ones are not drawn.

    ``words`` is the text alternative; a faint gap marks a model that is not ranked or not above chance.
    """

    home: Estimate
    away: Estimate
    words: str
    is_faint: bool = False

    @classmethod
    def of(cls, name: str, home: Estimate, away: Estimate, loss: Estimate, *, is_faint: bool = False) -> "Gap":
        """Build a gap with its text."""
        parts = [f"in domain {points(home.value)}"] if home.value is not None else []
        parts += [f"under shift {points(away.value)}"] if away.value is not None else []
        parts += [f"loss {drop_points(loss.value)}"] if loss.value is not None else []
        return cls(home, away, f"{name}: {', '.join(parts) or 'no score'}", is_faint)


@dataclass(frozen=True)
class GapScale:
    """The axis of a column of gaps, from its first to its last round tick, as fractions."""

    ticks: tuple[float, ...]

    @classmethod
    def over(cls, estimates: Iterable[Estimate]) -> "GapScale":
        """Build the axis that covers some scores with their intervals."""
        ends = [100 * end for each in estimates for end in (each.value, each.low, each.high) if end is not None]
        return cls(tuple(tick / 100 for tick in round_axis(ends, 0, 1, n_ticks=6).ticks))

    @property
    def step(self) -> float:
        """Distance between ticks, in percent of the width."""
        return round(100 / (len(self.ticks) - 1), 3)

    @property
    def words(self) -> list[tuple[float, str]]:
        """List the ticks: position in percent, and label in points."""
        return [(self.at(tick), tick_text(100 * tick)) for tick in self.ticks]

    def at(self, value: float) -> float:
        """Return a value's position in percent of the width, clipped to the axis."""
        share = (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        return round(100 * min(max(share, 0.0), 1.0), 1)


@dataclass(frozen=True)
class Choice:
    """A link among alternatives (tabs or chips).

    ``rows``: whether it changes only the table's rows, so that the page's script may fetch only the rows.
    """

    words: str
    address: str
    is_chosen: bool = False
    title: str = ""
    rows: bool = False


@dataclass(frozen=True)
class Card:
    """A box that is a link, with the title as the link text."""

    title: str
    address: str
    words: str = ""
    facts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Head:
    """The heading of a column; an empty cell if ``words`` is empty.

    ``address`` is the URL that sorts by the column, ``order`` its current sort order, ``scale`` an axis below the text.
    """

    words: str = ""
    kind: Literal["", "num", "rank", "gap-head", "pick"] = ""
    title: str = ""
    key: str = ""
    address: str = ""
    order: Literal["", "ascending", "descending"] = ""
    scale: GapScale | None = None


@dataclass(frozen=True)
class MatrixCell:
    """A cell of a matrix: text, colour and link.

    ``kind`` sets the colour: a loss or gain (faint if not significant), the model's own domain ('own'), a value that is
    neither loss nor gain ('much'), or no colour. ``part`` is the colour's strength in percent, up to ``MOST_COLOUR``.
    """

    words: str
    kind: Literal["", "loss", "gain", "faint", "own", "much"] = ""
    part: float | None = None
    title: str = ""
    address: str = ""
    is_chosen: bool = False

    @classmethod
    def of_drop(cls, drop: Estimate, most: float, **more: object) -> "MatrixCell":
        """Build the cell of a drop; ``most`` is the largest drop in the matrix, which gets the deepest colour."""
        if drop.value is None:
            return cls("n/a", **more)  # type: ignore[arg-type]
        shown = drop.low is not None and drop.high is not None and not drop.low <= 0 <= drop.high
        kind = "faint" if not shown else "loss" if drop.value > 0 else "gain"
        part = round(MOST_COLOUR * min(abs(drop.value) / most, 1.0), 1) if shown and most > 0 else None
        return cls(drop_points(drop.value), kind, part, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Matrix:
    """A matrix with sources as rows and targets as columns; ``corner`` labels the axes."""

    caption: str
    corner: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[MatrixCell]]]
