"""Duplicates and near-duplicates in a task: within a split, across splits of a domain, and across domains.

Near-duplicates are defined in ``near_pairs``. The result contains counts, and the test rows that repeat a train text of
their own domain; rows are only dropped by named transforms.

Texts are streamed and sorted on disk; memory per row does not depend on its length.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.reader import REPEATED_TESTS
from shiftbench.builders.folder.statistics import N_EXAMPLES, DuplicateCounts, Examples, Repeats, SplitRepeats
from shiftbench.builders.statistics.near_pairs import near_pairs
from shiftbench.builders.stored_rows import Rows, Sorter, compact, frame_bytes, slices_of
from shiftbench.validation.progress import progress
from shiftbench.validation.vocabulary import SPLITS, TOKENS

_MATCHED_AT_ONCE = 1_000_000
"""Pairs joined with their rows at a time."""
_SAMPLED = 200
"""Texts sampled per frame to estimate the bounds of the sorted ranges."""
_PREFIX = 256
"""Characters used of a sampled text."""


TEXTS = pl.Schema(
    {"id": pl.String(), "group": pl.String(), "domain": pl.String(), "split": pl.String(), "text": pl.String()}
)
"""Rows of a task with their joined inputs as text; unique ids, no nulls, in any order."""


@dataclass(frozen=True)
class ComparisonRows:
    """All rows of a task with their joined inputs as text, as compared by ``find_duplicates``.

    For pairs the text includes the shared premise, for questions their context: questions on one context are not
    near-duplicates because they share a group.

    Attributes:
        domains: rows with id, group and the inputs, by domain and split.
        inputs: the task's input columns, in order; tokens are joined by spaces.
    """

    domains: Mapping[str, Mapping[str, Rows]]
    inputs: Sequence[str]

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Yield frames of ``TEXTS``; can be iterated repeatedly."""
        for domain, splits in self.domains.items():
            for split, rows in splits.items():
                text = {"domain": pl.lit(domain), "split": pl.lit(split), "text": input_text(self.inputs)}
                for part in slices_of(rows):
                    yield part.select("id", "group", **text)


def input_text(inputs: Sequence[str]) -> pl.Expr:
    """Return an expression that joins the inputs of a row to one text.

    Args:
        inputs: input columns, joined by newlines; tokens are joined by spaces.
    """
    columns = [pl.col(name).list.join(" ") if name == TOKENS else pl.col(name) for name in inputs]
    return pl.concat_str(columns, separator="\n")


class Duplicates(NamedTuple):
    """Duplicates of a task: counts, and the test rows that repeat a train text of their own domain.

    ``repeated_tests`` has the columns of ``shiftbench.builders.folder.reader.REPEATED_TESTS``.
    """

    counts: DuplicateCounts
    repeated_tests: pl.DataFrame


def find_duplicates(texts: Iterable[pl.DataFrame], scratch: Path | None = None) -> Duplicates:
    """Find exact and near-duplicates among the rows of a task.

    Rows of the same group (of one domain) never count as near-duplicates: by construction, three hypotheses share a
    premise and many questions a context, and groups are not divided between splits. They do count as exact duplicates.
    A text without words has no near-duplicates. Requires the ``rensa`` package.

    Args:
        texts: frames of ``TEXTS`` with all rows; iterated twice, in the same order.
        scratch: a folder for temporary files; None uses the system's.
    Returns: counts, examples and repeated test rows, independent of row order.
    Source: the definition is this project's; MinHash with bands is Broder (1997) and Leskovec et al. (2020, ch. 3).

    >>> same = {"domain": ["a", "a"], "split": ["train", "test"], "group": ["g", "h"], "text": ["So good.", "so good"]}
    >>> found = find_duplicates([pl.DataFrame({"id": ["1", "2"], **same})])
    >>> [(c.split, c.other, c.exact, c.near) for c in found.counts.across_splits], found.repeated_tests.rows()
    ([('test', 'train', 0, 1)], [('2', True, False)])
    """
    with TemporaryDirectory(prefix="duplicates-", dir=scratch) as place:
        rows, ids, sorter = _without_texts(texts, Path(place))
        numbers = np.zeros(len(rows), np.uint32)
        near_texts = near_pairs(_distinct(texts, sorter, numbers), Path(place))
    rows = rows.with_columns(number=numbers)
    pairs = pl.DataFrame(np.concatenate([near_texts.pairs, near_texts.pairs[:, ::-1]]), schema=_PAIRS).sort("a")
    same = rows.filter(pl.col("number").is_duplicated()).select(a=pl.col("number").unique().sort()).with_columns(b="a")
    exact, near = _matches(rows, same, exact=True), _matches(rows, pairs, exact=False)
    sizes = {(domain, split): size for domain, split, size in rows.group_by("domain", "split").len().iter_rows()}
    counts = _Counter(sizes, exact, near)
    partners = {"exact": (exact, same), "near": (near, pairs)}
    examples = {
        name: Examples(**{kind: _examples(rows, of.filter(where), by, ids) for kind, (of, by) in partners.items()})
        for name, where in _WHERE.items()
    }
    return Duplicates(
        DuplicateCounts(
            within=counts.within(),
            across_splits=counts.across_splits(),
            across_domains=counts.across_domains(),
            examples=examples,
            uncompared=near_texts.uncompared,
        ),
        _repeated_tests(near, exact, ids),
    )


