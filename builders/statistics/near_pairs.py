"""Near-duplicates among many distinct texts, computed mostly on disk.

Two texts are near-duplicates when the sets of their word 3-shingles have a Jaccard similarity of at least 0.8.
MinHash finds candidate pairs; each is then compared exactly, so no pair is counted on an estimate. Only a signature of
125 bytes per text is in memory; shingles and band keys are on disk.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.statistics import SIMILAR
from shiftbench.builders.stored_rows import slices_of
from shiftbench.validation.vocabulary import WORD

SHINGLE = 3
"""Words per shingle. A shorter text is a single shingle."""

_BANDS, _BAND_ROWS = 25, 5
# A pair of similarity s is compared with probability 1 - (1 - s^5)^25: 0.99995 at 0.8, 0.06 at 0.3.

_ESTIMATE = 0.6
# Pairs whose estimated similarity is lower are not compared. The estimate of 0.8 from 125 values has a standard
# deviation of 0.036, so this loses no near-duplicate in ten million. Only one byte per value is stored: different
# values collide once in 256 times, which adds some candidates, but removes none.

_NEIGHBOURS = 20
# In a band's bucket each text is compared with this many next ones, in shuffled order: 10,000 variants of one template
# would otherwise be 50 million pairs.

_SEED = 20_240_401
_CHUNK_BYTES = 1 << 20
_PAIR_CHUNK = 50_000
_COMPARED_AT_ONCE = 1 << 21
"""Number of shingles of the pairs compared at a time."""

U64 = NDArray[np.uint64]
Ints = NDArray[np.int64]


class NearPairs(NamedTuple):
    """Pairs of near-duplicates: indices (a, b) with a < b, shape (n_pairs, 2), and the number of texts.

    ``uncompared`` is the number of candidate pairs that were not compared.
    """

    pairs: NDArray[np.uint32]
    n_texts: int
    uncompared: int


def near_pairs(texts: Iterable[pl.Series], place: Path) -> NearPairs:
    """Find the near-duplicates among distinct texts.

    Args:
        texts: the texts in parts, each named 'text'; indices count from 0 over all parts.
        place: a folder for temporary files.
    Returns: the pairs, and the number not compared. Which pairs of a large bucket are compared depends on the indices.
    """
    shingles = _Shingles.of(texts, place)
    candidates, uncompared = _candidates(shingles)
    pairs = np.concatenate([np.zeros((0, 2), np.int64), *_keep_similar(shingles, candidates)])
    return NearPairs(pairs.astype(np.uint32), shingles.n_texts, uncompared)


class _Shingles(NamedTuple):
    """Sets of shingles and MinHash signatures of texts.

    Attributes:
        sets: a file of the concatenated sets, each ascending, with 64 bits per shingle.
        starts: offsets of the sets, shape (n_texts + 1,).
        signatures: the last byte of each value, shape (n_texts, 125).
        bands: one file of keys per band, with 64 bits per text.
    """

    sets: Path
    starts: Ints
    signatures: NDArray[np.uint8]
    bands: tuple[Path, ...]

    @property
    def n_texts(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def of(cls, texts: Iterable[pl.Series], place: Path) -> "_Shingles":
        """Hash texts."""
        from rensa import RMinHash

        pack = Struct(f"={_BANDS * _BAND_ROWS}I").pack  # numpy is half as fast with lists of integers
        sets, values = place / "shingles", place / "signatures"
        bands = tuple(place / f"band-{band}" for band in range(_BANDS))
        sizes = [np.zeros(1, np.int64)]
        files = [path.open("wb") for path in (sets, values, *bands)]
        try:
            for part in texts:
                for chunk in slices_of(part.to_frame("text"), _CHUNK_BYTES):
                    flat, size = _chunk_shingles(chunk["text"])
                    ends = np.concatenate([[0], np.cumsum(size)]).astype(np.uint64)
                    matrix = RMinHash.digest_matrix_from_flat_token_hashes(flat, ends, _BANDS * _BAND_ROWS, _SEED)
                    packed = b"".join(pack(*row) for row in matrix.to_rows())
                    signatures = np.frombuffer(packed, np.uint32).reshape(-1, _BANDS * _BAND_ROWS)
                    content: tuple[NDArray[Any], ...] = (flat, signatures.astype(np.uint8), *_band_keys(signatures))
                    for file, array in zip(files, content, strict=True):
                        array.tofile(file)
                    sizes.append(size)
        finally:
            for file in files:
                file.close()
        held = np.fromfile(values, np.uint8).reshape(-1, _BANDS * _BAND_ROWS)
        return cls(sets, np.cumsum(np.concatenate(sizes)), held, bands)


def _band_keys(signatures: NDArray[np.uint32]) -> Iterator[U64]:
    """Hash the values of each band of signatures."""
    for band in range(_BANDS):
        key = np.zeros(len(signatures), np.uint64)
        for column in range(band * _BAND_ROWS, (band + 1) * _BAND_ROWS):
            key = _mix(key ^ signatures[:, column])
        yield key


def _chunk_shingles(texts: pl.Series) -> tuple[U64, Ints]:
    """Hash the shingles of some texts. Returns: the concatenated sets, each ascending, and their sizes."""
    words = texts.str.to_lowercase().str.extract_all(WORD)
    lengths = words.list.len().to_numpy().astype(np.int64)
    hashes = words.explode(empty_as_null=False).hash(_SEED).to_numpy()
    starts = np.cumsum(lengths) - lengths
    # For each shingle of all texts: its text (row), the index of its first word, and a hash of its words in order.
    n_shingles = np.where(lengths == 0, 0, np.maximum(lengths - SHINGLE + 1, 1))
    row = np.repeat(np.arange(len(lengths)), n_shingles)
    first = np.arange(n_shingles.sum()) - np.repeat(np.cumsum(n_shingles) - n_shingles, n_shingles) + starts[row]
    shingle = np.zeros(len(row), np.uint64)
    for offset in range(SHINGLE):
        inside = first + offset < (starts + lengths)[row]
        word = hashes[np.minimum(first + offset, len(hashes) - 1)]
        shingle = _mix(shingle) + np.where(inside, word, np.uint64(0))
    shingle = _mix(shingle)
    # Sort and deduplicate within each text.
    order = np.lexsort((shingle, row))
    row, shingle = row[order], shingle[order]
    new = np.ones(len(row), dtype=bool)
    new[1:] = (row[1:] != row[:-1]) | (shingle[1:] != shingle[:-1])
    return shingle[new], np.bincount(row[new], minlength=len(lengths))


def _mix(values: U64) -> U64:
    """Mix 64 bits bijectively, as in the SplitMix64 generator."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _candidates(shingles: _Shingles) -> tuple[Ints, int]:
    """Find candidate pairs: texts that agree in a whole band and in at least ``_ESTIMATE`` values of the signature.

    Returns: pairs (a, b) with a < b as a * n_texts + b, ascending, and the number omitted from large buckets.
    """
    numbers = np.flatnonzero(np.diff(shingles.starts) > 0)  # a text without a word has no near-duplicate
    shuffled = np.random.default_rng(_SEED).permutation(numbers)
    pairs, uncompared = np.zeros(0, np.int64), 0
    for path in shingles.bands:
        key = np.fromfile(path, np.uint64)[shuffled]
        shared = _is_repeated(key)  # most texts share no band with another one: only the others need sorting
        order = np.argsort(key[shared], kind="stable")
        key, members = key[shared][order], shuffled[shared][order]
        mates = np.sort(members[_bucket_mates(key)], axis=1)
        codes = _distinct(mates @ np.array([shingles.n_texts, 1]))
        codes = codes[~np.isin(codes, pairs, assume_unique=True, kind="sort")]
        codes = codes[_signatures_agree(shingles, codes)]
        pairs = _distinct(np.concatenate([pairs, codes]))
        # A bucket of n texts has n (n - 1) / 2 pairs. Those further apart than _NEIGHBOURS are omitted.
        edges = np.flatnonzero(key[1:] != key[:-1]) + 1
        beyond = np.maximum(0, np.diff(edges, prepend=0, append=len(key)) - _NEIGHBOURS)
        uncompared += int((beyond * (beyond - 1) // 2).sum())
    return pairs, uncompared


def _is_repeated(keys: U64) -> NDArray[np.bool_]:
    """Return a mask of keys that occur more than once, with a quarter of the memory of polars."""
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(repeated):
        return np.zeros(len(keys), dtype=bool)
    return np.asarray(repeated[np.minimum(np.searchsorted(repeated, keys), len(repeated) - 1)] == keys)


def _distinct(values: Ints) -> Ints:
    """Sort and deduplicate; ``numpy.unique`` is 50 times slower on a million such numbers."""
    ordered = np.sort(values)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _bucket_mates(keys: U64) -> Ints:
    """Pair each index with the next ``_NEIGHBOURS`` that have an equal key; keys ascending. Shape (n_pairs, 2)."""
    pairs = [np.zeros((0, 2), np.int64)]
    left = np.arange(len(keys))
    for offset in range(1, _NEIGHBOURS + 1):
        left = left[left + offset < len(keys)]
        left = left[keys[left] == keys[left + offset]]
        pairs.append(np.stack([left, left + offset], axis=1))
    return np.concatenate(pairs)


def _signatures_agree(shingles: _Shingles, codes: Ints) -> NDArray[np.bool_]:
    """Return a mask of pairs whose signatures agree in at least ``_ESTIMATE`` values."""
    equal = [np.zeros(0)]
    for part in np.split(codes, range(_PAIR_CHUNK, len(codes), _PAIR_CHUNK)):
        a, b = np.divmod(part, max(1, shingles.n_texts))
        equal.append((shingles.signatures[a] == shingles.signatures[b]).mean(axis=1))
    return np.asarray(np.concatenate(equal) >= _ESTIMATE)


def _keep_similar(shingles: _Shingles, codes: Ints) -> Iterator[Ints]:
    """Compare pairs exactly, in batches. Yields: the near-duplicates, shape (n_pairs, 2)."""
    sizes = np.diff(shingles.starts)
    a, b = np.divmod(codes, max(1, shingles.n_texts))
    ends = np.cumsum(sizes[a] + sizes[b])
    cuts = np.searchsorted(ends, np.arange(_COMPARED_AT_ONCE, ends[-1] if len(ends) else 0, _COMPARED_AT_ONCE))
    with shingles.sets.open("rb") as file:
        for part in np.split(np.stack([a, b], axis=1), np.unique(cuts)):
            texts, places = np.unique(part, return_inverse=True)
            sets = [_set_of(file, shingles.starts, text) for text in texts]
            starts = np.cumsum([0, *(len(hashes) for hashes in sets)])
            flat = np.concatenate([np.zeros(0, np.uint64), *sets])
            yield part[_jaccard(flat, starts, places.reshape(-1, 2)) >= SIMILAR]


def _set_of(file: BinaryIO, starts: Ints, text: int) -> U64:
    file.seek(8 * starts[text])
    return np.frombuffer(file.read(8 * (starts[text + 1] - starts[text])), np.uint64)


def _jaccard(shingles: U64, starts: Ints, pairs: Ints) -> NDArray[np.float64]:
    """Compute the exact Jaccard similarity of pairs of texts: ``|A & B| / |A | B|``, shape (n_pairs,).

    Args:
        shingles: the concatenated sets, each ascending.
        starts: offsets of the sets, shape (n_texts + 1,).
        pairs: indices of texts, shape (n_pairs, 2).
    """
    sizes = np.diff(starts)
    names, codes = np.unique(shingles, return_inverse=True)
    keys = np.repeat(np.arange(len(sizes)), sizes) * len(names) + codes  # ascending, as the sets and their shingles are
    a, b = pairs[:, 0], pairs[:, 1]
    # For each shingle of each pair's first text, look up the key it would have in the second one.
    row = np.repeat(np.arange(len(pairs)), sizes[a])
    place = np.arange(len(row)) - np.repeat(np.cumsum(sizes[a]) - sizes[a], sizes[a]) + starts[a][row]
    wanted = b[row] * len(names) + codes[place]
    hit = keys[np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))] == wanted if len(row) else row
    both = np.bincount(row[hit] if len(row) else row, minlength=len(pairs))
    union = sizes[a] + sizes[b] - both
    return np.asarray(both / np.maximum(union, 1), dtype=np.float64)


