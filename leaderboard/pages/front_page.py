"""The front page: a heading, a picture of the gaps on one task, headline results, and links."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from shiftbench.leaderboard.board import Benchmark, Index
from shiftbench.leaderboard.board.domains import BoardDomains, board_domains
from shiftbench.leaderboard.pages import addresses
from shiftbench.leaderboard.pages.addresses import board_address, entry_address
from shiftbench.leaderboard.pages.board_answer import Answer, answer
from shiftbench.leaderboard.pages.board_columns import columns_of
from shiftbench.leaderboard.pages.board_page import fullest_board, gap_keys, no_data, overall_address, share_of
from shiftbench.leaderboard.pages.board_query import RANKED
from shiftbench.leaderboard.pages.board_table import Row, board_row, gap_scale, store_notes
from shiftbench.leaderboard.pages.reported import titles
from shiftbench.leaderboard.pages.shell import Share, render
from shiftbench.leaderboard.pages.task_names import benchmark_name, board_name, task_name
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.parts import Card, GapScale
from shiftbench.scoring.reports.frame.site import notices
from shiftbench.scoring.reports.numbers import metric_name, points

MOST_LINES = 8


@dataclass(frozen=True)
class Front:
    """Content of ``templates/front.html``; the board's fields are empty if no entry is ranked."""

    notices: Markup
    state: Sequence[tuple[str, str]]
    cards: Sequence[Card]
    title: str = ""
    text: str = ""
    board_title: str = ""
    board_address: str = ""
    metric: str = ""
    lines: Sequence[Row] = ()
    n_more: int = 0
    scale: GapScale | None = None
    answer: Answer | None = None
    share: Share | None = None
    lead: float | None = None
    domains: BoardDomains | None = None
    domains_board: str = ""
    names: dict[str, str] | None = None
    n_losses: int = 0
    loss: float | None = None
    placebo: float | None = None


def front_page(index: Index, title: str = "", text: str = "", base: str = "") -> Markup:
    """Build the front page: the board with most ranked models, and a card for each benchmark.

    ``title`` and ``text`` are the host's, replacing the project's; ``base`` is the server's own URL.
    """
    benchmarks = index.benchmarks()
    if not benchmarks:
        return no_data()
    cards = [_card(index, each) for each in benchmarks]
    shown = fullest_board(index, [board for each in benchmarks for board in each.boards])
    ranked = index.frame(shown).filter("complete")
    if ranked.is_empty():
        return render("front.html", page=Front(notices([shown.folder]), store_notes(index), cards, title, text))
    home, away, loss = gap_keys(shown)
    benchmark = next(each for each in benchmarks if shown in each.boards)
    skilled = ranked.filter(~pl.col("at_floor").fill_null(value=False))
    table = (ranked if skilled.is_empty() else skilled).with_columns(
        group=pl.lit(RANKED), reported=pl.lit(None, pl.String), nearly_same_as=pl.lit(None, pl.String)
    )
    losses = skilled.select(loss, f"{loss}.placebo").drop_nulls()
    scores = ranked[away].to_list()
    columns = [column for column in columns_of(shown) if column.kind == "drop" and column.is_simple]
    page = Front(
        notices([shown.folder]),
        store_notes(index),
        cards,
        title,
        text,
        board_title=f"{benchmark_name(benchmark)}, {task_name(shown).lower()}",
        board_address=board_address(shown.name),
        metric=metric_name(shown.info.metric),
        lines=[
            board_row(row, shown, columns, (home, away, loss)) for row in table.head(MOST_LINES).iter_rows(named=True)
        ],
        n_more=ranked.height - min(table.height, MOST_LINES),
        scale=gap_scale(table.head(0), table.head(MOST_LINES), home, away),
        answer=answer(
            ranked,
            "under shift",
            lambda row: entry_address(row["id"], shown.task),
            has_public_labels=shown.folder.has_public_labels,
        ),
        share=share_of(index, shown, base, addresses.BOARD),
        lead=scores[0] - scores[1] if len(scores) > 1 else None,
        domains=board_domains(ranked) if shown.folder.has_public_labels else None,
        domains_board=shown.name,
        names=titles(shown.info),
        n_losses=losses.height,
        loss=_mean(losses, loss),
        placebo=_mean(losses, f"{loss}.placebo"),
    )
    return render("front.html", page=page)


def _mean(frame: pl.DataFrame, name: str) -> float | None:
    value = frame[name].mean()
    return value if isinstance(value, float) else None


def _card(index: Index, benchmark: Benchmark) -> Card:
    """Build a benchmark's card: its entries, tasks, domains, newest entry, and the leader of its ``fullest_board``."""
    board = fullest_board(index, benchmark.boards)
    best = next(index.frame(board).lazy().filter("complete").head(1).collect().iter_rows(named=True), None)
    every = pl.concat([index.frame(each).select("id", "date") for each in benchmark.boards]).unique("id")
    domains = {domain for each in benchmark.boards for domain in each.info.domains}
    facts = [("Entries", f"{every.height:,}")] if every.height else []
    facts += [("Tasks", ", ".join(board_name(each).lower() for each in benchmark.boards))]
    facts += [("Domains", f"{len(domains):,}")]
    newest = every["date"].max()
    facts += [("Newest", str(newest))] if newest else []
    if best is not None and not best["at_floor"]:
        facts.insert(0, ("Best", f"{best['name']}, {points(best['mean_st'])} under shift ({task_name(board).lower()})"))
    words = "" if every.height else "No entries yet."
    return Card(benchmark_name(benchmark), overall_address(benchmark), words, facts)
