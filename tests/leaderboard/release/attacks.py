"""Attacks on withheld labels: what somebody learns who submits file after file and reads every answer."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.leaderboard.release.ladder import Measured, Rung, next_rung
from shiftbench.validation.vocabulary import NO_SOURCE, UNPARSED

Ids = Mapping[str, Sequence[str]]
"""Test ids by target, sorted."""
Shown = Callable[[pl.DataFrame], Mapping[tuple[str, str], float | None]]
"""A function that submits a file and returns the accuracy shown of each source and target, None where none is."""
Look = Callable[[NDArray[np.int64]], float | None]
"""A function that submits predicted labels and returns the released number, None without a new one."""

WEIGHTS = (1, 2, 4)
"""Seeds in which a label is asked about: one number holds as many labels as there are weights."""
_SEEDS = sum(WEIGHTS)


def read_off(ids: Ids, guess: str, shown: Shown) -> tuple[dict[str, NDArray[np.bool_]], int]:
    """Read labels off exact scores: each number asks about three texts, with unusable output on all others.

    Args:
        ids: the test ids.
        guess: a label; of each text it is asked whether that is it.
        shown: sends a file.
    Returns: for each target whether each text has the label (not known: has not), and how many files were sent.
    """
    sources = [*ids, NO_SOURCE]
    found = {target: np.zeros(len(those), dtype=bool) for target, those in ids.items()}
    asked = len(sources) * len(WEIGHTS)
    n_files = -(-max(map(len, ids.values())) // asked)
    for file in range(n_files):
        places = {
            (source, target): range(start, min(start + len(WEIGHTS), len(those)))
            for target, those in ids.items()
            for start, source in zip(range(file * asked, (file + 1) * asked, len(WEIGHTS)), sources, strict=True)
        }
        frames = [_probe(ids[target], source, chosen, guess) for (source, target), chosen in places.items()]
        answers = shown(pl.concat(frames))
        for (source, target), chosen in places.items():
            number = answers.get((source, target))
            code = 0 if number is None else _code(number, len(ids[target]))
            for weight, place in zip(WEIGHTS, chosen, strict=False):
                found[target][place] = bool(code & weight)
    return found, n_files


def _probe(ids: Sequence[str], source: str, chosen: range, guess: str) -> pl.DataFrame:
    """Predict one label for three texts, in one, two and four of seven runs."""
    frames, seed = [], 0
    for place, weight in enumerate(WEIGHTS):
        for _ in range(weight):
            said = np.full(len(ids), UNPARSED, dtype=object)
            if place < len(chosen):
                said[chosen[place]] = guess
            columns = {"source": source, "id": list(ids), "prediction": said.tolist(), "seed": seed}
            frames.append(pl.DataFrame(columns, schema_overrides={"seed": pl.Int64}))
            seed += 1
    return pl.concat(frames)


def _code(number: float, n_texts: int) -> int:
    """Find which of three texts were right, from a mean accuracy over seven runs rounded to three decimals."""
    return min(range(_SEEDS + 1), key=lambda code: abs(round(code / (_SEEDS * n_texts), 3) - number))


class Laddered:
    """The Ladder as one account sees it, with labels of its own, each of a group of its own.

    Files go to variants of the data in turn, all of which have the same labels.
    """

    def __init__(
        self, gold: NDArray[np.int64], rng: np.random.Generator, *, can_be_guessed: bool = True, n_variants: int = 1
    ) -> None:
        self.gold, self.rng = gold, rng
        self.can_be_guessed, self.n_variants, self.n_looks = can_be_guessed, n_variants, 0
        self.best: tuple[float, int, Measured] | None = None

    def look(self, predicted: NDArray[np.int64]) -> float | None:
        """Return the number released of a file; None where it is not better than the best so far by a step."""
        own, variant = measured(predicted == self.gold), self.n_looks % self.n_variants
        self.n_looks += 1
        guess = measured(self.rng.permutation(predicted) == self.gold) if self.can_be_guessed else None
        rung = None
        if self.best is not None:
            told, place, file = self.best
            rung = Rung(told, file if place == variant else None)
        number = next_rung(own, rung, guess, self.rng.random())
        if number is not None:
            self.best = (number, variant, own)
        return number


def measured(right: NDArray[np.bool_]) -> Measured:
    """Return the share of right labels, with each left out."""
    ones = right.astype(np.float64)
    return Measured(float(ones.mean()), (ones.sum() - ones) / (ones.size - 1))


Attack = Callable[[Look, NDArray[np.int64], int, int, np.random.Generator], NDArray[np.int64]]
"""Look, the file to begin with, number of classes, number of looks -> the best file it can make."""


def random_files(
    look: Look, start: NDArray[np.int64], n_classes: int, n_looks: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Submit random files, and keep the best."""
    best, told = start, 1 / n_classes
    for _ in range(n_looks):
        file = rng.integers(n_classes, size=start.size)
        answer = look(file)
        if answer is not None and answer > told:
            best, told = file, answer
    return best


