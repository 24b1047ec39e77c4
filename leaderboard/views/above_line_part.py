"""The part of an entry's page that compares it with the line through the board's other entries."""

from leaderboard.board.effective import AboveLine
from leaderboard.views.html import Markup, tag
from leaderboard.views.numbers import drop_text, points

_ABOUT = (
    "A better model is nearly always better under shift too. Effective robustness is the score under shift above what "
    "the line of logit(OOD) on logit(ID) through the board's other entries expects at this entry's ID score; without "
    "an ID domain, of mean ST on mean SS. Its 95% interval is over test texts and over the line."
)


def above_line_part(found: AboveLine) -> Markup:
    """Write an entry's effective robustness, in points, as a section of its page."""
    facts = [
        ("Effective robustness", drop_text(found.effective)),
        ("Expected score", points(found.expected)),
        ("Entries behind the line", str(found.n_others)),
    ]
    tiles = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts]
    extended = "This entry's ID score lies beyond all of theirs: only the line's extension speaks."
    said = [tag("p", _ABOUT, class_="sb-soft"), *([tag("p", extended, class_="sb-soft")] if found.is_extended else [])]
    return tag(
        "section",
        tag("h2", "Against the line of other entries"),
        *said,
        tag("dl", *tiles, class_="sb-tiles sb-small"),
        class_="sb-section",
    )
