"""Three simulated shifts of known cause, with models that are right about the source: which method detects which.

Texts are points. At home three classes have shares of 60, 30 and 10%, and four texts of five are of an easy kind, one
of a hard kind whose classes lie closer together. The model is Bayes' rule for that source, its class means a little
off, by another amount for each of two seeds. Then, in five steps,

- *label shift*: the shares turn round, texts of a class stay as they were;
- *subpopulation*: the hard kind goes from a fifth to nearly all of the texts, and each kind stays as it was;
- *concept shift*: texts stay exactly as they were, and up to half of the labels of the first class become the second.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.scoring.forecasting.samples import Sample, TaskSamples
from shiftbench.scoring.forecasting.text_vectors import TextPair

CAUSES = ("label shift", "subpopulation", "concept shift")
STEPS = 5
HOME = "home"
_N = 2_000
_SHARES = np.array([0.6, 0.3, 0.1])
_HARD = 0.2
_EASY_FAR, _HARD_FAR = 2.5, 1.0
_KIND_FAR = 6.0
_OFF = 0.1
_SEEDS = (0, 1)
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class Points:
    """The points of a simulated task, as vectors of its texts."""

    def __init__(self, points: dict[str, Floats]) -> None:
        self._points = points

    def pair(self, source: str, target: str, home_ids: pl.Series, target_ids: pl.Series) -> TextPair:
        """Return the points of the source and of one step of the shift."""
        return TextPair(*(self._points[name].astype(np.float32) for name in (source, target)))


def known_shifts(seed: int = 0) -> Iterator[tuple[str, TaskSamples, Points]]:
    """Simulate the three tasks: cause, samples, points; each has a target for each step."""
    for cause in CAUSES:
        rng = np.random.default_rng([seed, CAUSES.index(cause)])
        means = [far * np.eye(3) for far in (_EASY_FAR, _HARD_FAR)]
        models = [[mean + rng.normal(0, _OFF, mean.shape) for mean in means] for _ in _SEEDS]
        texts = {HOME: _texts(rng, means, _SHARES, _HARD)}
        for step in range(1, STEPS + 1):
            texts[f"step {step}"] = _shifted(rng, means, cause, step / STEPS)
        home, shifts = {}, {}
        for seed_, model in zip(_SEEDS, models, strict=True):
            for name, (points, labels) in texts.items():
                table = _posterior(points, model)
                ids = pl.Series([f"{name} {number}" for number in range(len(points))])
                sample = Sample(ids, table.argmax(axis=1), table, labels)
                if name == HOME:
                    home[HOME, seed_] = sample
                else:
                    shifts[(HOME, seed_), name] = sample
        yield (
            cause,
            TaskSamples(cause, "accuracy", ("a", "b", "c"), home, shifts),
            Points({n: p for n, (p, _) in texts.items()}),
        )


def _shifted(rng: np.random.Generator, means: list[Floats], cause: str, size: float) -> tuple[Floats, Codes]:
    shares = (1 - size) * _SHARES + size * _SHARES[::-1] if cause == "label shift" else _SHARES
    hard = _HARD + 0.75 * size if cause == "subpopulation" else _HARD
    points, labels = _texts(rng, means, shares, hard)
    if cause == "concept shift":
        labels = np.where((labels == 0) & (rng.random(labels.size) < size / 2), 1, labels)
    return points, labels


def _texts(rng: np.random.Generator, means: list[Floats], shares: Floats, hard: float) -> tuple[Floats, Codes]:
    """Draw points: three coordinates by class, and a fourth that separates hard texts from easy ones."""
    labels, kinds = rng.choice(3, _N, p=shares), (rng.random(_N) < hard).astype(np.int64)
    by_class = np.stack(means)[kinds, labels] + rng.normal(size=(_N, 3))
    by_kind = _KIND_FAR * kinds + rng.normal(size=_N)
    return np.column_stack([by_class, by_kind]), labels


def _posterior(points: Floats, means: list[Floats]) -> Floats:
    """Return p(y|x) under the source, summed over both kinds, shape (n, 3)."""
    table = np.zeros((len(points), 3))
    for kind, (mean, share) in enumerate(zip(means, (1 - _HARD, _HARD), strict=True)):
        squares = ((points[:, None, :3] - mean) ** 2).sum(axis=2) + (points[:, 3:] - _KIND_FAR * kind) ** 2
        table += share * _SHARES * np.exp(-squares / 2)
    return np.asarray(table / table.sum(axis=1, keepdims=True))
