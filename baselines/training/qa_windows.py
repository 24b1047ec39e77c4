"""Questions on long contexts as overlapping windows of word pieces, and back to one answer per question.

A window contains the question and a part of the context. Answers are spans of at most 30 pieces, from the window with
the best sum of start and end scores. The first piece of a window stands for "no answer": a question has none if its
lowest such score over all windows exceeds the best span's score by more than a threshold (SQuAD 2.0). Titles are not
used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftbench.baselines.training.pieces import windows

MAX_ANSWER = 30
"""Maximum pieces of an answer."""
QUESTION_SHARE = 4
"""A question takes up at most 1 / ``QUESTION_SHARE`` of a window; the rest of it is truncated."""

_MARK, _QUESTION, _CONTEXT = -1, 0, 1
"""Origin of a piece: special token, question or context (the tokenizer's sequence ids, with -1 for None)."""

Logits = NDArray[np.float32]


@dataclass(frozen=True)
class QaWindows:
    """Questions and contexts split into windows.

    Attributes:
        features: model inputs of each window (``input_ids`` and so on), lists of n_pieces numbers.
        question: index of each window's question, shape (n_windows,).
        first: position in the window of its first context piece, shape (n_windows,).
        parts: range of the context's pieces in each window.
        offsets: character range of each context piece, shape (n_context_pieces, 2) per question.
    """

    features: list[dict[str, list[int]]]
    question: NDArray[np.int64]
    first: NDArray[np.int64]
    parts: list[range]
    offsets: list[NDArray[np.int64]]
    contexts: Sequence[str]

    def labels(self, answers: Sequence[Mapping[str, Sequence[Any]]]) -> NDArray[np.int64]:
        """Find the first and last piece of the answer in each window.

        Args:
            answers: ``text`` and ``answer_start`` of each question, of which the first is used; empty = no answer.
        Returns: positions in the window, shape (n_windows, 2); 0, 0 if it does not contain the whole answer.
        """
        spans = [_answer_pieces(accepted, offsets) for accepted, offsets in zip(answers, self.offsets, strict=True)]
        labels = np.zeros((len(self.features), 2), dtype=np.int64)
        for window, (row, part) in enumerate(zip(self.question, self.parts, strict=True)):
            start, end = spans[row]
            if part.start <= start <= end < part.stop:
                labels[window] = np.array([start, end]) - part.start + self.first[window]
        return labels

    def answers(self, logits: Sequence[Logits]) -> "SpanAnswers":
        """Find the best answer to each question over its windows' start and end scores, shape (n_pieces, 2) each."""
        n_questions = len(self.contexts)
        texts, best = [""] * n_questions, np.full(n_questions, -np.inf)
        nothing = np.full(n_questions, np.inf)
        for window, (row, part) in enumerate(zip(self.question, self.parts, strict=True)):
            nothing[row] = min(nothing[row], float(logits[window][0].sum()))
            if len(part) == 0:
                continue
            first = self.first[window]
            score, start, end = best_span(logits[window][first : first + len(part)])
            if score > best[row]:
                best[row] = score
                left, right = self.offsets[row][part.start + start, 0], self.offsets[row][part.start + end, 1]
                # SentencePiece pieces include the space before them.
                texts[row] = self.contexts[row][left:right].strip()
        return SpanAnswers(texts, nothing - best)


@dataclass(frozen=True)
class SpanAnswers:
    """The best answer to each of n questions, and the score of no answer minus that of the best answer, shape (n,)."""

    texts: list[str]
    preference: NDArray[np.float64]

    def apply_threshold(self, threshold: float) -> list[str]:
        """Return the answers, ``""`` if no answer is preferred by more than the threshold; infinity: always answer."""
        return ["" if more > threshold else text for text, more in zip(self.texts, self.preference, strict=True)]


def qa_windows(questions: Sequence[str], contexts: Sequence[str], tokenizer: Any, max_length: int) -> QaWindows:
    """Split contexts into windows of ``max_length`` pieces, each with its question (at most a quarter)."""
    features: list[dict[str, list[int]]] = []
    rows: list[int] = []
    firsts: list[int] = []
    parts: list[range] = []
    offsets: list[NDArray[np.int64]] = []
    asked = [question.strip() for question in questions]
    # Tokenizers do not accept an empty list of pairs.
    encoded: Any = tokenizer(asked, list(contexts), return_offsets_mapping=True, verbose=False) if asked else {}
    offsets_of = encoded.pop("offset_mapping", [])
    for row in range(len(contexts)):
        sides = np.array([_MARK if side is None else side for side in encoded.sequence_ids(row)])
        columns = {name: np.asarray(encoded[name][row]) for name in encoded}
        offsets.append(np.asarray(offsets_of[row], dtype=np.int64)[sides == _CONTEXT])
        before, body, after = _split_pair(sides, max_length // QUESTION_SHARE)
        for part in windows(body.size, max_length - before.size - after.size):
            kept = np.concatenate([before, body[part], after])
            features.append({name: column[kept].tolist() for name, column in columns.items()})
            rows.append(row)
            firsts.append(before.size)
            parts.append(part)
    return QaWindows(
        features, np.array(rows, dtype=np.int64), np.array(firsts, dtype=np.int64), parts, offsets, contexts
    )


def _split_pair(
    sides: NDArray[np.int64], longest_question: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return positions before the context (with the question truncated), of the context, and after it."""
    body = np.flatnonzero(sides == _CONTEXT)
    first, end = (int(body[0]), int(body[-1]) + 1) if body.size else (len(sides), len(sides))
    lost = np.flatnonzero(sides == _QUESTION)[longest_question:]
    return np.setdiff1d(np.arange(first), lost), body, np.arange(end, len(sides))


def best_span(logits: Logits) -> tuple[float, int, int]:
    """Find the span of at most ``MAX_ANSWER`` pieces with the highest sum of start and end scores.

    Args:
        logits: start and end scores, shape (n_pieces, 2), n_pieces >= 1.
    Returns: the sum, the first and the last piece.

    >>> best_span(np.array([[0, 5], [3, 0], [1, 2]]))
    (5.0, 0, 0)
    """
    start, end = logits[:, 0], logits[:, 1]
    ends = np.append(end, np.full(MAX_ANSWER - 1, -np.inf))
    sums = start[:, None] + np.lib.stride_tricks.sliding_window_view(ends, MAX_ANSWER)  # (n_pieces, MAX_ANSWER)
    first, more = divmod(int(sums.argmax()), MAX_ANSWER)
    return float(sums[first, more]), first, first + more


def null_threshold(
    preference: NDArray[np.float64], answered: NDArray[np.float64], abstained: NDArray[np.float64]
) -> float:
    """Choose the no-answer threshold with the highest mean score.

    Args:
        preference: score of no answer minus that of the best span, shape (n,).
        answered: score of answering each question, shape (n,).
        abstained: score of abstaining, shape (n,).
    Returns: the best threshold (abstain if the preference is greater); in a tie, the one that abstains least. 0 if n =
        0; -inf: always abstain.
    Source: SQuAD 2.0's evaluation tunes it in the same way.

    >>> null_threshold(np.array([-3.0, 1.0, 2.0]), np.array([0.9, 0.5, 0.0]), np.array([0.0, 0.0, 1.0]))
    1.0
    """
    if preference.size == 0:
        return 0.0
    order = np.argsort(-preference, kind="stable")
    sorted_ = preference[order]
    gained = np.append(0.0, np.cumsum((abstained - answered)[order]))  # gain from abstaining on the first k
    between = np.append(True, np.append(sorted_[1:] != sorted_[:-1], True))  # a threshold cannot separate equal values
    n_abstained = int(np.where(between, gained, -np.inf).argmax())
    return float(sorted_[n_abstained]) if n_abstained < sorted_.size else -np.inf


def _answer_pieces(accepted: Mapping[str, Sequence[Any]], offsets: NDArray[np.int64]) -> tuple[int, int]:
    """Find the first and last context piece overlapping the first answer; without one, last is before first."""
    if not accepted["text"]:
        return 0, -1
    start = int(accepted["answer_start"][0])
    stop = start + len(accepted["text"][0])
    first = np.searchsorted(offsets[:, 1], start, side="right")
    last = np.searchsorted(offsets[:, 0], stop, side="left") - 1
    return int(first), int(last)
