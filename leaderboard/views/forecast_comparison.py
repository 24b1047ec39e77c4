"""Methods of forecasting beside each other, as tables of text in points."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from leaderboard.comparing.shape import p_text
from leaderboard.forecasting.methods import FLOORS, TITLES
from leaderboard.forecasting.shape import BoardStandings, MethodComparison, Standing
from leaderboard.metrics.forecast_errors import MIN_DOMAINS
from leaderboard.views.numbers import plain_points
from leaderboard.views.plain_tables import PlainTable
from leaderboard.views.terminal import print_table
from validation.report import counted

if TYPE_CHECKING:
    from rich.console import Console

CANNOT_TELL = "?"
_FEW = f"{CANNOT_TELL} cannot tell: with fewer than {MIN_DOMAINS} target domains no test over them can be significant."
_SKILL = "Skill: share of a floor's error that a method saves; with p of a paired test over target domains."
_ASSUMED = "Over all boards it is assumed that domains of different tasks are alike in how methods do."


def standings_table(part: BoardStandings) -> PlainTable:
    """Build the table of a row a method, the smallest mean error first."""
    skills = ("skill, source (p)", "skill, drop (p)")
    head = ("method", "domains", "error", "bias", "interval score", "held", *skills, "rank corr.")
    rows = [_row(each) for each in sorted(part.standings, key=lambda each: each.error)]
    name = part.board or "all boards"
    return PlainTable(f"{name}: forecasts against truth, {counted(len(part.models), 'model')}", head, rows, n_names=1)


def _row(each: Standing) -> tuple[str, ...]:
    against: list[str] = []
    for floor in FLOORS:
        saved = each.skill.get(floor)
        p = each.p.get(floor)
        told = CANNOT_TELL if p is None else f"({p_text(p)})"
        against.append("" if saved is None else f"{saved:+.2f} {told}")
    return (
        TITLES.get(each.method, each.method),
        str(each.n_units),
        plain_points(each.error),
        plain_points(each.bias, signed=True),
        "" if each.interval_score is None else plain_points(each.interval_score),
        "" if each.held is None else f"{each.held}/{each.n_intervals}",
        *against,
        "" if each.rank_correlation is None else f"{each.rank_correlation:.2f}",
    )


def comparison_notes(found: MethodComparison) -> Iterator[str]:
    """List what is to be known of a comparison."""
    yield _SKILL
    if any(None in each.p.values() for part in found.boards for each in part.standings):
        yield _FEW
    if any(part.board is None for part in found.boards):
        yield _ASSUMED
    for line in found.left_out:
        yield f"Left out: {line}."
    yield found.concept_shift


def print_method_comparison(found: MethodComparison, console: "Console") -> None:
    """Print a table a board, then what is to be known of them."""
    for part in found.boards:
        table = standings_table(part)
        print_table(console, table.title, table.head, table.rows)
    for line in comparison_notes(found):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
