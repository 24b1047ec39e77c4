"""The page that says what is measured, what is ranked, what to cite, and how to use the leaderboard from programs."""

from shiftbench.builders.folder.citations import cite
from shiftbench.builders.folder.papers import DEPTH_F1, PAPERS
from shiftbench.leaderboard.pages.shell import render
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.numbers import count


def about_page(n_entries: int, updated: str | None) -> Markup:
    """Build the page that explains measures, ranks, downloads and endpoints."""
    papers = [cite(key) for key in (*PAPERS.values(), DEPTH_F1)]
    return render("about.html", papers=papers, n_entries=count(n_entries), updated=updated)
