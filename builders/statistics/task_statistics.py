"""Statistics of a task's rows: sizes, labels, lengths, vocabulary, duplicates, and how far its domains lie apart.

Counts are of the rows as they ship. Which files and steps they came from is in the manifest, not here. What is
undefined (no row, no train split, no depth) is absent or None, never 0.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.folder.statistics import (
    QUANTILES,
    DomainStatistics,
    LengthDistance,
    Lengths,
    PairDepth,
    SplitStatistics,
    TaskStatistics,
)
from builders.specs.spec import Balance
from builders.specs.words import words
from builders.statistics.duplicates import comparison_rows, duplicates, input_text
from leaderboard.metrics.depth import q_reference, q_statistic
from leaderboard.metrics.divergence import frequent_words, js_divergence_matrix
from validation.vocabulary import GOLD, SPLITS, TOKENS, WORD, TaskKind

_CHUNK = 20_000

Depths = Mapping[tuple[str, str], pl.DataFrame]


class Spec(Protocol):
    """What the statistics need to know of a ``TaskSpec``."""

    @property
    def kind(self) -> TaskKind: ...  # noqa: D102
    @property
    def inputs(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def labels(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def balance(self) -> Balance | None: ...  # noqa: D102


def task_statistics(spec: Spec, domains: Mapping[str, Mapping[str, pl.DataFrame]], depths: Depths) -> TaskStatistics:
    """Compute the statistics of a task.

    Args:
        spec: the task.
        domains: by domain and split, finished frames (id, group, inputs, gold with labels and tags as codes).
            Empty frames count as absent.
        depths: by source and target, the tables of ``depth_tables``; may be empty.
    Returns: the statistics; the same for the same rows in any order.
    Source: divergence DR appendix A.1; depths DF1 sec. 3 and 4.2; what is balanced, DR appendix D.2.
    """
    kept = {
        domain: {split: splits[split] for split in SPLITS if len(splits.get(split, ()))}
        for domain, splits in domains.items()
    }
    words = {
        (domain, split): _word_counts(frame, spec.inputs)
        for domain, splits in kept.items()
        for split, frame in splits.items()
        if split != "validation"
    }
    train_words = {domain: words[domain, "train"] for domain, splits in kept.items() if "train" in splits}
    return TaskStatistics(
        kind=spec.kind,
        domains={
            domain: DomainStatistics(
                splits={split: _split(spec, frame) for split, frame in splits.items()},
                vocabulary=len(train_words[domain]) if domain in train_words else None,
                unseen_test_share=_unseen_share(train_words.get(domain), words.get((domain, "test"))),
                groups_in_several_splits=_straddling(splits),
            )
            for domain, splits in kept.items()
        },
        divergence=_divergence(train_words),
        depths=tuple(_pair_depth(source, target, table) for (source, target), table in depths.items()),
        target_lengths=tuple(_length_distances(kept)) if spec.kind is TaskKind.GENERATION else (),
        duplicates=duplicates(comparison_rows(kept, spec.inputs)),
        no_answer_wanted=_no_answer_wanted(spec, kept),
    )


def _split(spec: Spec, frame: pl.DataFrame) -> SplitStatistics:
    tagging, generation = spec.kind is TaskKind.TAGGING, spec.kind is TaskKind.GENERATION
    gold = frame[GOLD[spec.kind]]
    n_tokens = frame[TOKENS].list.len() if tagging else _n_words(frame.select(input_text(spec.inputs)).to_series())
    return SplitStatistics(
        rows=len(frame),
        groups=frame["group"].n_unique(),
        labels=_code_counts(gold, spec.labels) if spec.kind is TaskKind.CLASSIFICATION else {},
        tags=_code_counts(gold.explode(empty_as_null=False), spec.labels) if tagging else {},
        unanswered=int(_unanswered(frame).sum()) if spec.kind is TaskKind.EXTRACTIVE_QA else None,
        input_words=_lengths(n_tokens),
        target_words=_lengths(_n_words(gold)) if generation else None,
    )


def _code_counts(codes: pl.Series, names: Sequence[str]) -> dict[str, int]:
    counts = np.bincount(codes.to_numpy(), minlength=len(names))
    return dict(zip(names, counts.tolist(), strict=True))


def _unanswered(frame: pl.DataFrame) -> pl.Series:
    return frame[GOLD[TaskKind.EXTRACTIVE_QA]].struct.field("text").list.len() == 0


def _lengths(lengths: pl.Series) -> Lengths:
    values = lengths.to_numpy().astype(np.float64)
    quantiles = np.quantile(values, QUANTILES).tolist()
    return Lengths(mean=float(values.mean()), sd=float(values.std()), quantiles=quantiles)


def _n_words(texts: pl.Series) -> pl.Series:
    return texts.str.to_lowercase().str.count_matches(WORD)


def _word_counts(frame: pl.DataFrame, inputs: Sequence[str]) -> pl.DataFrame:
    """Count the words of a frame's inputs: columns word, n, sorted by word."""
    texts = frame.select(word=input_text(inputs))
    parts = [  # in parts, because the words take much more memory than their texts
        part.select(words("word").explode(empty_as_null=False)).group_by("word").agg(n=pl.len().cast(pl.Int64))
        for part in texts.iter_slices(_CHUNK)
    ]
    return pl.concat(parts).group_by("word").agg(pl.col("n").sum()).sort("word")


def _unseen_share(train: pl.DataFrame | None, test: pl.DataFrame | None) -> float | None:
    if train is None or test is None or not len(test):
        return None
    return int(test.join(train, on="word", how="anti")["n"].sum()) / int(test["n"].sum())


def _straddling(splits: Mapping[str, pl.DataFrame]) -> int:
    """Count the groups that more than one split has."""
    groups = [group for frame in splits.values() for group in frame["group"].unique()]
    return int((pl.Series(groups, dtype=pl.String).value_counts()["count"] > 1).sum())


def _divergence(words: Mapping[str, pl.DataFrame]) -> dict[str, dict[str, float]]:
    """Compare the domains' words, stop words left out, over the words that all together use most."""
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
    # The source's own train texts come first, before the first test text.
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


def _length_distances(domains: Mapping[str, Mapping[str, pl.DataFrame]]) -> Iterator[LengthDistance]:
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
    """Kolmogorov-Smirnov distance of two samples, both ascending."""
    points = np.concatenate([a, b])
    shares = [np.searchsorted(sample, points, side="right") / len(sample) for sample in (a, b)]
    return float(np.abs(shares[0] - shares[1]).max())


def _no_answer_wanted(spec: Spec, domains: Mapping[str, Mapping[str, pl.DataFrame]]) -> float | None:
    """Look up the share that the spec's balance gives to the stratum of a question without an answer."""
    frame = next((frame for splits in domains.values() for frame in splits.values()), None)
    if spec.kind is not TaskKind.EXTRACTIVE_QA or frame is None:
        return None
    if spec.balance is None or not isinstance(spec.balance.shares, Mapping):
        return None
    gold = GOLD[spec.kind]
    empty = pl.Series(gold, [{"text": [], "answer_start": []}], dtype=frame.schema[gold])
    stratum = frame.head(1).with_columns(empty).select(spec.balance.stratum).item()
    return spec.balance.shares.get(int(stratum))
