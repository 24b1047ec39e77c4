"""Test texts that stand in training texts, word for word or nearly."""

import polars as pl

from shiftbench.builders.statistics.near_pairs import find_leaks

LONG = "the parcel came two days late and the box was torn open on one side but all parts were there and in order"


def test_repeats_and_near_repeats_are_marked_apart() -> None:
    test = pl.Series([LONG, f"{LONG} at last", "an altogether different text about the weather", LONG, "short"])
    found = find_leaks(test, pl.Series([LONG, "nothing of the sort here", LONG]))
    assert found.exact.to_list() == [True, False, False, True, False]
    assert found.near.to_list() == [False, True, False, False, False]


def test_test_texts_that_repeat_each_other_are_no_leaks() -> None:
    found = find_leaks(pl.Series([LONG, f"{LONG} at last"]), pl.Series(["nothing of the sort here"]))
    assert not found.exact.any()
    assert not found.near.any()


def test_without_training_texts_nothing_leaks() -> None:
    found = find_leaks(pl.Series([LONG]), pl.Series([], dtype=pl.String))
    assert (found.exact.to_list(), found.near.to_list()) == ([False], [False])
