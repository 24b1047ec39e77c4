"""Per-domain results of a board: the hardest target and the best source, and whether they depend on a single model."""

from collections.abc import Sequence
from dataclasses import dataclass

from shiftbench.leaderboard.board import Index, find_board
from shiftbench.leaderboard.board.domains import BoardDomains, board_domains
from shiftbench.leaderboard.pages.board_page import choices, views_of
from shiftbench.leaderboard.pages.reported import titles
from shiftbench.leaderboard.pages.shell import render
from shiftbench.leaderboard.pages.task_names import board_name
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.parts import Choice, Gap, GapScale
from shiftbench.scoring.reports.frame.site import notices
from shiftbench.scoring.reports.numbers import metric_name
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.report import InvalidInput, Problem


@dataclass(frozen=True)
class DomainsPage:
    """Content of ``templates/domains.html``; gaps are between models trained on the domain and models of others."""

    benchmarks: Sequence[Choice]
    tasks: Sequence[Choice]
    views: Sequence[Choice]
    notices: Markup
    title: str
    metric: str
    found: BoardDomains
    names: dict[str, str]
    gaps: dict[str, Gap]
    scale: GapScale


def domains_page(index: Index, name: str) -> Markup:
    """Build the page of a board's domains.

    Raises: InvalidInput if there is no such board, or its labels are withheld, since scores by domain would leak them.
    """
    board = find_board(name, index.boards())
    if not board.folder.has_public_labels:
        raise InvalidInput(Problem("labels are withheld, so there are no scores by domain", board.name))
    found = board_domains(index.frame(board))
    benchmarks, tasks = choices(index, board)
    own = {each.domain: _own_models(each.into, each.lost) for each in found.domains}
    gaps = {each.domain: Gap.of(each.domain, own[each.domain], each.into, each.lost) for each in found.domains}
    scale = GapScale.over(each for gap in gaps.values() for each in (gap.home, gap.away))
    page = DomainsPage(
        benchmarks,
        tasks,
        views_of(board, "domains"),
        notices([board.folder]),
        board_name(board),
        metric_name(board.info.metric),
        found,
        titles(board.info),
        gaps,
        scale,
    )
    return render("domains.html", page=page)


def _own_models(into: Estimate, lost: Estimate) -> Estimate:
    """Return the mean score on a domain of models trained on it: the others' score plus their drop."""
    if into.value is None or lost.value is None:
        return Estimate(value=None)
    return Estimate(value=into.value + lost.value)
