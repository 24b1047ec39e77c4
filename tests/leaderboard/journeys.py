"""What people come to a leaderboard for, walked in a browser from the front page: clicks and seconds of each task."""

import re
import time
from collections.abc import Callable, Iterator
from typing import Any


class Walker:
    """Clicks what a reader would, and counts."""

    def __init__(self, page: Any) -> None:
        self.page, self.n_clicks = page, 0

    def click(self, element: Any) -> None:
        """Click something that is in sight, or scrolled to."""
        element.first.click()
        self.n_clicks += 1

    def link(self, name: str | re.Pattern[str], within: str = "main") -> None:
        """Click a link."""
        self.click(self.page.locator(within).get_by_role("link", name=name))

    def board(self) -> None:
        """Go to the board that the front page shows."""
        self.link(re.compile("with ranks and filters$"))
        self.page.locator("#board-rows tbody tr").first.wait_for()

    def entry(self) -> None:
        """Go to the page of the leading model."""
        self.click(self.page.locator(".sb-front-table tbody th a"))
        self.page.get_by_role("heading", level=1).wait_for()


def _best(walker: Walker) -> None:
    """Which model is best on a task, and is it really better than the second? A sentence above the table."""
    walker.board()
    walker.page.get_by_text(re.compile("leads with|is the only ranked|No entry is shown")).first.wait_for()


def _one_set(walker: Walker) -> None:
    """The same on one data set of a task: all columns, sorted by the one of that data set."""
    card = walker.page.locator(".sb-card").get_by_role("link", name="BOSS")
    if not card.count():
        raise LookupError("no benchmark here has such columns")
    walker.click(card)
    walker.link("Named entities")
    walker.link("Full")
    walker.page.locator("table.sb-full").wait_for()
    walker.click(walker.page.locator("table.sb-full thead th a").nth(5))
    walker.page.locator("table.sb-full thead th[aria-sort]:not(.sb-rank)").wait_for()


def _plus(walker: Walker) -> None:
    """What does +2.1 mean?"""
    walker.board()
    walker.click(walker.page.get_by_text("How to read this table"))
    walker.page.get_by_text(re.compile(r"\+2\.1 means 2\.1 points lower")).wait_for()


def _submit(walker: Walker) -> None:
    """Where do I put my model? The form, with its file's field."""
    walker.link("Submit")
    walker.page.get_by_label("Prediction file (required)").wait_for()


def _hardest(walker: Walker) -> None:
    """Which domain is hardest? On the front page."""
    walker.page.get_by_text("Hardest domain:").wait_for()


def _open_weights(walker: Walker) -> None:
    """Only models with open weights: a chip, where some entries have them and some not."""
    walker.board()
    chip = walker.page.get_by_role("link", name="open weights")
    if not chip.count():
        raise LookupError("the entries do not differ in it")
    walker.click(chip)
    walker.page.locator("#board-count", has_text="without filters").wait_for()


def _one_loss(walker: Walker) -> None:
    """What does the leader lose from one domain to another, and is it real? A cell of its matrix."""
    walker.entry()
    walker.click(walker.page.locator("table.sb-cells tbody a:not([aria-current])"))
    walker.page.get_by_text("Significance").wait_for()


def _errors(walker: Walker) -> None:
    """Texts that it got wrong on one shift: a cell opens them."""
    walker.entry()
    walker.click(walker.page.locator("table.sb-cells tbody a:not([aria-current])"))
    walker.page.locator(".sb-examples li").first.wait_for()


def _share(walker: Walker) -> None:
    """The front page's figure as a picture."""
    with walker.page.expect_response(re.compile("/picture.png")):
        walker.link("PNG")


def _cite(walker: Walker) -> None:
    """Cite a model: its BibTeX."""
    walker.entry()
    walker.click(walker.page.locator(".sb-shared summary", has_text="Cite"))
    walker.page.locator("#share-bibtex", has_text="@misc{").wait_for()


def _download(walker: Walker) -> None:
    """Download everything."""
    walker.link("Download everything", within="footer")
    walker.page.get_by_role("link", name="All scores").wait_for()


def _progress(walker: Walker) -> None:
    """How did the best score rise over time?"""
    walker.board()
    walker.link("Scatter plot")
    walker.link("submission")
    walker.page.locator("#board-count", has_text="The line is the best score").wait_for()


TASKS: dict[Callable[[Walker], None], int] = {
    **{_best: 1, _one_set: 4, _plus: 2, _submit: 1, _hardest: 0, _open_weights: 2, _one_loss: 2, _errors: 2},
    **{_share: 1, _cite: 2, _download: 1, _progress: 3},
}
"""The tasks, and the clicks that each may take."""


def walk(chromium: Any, url: str) -> Iterator[tuple[str, int | None, str]]:
    """Do every task, each in a browser that has nothing of the site.

    Yields: the question, the clicks above what it may take (None where it cannot be asked here), and both in a line.
    """
    for task, most in TASKS.items():
        context = chromium.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.goto(url)
        walker, begun = Walker(page), time.perf_counter()
        question = str(task.__doc__).partition("?")[0].partition(":")[0].rstrip(".")
        try:
            task(walker)
        except LookupError as error:
            yield question, None, f"{question}: cannot be asked, {error}"
        else:
            seconds = time.perf_counter() - begun
            yield question, walker.n_clicks - most, f"{question}: {walker.n_clicks} clicks, {seconds:.1f} s"
        context.close()
