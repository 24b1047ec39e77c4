"""Log-probabilities of labels from a model: of all labels, or of those among a server's most likely tokens.

A server lists only the 20 most likely tokens. A label that starts with none of them is censored: its probability is
known only to be at most 1 minus the sum of the listed probabilities.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.validation.json_text import parse_json

CONTENT_FREE = ("N/A", "[MASK]", "")
"""Content-free inputs over which Zhao et al. 2021 average."""


@dataclass(frozen=True)
class LabelScores:
    """The natural log-probabilities of a request's labels.

    Attributes:
        log_p: one per label; None if the label is censored.
        unlisted: probability that may belong to labels: the remainder not covered by listed tokens if a label is
            censored, plus that of listed tokens that start several labels.
    """

    log_p: tuple[float | None, ...]
    unlisted: float = 0.0

    @classmethod
    def from_text(cls, text: str) -> "LabelScores":
        """Parse scores written by ``to_text``."""
        data = parse_json(text)
        return cls(tuple(data["log_p"]), data["unlisted"])

    def to_text(self) -> str:
        """Format the scores as JSON."""
        return json.dumps({"log_p": self.log_p, "unlisted": self.unlisted})

    @property
    def censored(self) -> tuple[int, ...]:
        """Return the indices of the censored labels."""
        return tuple(place for place, value in enumerate(self.log_p) if value is None)

    @property
    def shares(self) -> list[float]:
        """Return a lower bound on each label's share among the labels; they sum to 1 - ``unlisted_share``.

        The true shares are these plus an unknown division of ``unlisted_share`` among the labels.

        >>> scores = LabelScores((math.log(0.6), None, math.log(0.2)), 0.2)
        >>> [round(share, 3) for share in scores.shares], round(scores.unlisted_share, 3)
        ([0.6, 0.0, 0.2], 0.2)
        """
        values = [value for value in self.log_p if value is not None]
        if not values:
            return [0.0] * len(self.log_p)
        top = max(values)
        parts = [0.0 if value is None else math.exp(value - top) for value in self.log_p]
        whole = sum(parts) + self.unlisted * math.exp(-top)
        return [part / whole for part in parts]

    @property
    def unlisted_share(self) -> float:
        """Return the share of the labels' probability that cannot be attributed to a label: 1 if no label is listed."""
        return max(0.0, 1.0 - sum(self.shares)) if self.unlisted else 0.0


def needed_tokens(labels: Sequence[str]) -> int:
    """Return the number of tokens that suffice to distinguish the labels, whatever the tokenization.

    >>> needed_tokens(["yes", "no"]), needed_tokens(["negative", "neutral"]), needed_tokens(["join", "joint"])
    (1, 3, 5)
    """
    shared = [_common_prefix(_folded(left), _folded(right)) for left, right in combinations(labels, 2)]
    return 1 + max(shared, default=0)


def have_prefixes(labels: Sequence[Sequence[Any]]) -> bool:
    """Check whether a label is a prefix of another one, as sequences of characters or of tokens.

    >>> have_prefixes(["yes", "no"]), have_prefixes([[3, 4], [3]])
    (False, True)
    """
    return any(_common_prefix(left, right) == min(len(left), len(right)) for left, right in combinations(labels, 2))


