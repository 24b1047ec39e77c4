"""The summary above a table: the leader, entries not significantly different from it, and its drop.

It is based on the tests behind the ranks (max-t over all entries of the table), never on sorting only. The text is in
``templates/answer.html``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from shiftbench.scoring.comparing.shape import TRAINED_MODELS

Row = Mapping[str, Any]
_NAMED = 3


@dataclass(frozen=True)
class Answer:
    """Summary of a table's ranks; ``row`` has the facts of the leader, None without a ranked entry.

    ``where`` states the test data of the score, such as 'on unseen domains'. ``leader`` and ``tied`` are (name, URL);
    ``n_more`` counts further ties. ``is_round``: whether the ranks come from a round on withheld labels.
    ``is_of_models``: whether the summary only holds for these trained models.
    """

    where: str
    is_round: bool
    n: int = 0
    row: Row | None = None
    leader: tuple[str, str] | None = None
    tied: tuple[tuple[str, str], ...] = ()
    n_more: int = 0
    is_of_models: bool = False


def answer(ranked: pl.DataFrame, where: str, address: Callable[[Row], str], *, has_public_labels: bool) -> Answer:
    """Build the summary from the complete rows, best first, with the columns of ``board.ranks.INTERVALS``.

    ``address`` returns the URL of a row's page. Without public labels, the ranks come from the last round.
    """
    if ranked.is_empty():
        return Answer(where, is_round=not has_public_labels)
    # Thousands of rows may tie: convert only the few that are named to dicts, which is slow.
    with_leader = ranked.filter(pl.col("with_leader").fill_null(value=False))
    corrected_ones = with_leader.filter(pl.col("corrected").is_not_null())
    leader = (ranked if corrected_ones.is_empty() else corrected_ones).row(0, named=True)
    tied = with_leader.filter(pl.col("id") != leader["id"])
    n_named = tied.height if tied.height <= _NAMED else _NAMED - 1
    names = "name" if "name" in ranked.columns else "model"
    return Answer(
        where,
        is_round=not has_public_labels,
        n=ranked.height,
        row=leader,
        leader=(leader[names], address(leader)),
        tied=tuple((row[names], address(row)) for row in tied.head(n_named).iter_rows(named=True)),
        n_more=tied.height - n_named,
        is_of_models=TRAINED_MODELS in (leader["rank_about"], *tied["rank_about"].unique()),
    )


def reasons(entries: pl.DataFrame, figures: Sequence[str], *, has_public_labels: bool) -> list[tuple[str, str]]:
    """List the table's guarantees, such as intervals or withheld labels, that apply to at least one row.

    ``entries`` exclude the rows that papers report; ``figures`` are the displayed score columns.

    Returns: for each, the anchor of its section on the About page, and its label.
    """
    known = [
        ("scored", "Scored from predictions", _has_value(entries, figures)),
        ("intervals", "95% intervals", _has_value(entries, [f"{figure}.low" for figure in figures])),
        ("placebo", "Placebo available", _has_value(entries, [f"{figure}.placebo" for figure in figures])),
        ("withheld", "Test labels withheld", not has_public_labels),
    ]
    return [(part, words) for part, words, holds in known if holds]


def _has_value(entries: pl.DataFrame, names: Sequence[str]) -> bool:
    return any(name in entries and entries[name].count() > 0 for name in names)
