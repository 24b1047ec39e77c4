"""The search for adversarial texts: greedy, with a budget of questions to a victim, many texts at once.

For each text that the victim gets right: leave words out one by one to see which matter, put typos into those that
matter most and keep each time the one that takes most from the gold label, then put a sentence before or after.
The search for one text is a generator that yields the texts it wants the victim's view of, so that one call of the
victim serves all texts; it draws from a random generator of its own, so that what comes out for a text does not depend
on the others.
"""

import hashlib
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shiftbench.baselines.attack.perturb import (
    attackable_words,
    distractions,
    leave_out,
    list_typos,
    replace_word,
    split_words,
)

Probabilities = NDArray[np.float64]
"""The victim's probability of each label, shape (n_texts, n_labels)."""

Ask = Callable[[Sequence[str]], Probabilities]
_T = TypeVar("_T")

Search = Generator[list[str], Probabilities, "Attacked"]

TYPOS_A_WORD = 8
"""Typos of a word that are tried: drawn at random from all there are."""

DECIMALS = 6
"""Probabilities are compared after rounding: the last digits may depend on the texts asked about in the same call."""


@dataclass(frozen=True)
class SearchLimits:
    """How far the search may go for one text: questions to the victim, and the share of words with a typo."""

    queries: int = 100
    max_changed: float = 0.15


@dataclass(frozen=True)
class Example:
    """A text that the victim gets right: its gold label as a code, and the victim's probability of that label."""

    id: str
    text: str
    gold: int
    p_gold: float


@dataclass(frozen=True)
class Attacked:
    """The result of one search. ``victim`` is the label that the victim gives ``text``; the text fell if not gold."""

    example: Example
    text: str
    victim: int
    p_gold: float
    queries: int
    changes: tuple[str, ...]
    n_typos: int

    @property
    def flipped(self) -> bool:
        """Return whether the victim gives the changed text another label."""
        return self.victim != self.example.gold

    @property
    def changed(self) -> float:
        """Return the share of the original's words that have a typo."""
        return self.n_typos / max(1, len(split_words(self.example.text)))


def text_generator(seed: int, example_id: str) -> np.random.Generator:
    """Build the random generator of one text, from the seed and the example's id alone."""
    digest = hashlib.sha256(example_id.encode()).digest()[:8]
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])


def attack_texts(
    examples: Sequence[Example], ask: Ask, known: Collection[str], *, limits: SearchLimits, seed: int
) -> Iterator[Attacked]:
    """Search for adversarial texts of all examples together: each call of ``ask`` holds the questions of all searches.

    Yields: what came of each, in the order in which the searches end.
    """
    searches = [search(example, known, limits=limits, seed=seed) for example in examples]
    asked: list[tuple[Search, list[str]]] = []
    for one in searches:
        yield from _advance(one, None, asked)
    while asked:
        answers = ask([text for _, texts in asked for text in texts])
        pending, asked, start = asked, [], 0
        for one, texts in pending:
            answer = np.round(answers[start : start + len(texts)], DECIMALS)
            start += len(texts)
            yield from _advance(one, answer, asked)


def search(example: Example, known: Collection[str], *, limits: SearchLimits, seed: int) -> Search:
    """Search for an adversarial text of one example; yields texts and is sent the victim's probabilities.

    The victim's view of the original counts as the first question. A quarter of the questions is kept for sentences,
    at most half go into finding the words that matter.
    """
    rng = text_generator(seed, example.id)
    attempt = _Attempt(example)
    kept = limits.queries // 4
    allowed = int(limits.max_changed * len(split_words(example.text)) + 1e-9)
    for number in (yield from _sort_by_importance(attempt, limits.queries // 2, rng)) if allowed else []:
        if attempt.flipped or attempt.n_typos == allowed:
            break
        queries_left = limits.queries - kept - attempt.queries
        yield from attempt.best_of(
            _draw_typos(attempt.text, number, known, min(queries_left, TYPOS_A_WORD), rng), is_typo=True
        )
    if not attempt.flipped:
        yield from attempt.best_of(_draw(distractions(attempt.text), limits.queries - attempt.queries, rng))
    return attempt.result()


@dataclass
class _Attempt:
    """The best text so far of one search."""

    example: Example
    queries: int = 1
    n_typos: int = 0
    changes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.text, self.p_gold, self.victim = self.example.text, self.example.p_gold, self.example.gold

    @property
    def flipped(self) -> bool:
        return self.victim != self.example.gold

    def ask(self, texts: list[str]) -> Generator[list[str], Probabilities, Probabilities]:
        """Yield texts to the victim, count them as questions, and return its probabilities."""
        self.queries += len(texts)
        return (yield texts)

    def best_of(
        self, candidates: Sequence[tuple[str, str]], *, is_typo: bool = False
    ) -> Generator[list[str], Probabilities, None]:
        """Keep the candidate with the lowest gold probability if that lowers it; flips of the label come first."""
        if not candidates:
            return
        answers = yield from self.ask([text for text, _ in candidates])
        gold, victims = answers[:, self.example.gold], answers.argmax(axis=1)
        flips = victims != self.example.gold
        best = int(np.lexsort((gold, ~flips))[0])
        if not flips[best] and gold[best] >= self.p_gold:
            return
        self.text, change = candidates[best]
        self.p_gold, self.victim = float(gold[best]), int(victims[best])
        self.changes.append(change)
        self.n_typos += is_typo

    def result(self) -> Attacked:
        changes = tuple(self.changes)
        return Attacked(self.example, self.text, self.victim, self.p_gold, self.queries, changes, self.n_typos)


def _sort_by_importance(
    attempt: _Attempt, most: int, rng: np.random.Generator
) -> Generator[list[str], Probabilities, list[int]]:
    """Sort the words that may get a typo by how much the gold probability falls without them, most first."""
    numbers = _draw(attackable_words(attempt.text), most, rng)
    if not numbers:
        return []
    answers = yield from attempt.ask([leave_out(attempt.text, number) for number in numbers])
    order = np.argsort(answers[:, attempt.example.gold], kind="stable")
    return [numbers[place] for place in order]


def _draw_typos(
    text: str, number: int, known: Collection[str], most: int, rng: np.random.Generator
) -> list[tuple[str, str]]:
    """Draw some typos of a word; returns pairs of the new text and a description."""
    word = split_words(text)[number]
    drawn = _draw(list_typos(word, known), most, rng)
    return [(replace_word(text, number, typo), f"{word} -> {typo}") for typo in drawn]


def _draw(choices: Sequence[_T], most: int, rng: np.random.Generator) -> list[_T]:
    """Draw at most ``most`` of the choices, in the order in which they came."""
    if len(choices) <= most:
        return list(choices)
    if most <= 0:
        return []
    return [choices[place] for place in sorted(rng.choice(len(choices), size=most, replace=False))]


def _advance(one: Search, answer: Probabilities | None, asked: list[tuple[Search, list[str]]]) -> Iterator[Attacked]:
    """Run a search up to its next question, which is added to ``asked``, or yield its result if it ended."""
    try:
        texts = next(one) if answer is None else one.send(answer)
    except StopIteration as end:
        yield end.value
        return
    asked.append((one, texts))
