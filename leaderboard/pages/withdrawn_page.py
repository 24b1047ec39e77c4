"""What stands at the address of an entry that its sender withdrew."""

from shiftbench.leaderboard.pages.addresses import BOARD
from shiftbench.scoring.reports.frame.html import Markup, tag


def withdrawn_page(identity: str, withdrawn_at: str) -> Markup:
    """Build the page of a withdrawn entry: when it was withdrawn, and nothing else of it.

    Args:
        identity: the entry's id.
        withdrawn_at: ISO 8601, or empty where that cannot be read.
    Returns: what stands below the page's head.
    """
    day = f" on {withdrawn_at[:10]}" if withdrawn_at else ""
    words = f"The person who submitted this entry withdrew it{day}. It is on no board, and its address stays."
    return tag(
        "div",
        tag("h1", "Withdrawn entry", class_="sb-name"),
        tag("p", identity, class_="sb-by sb-mono"),
        tag("p", words),
        tag("p", tag("a", "See the board", href=BOARD, class_="sb-button"), class_="sb-actions"),
        class_="sb-entry",
    )
