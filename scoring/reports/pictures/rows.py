"""Plots with one row per domain, slice, shift or model: ticks above, names to the left."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from shiftbench.scoring.comparing.shape import Difference, p_text, winner
from shiftbench.scoring.comparing.unit_ranks import Ranking
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.parts import Gap
from shiftbench.scoring.reports.numbers import drop_text, points, score_text
from shiftbench.scoring.reports.pictures import axes as draw
from shiftbench.scoring.reports.pictures.axes import Axis
from shiftbench.scoring.reports.pictures.words import shorten
from shiftbench.scoring.scores.shape import DomainScore, Estimate, SlicesFound

_ROW, _TOP = 22, 26


class Dot(NamedTuple):
    """A value (a fraction) as a mark, its interval as a line (``bar``); ``lower``: distance below the row's middle."""

    estimate: Estimate
    class_: str = "sb-accent"
    symbol: str = "circle"
    is_filled: bool = True
    lower: float = 0.0
    bar: str = "sb-whisker sb-strong"
    words: str = ""

    @property
    def values(self) -> list[float]:
        """Values that the axis must cover."""
        return draw.ends([self.estimate])

    def draw(self, x: Axis, middle: float) -> Iterator[Markup]:
        """Draw it in its row."""
        value, low, high, y = *self.estimate_ends, middle + self.lower
        if low is not None and high is not None:
            yield draw.line(x.at(100 * low), y, x.at(100 * high), y, f"{self.bar} {self.class_}")
        if value is not None:
            yield draw.mark(
                x.at(100 * value), y, self.symbol, self.class_, filled=self.is_filled, size=4, words=self.words
            )

    @property
    def estimate_ends(self) -> tuple[float | None, float | None, float | None]:
        """The value and the ends of its interval."""
        return self.estimate.value, self.estimate.low, self.estimate.high


class Stroke(NamedTuple):
    """A horizontal line, a vertical one if its ends are equal, or a box if ``height`` is set; in the axis' units."""

    low: float
    high: float
    class_: str
    height: float = 0.0

    @property
    def values(self) -> list[float]:
        """Values that the axis must cover."""
        return [self.low, self.high]

    def draw(self, x: Axis, middle: float) -> Iterator[Markup]:
        """Draw it in its row."""
        low, high = x.at(self.low), x.at(self.high)
        if self.height:
            yield draw.rect(low, middle - self.height / 2, max(high - low, 0.5), self.height, self.class_)
        elif self.low == self.high:
            yield draw.line(low, middle - _ROW / 2 + 3, low, middle + _ROW / 2 - 3, self.class_)
        else:
            yield draw.line(low, middle, high, middle, self.class_)


class Row(NamedTuple):
    """A row: its name, its elements from back to front, and its tooltip."""

    name: str
    parts: Sequence[Dot | Stroke] = ()
    words: str = ""
    class_: str = "sb-row-name"


def row_picture(
    title: str,
    about: str,
    rows: Sequence[Row],
    keys: Iterable[tuple[Markup, str]] = (),
    *,
    names: float = 130,
    axis: Axis | None = None,
    height: float = _ROW,
    has_zero: bool = False,
    behind: Iterable[Markup] = (),
) -> Markup:
    """Draw a plot with one row per name; tall plots scroll in a box.

    Args:
        title: the accessible name.
        about: text alternative.
        rows: at least one, from top to bottom.
        keys: signs and labels of the legend.
        names: width for the rows' names, in units.
        axis: the horizontal axis; None for one that covers all values.
        height: height of a row, in units.
        has_zero: whether to include 0 in the axis, with a line at it.
        behind: elements behind the rows.
    """
    values = [value for row in rows for part in row.parts for value in part.values]
    x = axis or draw.round_axis([*([0.0] if has_zero else []), *values], names, draw.WIDTH - draw.RIGHT)
    bottom = _TOP + height * len(rows)
    parts = list(behind)
    for value, words in zip(x.ticks, x.tick_words, strict=True):
        parts.append(draw.line(x.at(value), _TOP - 4, x.at(value), bottom, "sb-grid"))
        parts.append(draw.text(x.at(value), _TOP - 9, words, "middle", "sb-tick"))
    if has_zero:
        parts.append(draw.line(x.at(0), _TOP - 4, x.at(0), bottom, "sb-zero"))
    for number, row in enumerate(rows):
        middle = _TOP + height * (number + 0.5)
        name = draw.text(x.start - 8, middle + 4, shorten(row.name, int((names - 8) / 6.1)), "end", row.class_)
        shown = [each for part in row.parts for each in part.draw(x, middle)]
        parts.append(tag("g", *([tag("title", row.words)] if row.words else []), name, *shown))
    drawn = draw.picture(title, about, bottom + 6, *parts)
    return join([draw.legend(keys), tag("div", drawn, class_="sb-tall", tabindex="0", role="region", aria_label=title)])


