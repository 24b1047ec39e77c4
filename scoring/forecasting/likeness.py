"""How alike the words of domains are: a diagnostic beside intervals, of which it changes none."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from shiftbench.metrics.divergence import frequent_words, js_divergence_matrix
from shiftbench.validation.vocabulary import WORD


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
