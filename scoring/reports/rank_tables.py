"""A ranking as text, tables and one HTML page: ties for first place come before any number."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from shiftbench.metrics.ranking import MIN_UNITS
from shiftbench.scoring.comparing.shape import p_text
from shiftbench.scoring.comparing.unit_ranks import Ranking, Standing, family_counts
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.numbers import MISSING
from shiftbench.scoring.reports.pictures.rows import rank_intervals, tie_groups
from shiftbench.scoring.reports.plain_tables import PlainTable, report
from shiftbench.validation.csv_export import Cell, guarded_csv
from shiftbench.validation.report import counted, quote_names

_MOST = 8
"""Maximum number of names listed in a sentence; the tables and the JSON have all."""
_HOPELESS = 100
_CSV_HEADER = (
    "model", "rank", "rank_low", "rank_high", "score", "tied_first", "win_rate", "win_rank", "win_rank_low",
    "win_rank_high", "units",
)  # fmt: skip
_ONE = {"items": "item", "tasks": "task", "clusters": "cluster", "families": "family"}


def rank_lines(
    ranking: Ranking, standing: Standing | None = None, *, is_report: bool = False
) -> Iterator[RenderableType]:
    """List the conclusions, the tables, then irregularities in the data.

    Args:
        ranking: the ranks.
        standing: which claims of an earlier table still hold.
        is_report: whether to add a table of adjacent pairs.
    """
    n_first = 2 if ranking.left_out else 1  # who is first, preceded by incomplete models
    for number, line in enumerate(answers(ranking)):
        yield Text(f"{line}.", style="bold") if number < n_first else f"{line}."
    if standing is not None:
        yield from (f"{line}." for line in standing_words(standing))
    yield model_table(ranking)
    if ranking.left_out:
        yield left_out_table(ranking)
    if is_report and ranking.neighbours:
        yield neighbour_table(ranking)
    yield from (f"{note}." for note in ranking.notes)


def rank_csv(ranking: Ranking) -> str:
    """Format one CSV row per model, unrounded; models without a rank have their mean over their own units."""
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
    """Build the report as one self-contained HTML page, with the plot of ranks before the tables."""
    drawn = [rank_intervals(ranking)] if ranking.pairs else []
    return report(title, rank_lines(ranking, standing, is_report=True), "shiftbench logs ranks", pictures=drawn)


def answers(ranking: Ranking) -> Iterator[str]:
    """Write a table's conclusions, a sentence each without a full stop: incomplete models, who is first, the claim."""
    yield from _left_out_words(ranking)
    n = len(ranking.models)
    unit = _ONE[ranking.unit]
    if ranking.no_ranks:
        yield f"No ranks: {ranking.no_ranks}. '{ranking.models[0].name}' has the highest mean, which decides nothing"
        return
    first = ranking.models[0]
    if len(ranking.tied_first) == 1:
        others = f"each of the other {n - 1:,} ranked models" if n > 2 else "the other model"
        yield f"'{first.name}' is first: it is told apart from {others}"
    else:
        names = quote_names(ranking.tied_first, _MOST)
        yield f"{len(ranking.tied_first)} of {counted(n, 'ranked model')} are tied for first: {names}"
    mean = "standardised scores" if ranking.standardised else "raw scores"
    how_many = f"{ranking.n_units:,} {ranking.unit if ranking.n_units != 1 else unit}"
    yield f"The claim: {ranking.claim}. Unit: {unit} ({how_many}); score: mean of {mean}"
    n_pairs, verb = len(ranking.neighbours), "is" if ranking.decided == 1 else "are"
    yield (
        f"Of {counted(n_pairs, 'pair')} of neighbours {ranking.decided} {verb} decided with all pairs "
        f"corrected, {ranking.decided_uncorrected} each by itself"
    )
    yield from _needed_words(ranking)
    yield from _without_words(ranking)
    yield from _win_words(ranking)
    yield from _family_words(ranking)


def _left_out_words(ranking: Ranking) -> Iterator[str]:
    if not ranking.left_out:
        return
    n = len(ranking.left_out)
    total = n + len(ranking.models)
    ahead = "none of them has a higher mean over its own units than the first has over all"
    if ranking.leads_left_out is not None:
        ahead = (
            f"'{ranking.leads_left_out}', whose mean over its own units is the highest of all, is among them: that "
            "mean is over other units, and is no rank"
        )
    yield f"{n} of {counted(total, 'model')} lack scores and have no rank; {ahead}"


def _needed_words(ranking: Ranking) -> Iterator[str]:
    needed = ranking.needed
    if needed is None:
        return
    pair = ranking.neighbours[0]
    if pair.p_corrected is not None and pair.p_corrected <= 0.05:
        return
    names = f"'{needed.first}' and '{needed.second}'"
    if needed.about is None:
        yield f"{names} have equal means: no number of {ranking.unit} is known to decide between them"
        return
    about = f"some {needed.about:,} {ranking.unit}"
    if needed.about > _HOPELESS * ranking.n_units:
        about = f"more than {_HOPELESS} times as many {ranking.unit}"
    yield (
        f"To decide between {names} {about} would be needed if they differ as here, and {needed.at_least:,} at the "
        f"very least (now {ranking.n_units:,})"
    )


