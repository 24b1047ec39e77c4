"""Named steps that convert upstream rows to ours. Only these steps drop rows, and the build counts them.

A step keeps all rows and their order, unless its name contains "keep" or "leave".
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

import polars as pl

from shiftbench.builders.specs.balances import ANSWERED, words
from shiftbench.builders.specs.spec import Transform
from shiftbench.validation.report import InvalidInput, Problem, and_more, did_you_mean
from shiftbench.validation.vocabulary import WORD

VOTES = "votes"
"""Internal column with the list of labels assigned by annotators; it is not written to the dataset."""


def rename(columns: Mapping[str, str], *, votes: str | None = None) -> Transform:
    """Rename upstream columns to ours; all others are dropped.

    Args:
        columns: our names by upstream's names, in the order of the new frame.
        votes: upstream's column of annotators' labels, renamed to ``VOTES`` if present.
    """

    def apply(frame: pl.DataFrame) -> pl.DataFrame:
        taken = dict(columns) | ({votes: VOTES} if votes and votes in frame.columns else {})
        return frame.select(pl.col(old).alias(new) for old, new in taken.items())

    return Transform("rename", apply)


def select(*columns: str) -> Transform:
    """Select columns; all others are dropped."""
    return Transform("select", lambda frame: frame.select(columns))


def keep_in(column: str, values: Sequence[str], name: str | None = None) -> Transform:
    """Keep the rows whose value is in a list.

    Args:
        column: the column.
        values: the values to keep.
        name: the step's name; by default it lists the values.
    Returns: a step that drops all other rows, including nulls.
    """
    chosen = pl.Series(values, dtype=pl.String).implode()
    return Transform(
        name or f"keep_{column}_{'_'.join(values)}", lambda frame: frame.filter(pl.col(column).is_in(chosen))
    )


def keep_filled(column: str) -> Transform:
    """Keep the rows whose text is not null or blank."""
    filled = pl.col(column).str.contains(r"\S").fill_null(value=False)
    return Transform(f"keep_filled_{column}", lambda frame: frame.filter(filled))


def label_from(column: str, labels: Mapping[str, str], others: Sequence[str] = ()) -> Transform:
    """Map the values of a column to labels.

    Args:
        labels: maps values of the column to labels.
        others: values whose rows are dropped, like nulls.
    Returns: a step that sets ``label``.
    Raises (when the step is applied): InvalidInput for any other value, with its row.
    """

    def apply(frame: pl.DataFrame) -> pl.DataFrame:
        _refuse_unknown(frame[column], [*labels, *others])
        label = pl.col(column).replace_strict(labels, default=None, return_dtype=pl.String).alias("label")
        return frame.with_columns(label).drop_nulls("label")

    return Transform(f"label_from_{column}", apply)


def _refuse_unknown(values: pl.Series, known: Sequence[str]) -> None:
    unknown = (~values.is_in(list(known))).fill_null(value=False).arg_true()
    if len(unknown):
        row, value = int(unknown[0]), str(values[int(unknown[0])])
        others = [repr(each[:80]) for each in values.gather(unknown).unique().sort().to_list() if each != value]
        found = repr(value[:80]) + and_more(len(unknown) - 1) + (f", also {', '.join(others[:8])}" if others else "")
        cure = did_you_mean(value, known)
        what = "unknown label"
        raise InvalidInput(Problem(what, "the rows read", found, cure, column=str(values.name), row=row + 1))


_LINK = r"(?i)\b(?:https?://|www\.)\S+"


def remove_links(column: str) -> Transform:
    """Remove URLs from a text (Domain Robustness paper, appendix D.1).

    Args:
        column: the text column; texts without a URL are unchanged, including white space.
    """
    without = pl.col(column).str.replace_all(_LINK, " ")
    clean = without.str.replace_all(r"\s+", " ").str.strip_chars()
    # Texts without a URL are unchanged, including white space.
    changed = pl.when(without == pl.col(column)).then(pl.col(column)).otherwise(clean).alias(column)
    return Transform(f"remove_links_{column}", lambda frame: frame.with_columns(changed))


def line_breaks_back(column: str) -> Transform:
    r"""Replace the two characters ``\n`` in a text by a line break (Yelp's reviews)."""
    back = pl.col(column).str.replace_all("\\n", "\n", literal=True)
    return Transform(f"line_breaks_back_{column}", lambda frame: frame.with_columns(back))


def label_by_threshold(column: str, threshold: float, labels: tuple[str, str]) -> Transform:
    """Map a number to a label by a threshold; rows without a number are dropped.

    Args:
        column: numbers as text.
        threshold: smallest number of the second label.
        labels: the labels below, and at or above the threshold.
    Returns: a step that sets ``label``.
    """
    number = pl.col(column).cast(pl.Float64, strict=False).fill_nan(None)
    label = pl.when(number < threshold).then(pl.lit(labels[0])).when(number.is_not_null()).then(pl.lit(labels[1]))
    return Transform(f"label_by_{column}", lambda frame: frame.with_columns(label.alias("label")).drop_nulls("label"))


def remove(column: str, pattern: str) -> Transform:
    """Remove all matches of a regular expression from a text.

    Args:
        pattern: a regular expression as polars reads it.
    """
    return Transform(
        f"remove_from_{column}", lambda frame: frame.with_columns(pl.col(column).str.replace_all(pattern, ""))
    )


def one_space(*columns: str) -> Transform:
    """Replace every tab and every run of spaces by one space, as the authors' code of BOSS does."""
    clean = [pl.col(name).str.replace_all("\t", " ", literal=True).str.replace_all(" {2,}", " ") for name in columns]
    return Transform("one_space", lambda frame: frame.with_columns(clean))


def clean_tweets(column: str) -> Transform:
    """Remove links, mentions, #topics#, bracketed tokens, emoji and '#', and collapse white space (BOSS)."""
    text = pl.col(column)
    for pattern in _NO_WORDS_OF_TWEETS:
        text = text.str.replace_all(pattern, " ")
    clean = text.str.replace_all(r"\s+", " ").str.strip_chars().alias(column)
    return Transform(f"clean_tweets_{column}", lambda frame: frame.with_columns(clean))


_NO_WORDS_OF_TWEETS = (
    _LINK,
    r"@\w+",
    r"#[^\s#]+#",
    r"\[[^\s\]]+\]",
    r"[\p{Extended_Pictographic}\p{Regional_Indicator}\p{Emoji_Modifier}\x{200d}\x{20e3}\x{fe0f}]",
    "#",
)


def keep_words_between(column: str, fewest: int, most: int) -> Transform:
    """Keep the rows whose number of words is in a range.

    Returns: a step with inclusive bounds.
    """
    return Transform(
        f"keep_{fewest}_to_{most}_words",
        lambda frame: frame.filter(pl.col(column).str.count_matches(WORD).is_between(fewest, most)),
    )


def keep_words_found(column: str, source: str, share: float) -> Transform:
    """Keep the rows whose distinct words occur in another text of the row.

    Args:
        column: the text whose words are counted, ignoring case.
        source: the other text.
        share: minimum fraction of the distinct words that occur in ``source``, in [0, 1].
    Returns: a step that drops the other rows.
    """
    distinct = words(column).list.unique()
    n_in_source = distinct.list.set_intersection(words(source)).list.len()
    return Transform(
        f"keep_{share:.0%}_of_words_found", lambda frame: frame.filter(n_in_source >= share * distinct.list.len())
    )


def keep_answered() -> Transform:
    """Keep the questions that have an answer."""
    return Transform("keep_answered", lambda frame: frame.filter(ANSWERED))


def first_answer() -> Transform:
    """Add a column with the first accepted answer of each row.

    Returns: a step that adds ``answer``; null if there is no answer.
    """
    first = pl.col("answers").struct.field("text").list.first().alias("answer")
    return Transform("first_answer", lambda frame: frame.with_columns(first))


def keep_tagged() -> Transform:
    """Keep the sentences that could be tagged.

    Returns: a step that drops rows with a reason in ``refused``, and the column itself.
    """
    return Transform("refused_sentences_leave", lambda frame: frame.filter(pl.col("refused").is_null()).drop("refused"))


def count_untagged_words() -> Transform:
    """Count the sentences with words untagged upstream, which the reader has tagged O."""
    return Transform("untagged_words_are_outside", lambda frame: frame.drop("untagged"), changes=pl.col("untagged") > 0)


def keep_tokens() -> Transform:
    """Keep the sentences that have a token."""
    return Transform("keep_tokens", lambda frame: frame.filter(pl.col("tokens").list.len() > 0))


def keep_labelled(labels: Sequence[str], others: Sequence[str] = ()) -> Transform:
    """Keep the rows whose label is one of the task's.

    Args:
        labels: the task's labels.
        others: labels whose rows are dropped, like nulls.
    Raises (when applied): InvalidInput with the row of any other label.
    """

    def apply(frame: pl.DataFrame) -> pl.DataFrame:
        _refuse_unknown(frame["label"], [*labels, *others])
        return frame.filter(pl.col("label").is_in(list(labels)))

    return Transform("keep_labelled", apply)


def group_by_text(column: str) -> Transform:
    """Set the group of a row to a short hash of its text or tokens.

    Args:
        column: the text, or a list of tokens.
    Returns: a step that adds ``group`` and keeps all rows.
    """
    return Transform(
        f"group_by_{column}",
        lambda frame: frame.with_columns(text_digest(as_texts(frame.select(column))).alias("group")),
    )


def group_by(column: str, *, unknown: str | None = None, text: str | None = None) -> Transform:
    """Set the group of a row to a short hash of a column, such as product, author or document.

    Args:
        column: the column shared within a group.
        unknown: the value that marks a missing value in ``column``, if any.
        text: the column that determines the group of rows with this value.
    Returns: a step that adds ``group`` and keeps all rows.
    """
    key = pl.col(column) if unknown is None else pl.when(pl.col(column) == unknown).then(text).otherwise(column)
    return Transform(
        f"group_by_{column}",
        lambda frame: frame.with_columns(text_digest(frame.select(key.alias("group"))["group"]).alias("group")),
    )


def text_digest(texts: pl.Series) -> pl.Series:
    """Hash texts.

    Returns: the first 12 hex digits of each SHA-256, shape (n,).
    """
    digests = (hashlib.sha256(text.encode()).hexdigest()[:12] for text in texts)
    return pl.Series(texts.name, digests, dtype=pl.String)


def drop_shared_groups(rows: pl.DataFrame, kept: pl.DataFrame) -> pl.DataFrame:
    """Drop the rows whose group also occurs in another split, to avoid train-test leakage.

    Args:
        rows: rows of one split.
        kept: rows of the other split, which keeps the group.
    Returns: the rows of other groups, in order.
    """
    return rows.join(kept.select("group").unique(), on="group", how="anti", maintain_order="left")


def drop_repeated_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Drop rows equal to an earlier one in all columns except ``VOTES``, which a copy of a release may lack."""
    return frame.unique([name for name in frame.columns if name != VOTES], keep="first", maintain_order=True)


def drop_conflicting_rows(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Drop all rows with equal values in ``columns`` but different labels, because the label is ambiguous.

    Returns: the other rows, in order.
    """
    return frame.filter(pl.col("label").n_unique().over(columns) == 1)


def drop_repeated_inputs(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Among rows with equal values in ``columns``, keep the longest as text (e.g. the one with most answers).

    Returns: the kept rows, in order.
    """
    repeated = frame.select(columns).is_duplicated()
    rows = frame.with_row_index("_row").filter(repeated)  # only these few rows are converted to text
    order = rows.with_columns(as_texts(rows.drop("_row")).alias("_text"))
    longest = order.sort(pl.col("_text").str.len_chars(), pl.col("_text"), descending=[True, False])
    kept = longest.unique(columns, keep="first", maintain_order=True)["_row"]
    return frame.filter(~repeated | pl.int_range(pl.len()).is_in(kept.implode()))


def drop_equal_inputs(frame: pl.DataFrame, columns: Sequence[str], key: str) -> pl.DataFrame:
    """Among rows with equal values in ``columns``, keep one, chosen by a keyed hash of the whole row.

    Args:
        key: key of the hash.
    Returns: the kept rows, in order.
    """
    hashes = [hashlib.sha256(f"{key}/{text}".encode()).digest() for text in as_texts(frame)]
    order = frame.with_row_index("_row").with_columns(pl.Series("_hash", hashes, dtype=pl.Binary)).sort("_hash")
    kept = order.unique(columns, keep="first", maintain_order=True).sort("_row")
    return kept.drop("_row", "_hash")


def as_texts(columns: pl.DataFrame) -> pl.Series:
    """Convert each row to one text that identifies it.

    Args:
        columns: columns of any type.
    Returns: a text for each row, shape (n_rows,).
    """
    if set(columns.dtypes) == {pl.String}:
        return columns.select(pl.concat_str(pl.all(), separator="\x1f")).to_series()
    if columns.width == 1 and columns.dtypes[0].is_integer():
        return columns.select(pl.format("[{}]", pl.all().cast(pl.String).fill_null("null"))).to_series()
    return pl.Series([json.dumps(row, ensure_ascii=False) for row in columns.iter_rows()], dtype=pl.String)
