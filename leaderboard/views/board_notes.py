"""What stands below a board's table: how to read it, what data it is on, and which entries have no scores."""

from collections.abc import Sequence

from leaderboard.board import Board, Unscored
from leaderboard.scoring.shape import METRIC_VERSION
from leaderboard.scoring.summary import depth_encoder_name
from leaderboard.views.addresses import entry_address
from leaderboard.views.board_cells import legend_keys
from leaderboard.views.cells import fact_list
from leaderboard.views.html import Markup, tag
from leaderboard.views.numbers import count, metric_name

_RELEASED = (
    "Test labels are withheld. Four times a year the entry that each account has nominated is scored on the ranking "
    "half of the labels; between rounds nothing here depends on it. Figures are points (\N{MULTIPLICATION SIGN}100), "
    "and stay as the round released them. A place counts the entries ahead by more than a step: one point, or two "
    "standard errors of their difference if that is more. The leading set is what is not told apart from the best "
    "score of all, at 95% for all entries at once; which of it that is stays untold. Half of the texts make intervals "
    "wider by the root of 2."
)


def legend(board: Board) -> Markup:
    """Build the folded words on how to read a board's table."""
    reading = (
        "All figures are points (\N{MULTIPLICATION SIGN}100). After each stands half the width of its 95% interval "
        "over resampled test texts, the same trained models; 'Intervals in full' shows both ends. Below it the bar is "
        "the interval, the mark the value, and the ring the same figure on the task's placebo, where domains are dealt "
        "at random and no shift is left. Pictures of a column share one scale, of the ranked rows. "
        "Where test sets have too few groups, or too few texts of a class, a figure has no interval, and a rank made "
        "of it has none either. "
    )
    ranks = (
        "Entries that cover every shift are ranked, and so are models trained on none of the domains (zero-shot, "
        "few-shot) that predict every target: the targets weigh alike in both means. Partial ones stand below with "
        "what is missing, and so do figures "
        "that papers report, which were not scored here. The bracket beside a rank holds the ranks that the entry may "
        "have with 95% confidence: as a recipe with 5 runs (seeds) or more of every source, with fewer among these "
        "trained models, since training variance is not measured then. A missing value is last whichever way the table "
        "is sorted, and so are the drops of entries at chance."
    )
    drops = (
        "A drop measured against the source (SD) mixes the harm of the shift with the target simply being harder; "
        "measured against a model trained on the target itself (TD) it does not. A plus sign means score was lost. "
        "The interval of a worst drop holds the drops of all shifts at once, so it is wider than that shift's own on "
        "the entry's page."
    )
    if not board.folder.has_public_labels:
        return tag(
            "details",
            tag("summary", "How to read this table"),
            tag("p", _RELEASED),
            class_="sb-legend",
        )
    has_drops = board.info.joined_source is None
    parts = [tag("p", reading, ranks), *([tag("p", drops)] if has_drops else [])]
    is_grid = has_drops and board.info.id_domain is None
    parts += [legend_keys()] if is_grid else []
    return tag("details", tag("summary", "How to read this table"), *parts, class_="sb-legend")


def about_data(board: Board) -> Markup:
    """Build the folded facts of a board's data."""
    info = board.info
    tests = {domain: facts.splits["test"].rows for domain, facts in info.domains.items() if "test" in facts.splits}
    total = info.subsets.get(board.subset, sum(tests.values()))
    facts: list[tuple[str, str | Markup]] = [
        ("Metric", metric_name(info.metric)),
        ("Domains", f"{len(tests)}: {', '.join(tests)}"),
        ("Test texts", count(total) + ("" if board.subset == "all" else f" (subset {board.subset})")),
        ("Data", board.folder.content_hash[:12]),
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
