"""A ranking as text, tables and one HTML page: ties for first place come before any number."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from shiftbench.scoring.comparing.shape import p_text
from shiftbench.scoring.comparing.unit_ranks import Ranking, Standing, family_counts
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.sentences import sentences
from shiftbench.scoring.reports.numbers import MISSING
from shiftbench.scoring.reports.pictures.rows import rank_intervals, tie_groups
from shiftbench.scoring.reports.plain_tables import PlainTable, report
from shiftbench.validation.csv_export import Cell, guarded_csv
from shiftbench.validation.report import quote_names

_CSV_HEADER = (
    "model", "rank", "rank_low", "rank_high", "score", "tied_first", "win_rate", "win_rank", "win_rank_low",
    "win_rank_high", "units",
)  # fmt: skip


def rank_lines(
    ranking: Ranking, standing: Standing | None = None, *, is_report: bool = False
) -> Iterator[RenderableType]:
    """List the conclusions, the tables, then irregularities in the data.

    Args:
        ranking: the ranking.
        standing: which claims of an earlier table still hold; None without an earlier table.
        is_report: whether to add the table of adjacent pairs.
    """
    n_first = 2 if ranking.left_out else 1  # who is first, preceded by incomplete models
    for number, line in enumerate(answers(ranking)):
        yield Text(f"{line}.", style="bold") if number < n_first else f"{line}."
    if standing is not None:
        yield from (f"{line}." for line in sentences("ranks", "standing", standing))
    yield model_table(ranking)
    if ranking.left_out:
        yield left_out_table(ranking)
    if is_report and ranking.neighbours:
        yield neighbour_table(ranking)
    yield from (f"{note}." for note in ranking.notes)


def rank_csv(ranking: Ranking) -> str:
    """Format a ranking as CSV, one row per model.

    Args:
        ranking: the ranking.

    Returns: CSV text, unrounded; the score of a model without a rank is its mean over the units that it has.
    """
    tied = set(ranking.tied_first)
    rows: list[list[Cell]] = [
        [
            each.name, each.rank, each.best_rank, each.worst_rank, each.score, int(each.name in tied), each.win_rate,
            each.win_rank, each.win_best_rank, each.win_worst_rank, ranking.n_columns,
        ]
        for each in ranking.models
    ]  # fmt: skip
    rows += [[each.name, None, None, None, each.own_mean, None, None, None, None, None, each.n_units]
             for each in ranking.left_out]  # fmt: skip
    return guarded_csv(_CSV_HEADER, rows)


def rank_report(ranking: Ranking, title: str, standing: Standing | None = None) -> Markup:
    """Build the report as one self-contained HTML page, with the plot of ranks before the tables.

    Args:
        ranking: the ranking.
        title: title of the page, such as the file's name.
        standing: as for ``rank_lines``.
    """
    drawn = [rank_intervals(ranking)] if ranking.pairs else []
    return report(title, rank_lines(ranking, standing, is_report=True), "shiftbench logs ranks", pictures=drawn)


def answers(ranking: Ranking) -> list[str]:
    """Write a table's conclusions, a sentence each without a full stop: incomplete models, who is first, the claim."""
    counts = family_counts(ranking)
    large = [(each.name, len(each.models), counts[each.name]) for each in ranking.families if len(each.models) > 2]
    return sentences("ranks", "answers", ranking, large[:3], tie_groups(ranking))


def model_table(ranking: Ranking) -> PlainTable:
    """Build the table of ranked models."""
    rows = []
    tied = set(ranking.tied_first)
    for each in ranking.models:
        ranks = MISSING if each.best_rank is None else f"{each.rank} [{each.best_rank}, {each.worst_rank}]"
        wins = f"{100 * each.win_rate:.1f}%"
        win_ranks = MISSING if each.win_best_rank is None else (
            f"{each.win_rank} [{each.win_best_rank}, {each.win_worst_rank}]"
        )  # fmt: skip
        rows.append((each.name + (" *" if each.name in tied else ""), f"{each.score:.4g}", ranks, wins, win_ranks))
    title = "Models by mean; brackets: simultaneous 95% rank intervals; * tied for first"
    return PlainTable(title, ("Model", "Mean", "Rank", "Win rate", "Rank by win rate"), rows)


def left_out_table(ranking: Ranking) -> PlainTable:
    """Build the table of models without a rank, compared on common units."""
    rows = []
    for each in ranking.left_out:
        pair = each.against_first
        against = MISSING if pair is None else f"{pair.difference:+.4g} (p {p_text(pair.p_corrected)})"
        lacking = quote_names(each.missing, 2)
        decided = f"{each.better_than} / {each.worse_than} / {each.undecided}"
        rows.append((each.name, str(each.n_units), lacking, f"{each.own_mean:.4g}", decided, against))
    head = ("Model", "Units", "Lacks", "Mean of its units", "Better / worse / undecided", "Against the first")
    title = "Not ranked: compared with ranked models on shared units"
    return PlainTable(title, head, rows, texts=("Lacks",))


def neighbour_table(ranking: Ranking) -> PlainTable:
    """Build the table of adjacent pairs."""
    rows = [
        (
            each.a,
            each.b,
            f"{each.difference:.4g}" + (f" [{each.low:.3g}, {each.high:.3g}]" if each.low is not None else ""),
            p_text(each.p),
            p_text(each.p_corrected),
        )
        for each in ranking.neighbours
    ]
    title = "Adjacent models: difference with pointwise 95% interval, p, and p corrected over all pairs"
    return PlainTable(title, ("Model", "Next", "Difference", "p", "p (corrected)"), rows, n_names=2)


def undecided_first(ranking: Ranking) -> str | None:
    """Return why the first place is not significant; None if it is."""
    if ranking.no_ranks:
        return f"the first place is undecided: {ranking.no_ranks}"
    if len(ranking.tied_first) > 1:
        return f"the first place is undecided: {len(ranking.tied_first)} models are tied"
    return None