_SAME_DOMAIN = pl.col("domain") == pl.col("other_domain")
_EARLIER = {"train": ("validation", "test"), "validation": ("test",)}
_ACROSS = [(split, other) for other, later in _EARLIER.items() for split in later]
_WHERE = {
    "within": _SAME_DOMAIN & (pl.col("split") == pl.col("other_split")),
    "across_splits": _SAME_DOMAIN
    & pl.any_horizontal((pl.col("split") == split) & (pl.col("other_split") == other) for split, other in _ACROSS),
    "across_domains": ~_SAME_DOMAIN,
}
"""The condition on matches for each field of ``DuplicateCounts``."""


@dataclass(frozen=True)
class _Counter:
    """Counts rows among matches (columns id, domain, split, other_domain, other_split)."""

    sizes: Mapping[tuple[str, str], int]
    exact: pl.DataFrame
    near: pl.DataFrame

    def within(self) -> tuple[Repeats, ...]:
        return tuple(Repeats(**self._count(*cell, _WHERE["within"])) for cell in self._cells())

    def across_splits(self) -> tuple[SplitRepeats, ...]:
        return tuple(
            SplitRepeats(**self._count(domain, split, _SAME_DOMAIN & (pl.col("other_split") == other)), other=other)
            for domain in dict.fromkeys(domain for domain, _ in self._cells())
            for split, other in _ACROSS
            if (domain, split) in self.sizes and (domain, other) in self.sizes
        )

    def across_domains(self) -> tuple[Repeats, ...]:
        cells = self._cells()
        if len({domain for domain, _ in cells}) < 2:
            return ()
        return tuple(Repeats(**self._count(*cell, _WHERE["across_domains"])) for cell in cells)

    def _cells(self) -> list[tuple[str, str]]:
        return sorted(self.sizes, key=lambda cell: (cell[0], SPLITS.index(cell[1])))

    def _count(self, domain: str, split: str, where: pl.Expr) -> dict[str, Any]:
        here = (pl.col("domain") == domain) & (pl.col("split") == split) & where
        exact, near = (matches.filter(here)["id"].n_unique() for matches in (self.exact, self.near))
        return {"domain": domain, "split": split, "rows": self.sizes[domain, split], "exact": exact, "near": near}


_PAIRS = pl.Schema({"a": pl.UInt32(), "b": pl.UInt32()})
_SPLIT = pl.Enum(sorted(SPLITS))


