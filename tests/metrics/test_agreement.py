"""Single annotators against the majority of the others and against gold: one annotator at a time, by hand."""

import numpy as np
import pytest

from shiftbench.metrics.agreement import annotator_tables
from shiftbench.metrics.classification import accuracy


def by_hand(votes: list[list[int]], gold: list[int]) -> tuple[float, float]:
    """Average over texts and their annotators; a tie among the others counts in part."""
    others, with_gold = [], []
    for labels, label in zip(votes, gold, strict=True):
        mine = []
        for place, vote in enumerate(labels):
            rest = labels[:place] + labels[place + 1 :]
            most = max(rest.count(each) for each in set(rest))
            tied = [each for each in set(rest) if rest.count(each) == most]
            mine.append((vote in tied) / len(tied))
        others.append(np.mean(mine))
        with_gold.append(np.mean([vote == label for vote in labels]))
    return float(np.mean(others)), float(np.mean(with_gold))


def test_tables_are_those_of_one_annotator_at_a_time() -> None:
    rng = np.random.default_rng(1)
    votes = [rng.integers(3, size=rng.integers(2, 6)).tolist() for _ in range(200)]
    gold = rng.integers(3, size=200).tolist()
    counts = np.array([np.bincount(labels, minlength=3) for labels in votes])
    tables = annotator_tables(counts, gold)
    assert (float(accuracy(tables.others)), float(accuracy(tables.gold))) == pytest.approx(by_hand(votes, gold))
    assert tables.others.sum() == pytest.approx(200)
    assert tables.gold.sum(axis=1) == pytest.approx(np.bincount(gold, minlength=3))


def test_gold_made_of_ones_own_vote_flatters() -> None:
    """Check that gold which includes an annotator's own vote overstates agreement, with five who guess labels."""
    rng = np.random.default_rng(2)
    counts = rng.multinomial(5, [1 / 3] * 3, size=4_000)
    tables = annotator_tables(counts, counts.argmax(axis=1))
    assert float(accuracy(tables.others)) == pytest.approx(1 / 3, abs=0.02)
    assert float(accuracy(tables.gold)) > 0.5


@pytest.mark.parametrize(("votes", "words"), [([[1, 0]], "fewer than 2 votes"), (np.zeros((0, 2)), "one row per text")])
def test_what_cannot_be_judged_is_refused(votes: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        annotator_tables(votes, [0] * len(votes))  # type: ignore[arg-type]
