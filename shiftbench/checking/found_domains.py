"""Search for unnamed domains (slices) in a check's rows: candidates found without labels, and rules found with them.

Candidates are values of the file's other columns (numbers in quintiles, dates by period), lengths, languages and
clusters of texts. Clusters are k-means on character n-grams, which separate sources by style and topic, together with
the encoder's embeddings if there is one. Languages are identified by ``py3langid``: small, maintained, no download; a
text gets no language if it is uncertain.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from shiftbench.builders.building.own import MIN_TEXTS
from shiftbench.builders.building.own_dates import count_spans, group_dates, look_like_dates
from shiftbench.builders.encoder import Encoder, encoder_texts
from shiftbench.builders.statistics.near_pairs import near_pairs
from shiftbench.checking.check_data import CheckData
from shiftbench.metrics.slices import Mask, draw_half, join_groups, search_rules, typical_words
from shiftbench.scoring.scores.outcomes import TargetRuns
from shiftbench.scoring.scores.over_time import measure_of
from shiftbench.scoring.scores.shape import SlicesFound
from shiftbench.scoring.scores.slices import (
    LEAST_GROUPS,
    SEARCHED,
    Candidate,
    Texts,
    find_slices,
    nothing_found,
    with_examples,
)
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.report import InvalidInput, Problem, plural

COLUMN = "slice"
"""The column of found domains in the output file."""
REST = "rest"
CLUSTERS = (4, 6, 9, 12)
"""Numbers of clusters to try: the texts may be from a few large sources or from many."""
_DIMENSIONS = 50
"""Dimensions that the n-gram counts are reduced to."""
_NGRAMS = 20_000
"""Number of most frequent character n-grams."""
_FITTED = 20_000
"""Maximum texts that embeddings and clusters are fitted on; all texts are assigned."""
_WORDS, _TEXTS, _LETTERS = 8, 3, 120
"""Numbers of words and of texts that describe a slice, and maximum characters shown of a text."""
_NAMED = 3
"""Words in a cluster's name."""
_VOCABULARY = 300
"""Number of most frequent words that rules can use."""
_MOST_VALUES = 20
"""Number of most frequent values of a column that become candidates."""
_BINS = 5
"""Number of ranges that numbers are split into."""
_PERIODS = 12
"""Maximum periods of a date column: dates are grouped by the shortest unit that gives no more periods."""
_SURE = 5.0
"""Minimum log odds of a text's language against the second most likely."""
_MOSTLY = 0.75
"""Minimum share of a slice's texts in one domain for naming that domain."""
_LONGEST = 90
"""Maximum characters of a slice's name in the output file, where it may become a domain name."""
_SEED = 0

Vectors = NDArray[np.float64]


@dataclass
class DomainSearch:
    """A search for unnamed domains among the rows of one check.

    Attributes:
        rows: the data of the check.
        encoder: also embeds texts for the clusters; None: n-grams only.
        row_slices: columns ``id`` (the dataset's) and ``slice``, set by the search; ``REST`` for rows in no slice.
    """

    rows: CheckData
    encoder: Encoder | None = None
    row_slices: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema={"id": pl.String, COLUMN: pl.String}))

    def __call__(self, targets: Mapping[str, TargetRuns]) -> SlicesFound:
        """Search for slices in the predicted rows of all domains."""
        rows, info = self.rows, self.rows.info
        tests = rows.folder.test(rows.task, "all", ["id", "domain", "group", *info.inputs])
        known = pl.DataFrame(
            {
                "id": pl.concat([target.ids for target in targets.values()]),
                "score": np.concatenate([each.outcomes.example_scores.mean(axis=0) for each in targets.values()]),
            }
        )
        frame = tests.join(known, on="id", how="inner", maintain_order="left")
        frame = frame.with_columns(text=pl.Series(encoder_texts(frame, info.inputs), dtype=pl.String))
        least = info.min_texts or MIN_TEXTS
        texts = Texts(measure_of(next(iter(targets.values()))), frame["score"].to_numpy(), independent_groups(frame))
        if reason := _refusal(texts, least):
            return nothing_found(texts, reason)
        columns = pl.DataFrame() if rows.source is None else rows.source.columns_of(frame["id"])
        found, masks = SearchedTexts.of(frame["text"].to_list(), columns, self.encoder, least).find(texts)
        titles = {name: text for text, name in rows.in_order.items()}
        found = _with_domains(found, masks, frame["domain"], titles)
        # Slices may overlap. They are assigned in reverse, so that the first one wins.
        named = np.full(len(frame), REST, dtype=object)
        for number, (each, mask) in reversed(list(enumerate(zip(found.slices, masks, strict=True), 1))):
            named[mask] = f"{number} {each.name}"[:_LONGEST]
        self.row_slices = frame.select("id", pl.Series(COLUMN, named.tolist(), pl.String))
        return found

    def write(self, file: Path) -> None:
        """Write the scored rows of the checked file with the slice of each, as CSV, Parquet or JSON lines.

        Nothing is written if no slice was found.

        Raises: InvalidInput if the data is not a file, or the file already has a column ``slice``.
        """
        source, option = self.rows.source, "--write-domains"
        if source is None:
            raise InvalidInput(Problem("this option is for a file, not for a dataset folder", option, cure="omit it"))
        if COLUMN in source.frame.columns:
            raise InvalidInput(Problem("the file has a column of this name", option, f"'{COLUMN}'", "rename it"))
        if not (self.row_slices[COLUMN] != REST).any():
            return
        known = dict(self.row_slices.iter_rows())
        slices = source.ids.replace_strict(known, default=None, return_dtype=pl.String)
        frame = source.frame.with_columns(slices.alias(COLUMN)).drop_nulls(COLUMN)
        with replace_file(file) as new:
            if file.suffix.lower() == ".parquet":
                frame.write_parquet(new)
            elif file.suffix.lower() == ".jsonl":
                frame.write_ndjson(new)
            else:
                nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
                frame.with_columns(
                    pl.col(name).map_elements(_json_text, return_dtype=pl.String) for name in nested
                ).write_csv(new)


