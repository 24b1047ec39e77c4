"""A board on withheld labels: its entries with the figures that the last round released."""

import polars as pl

from shiftbench.leaderboard.board.rows import OOD
from shiftbench.leaderboard.release import ReleasedBoard

ROUND = "round"
"""The column that such a board has on top: the round that released the row's figures."""


def released_frame(frame: pl.DataFrame, release: tuple[str, ReleasedBoard] | None) -> pl.DataFrame:
    """Add to a board's rows what a round released; entries without released figures come last.

    Args:
        frame: the board's rows, as ``board_frame`` gives them.
        release: the round's name, and what it released on the board; None before the first.
    Returns: the same columns, with ``mean_st``, the scores on single targets (``ood.<domain>``), ``complete`` and
        ``rank`` and ``with_leader`` as released, and ``ROUND``.
    """
    targets = [name for name in frame.columns if name.startswith(OOD) and "." not in name.removeprefix(OOD)]
    figures = ["mean_st", *targets]
    ranks = {"rank": pl.Int64, "with_leader": pl.Boolean}
    schema = {"id": pl.String, **dict.fromkeys(figures, pl.Float64), **ranks, ROUND: pl.String}
    rows = [
        {
            "id": each.entry,
            "mean_st": each.mean,
            **{name: each.targets.get(name.removeprefix(OOD)) for name in targets},
            "rank": each.place,
            "with_leader": each.with_leader,
            ROUND: name_of_round,
        }
        for name_of_round, board in ([release] if release else [])
        for each in board.entries
    ]
    released = pl.DataFrame(rows, schema=schema, orient="row")
    joined = frame.drop(*figures, *ranks).join(released, on="id", how="left", maintain_order="left")
    partial = pl.lit(["some shifts that the board ranks by are missing"])
    missing = pl.when(pl.col(ROUND).is_not_null()).then(partial).otherwise("missing")
    joined = joined.with_columns(complete=pl.col("rank").is_not_null(), missing=missing)
    order = [pl.col("rank"), pl.col("mean_st"), pl.col("name").str.to_lowercase(), pl.col("id")]
    return joined.select(*frame.columns, ROUND).sort(order, descending=[False, True, False, False], nulls_last=True)
