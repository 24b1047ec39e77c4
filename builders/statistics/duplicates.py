"""Repeated and nearly repeated texts of a task: within a split, across splits of a domain, and across domains.

Two texts are near-duplicates when the sets of their word 3-shingles have a Jaccard similarity of at least 0.8.
MinHash finds the pairs worth comparing; each is then compared exactly, so no pair is counted on an estimate.
Only the counts are reported; rows leave by named transforms alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.folder.statistics import N_EXAMPLES, SIMILAR, DuplicateCounts, Examples, Repeats, SplitRepeats
from validation.vocabulary import SPLITS, TOKENS, WORD

SHINGLE = 3
"""Words of a shingle. A shorter text is one shingle."""

_BANDS, _BAND_ROWS = 25, 5
# A pair of similarity s is compared with probability 1 - (1 - s^5)^25: 0.99995 at 0.8, 0.06 at 0.3.

_ESTIMATE = 0.6
# Pairs whose estimated similarity is lower are not compared. The estimate of 0.8 from 125 values has a standard
# deviation of 0.036, so this loses no near-duplicate in ten million.

_NEIGHBOURS = 20
# Of a band's bucket each text is compared with so many next ones, in a shuffled order: 10,000 forms of one template
# would otherwise be 50 million pairs.

_SEED = 20_240_401
_CHUNK = 10_000
_PAIR_CHUNK = 50_000

U64 = NDArray[np.uint64]
Ints = NDArray[np.int64]


TEXTS = pl.Schema(
    {"id": pl.String(), "group": pl.String(), "domain": pl.String(), "split": pl.String(), "text": pl.String()}
)
"""All rows of a task, each with its whole inputs as one text; ids differ, no nulls, in any order."""


def comparison_rows(domains: Mapping[str, Mapping[str, pl.DataFrame]], inputs: Sequence[str]) -> pl.DataFrame:
    """Give the rows that ``duplicates`` compares: all of a task, each with its whole inputs as one text.

    Of pairs the shared premise is part of the text, of questions their context: what is asked of one context is
    kept apart by its group, not by leaving the context out.

    Args:
        domains: by domain and split, frames with id, group and the inputs.
        inputs: the task's input columns, in order; tokens are joined by spaces.
    Returns: rows of ``TEXTS``.
    """
    parts = [
        frame.select("id", "group", domain=pl.lit(domain), split=pl.lit(split), text=input_text(inputs))
        for domain, splits in domains.items()
        for split, frame in splits.items()
    ]
    return pl.concat([pl.DataFrame(schema=TEXTS), *parts])


def input_text(inputs: Sequence[str]) -> pl.Expr:
    """Give the inputs of a row as one text: joined by a newline, tokens among themselves by spaces."""
    columns = [pl.col(name).list.join(" ") if name == TOKENS else pl.col(name) for name in inputs]
    return pl.concat_str(columns, separator="\n")


def duplicates(texts: pl.DataFrame) -> DuplicateCounts:
    """Count the rows of a task that repeat one another, exactly or nearly.

    Rows of one group (of one domain) never count as near-duplicates: three hypotheses share a premise and many
    questions a context by construction, and groups do not straddle splits. As exact repeats they count.
    A text without a word has no near-duplicate. Needs the ``rensa`` package.

    Args:
        texts: rows of ``TEXTS``.
    Returns: counts and examples, the same for the same rows in any order.
    Source: the definition is this project's; MinHash with bands is Broder (1997) and Leskovec et al. (2020, ch. 3).

    >>> same = {"domain": ["a", "a"], "split": ["train", "test"], "group": ["g", "h"], "text": ["So good.", "so good"]}
    >>> counts = duplicates(pl.DataFrame({"id": ["1", "2"], **same}))
    >>> [(c.split, c.other, c.exact, c.near) for c in counts.across_splits]
    [('test', 'train', 0, 1)]
    """
    rows = _numbered(texts)
    distinct = rows.unique("number").sort("number")["text"]
    rows = rows.drop("text")
    pairs, uncompared = _near_pairs(distinct)
    same = distinct.to_frame().select(a=pl.int_range(pl.len(), dtype=pl.Int64)).with_columns(b="a")
    exact, near = _matches(rows, same, exact=True), _matches(rows, pairs, exact=False)
    sizes = {(domain, split): size for domain, split, size in rows.group_by("domain", "split").len().iter_rows()}
    counts = _Counter(sizes, exact, near)
    partners = {"exact": (exact, same), "near": (near, pairs)}
    examples = {
        name: Examples(**{kind: _examples(rows, found.filter(where), by) for kind, (found, by) in partners.items()})
        for name, where in _WHERE.items()
    }
    return DuplicateCounts(
        within=counts.within(),
        across_splits=counts.across_splits(),
        across_domains=counts.across_domains(),
        examples=examples,
        uncompared=uncompared,
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
"""Which matches each field of ``DuplicateCounts`` counts."""


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


def _numbered(texts: pl.DataFrame) -> pl.DataFrame:
    """Add the number of each distinct text, and of each group of each domain."""
    rows = texts.select("id", "domain", "split", "text", owner=pl.concat_str("domain", "group", separator="\x1f"))
    return rows.with_columns(pl.col("owner", "text").rank("dense").cast(pl.Int64).name.prefix("rank_")).select(
        "id", "domain", "split", "text", owner="rank_owner", number=pl.col("rank_text") - 1
    )


def _matches(rows: pl.DataFrame, pairs: pl.DataFrame, *, exact: bool) -> pl.DataFrame:
    """Tell which rows have a duplicate where: id, number, owner, domain, split, other_domain, other_split.

    Going by cells (domain and split) instead of rows, a text repeated n times costs n, not n squared.
    """
    cells = rows.group_by("number", "domain", "split").agg(
        n=pl.len(), first=pl.col("owner").min(), last=pl.col("owner").max()
    )
    others = (
        pairs.join(cells, left_on="b", right_on="number")
        .group_by("a", "domain", "split")
        .agg(pl.col("n").sum(), pl.col("first").min(), pl.col("last").max())
        .rename({"domain": "other_domain", "split": "other_split"})
    )
    found = rows.join(others, left_on="number", right_on="a")
    if exact:
        kept = ~_WHERE["within"] | (pl.col("n") > 1)
    else:
        # Of another group: when the owners there are not all the row's own.
        kept = (pl.col("first") != pl.col("owner")) | (pl.col("last") != pl.col("owner"))
    return found.filter(kept).drop("n", "first", "last")


def _examples(rows: pl.DataFrame, matches: pl.DataFrame, pairs: pl.DataFrame) -> tuple[tuple[str, str], ...]:
    """Name the first rows of some matches, each with one that it matches: the least id of one cell."""
    chosen = matches.sort("id", "other_domain", "other_split").unique("id", keep="first", maintain_order=True)
    others = rows.rename(lambda name: name if name.startswith("other") else f"other_{name}")
    candidates = chosen.head(N_EXAMPLES).join(pairs, left_on="number", right_on="a")
    joined = candidates.join(others, left_on=["b", "other_domain", "other_split"], right_on=_OTHER_CELL, coalesce=True)
    similar = (pl.col("b") == pl.col("number")) | (pl.col("owner") != pl.col("other_owner"))
    named = joined.filter(similar & (pl.col("id") != pl.col("other_id")))
    return tuple(named.group_by("id").agg(pl.col("other_id").min()).sort("id").iter_rows())


_OTHER_CELL = ["other_number", "other_domain", "other_split"]


def _near_pairs(texts: pl.Series) -> tuple[pl.DataFrame, int]:
    """Find the near-duplicates among distinct texts.

    Returns: their numbers a, b, each pair in both directions; and how many pairs were left uncompared.
    """
    shingles, starts, signatures = _shingles(texts)
    pairs, uncompared = _candidates(signatures, np.flatnonzero(np.diff(starts) > 0))
    pairs = pairs[_jaccard(shingles, starts, pairs) >= SIMILAR]
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return pl.DataFrame({"a": both[:, 0], "b": both[:, 1]}, schema={"a": pl.Int64, "b": pl.Int64}), uncompared


def _shingles(texts: pl.Series) -> tuple[U64, Ints, NDArray[np.uint32]]:
    """Hash each text's set of shingles and its MinHash signature.

    Returns: the sets one after another, each ascending; where each starts, and the end, shape (n_texts + 1,); and
        signatures, shape (n_texts, 125).
    """
    from rensa import RMinHash

    sets, sizes, signatures = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)], []
    for chunk in texts.to_frame("text").iter_slices(_CHUNK):
        flat, size = _chunk_shingles(chunk["text"])
        ends = np.concatenate([[0], np.cumsum(size)]).astype(np.uint64)
        matrix = RMinHash.digest_matrix_from_flat_token_hashes(flat, ends, _BANDS * _BAND_ROWS, _SEED)
        signatures.append(np.array(matrix.to_rows(), dtype=np.uint32))
        sets.append(flat)
        sizes.append(size)
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    empty = np.zeros((0, _BANDS * _BAND_ROWS), np.uint32)
    return np.concatenate(sets), starts, np.concatenate([empty, *signatures])


def _chunk_shingles(texts: pl.Series) -> tuple[U64, Ints]:
    """Hash the shingles of some texts. Returns: the sets one after another, each ascending, and their sizes."""
    words = texts.str.to_lowercase().str.extract_all(WORD)
    lengths = words.list.len().to_numpy().astype(np.int64)
    hashes = words.explode(empty_as_null=False).hash(_SEED).to_numpy()
    starts = np.cumsum(lengths) - lengths
    n_shingles = np.where(lengths == 0, 0, np.maximum(lengths - SHINGLE + 1, 1))
    row = np.repeat(np.arange(len(lengths)), n_shingles)
    first = np.arange(n_shingles.sum()) - np.repeat(np.cumsum(n_shingles) - n_shingles, n_shingles) + starts[row]
    shingle = np.zeros(len(row), np.uint64)
    for offset in range(SHINGLE):
        inside = first + offset < (starts + lengths)[row]
        word = hashes[np.minimum(first + offset, len(hashes) - 1)]
        shingle = _mix(shingle) + np.where(inside, word, np.uint64(0))
    shingle = _mix(shingle)
    order = np.lexsort((shingle, row))
    row, shingle = row[order], shingle[order]
    new = np.ones(len(row), dtype=bool)
    new[1:] = (row[1:] != row[:-1]) | (shingle[1:] != shingle[:-1])
    return shingle[new], np.bincount(row[new], minlength=len(lengths))


def _mix(values: U64) -> U64:
    """Scramble 64 bits one to one, as the generator SplitMix64 does."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _candidates(signatures: NDArray[np.uint32], numbers: Ints) -> tuple[Ints, int]:
    """Pair the texts that agree in a whole band and in ``_ESTIMATE`` of the signature.

    Args:
        signatures: of all texts, shape (n_texts, 125).
        numbers: the texts to pair.
    Returns: pairs (a, b) with a < b, ascending, shape (n_pairs, 2), and how many were left out of large buckets.
    """
    shuffled = np.random.default_rng(_SEED).permutation(numbers)
    found, uncompared = np.zeros(0, np.int64), 0
    for band in range(_BANDS):
        key = np.zeros(len(shuffled), np.uint64)
        for column in range(band * _BAND_ROWS, (band + 1) * _BAND_ROWS):
            key = _mix(key ^ signatures[shuffled, column])
        order = np.argsort(key, kind="stable")
        key, members = key[order], shuffled[order]
        pairs = np.sort(members[_bucket_mates(key)], axis=1)
        codes = _distinct(pairs @ np.array([len(signatures), 1]))
        codes = codes[~np.isin(codes, found, assume_unique=True, kind="sort")]
        alike = _alike(signatures, np.stack(np.divmod(codes, len(signatures)), axis=1))
        found = _distinct(np.concatenate([found, codes[alike]]))
        edges = np.flatnonzero(key[1:] != key[:-1]) + 1
        beyond = np.maximum(0, np.diff(edges, prepend=0, append=len(key)) - _NEIGHBOURS)
        uncompared += int((beyond * (beyond - 1) // 2).sum())
    return np.stack(np.divmod(found, max(1, len(signatures))), axis=1).astype(np.int64), uncompared


def _distinct(values: Ints) -> Ints:
    """Sort and drop repeats; ``numpy.unique`` takes 50 times as long on a million such numbers."""
    ordered = np.sort(values)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _bucket_mates(keys: U64) -> Ints:
    """Pair each place with the next ``_NEIGHBOURS`` of an equal key, keys ascending. Shape (n_pairs, 2)."""
    found = [np.zeros((0, 2), np.int64)]
    left = np.arange(len(keys))
    for offset in range(1, _NEIGHBOURS + 1):
        left = left[left + offset < len(keys)]
        left = left[keys[left] == keys[left + offset]]
        found.append(np.stack([left, left + offset], axis=1))
    return np.concatenate(found)


def _alike(signatures: NDArray[np.uint32], pairs: Ints) -> NDArray[np.bool_]:
    """Mark the pairs whose signatures agree in ``_ESTIMATE`` of their values."""
    parts = np.split(pairs, range(_PAIR_CHUNK, len(pairs), _PAIR_CHUNK))
    equal = [(signatures[part[:, 0]] == signatures[part[:, 1]]).mean(axis=1) for part in parts]
    return np.asarray(np.concatenate(equal) >= _ESTIMATE)


def _jaccard(shingles: U64, starts: Ints, pairs: Ints) -> NDArray[np.float64]:
    """Compare the shingle sets of pairs of texts exactly: ``|A & B| / |A | B|``, shape (n_pairs,)."""
    sizes = np.diff(starts)
    names, codes = np.unique(shingles, return_inverse=True)
    keys = np.repeat(np.arange(len(sizes)), sizes) * len(names) + codes  # ascending, as the sets and their shingles are
    shared = []
    for part in np.split(pairs, range(_PAIR_CHUNK, len(pairs), _PAIR_CHUNK)):
        a, b = part[:, 0], part[:, 1]
        row = np.repeat(np.arange(len(part)), sizes[a])
        place = np.arange(len(row)) - np.repeat(np.cumsum(sizes[a]) - sizes[a], sizes[a]) + starts[a][row]
        wanted = b[row] * len(names) + codes[place]
        hit = keys[np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))] == wanted if len(row) else row
        shared.append(np.bincount(row[hit] if len(row) else row, minlength=len(part)))
    both = np.concatenate(shared)
    union = sizes[pairs[:, 0]] + sizes[pairs[:, 1]] - both
    return np.asarray(both / np.maximum(union, 1), dtype=np.float64)