@dataclass(frozen=True)
class SearchedTexts:
    """Texts with their candidate slices, which do not depend on labels or predictions.

    Attributes:
        described: the words and embeddings of the texts.
        blind: the candidate slices, no two with the same texts.
        least: minimum texts of a slice.
    """

    described: "_Described"
    blind: tuple[Candidate, ...]
    least: int

    @classmethod
    def of(cls, texts: Sequence[str], columns: pl.DataFrame, encoder: Encoder | None, least: int) -> "SearchedTexts":
        """Find the candidates.

        Args:
            texts: at least one.
            columns: other columns of the same rows; may be empty.
            encoder: also embeds texts for the clusters.
            least: minimum texts of a slice.
        """
        described = _Described.of(texts)
        return cls(described, _distinct(_candidates(columns, described, encoder, least)), least)

    def find(self, texts: Texts, seed: int = 0) -> tuple[SlicesFound, tuple[Mask, ...]]:
        """Test the candidates, and rules that describe misclassified texts.

        Rules are searched on one half of the groups and tested on the other, so that the search does not bias the test.

        Args:
            texts: their scores and groups.
            seed: seed of the halves.
        Returns: the slices with their words and texts, and the members of each.
        """
        half = draw_half(texts.groups, np.random.default_rng(seed))
        searched = list(_search(self.blind, self.described, texts, half, self.least))
        found, masks = find_slices(texts, self.blind, searched, ~half, self.least)
        return with_examples(found, [self.described.examples(mask) for mask in masks]), masks


def _json_text(cell: Any) -> str:
    import json

    return json.dumps(cell.to_list() if isinstance(cell, pl.Series) else cell, ensure_ascii=False)


def _refusal(texts: Texts, least: int) -> str:
    """Return the reason why no search is possible; "" if one is possible."""
    n, n_groups = texts.scores.size, int(texts.groups.max()) + 1
    if n < 2 * least or n_groups < 2 * LEAST_GROUPS:
        return (
            f"{plural(n, 'text')} in {plural(n_groups, 'group')} are too few to compare a slice with the rest: at "
            f"least {2 * least} in {2 * LEAST_GROUPS} are needed (near-duplicates count as one group)"
        )
    if texts.scores.min() == texts.scores.max():
        return "all texts score the same" if texts.scores.min() < 1 else "no text is misclassified"
    return ""


