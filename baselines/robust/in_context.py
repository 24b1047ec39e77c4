"""Texts in the context of similar ones, for a causal language model: neighbours, layout and label scores."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

_IGNORED = -100
_BLOCK = 1_000
"""Texts whose cosines to all candidates are in memory at once."""


def find_nearest(
    texts: NDArray[np.float32], candidates: NDArray[np.float32], n: int, same: Sequence[int | None] | None = None
) -> list[list[int]]:
    """Find the candidates nearest to each text by cosine similarity.

    Args:
        texts: unit vectors, shape (n_texts, d).
        candidates: unit vectors, shape (n_candidates, d).
        n: number of neighbours; fewer if there are not enough candidates.
        same: index of each text among the candidates, which is excluded; None if it is not a candidate.
    Returns: for each text the indices of its neighbours, the nearest last; in a tie, the first candidate is nearer.
    """
    neighbours: list[list[int]] = []
    for start in range(0, len(texts), _BLOCK):
        order = np.argsort(-(texts[start : start + _BLOCK] @ candidates.T), axis=1, kind="stable")[:, : n + 1]
        for text, places in enumerate(order.tolist(), start):
            others = [place for place in places if same is None or place != same[text]]
            neighbours.append(others[:n][::-1])
    return neighbours


class Layout:
    """The layout of rows as one sequence: one line per field, a line for the label, an empty line between texts.

    Each part is tokenized separately, so that training and prediction use the same tokens.

    Args:
        max_tokens: maximum length of a sequence. If the texts do not fit, the query is truncated to its first
            ``max_tokens // 2`` tokens, and the texts before it are dropped, least similar first.
    """

    def __init__(self, tokenizer: Any, inputs: Sequence[str], labels: Sequence[str], max_tokens: int) -> None:
        self._tokenizer, self._inputs, self._max_tokens = tokenizer, inputs, max_tokens
        self._begin = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
        self._asks, self._gap, *answers = self._tokens(["\nLabel:", "\n\n", *(f" {label}" for label in labels)])
        end = self._gap if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
        self._answers, self._ends = answers, [answer + end for answer in answers]

    def fields(self, rows: pl.DataFrame) -> list[list[int]]:
        """Build the tokens of each row's fields, without the label."""
        columns = [pl.lit(f"{name.capitalize()}: ") + pl.col(name) for name in self._inputs]
        return self._tokens(rows.select(pl.concat_str(columns, separator="\n")).to_series())

    def demonstration(self, fields: Sequence[int], label: int) -> list[int]:
        """Build the tokens of a demonstration: a text with its label."""
        return [*fields, *self._asks, *self._answers[label]]

    def example(self, before: Sequence[Sequence[int]], fields: Sequence[int], label: int) -> dict[str, list[int]]:
        """Build a training example: context texts, then the query with its label; the loss covers all tokens."""
        ids = self._prompt(before, fields) + self._ends[label]
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": ids}

    def questions(self, before: Sequence[Sequence[int]], fields: Sequence[int]) -> list[dict[str, list[int]]]:
        """Build the query once with each label; only the label tokens are scored."""
        prompt = self._prompt(before, fields)
        return [
            {
                "input_ids": prompt + end,
                "attention_mask": [1] * (len(prompt) + len(end)),
                "labels": [_IGNORED] * len(prompt) + end,
            }
            for end in self._ends
        ]

    def _prompt(self, before: Sequence[Sequence[int]], fields: Sequence[int]) -> list[int]:
        query = [*fields[: self._max_tokens // 2], *self._asks]
        left = self._max_tokens - len(self._begin) - len(query) - max(map(len, self._ends))
        kept: list[int] = []
        for text in reversed(before):
            if len(kept) + len(text) + len(self._gap) > left:
                break
            kept = [*text, *self._gap, *kept]
        return [*self._begin, *kept, *query]

    def _tokens(self, texts: Iterable[str]) -> list[list[int]]:
        return list(self._tokenizer(list(texts), add_special_tokens=False)["input_ids"])


def label_scores(model: Any, batch: Mapping[str, Any]) -> Sequence[Any]:
    """Compute the log-probability of each row's label tokens (those of ``labels`` that are not ignored).

    Logits are computed only at label positions: over the whole sequence and vocabulary they would be the largest
    tensor.

    Args:
        batch: ``input_ids``, ``attention_mask`` and ``labels``, shape (B, T) each.
    Returns: natural logarithms, shape (B,).
    """
    labels = batch["labels"]
    places = (labels != _IGNORED).any(dim=0).nonzero().squeeze(1)  # (K,)
    inputs = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
    # The logits at a position predict the token after it.
    logits = model(**inputs, logits_to_keep=places - 1, use_cache=False).logits.float()  # (B, K, V)
    wanted = labels[:, places]  # (B, K)
    log_p = logits.log_softmax(dim=-1).gather(-1, wanted.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    scores: Sequence[Any] = log_p.masked_fill(wanted == _IGNORED, 0.0).sum(dim=1).cpu().numpy()
    return scores
