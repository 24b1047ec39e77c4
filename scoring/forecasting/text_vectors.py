"""Texts of domains beside each other: embeddings of held-out source texts and of target texts, and words in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.encoder import encoder_texts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.depth import tte_depth
from shiftbench.metrics.divergence import frequent_words, js_divergence_matrix
from shiftbench.scoring.forecasting.samples import TaskSamples
from shiftbench.validation.vocabulary import WORD

Floats = NDArray[np.float64]

_FOLDS = 2
_MOST_ROUNDS = 200
_SEED = 0


@dataclass(frozen=True)
class TextPair:
    """The texts of one shift as vectors: held-out source texts (n_home, d) and target texts (n_target, d)."""

    home: NDArray[np.float32]
    target: NDArray[np.float32]

    @cached_property
    def target_probability(self) -> Floats:
        """Probability that each source text comes from the target, shape (n_home,), cross-fitted in two halves.

        Logistic regression on the vectors: a classifier sees no text that it judges.
        """
        from sklearn.linear_model import LogisticRegression

        rng = np.random.default_rng(_SEED)
        folds = [rng.permutation(len(side)) % _FOLDS for side in (self.home, self.target)]
        found = np.zeros(len(self.home))
        for fold in range(_FOLDS):
            parts = [side[of != fold] for side, of in zip((self.home, self.target), folds, strict=True)]
            is_target = np.repeat([0, 1], [len(part) for part in parts])
            classifier = LogisticRegression(max_iter=_MOST_ROUNDS).fit(np.concatenate(parts), is_target)
            judged = folds[0] == fold
            found[judged] = classifier.predict_proba(self.home[judged])[:, 1]
        return found

    @cached_property
    def depths(self) -> tuple[Floats, Floats]:
        """Depth in the source of its own held-out texts, each left out of its own, and of the target's texts."""
        return tte_depth(self.home), tte_depth(self.home, self.target)


class TextEncoder(Protocol):
    """What embeds texts: an ``Encoder``, or the vectors that one has cached."""

    def encode(self, texts: Sequence[str], description: str = ...) -> NDArray[np.float32]:
        """Return unit vectors, shape (n, d), in the order given."""


class ShiftVectors(Protocol):
    """What methods ask vectors of."""

    def pair(self, source: str, target: str, home_ids: pl.Series, target_ids: pl.Series) -> TextPair:
        """Return the vectors of one shift."""


class TextVectors:
    """The vectors of all texts of a task's samples.

    Args:
        samples: they say which texts there are.
        folder: the dataset.
        encoder: embeds each distinct text once.
        extra: texts of targets that the folder does not have, by id.
    """

    def __init__(
        self, samples: TaskSamples, folder: DatasetFolder, encoder: TextEncoder, extra: Mapping[str, str] | None = None
    ) -> None:
        info = folder.task(samples.task)
        wanted = [sample.ids for sample in (*samples.home.values(), *samples.shifts.values())]
        ids = pl.concat(wanted).unique().sort() if wanted else pl.Series("id", [], dtype=pl.String)
        frames = [
            folder.split(samples.task, domain, split).select("id", *info.inputs)
            for domain, facts in info.domains.items()
            for split in ("validation", "test")
            if split in facts.splits
        ]
        rows = pl.concat(frames).filter(pl.col("id").is_in(ids.implode())) if frames else pl.DataFrame()
        texts = dict(zip(rows["id"].to_list(), encoder_texts(rows, info.inputs), strict=True)) | dict(extra or {})
        self._places = {id_: place for place, id_ in enumerate(texts)}
        self._vectors = encoder.encode(list(texts.values()), "embedding texts for forecasts")
        self._pairs: dict[tuple[str, str], TextPair] = {}

    def pair(self, source: str, target: str, home_ids: pl.Series, target_ids: pl.Series) -> TextPair:
        """Return the vectors of one shift; runs of one source share what is computed of them."""
        key = source, target
        if key not in self._pairs or len(self._pairs[key].home) != len(home_ids):
            self._pairs[key] = TextPair(self._select_vectors(home_ids), self._select_vectors(target_ids))
        return self._pairs[key]

    def _select_vectors(self, ids: pl.Series) -> NDArray[np.float32]:
        return np.asarray(self._vectors[[self._places[id_] for id_ in ids.to_list()]])


def word_likeness(texts: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
    """Compare the words of every two domains: one less their Jensen-Shannon divergence.

    Args:
        texts: of each domain.
    Returns: likeness by domain and domain, symmetric: 1 the same words equally often, 0 no word in common. Stop words
        are left out, and words beyond the 10,000 most frequent; domains without any other word, too.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    counts = [_word_counts(domain, mine) for domain, mine in texts.items() if mine]
    if not counts:
        return {}
    long = pl.concat(counts).filter(~pl.col("word").is_in(sorted(ENGLISH_STOP_WORDS)))
    vocabulary = long["word"].unique().sort()
    names = long["domain"].unique(maintain_order=True).to_list()
    if not names:
        return {}
    table = np.zeros((len(names), len(vocabulary)))
    rows = long["domain"].replace_strict({name: row for row, name in enumerate(names)}).to_numpy()
    table[rows, vocabulary.search_sorted(long["word"]).to_numpy()] = long["n"].to_numpy()
    table = table[:, frequent_words(table)]
    used = table.sum(axis=1) > 0
    kept = [name for name, has_words in zip(names, used, strict=True) if has_words]
    alike = 1 - js_divergence_matrix(table[used])
    return {one: dict(zip(kept, row.tolist(), strict=True)) for one, row in zip(kept, alike, strict=True)}


def mean_likeness(likeness: Mapping[str, Mapping[str, float]], domains: Sequence[str]) -> float | None:
    """Average the likeness of every two of these domains; None where there are no two."""
    found = [likeness[a][b] for a in domains for b in domains if a != b and b in likeness.get(a, {})]
    return float(np.mean(found)) if found else None


def _word_counts(domain: str, texts: Sequence[str]) -> pl.DataFrame:
    """Count the words of one domain: columns domain, word, n."""
    words = pl.Series("word", texts, dtype=pl.String).str.to_lowercase().str.extract_all(WORD).explode().drop_nulls()
    counted = words.to_frame().group_by("word").agg(n=pl.len().cast(pl.Int64))
    return counted.select(pl.lit(domain).alias("domain"), "word", "n")
