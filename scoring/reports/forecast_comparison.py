"""Methods of forecasting beside each other, as tables of text in points."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from shiftbench.metrics.forecast_errors import MIN_DOMAINS
from shiftbench.scoring.comparing.shape import p_text
from shiftbench.scoring.forecasting.comparison import BOARDS_ARE_ALIKE
from shiftbench.scoring.forecasting.errors import sort_methods
from shiftbench.scoring.forecasting.methods import FLOORS, TITLES
from shiftbench.scoring.forecasting.shape import BoardStandings, MethodComparison, MethodErrors
from shiftbench.scoring.reports.numbers import plain_points
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.validation.report import counted

CANNOT_TELL = "cannot tell"
_UNTESTED = "?"
_FEW = f"{_UNTESTED} {CANNOT_TELL}: with fewer than {MIN_DOMAINS} target domains no test over them can be significant."
_SKILL = (
    "Int. score: Winkler's interval score, lower is better. Skill: share of a floor's error that a method saves, and p "
    "of a paired test over target domains."
)
_HELD = (
    "Held: target domains in which the share of shifts inside was at least the level (behind the comma), each domain "
    "left out of what set its intervals; inside: that share, its mean over domains, and its 95% interval over domains."
)
_SET_ON = (
    "Intervals of the other boards are set on the domains of {board}: it is assumed that methods are as far off on "
    "theirs. Held and inside test this assumption."
)


def standings_table(part: BoardStandings) -> PlainTable:
    """Build the table of a board: a row a method, in the order of ``sort_methods``."""
    name = part.board or ("all boards" if part.set_on is None else f"all boards but {part.set_on}")
    of = f"{name}: forecasts against truth, {counted(len(part.models), 'model')}"
    return method_table(of if part.set_on is None else f"{of}; intervals set on {part.set_on}", part.standings)


def method_table(title: str, errors: Sequence[MethodErrors]) -> PlainTable:
    """Build the table of how methods did where labels are known, in points, in the order of ``sort_methods``."""
    is_ranked = any(each.rank_correlation is not None for each in errors)
    skills = ("skill, source", "skill, drop")
    head = ("method", "domains", "error", "bias", "int. score", "held", "inside", "interval", *skills)
    rows = []
    for each in sort_methods(errors):
        ranks = "" if each.rank_correlation is None else f"{each.rank_correlation:.2f}"
        rows.append((*_row(each), ranks) if is_ranked else _row(each))
    return PlainTable(title, (*head, "rank corr.") if is_ranked else head, rows, n_names=1)


def _row(each: MethodErrors) -> tuple[str, ...]:
    against: list[str] = []
    for floor in FLOORS:
        saved, p = each.skill.get(floor), each.p.get(floor)
        test = _UNTESTED if p is None else f"({p_text(p)})"
        against.append("" if saved is None else f"{saved:+.2f} {test}")
    held = share = ends = ""
    if each.held is not None:
        held = f"{each.held.held}/{each.held.n_domains}, {100 * each.held.level:.0f}%"
        share = f"{plain_points(each.held.share, 0)}%"
        ends = f"{plain_points(each.held.low, 0)}-{plain_points(each.held.high, 0)}"  # without spaces: cells wrap there
    return (
        TITLES.get(each.method, each.method),
        str(each.n_domains),
        plain_points(each.error),
        plain_points(each.bias, signed=True),
        "" if each.interval_score is None else plain_points(each.interval_score),
        held,
        share,
        ends,
        *against,
    )


def comparison_notes(found: MethodComparison) -> Iterator[str]:
    """List what is to be known of a comparison."""
    yield _HELD
    yield _SKILL
    for board in dict.fromkeys(part.set_on for part in found.boards if part.set_on is not None):
        yield _SET_ON.format(board=board)
    if any(None in each.p.values() for part in found.boards for each in part.standings):
        yield _FEW
    if any(part.board is None for part in found.boards):
        yield BOARDS_ARE_ALIKE
    for line in found.left_out:
        yield f"Left out: {line}."
    yield found.concept_shift


def method_comparison_lines(found: MethodComparison) -> Iterator[RenderableType]:
    """List a table a board, then what is to be known of them."""
    yield from map(standings_table, found.boards)
    yield from comparison_notes(found)
