"""Placebo tasks: every row dealt, splits kept, no shift left. All rows are invented."""

import polars as pl

from shiftbench.builders.assembling.assemble import AssembledTask, assemble
from shiftbench.builders.assembling.placebo import placebo_task
from shiftbench.builders.specs.spec import TaskSpec
from shiftbench.validation.vocabulary import ExampleId, TaskKind

SPEC = TaskSpec(
    benchmark="own",
    name="sa",
    title="t",
    kind=TaskKind.CLASSIFICATION,
    inputs=("text",),
    labels=("no", "yes"),
    metric="macro_f1",
    train=900,
    validation=90,
    test=200,
    domains=(),
    fewshot_domains=("a", "b"),
    fewshot_size=5,
)


def task(n_groups: int = 40, domains: str = "abc") -> AssembledTask:
    rows = {
        name: {
            "train": pl.DataFrame(
                {
                    "text": [f"{name} text {number}" for number in range(2 * n_groups)],
                    "label": ["no", "yes"] * n_groups,
                    "group": [f"g{number // 2}" for number in range(2 * n_groups)],
                }
            )
        }
        for name in domains
    }
    return assemble(SPEC, rows, {name: (f"source {name}",) for name in domains}, seed=0, equal=False)


def pooled(task: AssembledTask) -> pl.DataFrame:
    return pl.concat(
        frame.with_columns(split=pl.lit(split)) for splits in task.domains.values() for split, frame in splits.items()
    )


def test_every_row_is_dealt_once_and_keeps_its_split() -> None:
    real, placebo = task(), placebo_task(task(), 0)
    assert placebo is not None
    assert placebo.spec.name == "sa.placebo"
    assert list(placebo.domains) == ["p0", "p1", "p2"]
    columns = ["text", "label", "split"]
    assert sorted(pooled(placebo).select(columns).rows()) == sorted(pooled(real).select(columns).rows())
    for domain, splits in placebo.domains.items():
        for split, frame in splits.items():
            ids = [ExampleId.parse(text) for text in frame["id"]]
            assert {(id_.task, id_.domain, id_.split) for id_ in ids} == {("sa.placebo", domain, split)}
            sizes = [len(other[split]) for other in placebo.domains.values()]
            assert max(sizes) - min(sizes) <= 2


def test_groups_are_dealt_whole_and_those_of_two_domains_are_two() -> None:
    placebo = placebo_task(task(), 0)
    assert placebo is not None
    found = pooled(placebo).group_by("group").agg(pl.col("domain").n_unique(), pl.len())
    assert (found["domain"] == 1).all()
    assert len(found) == 120
    assert {group.split("/")[0] for group in found["group"]} == {"a", "b", "c"}


def test_every_placebo_domain_mixes_the_real_ones() -> None:
    placebo = placebo_task(task(), 0)
    assert placebo is not None
    for splits in placebo.domains.values():
        assert set(splits["train"]["text"].str.head(1)) == {"a", "b", "c"}
    assert placebo.sources["p0"] == ("source a", "source b", "source c")


def test_the_seed_decides_and_subsets_are_there() -> None:
    first, again, other = placebo_task(task(), 0), placebo_task(task(), 0), placebo_task(task(), 1)
    assert first is not None
    assert again is not None
    assert other is not None
    assert first.domains["p0"]["test"].equals(again.domains["p0"]["test"])
    assert not first.domains["p0"]["test"].equals(other.domains["p0"]["test"])
    assert {name: len(ids) for name, ids in first.subsets.items()} == {
        "all": len(pooled(task()).filter(split="test")),
        "fewshot": 10,
    }


def test_what_cannot_be_dealt() -> None:
    assert placebo_task(task(domains="a"), 0) is None
    few = task(4)
    # One test group a domain can be dealt, one validation group in all cannot.
    few.domains["b"].pop("validation", None)
    few.domains["c"].pop("validation", None)
    placebo = placebo_task(few, 0)
    assert placebo is not None
    assert all(set(splits) == {"train", "test"} for splits in placebo.domains.values())
