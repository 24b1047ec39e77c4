"""Cutting rows into splits: whole groups, shares, sizes. All rows are invented."""

import time
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.builders.assembling.cut import apportion, fill, fill_to_sizes, largest_size, take_share
from shiftbench.builders.specs.balances import ANSWERED, common_lengths, equal_labels
from shiftbench.builders.specs.spec import NATURAL, Balance, TaskSpec
from shiftbench.validation.schemas import ANSWERS
from shiftbench.validation.vocabulary import TaskKind


def rows(n_groups: int, group_size: int = 1, start: int = 0, label: str = "yes") -> pl.DataFrame:
    return pl.DataFrame(
        [
            (f"text {group}.{number}", label, f"g{group}")
            for group in range(start, start + n_groups)
            for number in range(group_size)
        ],
        schema=["text", "label", "group"],
        orient="row",
    )


def spec(balance: Balance | None, train: int = 1000, kind: TaskKind = TaskKind.CLASSIFICATION) -> TaskSpec:
    return TaskSpec(
        benchmark="own",
        name="sa",
        title="invented",
        kind=kind,
        inputs=("text",),
        labels=(),
        metric="m",
        train=train,
        validation=10,
        test=10,
        domains=(),
        balance=balance,
    )


def test_fill_passes_over_groups_that_overshoot() -> None:
    pool = pl.concat([rows(3, 4), rows(5, 1, start=10)])
    for seed in range(8):
        taken, left = fill(pool, 6, str(seed))
        assert len(taken) == 6
        assert taken.group_by("group").len().sort("group")["len"].is_in([1, 4]).all()
        assert sorted(pl.concat([taken, left]).rows()) == sorted(pool.rows())
        assert not set(taken["group"]) & set(left["group"])
    assert len(fill(rows(2, 4), 3, "x")[0]) == 0