_TEXTS = "with 95% interval for the sampling of test texts"
_HOME = ("sb-classic", "diamond")


def scores_by_domain(domains: Sequence[DomainScore], home: str | None) -> Markup:
    """Draw the score of domains with enough texts on a row each, the lowest first.

    The source (``home``) is a diamond, the no-skill level a short line.
    """
    rows = []
    for each in sorted(domains, key=lambda each: (each.score.value or 0.0, each.domain)):
        words, parts = f"{each.domain}: {score_text(each.score)}, {each.n:,} texts", list[Dot | Stroke]()
        if each.floor:
            floor = max(each.floor.chance, each.floor.majority)
            words += f"; no-skill level {points(floor)}"
            parts.append(Stroke(100 * floor, 100 * floor, "sb-churn"))
        parts.append(Dot(each.score, *(_HOME if each.domain == home else ())))
        rows.append(Row(each.domain, parts, words))
    about = f"{len(rows)} domains, from {rows[0].words} to {rows[-1].words}. All values are in the table."
    keys = [(draw.mark_sign("circle", "sb-accent"), f"score, {_TEXTS}")]
    keys += [(draw.mark_sign("diamond", "sb-classic"), "source")] if home else []
    if any(each.floor for each in domains):
        keys.append((draw.sign(draw.line(7, 1, 7, 13, "sb-churn")), "no-skill level"))
    return row_picture("Scores by domain", about, rows, keys)


def scores_by_slice(found: SlicesFound) -> Markup:
    """Draw a row per slice (at least one) with its score and that of all other texts; the most significant is first."""
    rows = [
        Row(
            each.name,
            [Dot(each.rest, *_HOME, lower=3), Dot(each.score, lower=-3)],
            f"{each.name}: {score_text(each.score)}, {each.n:,} texts; the rest: {score_text(each.rest)}",
        )
        for each in found.slices
    ]
    keys = [
        (draw.mark_sign("circle", "sb-accent"), f"score of the slice, {_TEXTS}"),
        (draw.mark_sign("diamond", "sb-classic"), "score of all other texts"),
    ]
    about = f"{len(rows)} slices. All values are in the table."
    return row_picture("Scores by slice", about, rows, keys, names=220)


class ForecastRow(NamedTuple):
    """A domain's forecast with its interval, if any, and its true score if labels are known; fractions."""

    domain: str
    forecast: Estimate
    truth: float | None


def forecasts_by_domain(found: Sequence[ForecastRow], metric: str) -> Markup:
    """Draw each domain's forecast on a row, in the given order; the true score, if known, is a diamond."""
    rows = []
    for each in found:
        words = f"{each.domain}: forecast {score_text(each.forecast)}"
        words += "" if each.truth is None else f"; {metric} {points(each.truth)}"
        rows.append(Row(each.domain, [Dot(each.forecast), Dot(Estimate(value=each.truth), *_HOME)], words))
    keys = [(draw.mark_sign("circle", "sb-accent"), "forecast, with interval over domains")]
    if any(each.truth is not None for each in found):
        keys.append((draw.mark_sign("diamond", "sb-classic"), f"{metric} by labels"))
    about = f"{len(rows)} domains, unlabelled domains first, worst first. All values are in the table."
    return row_picture(f"Forecast {metric} by domain", about, rows, keys)


def draw_forest(differences: Sequence[tuple[str, Difference | None]], title: str) -> Markup:
    """Draw a forest plot of differences around a line at 0; a row without a difference is a heading."""
    rows = []
    for name, each in differences:
        if each is None:
            rows.append(Row(name, class_="sb-quadrant sb-ink"))
            continue
        decided = winner(each)
        colour = {"a": "sb-c0", "b": "sb-c1", None: "sb-faint"}[decided]
        words = f"{name}: {drop_text(each.estimate)} points, corrected p {p_text(each.p_corrected)}"
        symbol = "diamond" if name == "mean" else "circle"
        rows.append(Row(name, [Dot(each.estimate, colour, symbol, decided is not None)], words))
    said = [f"{name}: {drop_text(each.estimate)}" for name, each in differences if each is not None]
    return row_picture(title, "; ".join(said) or "Nothing to compare.", rows, names=160, has_zero=True)


