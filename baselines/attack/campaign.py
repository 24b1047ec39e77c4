"""An attack on a whole test split: which texts are attacked, how many are wanted of each label, and the outcome."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shiftbench.baselines.attack.search import DECIMALS, Ask, Attacked, Example, SearchLimits, attack_texts
from shiftbench.validation.progress import progress

WAVE = 32
"""Texts that are attacked at once: enough to fill the batches of a large model, few enough that Ctrl-C loses little."""

ALL = "all"


@dataclass(frozen=True)
class Outcome:
    """The outcome of an attack on the texts of one label, or on all; a figure over no texts is None.

    A text fell if the victim gives its changed form another label. ``accuracy_after`` assumes that correct texts which
    were not attacked would fall as often as the attacked ones of their label. ``changed`` (share of words with a typo)
    and ``with_sentence`` (share of texts with an added sentence) are of the texts that fell.
    """

    label: str
    texts: int
    right: int
    attacked: int
    fell: int
    success_rate: float | None
    mean_queries: float | None
    changed: float | None
    with_sentence: float | None
    accuracy_before: float | None
    accuracy_after: float | None


class Campaign:
    """Attacks on the rows of a split, label by label in a seeded order, until enough texts fell or none is left.

    Args:
        rows: test rows with ``id``, ``text`` and ``label`` (codes).
        labels: the task's labels.
        victim: what is attacked; asked at once about all rows as they are.
        known: the vocabulary that no typo may hit.
        n: how many adversarial texts are wanted, the same number of each label as far as there are.
    """

    def __init__(
        self,
        rows: pl.DataFrame,
        labels: Sequence[str],
        victim: Ask,
        known: Collection[str],
        *,
        n: int,
        limits: SearchLimits,
        seed: int,
    ) -> None:
        self._labels, self._victim, self._known = labels, victim, known
        self._n, self._limits, self._seed = n, limits, seed
        self._attacked: list[Attacked] = []
        golds = rows["label"].to_numpy()
        before = np.round(victim(rows["text"].to_list()), DECIMALS)
        self._texts = np.bincount(golds, minlength=len(labels))
        right = rows.filter(pl.Series(before.argmax(axis=1) == golds, dtype=pl.Boolean))
        p_gold = before[np.arange(len(rows)), golds][before.argmax(axis=1) == golds]
        self._waiting: list[list[Example]] = [[] for _ in labels]
        for (id_, text, gold), p in zip(right.select("id", "text", "label").iter_rows(), p_gold, strict=True):
            self._waiting[gold].append(Example(id_, text, gold, float(p)))
        for examples in self._waiting:
            examples.sort(key=lambda example: hashlib.sha256(f"{seed} {example.id}".encode()).digest())
        self._right = [len(examples) for examples in self._waiting]
        self._place = {example.id: place for examples in self._waiting for place, example in enumerate(examples)}

    def run(self) -> None:
        """Attack waves of texts until enough fell; Ctrl-C leaves what was found so far."""
        with progress(total=self._n, desc="attacking", unit="text") as bar:
            while wave := self._next_wave():
                for attacked in attack_texts(wave, self._victim, self._known, limits=self._limits, seed=self._seed):
                    self._attacked.append(attacked)
                    bar.update(min(bar.n + attacked.flipped, self._n) - bar.n)

    def choose_fallen(self) -> list[Attacked]:
        """Return at most n texts that fell, sorted by id, as evenly spread over the labels as their numbers allow."""
        by_label = [[one for one in attacked if one.flipped] for attacked in self._by_label()]
        kept = [
            one
            for share, fallen in zip(divide_evenly(self._n, list(map(len, by_label))), by_label, strict=True)
            for one in sorted(fallen, key=lambda one: self._place[one.example.id])[:share]
        ]
        return sorted(kept, key=lambda one: one.example.id)

    def outcomes(self) -> list[Outcome]:
        """Summarise the attacks on the texts of each label, then on all texts."""
        counts = zip(self._labels, map(int, self._texts), self._right, self._by_label(), strict=True)
        each = [_outcome(*facts) for facts in counts]
        every = _outcome(ALL, int(self._texts.sum()), sum(self._right), self._attacked)
        after = [outcome.accuracy_after for outcome in each if outcome.texts]
        weights = [outcome.texts for outcome in each if outcome.texts]
        known = [value for value in after if value is not None]
        accuracy = float(np.average(known, weights=weights)) if after and len(known) == len(after) else None
        return [*each, replace(every, accuracy_after=accuracy)]

    def _next_wave(self) -> list[Example]:
        """Take the next texts to attack, from the labels of which fewer texts fell than are wanted."""
        n_fallen = [sum(one.flipped for one in attacked) for attacked in self._by_label()]
        most = [self._n if waiting else there for waiting, there in zip(self._waiting, n_fallen, strict=True)]
        wave: list[Example] = []
        for share, there, waiting in zip(divide_evenly(self._n, most), n_fallen, self._waiting, strict=True):
            size = min(2 * max(share - there, 0), WAVE // len(self._labels) + 1)
            wave += waiting[:size]
            del waiting[:size]
        return wave

    def _by_label(self) -> list[list[Attacked]]:
        return [[one for one in self._attacked if one.example.gold == code] for code in range(len(self._labels))]


def divide_evenly(n: int, most: Sequence[int]) -> list[int]:
    """Divide a number as evenly as possible among takers, each of which can take only so many.

    >>> divide_evenly(10, [2, 9, 9]), divide_evenly(5, [9, 9]), divide_evenly(9, [1, 1])
    ([2, 4, 4], [3, 2], [1, 1])
    """
    shares = [0] * len(most)
    # The taker with the smallest limit is served first, so that the others get what it cannot take.
    order = sorted(range(len(most)), key=lambda place: (most[place], -place))
    for served, place in enumerate(order):
        shares[place] = min(most[place], (n - sum(shares)) // (len(most) - served))
    return shares


def _outcome(label: str, texts: int, right: int, attacked: Sequence[Attacked]) -> Outcome:
    fallen = [one for one in attacked if one.flipped]
    rate = _mean([one.flipped for one in attacked])
    lost = rate if right else 0.0  # a text that the victim gets wrong anyway cannot fall
    return Outcome(
        label=label,
        texts=texts,
        right=right,
        attacked=len(attacked),
        fell=len(fallen),
        success_rate=rate,
        mean_queries=_mean([one.queries for one in attacked]),
        changed=_mean([one.changed for one in fallen]),
        with_sentence=_mean([len(one.changes) > one.n_typos for one in fallen]),
        accuracy_before=right / texts if texts else None,
        accuracy_after=None if lost is None or not texts else right * (1 - lost) / texts,
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
