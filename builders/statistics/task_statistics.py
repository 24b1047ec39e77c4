"""Statistics of a task's rows: sizes, labels, lengths, vocabulary, duplicates, and distances between domains.

Counts are of the final rows; their files and steps are in the manifest. Undefined values (no row, no train split, no
depth) are absent or None, never 0.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.statistics import (
    QUANTILES,
    Annotators,
    DomainStatistics,
    LengthDistance,
    Lengths,
    PairDepth,
    SplitStatistics,
    TaskStatistics,
)
from shiftbench.builders.specs.balances import words
from shiftbench.builders.specs.spec import Balance
from shiftbench.builders.statistics.duplicates import ComparisonRows, find_duplicates, input_text
from shiftbench.builders.stored_rows import Rows, compact, slices_of
from shiftbench.metrics.depth import q_reference, q_statistic
from shiftbench.metrics.divergence import frequent_words, js_divergence_matrix
from shiftbench.validation.vocabulary import GOLD, SPLITS, TOKENS, WORD, TaskKind

_CHUNK_BYTES = 1 << 22
"""Bytes of text tokenised at a time."""

Depths = Mapping[tuple[str, str], pl.DataFrame]


class Spec(Protocol):
    """The attributes of a ``TaskSpec`` used for statistics."""

    @property
    def kind(self) -> TaskKind: ...  # noqa: D102
    @property
    def inputs(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def labels(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def balance(self) -> Balance | None: ...  # noqa: D102


class DescribedTask(NamedTuple):
    """A task's statistics, and its test rows that repeat a train text
    (``shiftbench.builders.folder.reader.REPEATED_TESTS``).
    """

    statistics: TaskStatistics
    repeated_tests: pl.DataFrame


def task_statistics(
    spec: Spec,
    domains: Mapping[str, Mapping[str, Rows]],
    depths: Depths,
    scratch: Path | None = None,
    annotators: Mapping[str, Annotators] | None = None,
) -> DescribedTask:
    """Compute the statistics of a task, with only part of its texts in memory.

    Args:
        spec: the task.
        domains: finished rows (id, group, inputs, gold with labels and tags as codes), by domain and split. Empty
            frames count as absent.
        depths: the tables of ``depth_tables``, by source and target; may be empty.
        scratch: a folder for temporary files; None uses the system's.
        annotators: scores of single annotators, by domain, if known.
    Returns: the statistics and the repeated test rows, independent of row order.
    Source: divergence DR appendix A.1; depths DF1 sec. 3 and 4.2; balanced properties DR appendix D.2.
    """
    kept = {
        domain: {split: splits[split] for split in SPLITS if len(splits.get(split, ()))}
        for domain, splits in domains.items()
    }
    vocabularies, divergence = _vocabularies(kept, spec.inputs)
    duplicates = find_duplicates(ComparisonRows(kept, spec.inputs), scratch)
    statistics = TaskStatistics(
        kind=spec.kind,
        domains={
            domain: DomainStatistics(
                splits={split: _split(spec, rows) for split, rows in splits.items()},
                vocabulary=vocabularies[domain].size,
                unseen_test_share=vocabularies[domain].unseen_test_share,
                groups_in_several_splits=_count_split_groups(splits),
                annotators=(annotators or {}).get(domain),
            )
            for domain, splits in kept.items()
        },
        divergence=divergence,
        depths=tuple(_pair_depth(source, target, table) for (source, target), table in depths.items()),
        target_lengths=tuple(_length_distances(kept)) if spec.kind is TaskKind.GENERATION else (),
        duplicates=duplicates.counts,
        no_answer_wanted=_no_answer_wanted(spec, kept),
    )
    return DescribedTask(statistics, duplicates.repeated_tests)


def _split(spec: Spec, rows: Rows) -> SplitStatistics:
    tagging, generation = spec.kind is TaskKind.TAGGING, spec.kind is TaskKind.GENERATION
    counted = pl.concat(_lengths_and_gold(spec, part) for part in slices_of(rows))
    gold = counted["gold"]
    return SplitStatistics(
        rows=len(rows),
        groups=rows["group"].n_unique(),
        labels=_code_counts(gold, spec.labels) if spec.kind is TaskKind.CLASSIFICATION else {},
        tags=_code_counts(gold.explode(empty_as_null=False), spec.labels) if tagging else {},
        unanswered=int((gold == 0).sum()) if spec.kind is TaskKind.EXTRACTIVE_QA else None,
        input_words=_lengths(counted["n_words"]),
        target_words=_lengths(gold) if generation else None,
    )


def _lengths_and_gold(spec: Spec, frame: pl.DataFrame) -> pl.DataFrame:
    """Count the words or tokens of each row's inputs; ``gold`` contains codes, or the number of answers or words."""
    gold = frame[GOLD[spec.kind]]
    if spec.kind is TaskKind.EXTRACTIVE_QA:
        gold = gold.struct.field("text").list.len()
    elif spec.kind is TaskKind.GENERATION:
        gold = _n_words(gold)
    tagging = spec.kind is TaskKind.TAGGING
    n_words = frame[TOKENS].list.len() if tagging else _n_words(frame.select(input_text(spec.inputs)).to_series())
    return pl.DataFrame({"n_words": n_words, "gold": gold})