MOST_ROWS = 12
"""Maximum number of rows in a plot of gaps: more would be too small in link previews."""


def gap_picture(gaps: Sequence[tuple[str, Gap]], title: str) -> Markup:
    """Draw each entry's in-domain score (filled) and score under shift (open), with 95% intervals, joined by a line.

    Args:
        gaps: names and scores of the entries; only the first ``MOST_ROWS`` are drawn.
        title: the accessible name.
    """
    rows = []
    for name, gap in gaps[:MOST_ROWS]:
        home = Dot(gap.home, "sb-home", bar="sb-gap-bar", words=points(gap.home.value))
        away = Dot(gap.away, "sb-away", is_filled=False, bar="sb-gap-bar", words=points(gap.away.value))
        both = gap.home.value is not None and gap.away.value is not None
        lost = [Stroke(100 * (gap.home.value or 0), 100 * (gap.away.value or 0), "sb-gap-line")] if both else []
        rows.append(Row(name, [*lost, home, away], gap.words))
    keys = [
        (draw.mark_sign("circle", "sb-home"), "in domain"),
        (draw.mark_sign("circle", "sb-away", filled=False), "under shift, with 95% intervals"),
    ]
    return row_picture(title, "; ".join(row.words for row in rows) or "No scores.", rows, keys, names=150)


_RANK_ROW, _BAR = 18, 8
_LETTERS = 22
MAX_BARS = 12
"""Maximum number of groups of ties drawn; they are also listed as text."""


def rank_intervals(ranking: Ranking) -> Markup:
    """Draw the rank interval of each model; models tied for first are shaded, groups of ties are bars on the right."""
    n, tied, groups = len(ranking.models), set(ranking.tied_first), tie_groups(ranking)[:MAX_BARS]
    right = draw.WIDTH - draw.RIGHT - _BAR * len(groups)
    axis = Axis(1, max(n, 2), 168, right, tuple(float(rank) for rank in sorted({1, (n + 1) // 2, n})))
    behind, rows = [], []
    for number, model in enumerate(ranking.models):
        if model.name in tied:
            behind.append(draw.rect(0, _TOP + _RANK_ROW * number, draw.WIDTH, _RANK_ROW, "sb-shaded"))
        name = model.name if len(model.name) <= _LETTERS else model.name.rpartition("/")[2]
        name = name if len(name) <= _LETTERS else name[: _LETTERS // 2] + "…" + name[-_LETTERS // 2 + 1 :]
        reach, words = [], f"{model.name}: rank {model.rank}"
        if model.best_rank is not None and model.worst_rank is not None:
            reach.append(Stroke(model.best_rank, model.worst_rank + 1e-9, "sb-rank-bar", 4))
            words += f" [{model.best_rank}, {model.worst_rank}]"
        rows.append(Row(name, [*reach, Dot(Estimate(value=model.rank / 100), "sb-ink")], words))
    for number, (first, last) in enumerate(groups):
        place = right + 6 + _BAR * number, _TOP + _RANK_ROW * first + 2
        words = f"not significantly different: {ranking.models[first].name} to {ranking.models[last].name}"
        bar = draw.rect(*place, 4, _RANK_ROW * (last - first + 1) - 4, "sb-tie-bar")
        behind.append(tag("g", tag("title", words), bar))
    keys = [
        (draw.sign(draw.rect(0, 5, 14, 4, "sb-rank-bar")), "simultaneous rank intervals"),
        (draw.mark_sign("circle", "sb-ink"), "its rank"),
        (draw.sign(draw.rect(0, 0, 14, 14, "sb-shaded")), "tied for first"),
        (draw.sign(draw.rect(5, 0, 4, 14, "sb-tie-bar")), "models not significantly different"),
    ]
    about = "; ".join(row.words for row in rows[:MAX_BARS])
    return row_picture("Rank intervals", about, rows, keys, names=168, axis=axis, height=_RANK_ROW, behind=behind)


def tie_groups(ranking: Ranking) -> list[tuple[int, int]]:
    """Find the maximal groups of adjacent models without any significant difference: their first and last index.

    Groups of one model are omitted.
    """
    found: list[tuple[int, int]] = []
    n, last = len(ranking.pairs), -1
    for first in range(n):
        end = first
        while end + 1 < n and all(ranking.pairs[row][end + 1] == "." for row in range(first, end + 1)):
            end += 1
        if end > max(last, first):
            found.append((first, end))
            last = end
    return found
