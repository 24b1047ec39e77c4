"""What the macros of ``templates/parts.html`` draw: plain values (README.md: how a page is built)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.numbers import count, drop_points, points
from shiftbench.scoring.reports.pictures.axes import round_axis, tick_text
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.cards import Card as ModelCard

if TYPE_CHECKING:
    from shiftbench.scoring.reports.plain_tables import PlainTable

MOST_COLOUR = 62
"""Percent of a matrix's deepest colour in a cell: its text is read on it, light and dark."""
UNKNOWN = Estimate(value=None)


@dataclass(frozen=True)
class Gap:
    """One model's score in domain (``home``) and under shift (``away``), as fractions; unknown ones are left out.

    ``words`` are read in the picture's place; a faint one stands for what is not ranked or not above chance.
    """

    home: Estimate
    away: Estimate
    words: str
    is_faint: bool = False

    @classmethod
    def of(cls, name: str, home: Estimate, away: Estimate, loss: Estimate, *, is_faint: bool = False) -> "Gap":
        """Build a gap with its words."""
        parts = [f"in domain {points(home.value)}"] if home.value is not None else []
        parts += [f"under shift {points(away.value)}"] if away.value is not None else []
        parts += [f"loss {drop_points(loss.value)}"] if loss.value is not None else []
        return cls(home, away, f"{name}: {', '.join(parts) or 'no score'}", is_faint)


@dataclass(frozen=True)
class GapScale:
    """What a column of gaps spans, from its first to its last round tick, as fractions."""

    ticks: tuple[float, ...]

    @classmethod
    def over(cls, estimates: Iterable[Estimate]) -> "GapScale":
        """Build the scale that holds some scores with their intervals."""
        ends = [100 * end for each in estimates for end in (each.value, each.low, each.high) if end is not None]
        return cls(tuple(tick / 100 for tick in round_axis(ends, 0, 1, n_ticks=6).ticks))

    @property
    def step(self) -> float:
        """Percent of the width from tick to tick."""
        return round(100 / (len(self.ticks) - 1), 3)

    @property
    def words(self) -> list[tuple[float, str]]:
        """List the ticks: place in percent, and points."""
        return [(self.at(tick), tick_text(100 * tick)) for tick in self.ticks]

    def at(self, value: float) -> float:
        """Return the place of a value in percent of the width; what lies beyond stands at the end."""
        share = (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        return round(100 * min(max(share, 0.0), 1.0), 1)


@dataclass(frozen=True)
class Badge:
    """A short remark on a row: the leader, what is tied with it, a warning, or a plain fact."""

    words: str
    kind: Literal["", "lead", "tied", "warn"] = ""
    title: str = ""


@dataclass(frozen=True)
class Choice:
    """A link to choose among others: of tabs, or of chips; ``rows`` where the page's script may fetch rows alone."""

    words: str
    address: str
    is_chosen: bool = False
    title: str = ""
    rows: bool = False


@dataclass(frozen=True)
class Card:
    """A box that leads somewhere: its title is the link."""

    title: str
    address: str
    words: str = ""
    facts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Section:
    """A section of a report: what it is about, sentences, pictures, tables, and by names of rows words and texts.

    Tables whose figures stand in the picture are folded.
    """

    title: str
    about: str = ""
    lines: Sequence[str] = ()
    figures: Sequence[Markup] = ()
    tables: Sequence["PlainTable"] = ()
    samples: Sequence[tuple[str, str, Sequence[str]]] = ()
    is_folded: bool = False


@dataclass(frozen=True)
class CardFact:
    """A key of a card as a page shows it; ``source`` says where the value is from, if not from the card."""

    label: str
    value: str
    address: str = ""
    is_code: bool = False
    source: str = ""


def card_facts(card: ModelCard) -> list[CardFact]:
    """List what a card says, the name left out."""
    return [_card_fact(key.replace("_", " "), key, value) for key, value in card.as_dict().items() if key != "name"]


def _card_fact(label: str, key: str, value: object) -> CardFact:
    if isinstance(value, bool):
        return CardFact(label, "yes" if value else "no")
    if isinstance(value, int):
        return CardFact(label, count(value))
    if isinstance(value, dict):
        return CardFact(label, ", ".join(f"{name} {stated}" for name, stated in value.items()))
    if isinstance(value, list):
        return CardFact(label, ", ".join(value))
    is_link = key.endswith("url") and str(value).startswith("https://")  # whatever the card's own check let through
    return CardFact(label, str(value), str(value) if is_link else "", key in ("command", "data", "settings"))


@dataclass(frozen=True)
class Head:
    """The heading of a column; without words an empty cell.

    ``address`` sorts by it; ``order`` is how the table is sorted by it now; ``scale`` stands below the words.
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
    """A cell: a loss or a gain, faint where it is not shown to differ from 0, the model's own domain, or nothing;
    'much' ones are shaded by a value that is neither.
    """

    words: str
    kind: Literal["", "loss", "gain", "faint", "own", "much"] = ""
    part: float | None = None
    title: str = ""
    address: str = ""
    is_chosen: bool = False

    @classmethod
    def of_drop(cls, drop: Estimate, most: float, **more: object) -> "MatrixCell":
        """Build the cell of a drop; ``most`` is the largest one of the matrix, which has the deepest colour."""
        if drop.value is None:
            return cls("n/a", **more)  # type: ignore[arg-type]
        shown = drop.low is not None and drop.high is not None and not drop.low <= 0 <= drop.high
        kind = "faint" if not shown else "loss" if drop.value > 0 else "gain"
        part = round(MOST_COLOUR * min(abs(drop.value) / most, 1.0), 1) if shown and most > 0 else None
        return cls(drop_points(drop.value), kind, part, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Matrix:
    """Sources down, targets across; ``corner`` says so."""

    caption: str
    corner: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[MatrixCell]]]