def _code_counts(codes: pl.Series, names: Sequence[str]) -> dict[str, int]:
    counts = np.bincount(codes.to_numpy(), minlength=len(names))
    return dict(zip(names, counts.tolist(), strict=True))


def _lengths(lengths: pl.Series) -> Lengths:
    values = lengths.to_numpy().astype(np.float64)
    quantiles = np.quantile(values, QUANTILES).tolist()
    return Lengths(mean=float(values.mean()), sd=float(values.std()), quantiles=quantiles)


def _n_words(texts: pl.Series) -> pl.Series:
    return texts.str.to_lowercase().str.count_matches(WORD)


@dataclass(frozen=True)
class _Vocabulary:
    """Number of distinct words of a domain's train split, and the out-of-vocabulary rate of its test split."""

    size: int | None
    unseen_test_share: float | None


def _vocabularies(
    domains: Mapping[str, Mapping[str, Rows]], inputs: Sequence[str]
) -> tuple[dict[str, _Vocabulary], dict[str, dict[str, float]]]:
    """Compare the words of each domain's train split with its test split and with the other domains."""
    vocabularies, trained = {}, {}
    for domain, splits in domains.items():
        train, test = (_word_counts(splits[split], inputs) if split in splits else None for split in ("train", "test"))
        vocabularies[domain] = _Vocabulary(None if train is None else len(train), _unseen_share(train, test))
        if train is not None:
            trained[domain] = train
    return vocabularies, _divergence(trained)


def _word_counts(rows: Rows, inputs: Sequence[str]) -> pl.DataFrame:
    """Count the words of the rows' inputs: columns word, n, sorted by word."""
    counts = pl.DataFrame(schema={"word": pl.String, "n": pl.Int64})
    new: list[pl.DataFrame] = []
    for part in slices_of(rows, _CHUNK_BYTES):  # in parts, because the words take much more memory than their texts
        texts = part.select(word=input_text(inputs))
        listed = texts.select(words("word").explode(empty_as_null=False))
        new.append(compact(listed.group_by("word").agg(n=pl.len().cast(pl.Int64))))
        if sum(map(len, new)) > len(counts):
            counts, new = _sum_counts([counts, *new]), []
    return _sum_counts([counts, *new]).sort("word")


