"""Attacks on withheld labels: what somebody learns who sends file after file and reads every answer."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from leaderboard.release.ladder import Measured, next_rung, step_between
from validation.vocabulary import NO_SOURCE, UNPARSED

Ids = Mapping[str, Sequence[str]]
"""Test ids by target, sorted."""
Shown = Callable[[pl.DataFrame], Mapping[tuple[str, str], float | None]]
"""Sends a file; gives the accuracy that is shown of each source and target, None where none is."""
Look = Callable[[NDArray[np.int64]], float | None]
"""Sends predicted labels; gives the number that is told."""

WEIGHTS = (1, 2, 4)
"""Seeds in which a label is asked about: one number holds as many labels as there are weights."""
_SEEDS = sum(WEIGHTS)


def read_off(ids: Ids, guess: str, shown: Shown) -> tuple[dict[str, NDArray[np.bool_]], int]:
    """Read labels off exact scores: each number asks about three texts, and is unusable output on all others.

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
    """The Ladder as one account meets it, with labels of its own, each of a group of its own."""

    def __init__(self, gold: NDArray[np.int64], rng: np.random.Generator) -> None:
        self.gold, self.rng = gold, rng
        self.best: float | None = None
        self._rung: Measured | None = None

    def look(self, predicted: NDArray[np.int64]) -> float | None:
        """Return the number that is told of a file: the best so far."""
        own = self._measured(predicted)
        compared = self._rung or self._measured(self.rng.permutation(predicted))
        best = compared.value if self.best is None else self.best
        new = next_rung(own.value, best, step_between(own, compared))
        if new is not None:
            self.best, self._rung = new, own
        return self.best

    def _measured(self, predicted: NDArray[np.int64]) -> Measured:
        right = (predicted == self.gold).astype(np.float64)
        return Measured(float(right.mean()), (right.sum() - right) / (right.size - 1))


Attack = Callable[[Look, NDArray[np.int64], int, int, np.random.Generator], NDArray[np.int64]]
"""Look, the file to begin with, number of classes, number of looks -> the best file it can make."""


def random_files(
    look: Look, start: NDArray[np.int64], n_classes: int, n_looks: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Send files dealt at random, and keep the best."""
    best, told = start, None
    for _ in range(n_looks):
        file = rng.integers(n_classes, size=start.size)
        answer = look(file)
        if answer != told:
            best, told = file, answer
    return best


def flips(share: float) -> Attack:
    """Change a share of the best file's labels at random, and keep what is told to be better."""

    def attack(
        look: Look, start: NDArray[np.int64], n_classes: int, n_looks: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        best, told = start, look(start)
        for _ in range(n_looks - 1):
            file = best.copy()
            changed = rng.random(file.size) < share
            file[changed] = (file[changed] + rng.integers(1, n_classes, int(changed.sum()))) % n_classes
            answer = look(file)
            if answer != told:
                best, told = file, answer
        return best

    return attack


def boosting(
    look: Look, start: NDArray[np.int64], n_classes: int, n_looks: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Send files dealt at random, and let them vote: by what was told to be better, against what was not."""
    votes, told = np.zeros((start.size, n_classes)), None
    for _ in range(n_looks):
        file = rng.integers(n_classes, size=start.size)
        answer = look(file)
        better = answer != told and answer is not None
        # A file that is not told to be better is a little worse than chance: by 0.055 of its standard deviation.
        votes[np.arange(start.size), file] += 10 * ((answer or 0) - 1 / n_classes) if better else -0.055
        told = answer
    return votes.argmax(axis=1)


ATTACKS: dict[str, Attack] = {
    "random files": random_files,
    "flips of 5%": flips(0.05),
    "flips of 20%": flips(0.2),
    "flips of 50%": flips(0.5),
    "boosting": boosting,
}
