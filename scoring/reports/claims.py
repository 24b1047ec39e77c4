"""What checking a claim again found, for a terminal."""

from collections import Counter
from collections.abc import Iterator

from rich.console import RenderableType

from shiftbench.scoring.comparing.claims import Claim, ClaimCheck, FigureCheck, Status
from shiftbench.scoring.comparing.shape import Difference, p_text
from shiftbench.scoring.reports.numbers import MISSING, plain_points
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.validation.report import counted

_COUNTED: dict[Status, str] = {"agrees": "as claimed", "moved": "moved", "differs": "differ"}


def claim_lines(claim: Claim, checked: ClaimCheck) -> Iterator[RenderableType]:
    """List every figure as claimed and as found, what else is not as claimed, and whether the claim holds.

    Args:
        claim: the claim.
        checked: what ``shiftbench.scoring.comparing.claims.check_claim`` found of it.
    """
    for pair in dict.fromkeys(each.pair for each in checked.figures):
        rows = [_row(each) for each in checked.figures if each.pair == pair]
        head = ("over", "figure", "claimed", "p", "found", "p", "")
        yield PlainTable(f"{pair} in points, p corrected", head, rows)
    yield from (f"{fact.what} differs: claimed {fact.claimed}; found {fact.found}" for fact in checked.facts)
    if checked.moved_by:
        moved = ", ".join(f"{each.what} {each.claimed} -> {each.found}" for each in checked.moved_by)
        when = "Whether the claim was right when it was made,"
        yield f"{moved}: figures may move. {when} {claim.package} alone can check."
    yield _verdict(checked)


def _row(check: FigureCheck) -> list[str]:
    status = check.status if check.stands else f"{check.status}: another conclusion"
    return [check.where, check.figure, *_cells(check.claimed), *_cells(check.found), status]


def _cells(difference: Difference | None) -> tuple[str, str]:
    if difference is None:
        return "not there", MISSING
    return plain_points(difference.value, 2, signed=True), p_text(difference.p_corrected)


def _verdict(checked: ClaimCheck) -> str:
    counts = Counter(each.status for each in checked.figures)
    parts = ", ".join(f"{counts[status]} {word}" for status, word in _COUNTED.items() if counts[status])
    figures = f"{counted(len(checked.figures), 'figure')}: {parts}"
    fallen = sum(not each.stands for each in checked.figures)
    stands = "every conclusion stands" if not fallen else f"{counted(fallen, 'conclusion')} fallen"
    return f"{'The claim holds' if checked.holds else 'The claim does not hold'}. {figures}; {stands}."