def _without_texts(texts: Iterable[pl.DataFrame], place: Path) -> tuple[pl.DataFrame, pl.Series, Sorter]:
    """Collect the small columns of all rows in memory; the texts, which may not fit, are only sampled for sorting.

    Returns: a frame with id (its rank), domain, split, and owner (the index of the domain's group); the sorted ids; and
        an empty sorter for the texts.
    """
    rows, samples, n_bytes = [], [pl.Series("text", [], dtype=pl.String)], 0
    for frame in texts:
        owner = pl.concat_str("domain", "group", separator="\x1f")
        rows.append(compact(frame.select("id", "domain", pl.col("split").cast(_SPLIT), owner=owner)))
        sample = pl.col("text").gather_every(max(1, len(frame) // _SAMPLED)).str.slice(0, _PREFIX)
        samples.append(compact(frame.select(sample))["text"])  # a slice would keep all texts in memory
        n_bytes += frame_bytes(frame)
    if not rows:
        rows.append(pl.DataFrame(schema={"id": pl.String, "domain": pl.String, "split": _SPLIT, "owner": pl.String}))
    pooled = pl.concat(rows)
    domain = pl.Enum(pooled["domain"].unique().sort())
    ranks = pooled.select(
        pl.col("id").rank("ordinal"), pl.col("domain").cast(domain), "split", pl.col("owner").rank("dense")
    )
    return (
        ranks,
        compact(pooled.select(pl.col("id").sort()))["id"],
        Sorter.of(place / "texts", pl.concat(samples), n_bytes),
    )


def _distinct(texts: Iterable[pl.DataFrame], sorter: Sorter, numbers: NDArray[np.uint32]) -> Iterator[pl.Series]:
    """Sort the texts and yield the distinct ones in parts; ``numbers`` is filled with each row's index among them."""
    start = n_texts = 0
    for frame in texts:
        sorter.add(frame.select("text", row=pl.int_range(start, start + pl.len())))
        start += len(frame)
    with progress(total=len(numbers), desc="looking for duplicates", unit="row", leave=False) as bar:
        for part in sorter.frames():
            number = part["text"].rle_id() + n_texts
            numbers[part["row"].to_numpy()] = number.to_numpy()
            n_texts = int(number[-1]) + 1
            yield part["text"].unique(maintain_order=True)
            bar.update(len(part))


def _matches(rows: pl.DataFrame, pairs: pl.DataFrame, *, exact: bool) -> pl.DataFrame:
    """Find the rows that have a duplicate, and the cells (domain and split) that contain one.

    Rows are matched with cells rather than with rows: a text repeated n times then costs n steps, not n squared.

    Args:
        rows: all rows, with the index of their distinct text (``number``) and group (``owner``).
        pairs: pairs of equal or similar texts (a, b), in both orders, sorted by a.
        exact: whether the pairs are of equal texts.
    Returns: id, number, owner, domain, split, other_domain, other_split.
    """
    rows = rows.join(pairs.select("a"), left_on="number", right_on="a", how="semi")
    cells = rows.group_by("number", "domain", "split").agg(
        n=pl.len(), first=pl.col("owner").min(), last=pl.col("owner").max()
    )
    if exact:
        kept = ~_WHERE["within"] | (pl.col("n") > 1)
    else:
        # The cell has a duplicate in another group unless all its owners equal the row's own.
        kept = (pl.col("first") != pl.col("owner")) | (pl.col("last") != pl.col("owner"))
    # Batches limit the memory of the join; their bounds are values of a, so that all pairs of a text are in one batch.
    firsts = [*pairs["a"].gather_every(_MATCHED_AT_ONCE).unique(maintain_order=True), None]
    parts = []
    for first, last in pairwise(firsts if len(firsts) > 1 else (0, None)):
        start, end = (pairs["a"].search_sorted(a) if a is not None else len(pairs) for a in (first, last))
        others = (
            pairs[start:end]
            .join(cells, left_on="b", right_on="number")
            .group_by("a", "domain", "split")
            .agg(pl.col("n").sum(), pl.col("first").min(), pl.col("last").max())
            .rename({"domain": "other_domain", "split": "other_split"})
        )
        matches = rows.join(others, left_on="number", right_on="a").filter(kept)
        parts.append(matches.drop("n", "first", "last"))
    return pl.concat(parts)


def _repeated_tests(near: pl.DataFrame, exact: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """Return the test rows with a duplicate in the train split of their domain."""
    in_train = _SAME_DOMAIN & (pl.col("split") == "test") & (pl.col("other_split") == "train")
    kinds = {name: matches.filter(in_train)["id"].unique() for name, matches in (("near", near), ("exact", exact))}
    rank = pl.concat(kinds.values()).unique().sort()
    flags = {name: rank.is_in(chosen.implode()) for name, chosen in kinds.items()}
    return pl.DataFrame({"id": ids.gather(rank - 1), **flags}, schema=REPEATED_TESTS)


def _examples(
    rows: pl.DataFrame, matches: pl.DataFrame, pairs: pl.DataFrame, ids: pl.Series
) -> tuple[tuple[str, str], ...]:
    """Return the first matched rows, each with one of its duplicates: the smallest ids of one cell."""
    chosen = matches.sort("id", "other_domain", "other_split").unique("id", keep="first", maintain_order=True)
    others = rows.rename(lambda name: name if name.startswith("other") else f"other_{name}")
    candidates = chosen.head(N_EXAMPLES).join(pairs, left_on="number", right_on="a")
    joined = candidates.join(others, left_on=["b", "other_domain", "other_split"], right_on=_OTHER_CELL, coalesce=True)
    similar = (pl.col("b") == pl.col("number")) | (pl.col("owner") != pl.col("other_owner"))
    named = joined.filter(similar & (pl.col("id") != pl.col("other_id")))
    least = named.group_by("id").agg(pl.col("other_id").min()).sort("id")
    return tuple((ids[a - 1], ids[b - 1]) for a, b in least.iter_rows())


_OTHER_CELL = ["other_number", "other_domain", "other_split"]