def _sum_counts(counts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return compact(pl.concat(counts).group_by("word").agg(pl.col("n").sum()))


def _unseen_share(train: pl.DataFrame | None, test: pl.DataFrame | None) -> float | None:
    if train is None or test is None or not len(test):
        return None
    return int(test.join(train, on="word", how="anti")["n"].sum()) / int(test["n"].sum())


def _count_split_groups(splits: Mapping[str, Rows]) -> int:
    """Count the groups that occur in more than one split."""
    groups = pl.concat([pl.Series("group", [], dtype=pl.String), *(rows["group"].unique() for rows in splits.values())])
    return int((groups.value_counts()["count"] > 1).sum())


def _divergence(words: Mapping[str, pl.DataFrame]) -> dict[str, dict[str, float]]:
    """Compute the divergences of the domains' word distributions, over the most frequent words except stop words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    if not words:
        return {}
    long = pl.concat(counts.with_columns(domain=pl.lit(domain)) for domain, counts in words.items())
    content = long.filter(~pl.col("word").is_in(sorted(ENGLISH_STOP_WORDS)))
    vocabulary = content["word"].unique().sort()
    if not len(vocabulary):
        return {}
    table = np.zeros((len(words), len(vocabulary)))
    for row, domain in enumerate(words):
        counts = content.filter(domain=domain)
        table[row, vocabulary.search_sorted(counts["word"]).to_numpy()] = counts["n"].to_numpy()
    table = table[:, frequent_words(table)]
    used = table.sum(axis=1) > 0
    names = [domain for domain, has_words in zip(words, used, strict=True) if has_words]
    matrix = js_divergence_matrix(table[used])
    return {a: dict(zip(names, row.tolist(), strict=True)) for a, row in zip(names, matrix, strict=True)}


def _pair_depth(source: str, target: str, table: pl.DataFrame) -> PairDepth:
    # The source's train texts come first, before the first test text.
    is_test = table["id"].str.split("/").list.get(-2) == "test"
    own, depth = table[: int(is_test.arg_max() or 0)]["depth"].to_numpy(), table.filter(is_test)["depth"].to_numpy()
    return PairDepth(
        source=source,
        target=target,
        q=q_statistic(own, depth),
        q_reference=q_reference(own, depth),
        n_source=len(own),
        n_target=len(depth),
        mean_depth=float(depth.mean()),
    )


def _length_distances(domains: Mapping[str, Mapping[str, Rows]]) -> Iterator[LengthDistance]:
    for split in SPLITS:
        lengths = {
            domain: np.sort(_n_words(splits[split][GOLD[TaskKind.GENERATION]]).to_numpy())
            for domain, splits in domains.items()
            if split in splits
        }
        pairs = {pair: _ks_distance(lengths[pair[0]], lengths[pair[1]]) for pair in combinations(lengths, 2)}
        if pairs:
            worst = max(pairs, key=lambda pair: pairs[pair])
            yield LengthDistance(split=split, domains=worst, distance=pairs[worst])


def _ks_distance(a: NDArray[np.integer], b: NDArray[np.integer]) -> float:
    """Compute the Kolmogorov-Smirnov distance of two sorted samples."""
    points = np.concatenate([a, b])
    shares = [np.searchsorted(sample, points, side="right") / len(sample) for sample in (a, b)]
    return float(np.abs(shares[0] - shares[1]).max())


def _no_answer_wanted(spec: Spec, domains: Mapping[str, Mapping[str, Rows]]) -> float | None:
    """Return the proportion of unanswerable questions set in the spec's balance."""
    rows = next((rows for splits in domains.values() for rows in splits.values()), None)
    if spec.kind is not TaskKind.EXTRACTIVE_QA or rows is None:
        return None
    if spec.balance is None or not isinstance(spec.balance.shares, Mapping):
        return None
    gold = GOLD[spec.kind]
    first = next(slices_of(rows, end=1))
    empty = pl.Series(gold, [{"text": [], "answer_start": []}], dtype=first.schema[gold])
    stratum = first.with_columns(empty).select(spec.balance.stratum).item()
    return spec.balance.shares.get(int(stratum))