def independent_groups(frame: pl.DataFrame) -> NDArray[np.int64]:
    """Number the groups of rows, merging groups that share exact or near duplicates.

    Args:
        frame: columns domain, group and text; a group name may occur in several domains, as different groups.
    Returns: group index of each row, consecutive from 0, shape (n,).
    """
    names = pl.concat_str("domain", "group", separator="\0")
    groups = frame.select(names.rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    rows = frame.with_row_index("row")
    # Near duplicates are searched among distinct texts only; each row is joined with the first one of its text.
    first = rows.select(pl.col("row").min().over("text"))["row"].to_numpy().astype(np.int64)
    places = np.unique(first)
    with TemporaryDirectory(prefix="slices-") as place:
        near = places[near_pairs([frame["text"].gather(places)], Path(place)).pairs.astype(np.int64)]
    equal = np.stack([np.arange(len(frame)), first], axis=1)
    return join_groups(groups, np.concatenate([equal, near.reshape(-1, 2)]))


class _Described:
    """Texts with their words and embeddings."""

    def __init__(self, texts: Sequence[str], held: Any, words: Sequence[str], vectors: Vectors) -> None:
        self.texts, self.held, self.words, self.vectors = texts, held, words, vectors
        self.counts = np.asarray(held.sum(axis=0)).ravel()

    @classmethod
    def of(cls, texts: Sequence[str]) -> "_Described":
        """Count the texts that contain each word, and reduce the character n-grams of texts to unit vectors."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

        words = CountVectorizer(binary=True, token_pattern=r"(?u)\b\w[\w'’-]*\b", dtype=np.uint8)
        held = words.fit_transform([*texts, "text"])[:-1]  # avoids an empty vocabulary
        # Case and punctuation are kept, because they distinguish sources.
        ngrams = TfidfVectorizer(
            analyzer="char_wb", ngram_range=(3, 5), lowercase=False, sublinear_tf=True, max_features=_NGRAMS,
            dtype=np.float32,
        )  # fmt: skip
        some = _sample(len(texts))
        ngrams.fit([*(texts[row] for row in some), "text"])
        size = min(_DIMENSIONS, len(ngrams.vocabulary_) - 1)
        reduced = TruncatedSVD(size, random_state=_SEED)
        with threadpool_limits(1, "blas"):  # several threads wait for each other, and change the order of sums
            reduced.fit(ngrams.transform([texts[row] for row in some]))
            vectors = np.concatenate(
                [
                    reduced.transform(ngrams.transform(texts[start : start + _FITTED]))
                    for start in range(0, len(texts), _FITTED)
                ]
            )
        return cls(texts, held, words.get_feature_names_out().tolist(), _unit(vectors))

    def words_of(self, members: Mask, n: int) -> list[str]:
        """Return the words that are most typical of some texts compared with the others."""
        inside = np.asarray(self.held[members].sum(axis=0)).ravel()
        return [self.words[word] for word in typical_words(np.stack([inside, self.counts]), members, n)]

    def examples(self, members: Mask) -> tuple[list[str], list[str]]:
        """Return the most typical words and texts (truncated) of a slice."""
        rows = np.flatnonzero(members)
        nearest = rows[np.argsort(-(self.vectors[rows] @ self.vectors[rows].mean(axis=0)), kind="stable")]
        chosen = dict.fromkeys(_clip(self.texts[row]) for row in nearest[: 10 * _TEXTS])
        return self.words_of(members, _WORDS), list(chosen)[:_TEXTS]


def _clip(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LETTERS else f"{line[: _LETTERS - 1].rstrip()}…"


def _unit(vectors: NDArray[Any]) -> Vectors:
    """Centre vectors and scale them to length 1; zero vectors stay zero."""
    moved = np.asarray(vectors, dtype=np.float64) - vectors.mean(axis=0)
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    return np.asarray(moved / np.where(lengths > 0, lengths, 1.0))


def _sample(n: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(_SEED)
    return np.arange(n) if n <= _FITTED else np.sort(rng.choice(n, _FITTED, replace=False))


def _candidates(
    columns: pl.DataFrame, described: "_Described", encoder: Encoder | None, least: int
) -> Iterator[Candidate]:
    """Yield candidates found without labels or predictions."""
    texts = described.texts
    for column in columns:
        for words, members in _column_slices(column, least):
            yield Candidate(f"{column.name} {words}", "column", members)
    for words, members in _fifths(pl.Series([float(len(text)) for text in texts])):
        yield Candidate(f"length {words} characters", "length", members)
    yield from _languages(texts, least)
    vectors = described.vectors
    if encoder is not None:
        vectors = np.concatenate([vectors, _unit(encoder.encode(texts, "finding domains"))], axis=1)
    for k in CLUSTERS:
        for members in _clusters(vectors, k) if k * least <= len(texts) else ():
            words = ", ".join(described.words_of(members, _NAMED))
            yield Candidate(f"texts like '{words}'", "cluster", members)


def _clusters(vectors: Vectors, k: int) -> Iterator[Mask]:
    from sklearn.cluster import KMeans

    with threadpool_limits(1):
        model = KMeans(k, n_init=5, random_state=_SEED).fit(vectors[_sample(len(vectors))])
        labels = model.predict(vectors)
    yield from (labels == number for number in range(k))


def _languages(texts: Sequence[str], least: int) -> Iterator[Candidate]:
    from py3langid import rank

    ranked = [rank(text)[:2] for text in texts]
    found = np.array([best[0] if best[1] - other[1] >= _SURE else "" for best, other in ranked])
    for language in np.unique(found[found != ""]):
        if (found == language).sum() >= least:
            yield Candidate(f"language {language}", "language", found == language)


def _column_slices(column: pl.Series, least: int) -> Iterator[tuple[str, Mask]]:
    """Split a column into slices: numbers and dates by range, other values by value."""
    if column.dtype != pl.String:
        return
    column = column.str.strip_chars().replace("", None)
    filled = column.drop_nulls()
    if filled.is_empty():
        return
    numbers = column.cast(pl.Float64, strict=False)
    if filled.n_unique() > _MOST_VALUES and look_like_dates(filled):
        spans = count_spans(filled)
        span = next((span for span, n in spans.items() if n <= _PERIODS), "year")
        try:
            column = group_dates(column, span, "", "")
        except InvalidInput:  # ambiguous days and months give neither periods nor values
            return
    elif numbers.null_count() == column.null_count() and numbers.n_unique() > _MOST_VALUES:
        yield from _fifths(numbers)
        return
    counts = column.fill_null("(empty)").value_counts(sort=True).filter(pl.col("count") >= least)
    for value in counts[column.name].head(_MOST_VALUES).to_list():
        yield f"'{_clip(value)[:40]}'", (column.fill_null("(empty)") == value).to_numpy()


def _fifths(numbers: pl.Series) -> Iterator[tuple[str, Mask]]:
    """Split numbers into quintiles; ties stay together, and missing values are in none."""
    known = numbers.drop_nulls().to_numpy()
    if not known.size:
        return
    cuts = np.unique(np.quantile(known, np.arange(1, _BINS) / _BINS, method="lower"))
    values = numbers.to_numpy()
    bins = np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="left"))
    for number in range(len(cuts) + 1):
        low, high = (cuts[number - 1] if number else None), (cuts[number] if number < len(cuts) else None)
        words = f"at most {high:g}" if low is None else f"above {low:g}"
        if low is not None and high is not None:
            words = f"above {low:g} to {high:g}"
        yield words, bins == number


def _distinct(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Drop duplicates: of candidates with the same texts or complementary texts, keep the one with the fewest texts."""
    by_texts: dict[bytes, Candidate] = {}
    for each in candidates:
        side = ~each.members if each.members[0] else each.members  # a set and its complement get the same key
        known = by_texts.get(key := np.packbits(side).tobytes())
        if known is None or each.members.sum() < known.members.sum():
            by_texts[key] = each
    return tuple(by_texts.values())


def _search(
    blind: Sequence[Candidate], described: _Described, texts: Texts, half: Mask, least: int
) -> Iterator[Candidate]:
    """Search one half for rules to be tested on the other half: candidates and words, single or in pairs."""
    counts = described.counts
    usable = np.flatnonzero((counts >= least) & (counts <= len(half) / 2))
    chosen = usable[np.argsort(-counts[usable], kind="stable")[:_VOCABULARY]]
    known = [(each.name, each.members) for each in blind]
    words = described.held[:, chosen].toarray() > 0
    known += [(f"texts with '{described.words[word]}'", words[:, place]) for place, word in enumerate(chosen)]
    if not known:
        return
    predicates = np.stack([members for _, members in known], axis=1)
    for rule in search_rules(predicates[half], texts.scores[half], least, SEARCHED):
        name = " and ".join(known[number][0] for number in rule)
        yield Candidate(f"{name}, searched", "errors", np.all(predicates[:, list(rule)], axis=1))


def _with_domains(
    found: SlicesFound, masks: Sequence[Mask], domains: pl.Series, titles: Mapping[str, str]
) -> SlicesFound:
    """Add to each slice the domain that most of its texts are from, if there are several domains."""
    if domains.n_unique() < 2:
        return found
    slices = []
    for each, mask in zip(found.slices, masks, strict=True):
        (most, count), *_ = domains.filter(pl.Series(mask)).value_counts(sort=True).iter_rows()
        is_mostly = count >= _MOSTLY * each.n
        slices.append(each.model_copy(update={"domain": titles.get(most, most) if is_mostly else None}))
    return found.model_copy(update={"slices": tuple(slices)})