def _common_prefix(left: Sequence[Any], right: Sequence[Any]) -> int:
    pairs = zip(left, right, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def read_listed_tokens(positions: Sequence[Mapping[str, Any]], labels: Sequence[str], *, ended: bool) -> LabelScores:
    """Sum the probabilities of listed tokens by the label that they start.

    If a generated token starts several labels, its probability is divided among them like the alternatives for the next
    token. A label that is a prefix of another one is counted if the next token does not continue the longer label. Some
    servers do not list the end of the response: the whole probability then counts for a label there, and as unlisted.

    Args:
        positions: for each token of the response, in order, the generated text (``token``) and the most likely
            alternatives (``top_logprobs``, each with ``token`` and ``logprob``).
        labels: the labels; case is ignored, and an underscore is a space.
        ended: whether the response was complete after the last position.
    Raises: KeyError, TypeError or ValueError if the alternatives are missing.
    """
    folded = [_folded(label) for label in labels]
    mass = np.zeros(len(labels))
    ambiguous, left, prefix, reached = 0.0, 0.0, "", 1.0
    for place, position in enumerate(positions):
        is_last, followed = place == len(positions) - 1, 0.0
        written = str(position.get("token"))
        listed = [(str(each["token"]), reached * math.exp(float(each["logprob"]))) for each in position["top_logprobs"]]
        if not listed:
            raise ValueError("no alternatives for a token")
        left += max(0.0, reached - sum(p for _, p in listed))
        for token, p in listed:
            begun = _begun_by(prefix, token, folded)
            if len(begun) == 1:
                mass[begun[0]] += p
            elif begun and token == written and not is_last:
                followed = p
            elif begun:
                ambiguous += p
                if ended and token == written and _joined(prefix, token).rstrip() in folded:
                    mass[folded.index(_joined(prefix, token).rstrip())] += p
        if not followed:
            break
        reached, prefix = followed, _joined(prefix, written)
    censored = mass == 0
    values = tuple(None if no else math.log(each) for no, each in zip(censored, mass, strict=True))
    return LabelScores(values, float(ambiguous + left * censored.any()))


def _begun_by(prefix: str, token: str, folded: Sequence[str]) -> list[int]:
    """Find the labels that a partial response can still become, or else the label that it already equals."""
    text = _joined(prefix, token)
    begun = [
        place
        for place, label in enumerate(folded)
        if (label.startswith(text) or label == text.rstrip()) and not (prefix and not token)
    ]
    return begun or [place for place, label in enumerate(folded) if prefix and label == prefix.rstrip()]


def _folded(text: str) -> str:
    # SentencePiece writes spaces as a bar character.
    return text.replace("\u2581", " ").replace("_", " ").casefold()


def _joined(prefix: str, token: str) -> str:
    return (prefix + _folded(token)).lstrip()


def calibrated_scores(scores: ArrayLike, content_free: ArrayLike) -> NDArray[np.float64]:
    """Divide label probabilities by their mean probability for content-free inputs (contextual calibration).

    The same prompt, with the same demonstrations, is sent with content-free inputs, which correct for its prior
    preference for some labels. As in the authors' code, the mean is over unnormalised probabilities. With several input
    columns, each is replaced; the authors replace the whole example.

    Args:
        scores: natural log-probabilities of the labels, shape (..., C).
        content_free: log-probabilities for F content-free inputs after the same prompts, shape (..., F, C).
    Returns: log quotients, shape (..., C); their softmax gives the calibrated probabilities.
    Raises: ValueError if a log-probability is not finite, or the shapes do not match.
    Source: Zhao et al. 2021, "Calibrate Before Use", equation 1 with b = 0 and the diagonal matrix of sec. 5.

    >>> from scipy.special import softmax
    >>> softmax(calibrated_scores(np.log([0.6, 0.2]), np.log([[0.6, 0.1], [0.6, 0.1]]))).round(3).tolist()
    [0.333, 0.667]
    """
    from scipy.special import logsumexp

    asked, free = np.asarray(scores, dtype=np.float64), np.asarray(content_free, dtype=np.float64)
    if not (np.isfinite(asked).all() and np.isfinite(free).all()):
        raise ValueError("labels' log-probabilities must be finite; was a label never scored?")
    if free.ndim != asked.ndim + 1 or free.shape[-1] != asked.shape[-1] or free.shape[-2] == 0:
        raise ValueError(f"scores (..., C) and content_free (..., F, C) do not fit: {asked.shape} and {free.shape}")
    return np.asarray(asked - logsumexp(free, axis=-2) + np.log(free.shape[-2]))