def test_many_groups_are_taken_in_time_linear_in_their_number() -> None:
    pools = [pl.DataFrame({"group": [f"g{number}" for number in range(n)]}) for n in (5_000, 80_000)]
    seconds = []
    for pool in pools:
        start = time.process_time()
        taken, left = fill(pool, len(pool) // 2, "key")
        seconds.append(time.process_time() - start)
        assert len(taken) == len(left) == len(pool) // 2
    assert seconds[1] < 100 * seconds[0] + 0.1  # 16 where linear, 256 where it grows with the square


def test_where_every_group_overshoots_the_smallest_one_is_taken() -> None:
    pool = pl.concat([rows(1, 50), rows(1, 7, start=1), rows(1, 60, start=2)])
    for seed in range(8):
        taken, left = fill(pool, 3, str(seed), at_least=1)
        assert (len(taken), len(left)) == (7, 110)


def test_groups_with_like_strata_are_shared_out_by_themselves() -> None:
    # Two of ten documents have unanswered questions: each of the two splits must get one.
    answered = pl.concat([rows(8, 10), rows(2, 10, start=20, label="no")])
    balance = equal_labels(("no", "yes"))
    for seed in range(8):
        taken, left = take_share(answered, 0.2, str(seed), balance, first=True)
        assert taken.filter(label="no")["group"].n_unique() == left.filter(label="no")["group"].n_unique() == 1
        assert len(taken) + len(left) == len(answered)


def test_a_stratum_that_no_group_taken_holds_is_made_up_for() -> None:
    # One document in three has unanswered questions: the first split gets it, a later one gets nothing for want of it.
    mixed = rows(1, 6, start=2).with_columns(label=pl.Series(["no", "yes"] * 3))
    pool = pl.concat([rows(2, 10), mixed])
    balance = equal_labels(("no", "yes"))
    for seed in range(8):
        taken, _ = take_share(pool, 0.3, str(seed), balance, first=True)
        assert set(taken["label"]) == {"no", "yes"}
        assert len(take_share(pool, 0.3, str(seed), balance, first=False)[0]) == 0
    two = pl.concat([pool, mixed.with_columns(group=pl.lit("other"))])
    taken, left = take_share(two, 0.3, "x", balance, first=False)
    assert set(taken["label"]) == set(left["label"]) == {"no", "yes"}


@pytest.mark.parametrize(("first", "n_taken"), [(True, 4), (False, 0)])
def test_a_single_group_goes_to_the_split_that_comes_first(first: bool, n_taken: int) -> None:
    assert len(take_share(rows(1, 4), 0.2, "x", None, first=first)[0]) == n_taken


@given(
    st.integers(0, 500), st.dictionaries(st.integers(0, 9), st.floats(0.01, 1, allow_nan=False), min_size=1, max_size=6)
)
def test_apportioned_rows_add_up_and_stray_by_less_than_one(n_rows: int, shares: dict[int, float]) -> None:
    quotas = apportion(n_rows, shares)
    assert sum(quotas.values()) == n_rows
    total = sum(shares.values())
    assert all(abs(quotas[stratum] - n_rows * share / total) < 1 + 1e-6 for stratum, share in shares.items())


@given(
    st.dictionaries(st.integers(0, 3), st.integers(0, 40), min_size=1),
    st.dictionaries(st.integers(0, 3), st.sampled_from([0.1, 0.2, 0.5, 0.8]), min_size=1),
    st.integers(0, 60),
)
def test_the_largest_size_is_what_trying_all_gives(
    supply: dict[int, int], shares: dict[int, float], limit: int
) -> None:
    def possible(size: int) -> bool:
        return all(n <= supply.get(stratum, 0) for stratum, n in apportion(size, shares).items())

    # Below a row of every stratum nothing is in shares.
    has_all = all(supply.get(stratum, 0) for stratum in shares)
    found = largest_size(supply, shares, limit)
    assert found <= limit
    assert possible(found)
    if has_all:
        assert not any(possible(size) for size in range(found + 1, limit + 1)) or found == limit


def filled(
    balance: Balance | None, domains: dict[str, pl.DataFrame], *, equal: bool, train: int = 1000
) -> dict[str, pl.DataFrame]:
    cut = {name: ["train"] for name in domains}
    splits = {name: {"train": frame} for name, frame in domains.items()}
    return {
        name: found["train"]
        for name, found in fill_to_sizes(spec(balance, train), splits, cut, 0, equal=equal)[0].items()
    }


def test_fixed_shares() -> None:
    domains = {
        "a": pl.concat([rows(50), rows(20, start=100, label="no")]),
        "b": pl.concat([rows(12), rows(90, start=100, label="no")]),
    }
    balance = equal_labels(("no", "yes"))
    # 25: the thirteenth row of one label is there to break the tie.
    assert {name: Counter(frame["label"]) for name, frame in filled(balance, domains, equal=True).items()} == {
        "a": {"no": 13, "yes": 12},
        "b": {"no": 13, "yes": 12},
    }
    assert {name: len(frame) for name, frame in filled(balance, domains, equal=False).items()} == {"a": 40, "b": 25}


def questions(n_answered: int, n_unanswered: int) -> pl.DataFrame:
    answers = [{"text": ["x"], "answer_start": [0]}] * n_answered + [{"text": [], "answer_start": []}] * n_unanswered
    n = len(answers)
    return pl.DataFrame(
        {"text": [f"t{i}" for i in range(n)], "answers": pl.Series(answers, dtype=ANSWERS), "group": ["g"] * n}
    )


def test_natural_shares_are_each_domains_own() -> None:
    domains = {"a": questions(90, 10), "b": questions(30, 20)}
    found = filled(Balance("own", ANSWERED, NATURAL), domains, equal=True)
    answered = {name: frame.select(ANSWERED.sum()).item() for name, frame in found.items()}
    assert {name: len(frame) for name, frame in found.items()} == {"a": 50, "b": 50}
    assert answered == {"a": 45, "b": 30}


def targets(lengths: dict[int, int]) -> pl.DataFrame:
    words = [n for n, times in lengths.items() for _ in range(times)]
    return pl.DataFrame(
        {
            "text": [f"t{i}" for i in range(len(words))],
            "target_text": [" ".join(["word"] * n) for n in words],
            "group": [f"g{i}" for i in range(len(words))],
        }
    )


def lengths(frame: pl.DataFrame) -> dict[int, int]:
    return dict(sorted(Counter(frame["target_text"].str.count_matches("word").to_list()).items()))


def test_common_lengths_are_the_mean_of_the_domains_as_far_as_all_can_give_them() -> None:
    domains = {"a": targets({5: 80, 6: 20}), "b": targets({5: 20, 6: 80})}
    found = filled(common_lengths(1), domains, equal=True, train=30)
    assert lengths(found["a"]) == lengths(found["b"]) == {5: 15, 6: 15}
    # What no domain can give is left out, and what one has little of is made up for by the rest.
    domains = {"a": targets({5: 60, 6: 40}), "b": targets({5: 3, 6: 90, 7: 9})}
    found = filled(common_lengths(1), domains, equal=True, train=30)
    assert lengths(found["a"]) == lengths(found["b"]) == {5: 3, 6: 27}
    assert {name: len(frame) for name, frame in filled(common_lengths(1), domains, equal=False).items()} == {
        "a": 100,
        "b": 102,
    }


def test_rows_are_chosen_by_what_they_hold_not_by_where_they_stand() -> None:
    frame = pl.concat([rows(40), rows(40, start=100, label="no")])
    balance = equal_labels(("no", "yes"))
    first = filled(balance, {"a": frame}, equal=False, train=30)["a"]
    again = filled(balance, {"a": frame.reverse()}, equal=False, train=30)["a"]
    assert first.sort("text").equals(again.sort("text"))
