"""Named steps from upstream rows to ours. Rows leave only through one of these, and the build counts them."""

import hashlib
from collections.abc import Mapping, Sequence

import polars as pl

from builders.specs import Transform


def rename(columns: Mapping[str, str]) -> Transform:
    """Take these upstream columns under our names; the others are left behind."""
    return Transform("rename", lambda frame: frame.select(pl.col(old).alias(new) for old, new in columns.items()))


def keep_value(column: str, value: str) -> Transform:
    """Keep the rows with this value and drop the column."""
    return Transform(f"keep_{column}_{value}", lambda frame: frame.filter(pl.col(column) == value).drop(column))


def keep_labelled(labels: Sequence[str]) -> Transform:
    """Keep the rows whose label is one of the task's; '-' and the like leave."""
    return Transform("keep_labelled", lambda frame: frame.filter(pl.col("label").is_in(list(labels))))


def group_by_text(column: str) -> Transform:
    """Make the group of a row the text of a column, as a short hash."""
    return Transform("group_by_" + column, lambda frame: frame.with_columns(text_digest(frame[column]).alias("group")))


def text_digest(texts: pl.Series) -> pl.Series:
    """Hash texts to 12 hex digits each."""
    digests = {text: hashlib.sha256(text.encode()).hexdigest()[:12] for text in texts.unique().to_list()}
    return texts.replace_strict(digests, return_dtype=pl.String)


def test_groups_leave_train(train: pl.DataFrame, test: pl.DataFrame) -> pl.DataFrame:
    """Drop the train rows whose group is also in test, so that no premise or document is trained and tested on."""
    return train.join(test.select("group").unique(), on="group", how="anti", maintain_order="left")


def repeated_rows_leave(frame: pl.DataFrame) -> pl.DataFrame:
    """Drop rows that repeat an earlier one in every column."""
    return frame.unique(maintain_order=True)