def _without_words(ranking: Ranking) -> Iterator[str]:
    others = [each for each in ranking.without if each.first != ranking.models[0].name]
    if others:
        listed = ", ".join(f"'{each.unit}' (then '{each.first}')" for each in others[:3])
        unit = ranking.without_by if len(others) != 1 else _ONE[ranking.without_by]
        yield f"Left out in turn, {len(others)} {unit} would put another model first: {listed}" + (
            f" and {len(others) - 3} more" if len(others) > 3 else ""
        )
    else:
        yield f"'{ranking.models[0].name}' has the highest mean whichever of the {ranking.without_by} is left out"
    ordered = sorted((each for each in ranking.without if each.changed), key=lambda each: -(each.changed or 0.0))
    if ordered:
        listed = ", ".join(f"'{each.unit}' ({100 * (each.changed or 0):.1f}%)" for each in ordered[:3])
        yield f"The order hangs most on {listed}: pairs that change places without it"


def _win_words(ranking: Ranking) -> Iterator[str]:
    best = min(ranking.models, key=lambda each: each.win_rank)
    tied = len(ranking.win_tied_first)
    same = "also first" if best.name == ranking.models[0].name else f"not the first: '{best.name}' is"
    depends = f"{100 * ranking.changed_by_win_rate:.1f}% of pairs change places"
    opposite = f"; {counted(ranking.opposite, 'pair')} would be decided in opposite ways" if ranking.opposite else ""
    beside = "alone" if tied == 1 else f"{tied} tied"
    yield f"By win rate '{ranking.models[0].name}' is {same} ({beside}); {depends}{opposite}"


def _family_words(ranking: Ranking) -> Iterator[str]:
    if ranking.duplicates:
        listed = "; ".join(quote_names(each, 4) for each in ranking.duplicates[:3])
        yield f"Equal on every unit, perhaps one model under several names: {listed}"
    counts = family_counts(ranking)
    large = [family for family in ranking.families if len(family.models) > 2][:3]
    if large:
        listed = ", ".join(f"{each.name}* ({len(each.models)}, tied for first {counts[each.name]})" for each in large)
        yield f"Models of one family, by their names: {listed}"
    groups = [
        f"'{ranking.models[first].name}' to '{ranking.models[last].name}' ({last - first + 1})"
        for first, last in tie_groups(ranking)
    ]
    if groups:
        shown = "; ".join(groups[:3]) + (f"; and {len(groups) - 3} more" if len(groups) > 3 else "")
        yield f"{counted(len(groups), 'group')} of neighbours not told apart: {shown}"


def standing_words(standing: Standing) -> Iterator[str]:
    """Write which claims of an earlier table still hold."""
    if standing.entered:
        yield f"New: {quote_names(standing.entered, _MOST)}"
    if standing.gone:
        yield f"No longer ranked: {quote_names(standing.gone, _MOST)}"
    if standing.changed:
        yield f"Scores differ from the earlier table's: {quote_names(standing.changed, _MOST)}"
    held = sum(each.holds for each in standing.claims)
    yield f"Of {counted(len(standing.claims), 'claim')} of the earlier table {held} still hold"
    yield from (f"No longer: {each.claim}" for each in standing.claims if not each.holds)
    yield f"Of {counted(standing.n_pairs, 'pair')} that it decided {standing.n_held} are still decided so"


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
    title = "Models, best mean first; brackets: ranks, all at once with 95%; * tied for first"
    return PlainTable(title, ("Model", "Mean", "Rank", "Win rate", "Rank by it"), rows)


def left_out_table(ranking: Ranking) -> PlainTable:
    """Build the table of models without a rank, compared on common units."""
    rows = []
    for each in ranking.left_out:
        pair = each.against_first
        against = MISSING if pair is None else f"{pair.difference:+.4g} (p {p_text(pair.p_corrected)})"
        lacking = quote_names(each.missing, 2)
        decided = f"{each.better_than} / {each.worse_than} / {each.undecided}"
        rows.append((each.name, str(each.n_units), lacking, f"{each.own_mean:.4g}", decided, against))
    head = ("Model", "Units", "Lacks", "Own mean", "Better / worse / undecided", "Against the first")
    title = "Without a rank: compared with ranked models on the units that both have"
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
    title = "Neighbours: difference with its own 95% interval, p by itself, and corrected over all pairs"
    return PlainTable(title, ("Model", "Next", "Difference", "p", "p (corrected)"), rows, n_names=2)


def undecided_first(ranking: Ranking) -> str | None:
    """Return why the first place is not significant; None if it is."""
    if ranking.no_ranks:
        return f"first is undecided: {ranking.no_ranks} (at least {MIN_UNITS})"
    if len(ranking.tied_first) > 1:
        return f"first is undecided: {len(ranking.tied_first)} models are tied"
    return None
