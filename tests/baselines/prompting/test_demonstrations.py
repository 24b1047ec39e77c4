"""Demonstrations: all labels, the same whatever the order, others for other rows and seeds."""

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.prompting.demonstrations import random_demonstrations
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

TRAIN = pl.DataFrame({"domain": ["a"] * 40, "label": [0] * 34 + [1] * 4 + [2] * 2})
ROWS = pl.DataFrame({"id": [f"b/t/d/test/{number:012x}" for number in range(60)]})


@pytest.mark.parametrize("shots", [3, 4, 7, 40])
def test_every_label_is_shown_and_no_row_twice(shots: int) -> None:
    for places in random_demonstrations(shots)(TRAIN, ROWS, 0):
        assert len(set(places)) == len(places) == shots
        assert set(TRAIN["label"][places]) == {0, 1, 2}


def test_with_fewer_shots_than_labels_none_is_shown_twice() -> None:
    drawn = [TRAIN["label"][places].to_list() for places in random_demonstrations(2)(TRAIN, ROWS, 0)]
    assert all(len(set(labels)) == 2 for labels in drawn)
    assert {tuple(labels) for labels in drawn} >= {(0, 1), (1, 0), (0, 2), (2, 1)}


def test_one_shot_is_any_row() -> None:
    drawn = [TRAIN["label"][places[0]] for places in random_demonstrations(1)(TRAIN, ROWS, 0)]
    assert np.mean(np.array(drawn) == 0) > 0.6


def test_rows_without_labels_are_drawn_at_random() -> None:
    drawn = random_demonstrations(7)(TRAIN.drop("label"), ROWS, 0)
    assert all(len(set(places)) == 7 for places in drawn)
    assert {place for places in drawn for place in places} == set(range(40))


def test_a_draw_hangs_on_seed_and_id_alone() -> None:
    choose = random_demonstrations(4)
    drawn = dict(zip(ROWS["id"], choose(TRAIN, ROWS, 3), strict=True))
    shuffled = ROWS.sample(fraction=0.5, shuffle=True, seed=1)
    assert choose(TRAIN, shuffled, 3) == [drawn[id_] for id_ in shuffled["id"]]
    assert choose(TRAIN, ROWS, 4) != list(drawn.values())
    assert len({tuple(places) for places in drawn.values()}) > 50


def test_more_shots_than_rows_are_refused(wording: SnapshotAssertion) -> None:
    assert refusal(InvalidInput, random_demonstrations(41), TRAIN, ROWS, 0) == wording
