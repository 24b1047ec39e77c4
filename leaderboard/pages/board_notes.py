"""What stands below a board's table: how to read it, what data it is on, and which entries have no scores."""

from collections.abc import Sequence

from shiftbench.leaderboard.board import Board, Unscored
from shiftbench.leaderboard.pages.addresses import entry_address
from shiftbench.leaderboard.pages.board_cells import legend_keys
from shiftbench.scoring.reports.cells import fact_list
from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.numbers import count, metric_name
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.scoring.scores.summary import depth_encoder_name

_RELEASED = (
    "Test labels are withheld. Four times a year the entry that each account has nominated is scored on the ranking "
    "half of the labels; between rounds nothing here depends on it. Figures are points (\N{MULTIPLICATION SIGN}100), "
    "and stay as the round released them. A place counts the entries ahead by more than a step: one point, or two "
    "standard errors of their difference if that is more. The leading set is all that ties statistically with the best "
    "score of all, at 95% for all entries at once; which it is, is not released. Half of the texts make intervals "
    "wider by a factor of 1.4."
)


_FIGURES = (
    "All figures are points (\N{MULTIPLICATION SIGN}100). The small number after a figure is half the width of its 95% "
    "interval over resampled test texts, for the same trained models; 'Intervals in full' shows both ends.",
    "Below a figure: the bar is its interval, the mark its value, and the ring its value on the placebo, "
    "where the same "
    "texts are dealt to domains at random, so that there is no shift. All pictures of a column have one scale, that of "
    "the ranked entries.",
    "A figure has no interval where a test set has too few groups of texts, or too few texts of a class; a rank that "
    "depends on it has none either.",
)
_DROPS = (
    "A drop with a plus sign is a loss: +2.1 means 2.1 points lower than without the shift. The source "
    "drop (SD) compares "
    "with the same model on the domain that it was trained on, so a target that is simply harder looks like harm. The "
    "target drop (TD) compares with a model trained on the target, so it is the harm of the shift alone.",
    "The interval of a worst drop covers the drops of all shifts at once, so it is wider than that of the "
    "single shift on "
    "the entry's page.",
)
_RANKS = (
    "Ranked are entries that cover every shift, and models trained on none of the domains (zero-shot, few-shot) that "
    "predict every target; each target has the same weight in both means. Below them stand entries that "
    "lack something, "
    "and figures that papers report, which were not scored here.",
    "The bracket beside a rank holds the ranks that the entry may have with 95% confidence. With 5 or "
    "more runs (seeds) "
    "of every source this holds for training the model again; with fewer, for these trained models.",
    "However the table is sorted, missing values come last, and so do drops of entries that score at chance.",
)


def legend(board: Board) -> Markup:
    """Build the folded words on how to read a board's table."""
    if not board.folder.has_public_labels:
        return tag(
            "details",
            tag("summary", "How to read this table"),
            tag("p", _RELEASED),
            class_="sb-legend",
        )
    has_drops = board.info.joined_source is None
    lines = [*_FIGURES, *(_DROPS if has_drops else ()), *_RANKS]
    is_grid = has_drops and board.info.id_domain is None
    keys = [legend_keys()] if is_grid else []
    reading = tag("ul", *(tag("li", line) for line in lines))
    return tag("details", tag("summary", "How to read this table"), reading, *keys, class_="sb-legend")


def about_data(board: Board) -> Markup:
    """Build the folded facts of a board's data."""
    info = board.info
    tests = {domain: facts.splits["test"].rows for domain, facts in info.domains.items() if "test" in facts.splits}
    total = info.subsets.get(board.subset, sum(tests.values()))
    facts: list[tuple[str, str | Markup]] = [
        ("Metric", metric_name(info.metric)),
        ("Domains", f"{len(tests)}: {', '.join(tests)}"),
        ("Test texts", count(total) + ("" if board.subset == "all" else f" (subset {board.subset})")),
        ("Data version", board.folder.content_hash[:12]),
    ]
    absent = [*info.absent_domains, *(f"{domain} (train only)" for domain in info.domains if domain not in tests)]
    if absent:
        facts.append(("Not in this build", ", ".join(absent)))
    facts += [("Metric version", METRIC_VERSION), ("Encoder of depths", depth_encoder_name(board.folder) or "none")]
    return tag("details", tag("summary", "Data of this board"), fact_list(facts, "sb-strip"), class_="sb-legend")


def unscored_list(unscored: Sequence[Unscored]) -> Markup:
    """List the entries without scores, with the reasons; nothing where there are none."""
    if not unscored:
        return Markup("")
    lines = [
        tag("li", tag("a", item.name, href=entry_address(item.id)), ": " + "; ".join(item.reasons))
        for item in unscored[:100]
    ]
    if len(unscored) > len(lines):
        lines.append(tag("li", f"and {len(unscored) - len(lines):,} more"))
    head = tag("summary", f"Not scored on this server ({len(unscored):,})")
    return tag("details", head, tag("ul", *lines), class_="sb-unscored")