class FoundLeaks(NamedTuple):
    """Masks of leaked test texts.

    Attributes:
        exact: texts that occur verbatim in the training texts, shape (n_test,).
        near: near-duplicates that do not occur verbatim, shape (n_test,).
    """

    exact: pl.Series
    near: pl.Series


def find_leaks(test: pl.Series, train: pl.Series, scratch: Path | None = None) -> FoundLeaks:
    """Find the test texts that repeat a training text.

    Args:
        test: test texts, in any order; may contain repeats.
        train: training texts.
        scratch: a folder for temporary files; None uses the system's.
    Returns: masks over the test texts. Requires the ``rensa`` package.

    >>> found = find_leaks(pl.Series(["so good", "So good.", "very bad"]), pl.Series(["so good"]))
    >>> found.exact.to_list(), found.near.to_list()
    ([True, False, False], [False, True, False])
    """
    known = train.unique()
    exact = test.is_in(known.implode())
    fresh = test.filter(~exact).unique(maintain_order=True)
    texts = pl.concat([known.alias("text"), fresh.alias("text")])
    with TemporaryDirectory(prefix="leaks-", dir=scratch) as place:
        pairs = near_pairs([texts], Path(place)).pairs.astype(np.int64)
    across: NDArray[np.bool_] = (pairs[:, 0] < len(known)) & (pairs[:, 1] >= len(known))
    alike = texts.gather(np.unique(pairs[across, 1]))
    return FoundLeaks(exact, test.is_in(alike.implode()) & ~exact)