def flips(share: float) -> Attack:
    """Change a share of the best file's labels at random, and keep what is reported to be better.

    A file that is told to be worse than chance is turned round first: each label becomes another one.
    """

    def attack(
        look: Look, start: NDArray[np.int64], n_classes: int, n_looks: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        chance, best, told = 1 / n_classes, start, look(start)
        if told is not None and told < chance:
            best = (start + rng.integers(1, n_classes, start.size)) % n_classes
            told = chance + (chance - told) / (n_classes - 1)
        for _ in range(n_looks - 1):
            file = best.copy()
            changed = rng.random(file.size) < share
            file[changed] = (file[changed] + rng.integers(1, n_classes, int(changed.sum()))) % n_classes
            answer = look(file)
            if answer is not None and answer > (told or 0):
                best, told = file, answer
        return best

    return attack


def boosting(
    look: Look, start: NDArray[np.int64], n_classes: int, n_looks: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Submit random files, and combine them by vote: with the better-scored ones, slightly against the others."""
    votes = 1e-9 * rng.random((start.size, n_classes))
    for _ in range(n_looks):
        file = rng.integers(n_classes, size=start.size)
        answer = look(file)
        # A file without a number is slightly worse than chance on average: by 0.055 of its standard deviation.
        votes[np.arange(start.size), file] += -0.055 if answer is None else 10 * (answer - 1 / n_classes)
    return votes.argmax(axis=1)


ATTACKS: dict[str, Attack] = {
    "random files": random_files,
    "flips of 5%": flips(0.05),
    "flips of 20%": flips(0.2),
    "flips of 50%": flips(0.5),
    "boosting": boosting,
}


WRONG = -1
"""An answer that is readable but certainly wrong, as exists wherever answers are free texts."""


def ramp(shares: Sequence[float]) -> Attack:
    """Answer at random a growing share of the texts, all others wrongly for certain, and combine files by vote.

    So each file is better than the last one by a step, whatever chance does, and is told of; its number tells of the
    answers that it has. Where labels can be guessed nothing is surely wrong: it needs free texts.

    Args:
        shares: of each look the share of texts that are answered; the last one for all further looks.
    """

    def attack(
        look: Look, start: NDArray[np.int64], n_classes: int, n_looks: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        votes = 1e-9 * rng.random((start.size, n_classes))
        for number in range(n_looks):
            file = np.full(start.size, WRONG)
            mine = rng.permutation(start.size)[: round(shares[min(number, len(shares) - 1)] * start.size)]
            file[mine] = rng.integers(n_classes, size=mine.size)
            answer = look(file)
            if answer is not None:
                votes[mine, file[mine]] += answer * start.size / mine.size - 1 / n_classes
        return votes.argmax(axis=1)

    return attack
