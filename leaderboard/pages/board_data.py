"""The rows of boards for programs: plain JSON data, and CSV. Scores are fractions."""

from collections.abc import Mapping
from typing import Any

from shiftbench.leaderboard.board import Board, Index, find_benchmark, find_board
from shiftbench.leaderboard.board.boards import ROUND
from shiftbench.leaderboard.board.index_cache import add_versions
from shiftbench.leaderboard.board.overall import BESIDE, MEANS
from shiftbench.leaderboard.board.rows import FIGURES, NO_INTERVAL, OOD, PARTS, SHARES
from shiftbench.leaderboard.pages.board_columns import columns_of
from shiftbench.leaderboard.pages.board_query import (
    REPORTED,
    BoardQuery,
    OverallQuery,
    matching,
    matching_lines,
    whole_table,
)
from shiftbench.scoring.scores.coverage import LAMBDAS
from shiftbench.validation.csv_export import guarded_csv

_FACTS = (
    "id", "name", "submitter", "date", "paradigm", "base_model", "family", "licence", "parameters", "shots",
    "model_selection", "tuning_trials", "extra_data", "complete", "basis", "trained_on", "n_shifts", "resolved_share",
    "unparsed", "at_floor", "data", "metric_version", "depth_encoder", "token_encoder",
)  # fmt: skip
_LINE_FACTS = (
    "rank", "rank_low", "rank_high", "rank_about", "with_leader", "corrected", "model", "submitter", "date", "paradigm",
    "base_model", "family", "parameters", "cost_usd", "n_tasks", "complete",
)  # fmt: skip
_RANK_FACTS = ("rank_about", "with_leader", "corrected")


def board_rows(index: Index, board: Board) -> list[dict[str, Any]]:
    """Format a board's rows as plain JSON data, best first, followed by those that papers report.

    Returns: for each row the facts of its card; ``rank`` and ``rank_interval`` (null if not ranked); ``rank_about``,
        ``with_leader`` and ``corrected`` (see ``shiftbench.leaderboard.board.ranks.INTERVALS``); ``at_floor`` (mean ST
        at chance); ``data`` (content hash), ``metric_version`` and the encoders of depths and of BERTScore
        (``id@revision``, null if none is used), all null for rows of papers; ``missing`` (what it lacks);
        ``scenario_shares``; ``reported`` (the paper's table; null for entries); ``footnotes``; and the board's scores
        as ``{"value", "low", "high", "no_interval", "placebo"}``, null if undefined, by lambda under ``depth_f1`` and
        by domain under ``ood``. On withheld labels, scores, ranks and ``with_leader`` are those that the
        last ``round`` released, and ``rank_about`` and ``corrected`` are null.
    """
    table = add_versions(whole_table(index, board))
    away = [name for name in table.columns if name.startswith(OOD) and not name.endswith((*PARTS[1:], NO_INTERVAL))]
    return [_nested(row, [name.removeprefix(OOD) for name in away]) for row in table.iter_rows(named=True)]


def board_csv(index: Index, query: BoardQuery) -> str:
    """Format the rows that match a query, on all pages, as CSV; scores are fractions, with bounds and placebo.

    Raises: InvalidInput if there is no such board.
    """
    board = find_board(query.board, index.boards())
    table = add_versions(whole_table(index, board))
    matched = matching(table, query, columns_of(board))
    names = ["rank", "rank_low", "rank_high", *_RANK_FACTS, "reported", *_FACTS, *(f"share.{name}" for name in SHARES)]
    names.append(ROUND)
    names += [
        f"{column.key}{part}"
        for column in columns_of(board)
        if column.is_figure
        for part in (*PARTS, NO_INTERVAL)
        if f"{column.key}{part}" in table.columns
    ]
    rows = matched.select(name for name in names if name in matched.columns)
    return guarded_csv(rows.columns, rows.iter_rows())


def overall_csv(index: Index, query: OverallQuery) -> str:
    """Format the lines of an overall board that match a query, on all pages, as CSV; scores are fractions.

    For each task it has the id of the entry that counts, its score with both bounds, and its rank on the task's board;
    empty if the model does not cover the task.

    Raises: InvalidInput if there is no such benchmark.
    """
    benchmark = find_benchmark(query.benchmark, index.benchmarks())
    bounds = ("", ".low", ".high")
    scores = tuple(f"mean_st{part}" for part in bounds)
    of_task = {"entry": "id", **{name: name for name in (*scores, "rank", "with_leader")}}
    names = {name: name for name in (*_LINE_FACTS, *(f"{each}{part}" for each in (*MEANS, *BESIDE) for part in bounds))}
    names |= {f"{task}:{name}": f"{task}:{kept}" for task in benchmark.tasks for name, kept in of_task.items()}
    lines = matching_lines(index.overall(benchmark), query)
    return guarded_csv(list(names), lines.select(names.values()).iter_rows())


def _nested(row: Mapping[str, Any], away: list[str]) -> dict[str, Any]:
    ranked = row["rank_low"] is not None
    return {
        "rank": row["rank"],
        "rank_interval": [row["rank_low"], row["rank_high"]] if ranked else None,
        **{name: row[name] for name in (*_RANK_FACTS, *_FACTS)},
        "verified": row["group"] != REPORTED,
        "reported": row["reported"],
        "missing": row["missing"] or [],
        "footnotes": row.get("footnotes") or [],
        "scenario_shares": {name: row[f"share.{name}"] for name in SHARES},
        **{name: _figure(row, name) for name in FIGURES if not name.startswith("depth_f1_")},
        "depth_f1": {key: _figure(row, f"depth_f1_{key}") for key in LAMBDAS},
        **({ROUND: row[ROUND]} if ROUND in row else {}),
        "ood": {domain: _figure(row, OOD + domain) for domain in away},
    }


def _figure(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    names = ("low", "high", "no_interval", "placebo")
    parts = {"value": row[name], **{part: row.get(f"{name}.{part}") for part in names}}
    four = row.get(f"{name}.four")
    return parts if four is None else {**parts, "four_types": four}
