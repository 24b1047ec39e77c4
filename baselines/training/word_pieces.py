"""Sentences as windows of word pieces for token classification, and back to one tag per word.

A word is tagged at its first piece. If a long sentence is split into overlapping windows, each word belongs to the one
window with the most context around it, in training and in prediction: no word counts twice in the loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftbench.baselines.training.batches import IGNORED
from shiftbench.baselines.training.pieces import windows

_NO_WORD = -1


@dataclass(frozen=True)
class WordPieces:
    """Sentences split into windows.

    Attributes:
        features: model inputs of each window (``input_ids`` and so on), lists of n_pieces numbers.
        sentence: index of each window's sentence, shape (n_windows,).
        words: for each window, the index of the word that each piece tags, -1 for none, shape (n_pieces,).
        n_words: length of each sentence, shape (n_sentences,).
    """

    features: list[dict[str, list[int]]]
    sentence: NDArray[np.int64]
    words: list[NDArray[np.int64]]
    n_words: NDArray[np.int64]

    def labels(self, tags: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return the label of each piece of each window (-100 if it tags no word), from each sentence's tag codes."""
        by_sentence = [np.append(np.asarray(codes, dtype=np.int64), IGNORED) for codes in tags]
        # Index -1 (no word) selects the appended ``IGNORED``.
        return [by_sentence[row][places].tolist() for row, places in zip(self.sentence, self.words, strict=True)]

    def tags(self, codes: Sequence[NDArray[np.int64]], outside: int) -> list[NDArray[np.int64]]:
        """Return one tag code per word, from each window's codes per piece.

        A word for which the tokenizer returns no piece, such as a control character, is tagged ``outside``.

        Args:
            codes: predicted code of each piece of each window, shape (n_pieces,) each.
        Returns: the codes of each sentence, shape (n_words,) each.
        """
        by_sentence = [np.full(length, outside, dtype=np.int64) for length in self.n_words]
        for row, places, predicted in zip(self.sentence, self.words, codes, strict=True):
            tagged = places != _NO_WORD
            by_sentence[row][places[tagged]] = predicted[tagged]
        return by_sentence


def word_pieces(sentences: Sequence[Sequence[str]], tokenizer: Any, max_length: int) -> WordPieces:
    """Split sentences into windows of at most ``max_length`` pieces; RoBERTa's tokenizer needs ``add_prefix_space``."""
    if not sentences:
        return WordPieces([], np.zeros(0, dtype=np.int64), [], np.zeros(0, dtype=np.int64))
    encoded = tokenizer([list(words) for words in sentences], is_split_into_words=True, verbose=False)
    features: list[dict[str, list[int]]] = []
    sentence: list[int] = []
    words: list[NDArray[np.int64]] = []
    for row in range(len(sentences)):
        word_of = np.array([_NO_WORD if word is None else word for word in encoded.word_ids(row)], dtype=np.int64)
        columns = {name: np.asarray(encoded[name][row]) for name in encoded}
        for kept, tagging in _cut_sentence(word_of, max_length):
            features.append({name: column[kept].tolist() for name, column in columns.items()})
            sentence.append(row)
            words.append(tagging)
    n_words = np.array([len(part) for part in sentences], dtype=np.int64)
    return WordPieces(features, np.array(sentence, dtype=np.int64), words, n_words)


def _cut_sentence(word_of: NDArray[np.int64], max_length: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the pieces of a sentence's windows, with special tokens at both ends, and the word that each tags."""
    body = np.flatnonzero(word_of != _NO_WORD)
    first, end = (int(body[0]), int(body[-1]) + 1) if body.size else (len(word_of), len(word_of))
    before, after = np.arange(first), np.arange(end, len(word_of))
    begins = np.append(True, np.diff(word_of[body]) != 0)[: body.size]
    firsts = np.where(begins, word_of[body], _NO_WORD)
    cuts = windows(body.size, max_length - before.size - after.size)
    owner = _most_context(body.size, cuts)
    parts = []
    for number, cut in enumerate(cuts):
        own = np.where(owner[cut] == number, firsts[cut], _NO_WORD)
        tagging = np.concatenate([np.full(before.size, _NO_WORD), own, np.full(after.size, _NO_WORD)])
        parts.append((np.concatenate([before, body[cut], after]), tagging))
    return parts


def _most_context(length: int, cuts: Sequence[range]) -> NDArray[np.int64]:
    """Choose for each piece the window whose nearest cut (an edge inside the sentence) is farthest from the piece."""
    places = np.arange(length)
    shown = np.full((len(cuts), length), -1)
    for number, cut in enumerate(cuts):
        left = places - cut.start if cut.start else np.full(length, length)
        right = cut.stop - 1 - places if cut.stop < length else np.full(length, length)
        inside = (places >= cut.start) & (places < cut.stop)
        shown[number] = np.where(inside, np.minimum(left, right), -1)
    return np.asarray(shown.argmax(axis=0))
