"""Scores of extractive question answering under the official SQuAD rules, versions 1 and 2.

Texts are compared after normalisation: lower case, ASCII punctuation deleted, the words a, an, the
replaced by a space, white space collapsed. Exact match requires equal texts; token F1 is the harmonic mean of
precision and recall of words, with multiplicity. Each is the maximum over the accepted answers, separately.

Version 2 supports unanswerable questions: their list of accepted answers is empty, and a prediction
abstains with ``""``. Accepted answers that are empty after normalisation are ignored; if the prediction or the accepted
answer is empty after normalisation, F1 is 1 if both are and 0 otherwise. In version 1 an empty overlap is F1 = 0, even
between two empty texts.
"""

import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class QaScores:
    """Scores per question, each an array of shape (n,).

    Attributes:
        exact: exact match, 0 or 1.
        f1: token F1, fractions in [0, 1].
        has_answer: whether any accepted answer has text.
        abstains: whether the prediction is empty after normalisation; False for unusable outputs.
    """

    exact: NDArray[np.float64]
    f1: NDArray[np.float64]
    has_answer: NDArray[np.bool_]
    abstains: NDArray[np.bool_]


def normalise_answers(texts: Sequence[str]) -> list[str]:
    r"""Normalise many answer texts as SQuAD does (see the module docstring).

    For speed, the texts are joined by line ends and normalised in one pass.

    Args:
        texts: n answer texts.
    Returns: n normalised texts.

    >>> normalise_answers(["The  U.S. Army", "an", "a\nb"])
    ['us army', '', 'b']
    """
    if not texts:
        return []
    joined = "\n".join(text.replace("\n", " ") if "\n" in text else text for text in texts)
    lines = _ARTICLES.sub(" ", joined.lower().translate(_NO_PUNCTUATION)).split("\n")
    return [" ".join(line.split()) for line in lines]


def qa_scores(
    predictions: Sequence[str | None], answers: Sequence[Sequence[str]], *, version: Literal[1, 2] = 2
) -> QaScores:
    """Compute exact match and token F1 per question.

    Args:
        predictions: n predicted texts, ``""`` = no answer, None = unusable output (wrong on every question).
        answers: n lists of accepted answers; an empty list = the question has no answer (version 2 only).
        version: 1 for the rules of SQuAD 1.1, 2 for those of 2.0.
    Returns: the scores, arrays of shape (n,); their means are the overall EM and F1.
    Raises: ValueError when the lengths differ, or a question of version 1 has no accepted answer; TypeError
        when the accepted answers of a question are a bare string.
    Source: the rules of the official SQuAD evaluation, versions 1.1 and 2.0.

    >>> scores = qa_scores(["the red car", "", "blue", None], [["red cars", "a car"], [], [], ["x"]])
    >>> scores.exact.tolist(), scores.f1.round(3).tolist()
    ([0.0, 1.0, 0.0, 0.0], [0.667, 1.0, 0.0, 0.0])
    """
    if len(predictions) != len(answers):
        raise ValueError(f"{len(predictions)} predictions but {len(answers)} lists of accepted answers")
    if version not in (1, 2):
        raise ValueError(f"version must be 1 or 2, got {version!r}")
    for row, accepted in enumerate(answers):
        if isinstance(accepted, str):
            raise TypeError(f"row {row}: accepted answers must be a list of texts, got the text {accepted!r}")
        if version == 1 and not accepted:
            raise ValueError(f"row {row}: no accepted answer, which version 1 forbids; did you mean version 2?")
    texts = list(dict.fromkeys(_all_texts(predictions, answers)))
    normalised = normalise_answers(texts)
    norm_of = dict(zip(texts, normalised, strict=True))
    bags = {norm: _bag_of_words(norm.split(" ")) if norm else frozenset[object]() for norm in {"", *normalised}}

    n = len(predictions)
    exact, f1 = np.zeros(n), np.zeros(n)
    has_answer, abstains = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    for row, (prediction, accepted) in enumerate(zip(predictions, answers, strict=True)):
        golds = [norm_of[answer] for answer in accepted]
        if version == 2:
            golds = [gold for gold in golds if gold] or [""]
        has_answer[row] = any(golds)
        if prediction is None:
            continue
        norm = norm_of[prediction]
        abstains[row] = not norm
        if norm in golds:
            exact[row] = 1.0
            f1[row] = 1.0 if norm or version == 2 else 0.0
        if norm and not f1[row]:
            bag = bags[norm]
            f1[row] = max(_overlap_f1(bag, bags[gold]) for gold in golds)
    return QaScores(exact, f1, has_answer, abstains)


def _all_texts(predictions: Sequence[str | None], answers: Sequence[Sequence[str]]) -> Iterable[str]:
    yield from (prediction for prediction in predictions if prediction is not None)
    for accepted in answers:
        yield from accepted


def _bag_of_words(words: list[str]) -> frozenset[object]:
    # Repeated occurrences of a word become distinct members, so that the multiset overlap is a set intersection.
    once = frozenset[object](words)
    if len(once) == len(words):
        return once
    seen: dict[str, int] = {}
    members: list[object] = []
    for word in words:
        seen[word] = seen.get(word, 0) + 1
        members.append(word if seen[word] == 1 else (word, seen[word]))
    return frozenset(members)


def _overlap_f1(predicted: frozenset[object], gold: frozenset[object]) -> float:
    common = len(predicted & gold)
    return 2.0 * common / (len(predicted) + len(gold)) if common else 0.0
