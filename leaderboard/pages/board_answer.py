"""The answer above a table, in words: who leads, who cannot be told from the leader, and what the shift costs.

It is made from the tests behind the ranks (max-t over all entries of the table), never from sorting alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from shiftbench.leaderboard.pages.addresses import ABOUT
from shiftbench.scoring.comparing.shape import TRAINED_MODELS
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import plain_points, points
from shiftbench.scoring.scores.shape import OUTSIDE_BASES

Row = Mapping[str, Any]
_NAMED = 3


def answer(ranked: pl.DataFrame, where: str, link: Callable[[Row], Markup], *, has_public_labels: bool) -> Markup:
    """Write the answer: a paragraph, and one in small type for what it holds for.

    ``ranked`` rows come best first, with the columns of ``board.ranks.INTERVALS``; ``where`` is what the score is on,
    such as 'on unseen domains'; ``link`` makes a row's name a link. Without public labels the last round has spoken.
    """
    if ranked.is_empty():
        none = "No entry is ranked yet: " + (
            "none covers every shift." if has_public_labels else "no round has released figures."
        )
        return tag("p", none, class_="sb-lead-words")
    rows = list(ranked.filter(pl.col("with_leader").fill_null(value=False)).iter_rows(named=True))
    leader = next((row for row in rows if row["corrected"] is not None), ranked.row(0, named=True))
    tied: list[Row] = [row for row in rows if row["id"] != leader["id"]]
    parts: list[str | Markup] = [*_lead(leader, tied, ranked.height, where, link, is_round=not has_public_labels)]
    if leader["average_drop"] is not None and not leader.get("at_floor"):
        parts += [" ", *_loss(leader)]
    elif leader.get("basis") in OUTSIDE_BASES.values():
        parts.append(" It was trained on none of the domains, so it has no drop.")
    small = _small_print(leader, [leader, *tied], ranked.height)
    return join([tag("p", *parts, class_="sb-lead-words"), small])


def chips(entries: pl.DataFrame, figures: Sequence[str], *, has_public_labels: bool) -> Markup:
    """Build the short reasons to trust the figures that hold for any of some rows; each leads to the About page.

    ``entries`` are without the rows that papers report; ``figures`` are shown of each, by their columns.
    """
    reasons = [
        ("scored", "Scored from predictions", _has_value(entries, figures)),
        ("intervals", "95% intervals", _has_value(entries, [f"{figure}.low" for figure in figures])),
        (
            "placebo",
            "Placebo: the same texts without a shift",
            _has_value(entries, [f"{figure}.placebo" for figure in figures]),
        ),
        ("withheld", "Test labels withheld", not has_public_labels),
    ]
    links = [tag("a", words, href=f"{ABOUT}#{part}") for part, words, holds in reasons if holds]
    return tag("p", *links, class_="sb-chips") if links else Markup("")


def _has_value(entries: pl.DataFrame, names: Sequence[str]) -> bool:
    """Return whether a row has a value in any of some columns."""
    return any(name in entries and entries[name].count() > 0 for name in names)


def _lead(
    leader: Row, tied: list[Row], n: int, where: str, link: Callable[[Row], Markup], *, is_round: bool
) -> list[str | Markup]:
    name, score = link(leader), tag("strong", points(leader["mean_st"]))
    if leader.get("at_floor"):
        return ["No entry is shown to be above chance: the highest score ", where, " is ", score, " (", name, ")."]
    if n == 1:
        return [name, " is the only ranked entry, with ", score, f" {where}."]
    if is_round and leader["with_leader"] is None:
        return [name, " had the highest score of the last round, ", score, f" {where}."]
    if leader["with_leader"] is None:
        unknown = "; whether its lead is statistically certain is not known yet."
        return [name, " has the highest score ", where, ", ", score, unknown]
    if not tied:
        return [name, " leads with ", score, f" {where}, significantly higher than every other entry."]
    return [name, " leads with ", score, f" {where}, statistically tied with ", *_names(tied, link), "."]


def _names(tied: list[Row], link: Callable[[Row], Markup]) -> list[str | Markup]:
    """List some entries by name, and count the others."""
    named: list[str | Markup] = [link(row) for row in (tied if len(tied) <= _NAMED else tied[: _NAMED - 1])]
    if len(tied) > len(named):
        named.append(f"{len(tied) - len(named):,} other entries")
    parts: list[str | Markup] = []
    for number, each in enumerate(named):
        parts += [" and " if number == len(named) - 1 else ", "] if number else []
        parts.append(each)
    return parts


def _loss(leader: Row) -> list[str]:
    """Write what the shift costs the leader, and what the placebo does."""
    drop, low, high = (leader[f"average_drop{part}"] for part in ("", ".low", ".high"))
    placebo = leader["average_drop.placebo"]
    if low is not None and low <= 0 <= high:
        words = f"No loss to the shift is shown: the 95% interval of its drop, {points(drop)} points, includes 0"
    elif low is None:
        words = f"Its drop, {points(drop)} points, has no interval, so neither a loss nor a gain is shown"
    else:
        verb, where = ("loses", "to") if drop >= 0 else ("gains", "under")
        words = f"It {verb} {plain_points(abs(drop))} points {where} the shift"
    if placebo is None:
        return [words, "."]
    verb = "lose" if placebo > -0.0005 else "gain"
    return [words, f"; dealt at random, the same texts {verb} {plain_points(abs(placebo))}."]


def _small_print(leader: Row, rows: list[Row], n: int) -> Markup:
    """Write what the answer holds for, and the leader's score without what being chosen as the best adds to it."""
    parts = []
    is_above_chance = not leader.get("at_floor")
    if len(rows) > 1 and is_above_chance:
        parts.append("Shaded: entries whose scores cannot be told apart from the leader's.")
    if any(row["rank_about"] == TRAINED_MODELS for row in rows):
        parts.append(
            "This holds for these trained models; what training them again would change is measured only with 5 runs."
        )
    corrected = leader["corrected"]
    if (
        is_above_chance
        and corrected is not None
        and n > 1
        and round(100 * corrected, 1) < round(100 * leader["mean_st"], 1)
    ):
        parts.append(f"Leading {n:,} entries is partly luck; without it, its score is {points(corrected)}.")
    return tag("p", " ".join(parts), class_="sb-soft sb-small-print") if parts else Markup("")
