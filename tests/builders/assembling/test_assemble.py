"""From rows to splits: groups whole, sizes equal, ids from content, nothing from row order. All rows are invented."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.assembling.assemble import AssembledTask, assemble
from shiftbench.builders.assembling.cut import Size, Splits
from shiftbench.builders.specs.balances import equal_labels
from shiftbench.builders.specs.spec import DomainSpec, TaskSpec
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import ExampleId, TaskKind
from tests.refusals import refusal

LABELS = ("no", "yes")


def spec(
    train: int = 1000, validation: int = 100, test: int = 275, domains: Sequence[str] = (), **more: Any
) -> TaskSpec:
    return TaskSpec(
        benchmark="own",
        name="sa",
        title="invented",
        kind=TaskKind.CLASSIFICATION,
        inputs=("text",),
        labels=LABELS,
        metric="macro_f1",
        train=train,
        validation=validation,
        test=test,
        domains=tuple(DomainSpec(name, {}, ()) for name in domains),
        **more,
    )


def rows(n_groups: int, group_size: int = 1, start: int = 0) -> pl.DataFrame:
    return pl.DataFrame(
        [
            (f"text {group}.{number}", LABELS[(group + number) % 2], f"g{group}")
            for group in range(start, start + n_groups)
            for number in range(group_size)
        ],
        schema=["text", "label", "group"],
        orient="row",
    )


def assembled(
    domains: dict[str, Splits], task: TaskSpec | None = None, equal: bool = False, seed: int = 0
) -> AssembledTask:
    return assemble(task or spec(), domains, dict.fromkeys(domains, ("s",)), seed=seed, equal=equal)


def n_rows(splits: Splits) -> dict[str, int]:
    return {split: len(frame) for split, frame in splits.items()}


def one(splits: Splits, **options: object) -> Splits:
    return assembled({"a": splits}, **options).domains["a"]  # type: ignore[arg-type]


# Groups


@pytest.mark.parametrize("group_size", [1, 3])
def test_no_group_is_in_two_splits_and_no_row_is_lost(group_size: int) -> None:
    frame = rows(60, group_size)
    splits = one({"train": frame})
    assert list(splits) == ["train", "validation", "test"]
    groups = [set(split["group"]) for split in splits.values()]
    assert sum(map(len, groups)) == len(set.union(*groups)) == 60
    texts = pl.concat(splits.values())["text"]
    assert sorted(texts) == sorted(frame["text"])


def test_train_rows_of_test_groups_leave_and_are_counted() -> None:
    task = assembled({"a": {"train": rows(20, 3), "test": rows(4, 2, start=18)}})
    train, validation, test = (task.domains["a"][split] for split in ("train", "validation", "test"))
    assert len(test) == 8
    assert not set(test["group"]) & (set(train["group"]) | set(validation["group"]))
    left = [count for count in task.counts if count.name == "test_groups_leave_train"]
    assert [(count.domain, count.split, count.before, count.after) for count in left] == [("a", "train", 60, 54)]
    assert len(train) + len(validation) == 54


def test_validation_given_upstream_keeps_its_groups_out_of_train_and_test_keeps_its_own() -> None:
    given = {"train": rows(10), "validation": rows(4, start=8), "test": rows(3, start=11)}
    task = assembled({"a": given})
    assert {split: sorted(frame["group"]) for split, frame in task.domains["a"].items()} == {
        "train": sorted(f"g{number}" for number in range(8)),
        "validation": ["g10", "g8", "g9"],
        "test": ["g11", "g12", "g13"],
    }
    changed = {(count.name, count.before, count.after) for count in task.counts if count.before != count.after}
    assert changed == {("test_groups_leave_validation", 4, 3), ("validation_groups_leave_train", 10, 8)}


@pytest.mark.parametrize(
    ("n_groups", "expected"),
    [(1, {"test": 5}), (2, {"train": 5, "test": 5}), (3, {"train": 10, "test": 5})],
)
def test_with_few_groups_test_comes_first_then_train(n_groups: int, expected: dict[str, int]) -> None:
    assert n_rows(one({"train": rows(n_groups, 5)}, task=spec(train=100, validation=1, test=25))) == expected


def test_a_domain_may_have_test_rows_only() -> None:
    assert n_rows(one({"test": rows(5)})) == {"test": 5}


# Sizes


def test_domains_are_cut_to_the_size_of_the_smallest() -> None:
    task = spec(train=40, validation=10, domains=("a", "b"))
    domains = {
        "a": {"train": rows(30), "test": rows(7, start=100)},
        "b": {"train": rows(45), "test": rows(9, start=100)},
    }
    built = assembled(domains, task, equal=True)
    assert n_rows(built.domains["a"]) == {"train": 24, "validation": 6, "test": 7}
    assert n_rows(built.domains["b"]) == {"train": 24, "validation": 6, "test": 9}
    assert built.sizes == {"train": Size(40, 24, "a"), "validation": Size(10, 6, "a")}
    filled = {(count.domain, count.split): count for count in built.counts if count.name == "fill_to_size"}
    assert (filled["b", "train"].before, filled["b", "train"].after) == (36, 24)
    assert (filled["b", "validation"].before, filled["b", "validation"].after) == (9, 6)


def test_the_papers_size_is_the_most() -> None:
    task = spec(train=40, validation=4, test=8, domains=("a", "b"))
    built = assembled({"a": {"train": rows(900)}, "b": {"train": rows(80)}}, task, equal=True)
    assert n_rows(built.domains["a"]) == n_rows(built.domains["b"]) == {"train": 40, "validation": 4, "test": 8}
    assert {split: size.smallest for split, size in built.sizes.items()} == dict.fromkeys(
        ("train", "validation", "test")
    )


@pytest.mark.parametrize("group_size", [3, 7])
def test_a_size_is_met_exactly_though_groups_are_large(group_size: int) -> None:
    splits = one({"train": rows(21, group_size), "test": rows(2, start=100)}, task=spec(train=20, validation=3))
    assert n_rows(splits) == {"train": 20, "validation": 3, "test": 2}
    assert not set(splits["train"]["group"]) & set(splits["validation"]["group"])


def test_a_given_validation_split_is_cut_only_where_domains_are_to_be_equal() -> None:
    task = spec(train=20, validation=2)
    domains = {
        name: {"train": rows(20), "validation": rows(size, start=50), "test": rows(3, start=90)}
        for name, size in {"a": 2, "b": 9}.items()
    }
    assert len(assembled(domains, task).domains["b"]["validation"]) == 9
    assert len(assembled(domains, task, equal=True).domains["b"]["validation"]) == 2


def test_a_domain_without_a_row_for_the_shared_size_is_refused(wording: SnapshotAssertion) -> None:
    task = spec(domains=("a", "b"), balance=equal_labels(LABELS))
    one_label = rows(40).filter(label="no")
    domains = {"a": {"train": rows(40)}, "b": {"train": one_label}}
    assert refusal(InvalidInput, assembled, domains, task, equal=True) == wording


# Balance and repeats


def test_labels_are_balanced_in_every_split_that_is_cut() -> None:
    frame = pl.concat([rows(90), rows(60, start=200).with_columns(label=pl.lit("yes"))])
    task = spec(train=60, validation=20, test=20, balance=equal_labels(LABELS))
    splits = one({"train": frame}, task=task)
    assert n_rows(splits) == {"train": 54, "validation": 18, "test": 18}
    assert all(frame["label"].mean() == 0.5 for frame in splits.values())


def test_a_text_with_two_labels_leaves_and_a_repeated_one_stays_once() -> None:
    frame = pl.DataFrame(
        {
            "text": ["both", "both", "twice", "twice", "once"],
            "label": ["yes", "no", "yes", "yes", "no"],
            "group": ["a", "b", "c", "d", "e"],
        }
    )
    task = assembled({"a": {"test": frame}}, spec(distinct=("text",)))
    assert sorted(task.domains["a"]["test"]["text"]) == ["once", "twice"]
    changed = {(count.name, count.before, count.after) for count in task.counts if count.before != count.after}
    assert changed == {("conflicting_rows_leave", 5, 3), ("repeated_inputs_leave", 3, 2)}


def test_a_variant_has_its_groups_in_the_same_splits() -> None:
    domains = {"a": {"train": rows(60, 2)}}
    base = assembled(domains, spec(train=90, validation=10, test=20))
    variant = assembled(domains, replace(base.spec, name="sa_variant", variant_of="sa"))
    other = assembled(domains, replace(base.spec, name="sa_variant"))
    groups = [set(task.domains["a"]["test"]["group"]) for task in (base, variant, other)]
    assert groups[0] == groups[1] != groups[2]


def test_without_shared_sizes_every_domain_keeps_its_rows() -> None:
    built = assembled(
        {"a": {"train": rows(50), "test": rows(5, start=90)}, "b": {"train": rows(20), "test": rows(5, start=90)}},
        spec(train=40, validation=10),
    )
    assert n_rows(built.domains["a"]) == {"train": 40, "validation": 10, "test": 5}
    assert n_rows(built.domains["b"]) == {"train": 16, "validation": 4, "test": 5}


# Seeds, order, ids


def test_the_seed_decides_the_groups_and_nothing_else_does() -> None:
    frame = rows(60, 2)
    first = one({"train": frame})
    again = one({"train": frame.sample(fraction=1, shuffle=True, seed=7)})
    other = one({"train": frame}, seed=1)
    assert all(first[split].equals(again[split]) for split in ("train", "validation", "test"))
    assert set(first["test"]["group"]) != set(other["test"]["group"])
    assert set(first["validation"]["group"]) != set(other["validation"]["group"])


def test_row_order_does_not_matter_where_a_group_is_broken_either() -> None:
    frame, task = rows(9, 5), spec(train=13, validation=2)
    splits = [
        one({"train": order, "test": rows(1, start=100)}, task=task)["train"] for order in (frame, frame.reverse())
    ]
    assert len(splits[0]) == 13
    assert splits[0].equals(splits[1])


def test_ids_name_place_and_content() -> None:
    built = assembled({"a": {"train": rows(30)}, "b": {"train": rows(30)}})
    for domain, splits in built.domains.items():
        for split, frame in splits.items():
            ids = [ExampleId.parse(text) for text in frame["id"]]
            assert {(id_.benchmark, id_.task, id_.domain, id_.split) for id_ in ids} == {("own", "sa", domain, split)}
            assert frame["id"].is_sorted()
            assert set(frame["domain"]) == {domain}
    tests = [built.domains[domain]["test"] for domain in "ab"]
    digests = [{text: id_[-12:] for id_, text in frame.select("id", "text").iter_rows()} for frame in tests]
    shared = digests[0].keys() & digests[1].keys()
    assert shared
    assert all(digests[0][text] == digests[1][text] for text in shared)


def test_rows_that_repeat_entirely_leave_and_equal_texts_are_numbered() -> None:
    frame = pl.DataFrame(
        {
            "text": ["same", "same", "same", "other"],
            "label": ["yes", "no", "yes", "no"],
            "group": ["g", "g", "g", "h"],
        }
    )
    task = assembled({"a": {"test": frame}})
    test = task.domains["a"]["test"]
    assert len(test) == 3
    assert test["id"].n_unique() == 3
    assert [(count.before, count.after) for count in task.counts if count.name == "repeated_rows_leave"] == [(4, 3)]
    again = one({"test": frame[[3, 1, 0, 2]]})["test"]
    assert test.equals(again)
    # The first of equal texts has the id that it would have alone.
    alone = one({"test": frame.tail(1).vstack(frame.filter(label="no").head(1))})["test"]
    assert set(alone["id"]) < set(test["id"])


def test_labels_become_codes_in_the_tasks_order() -> None:
    test = one({"test": rows(6)})["test"]
    expected = {f"text {number}.0": number % 2 for number in range(6)}
    assert dict(test.select("text", "label").iter_rows()) == expected


# Subsets and what is absent


def test_subsets() -> None:
    task = spec()
    fewshot = TaskSpec(**{**vars(task), "fewshot_domains": ("a", "c"), "fewshot_size": 4})
    domains = {name: {"train": rows(10), "test": rows(9, start=50)} for name in "abc"}
    built = assembled(domains, fewshot)
    tests = {name: set(built.domains[name]["test"]["id"]) for name in "abc"}
    assert set(built.subsets["all"]["id"]) == set.union(*tests.values())
    chosen = set(built.subsets["fewshot"]["id"])
    assert [len(chosen & tests[name]) for name in "abc"] == [4, 0, 4]
    assert built.subsets["fewshot"]["id"].is_sorted()
    other = assembled(domains, fewshot, seed=1).subsets["fewshot"]
    assert set(other["id"]) != chosen
    assert list(assembled({name: domains[name] for name in "ab"}, fewshot).subsets) == ["all"]


def test_domains_without_rows_are_named() -> None:
    task = spec(domains=("a", "b", "c"))
    assert assembled({"b": {"test": rows(3)}}, task).absent == ("a", "c")
