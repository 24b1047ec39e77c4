"""Placebo tasks: groups assigned at random to as many domains as the real task has, to measure drops without shift."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.assembling.assemble import AssembledTask, add_subsets, check_schema, finish_rows
from shiftbench.builders.assembling.cut import fill_to_sizes
from shiftbench.builders.folder.manifest import TransformCount
from shiftbench.builders.specs.spec import COMMON, Balance, TaskSpec
from shiftbench.builders.stored_rows import Rows, RowWriter, in_memory, slices_of
from shiftbench.metrics.placebo import placebo_domains
from shiftbench.validation.vocabulary import PLACEBO, SPLITS, TaskKind


def placebo_task(
    task: AssembledTask, seed: int, *, balanced: bool = True, store: Path | None = None
) -> AssembledTask | None:
    """Assign a finished task's groups to placebo domains ``p0``, ``p1``, ... at random; every row keeps its split.

    Splits that were cut to size in the real task are cut again, so that placebo domains are balanced and equally large
    if the real ones are; this drops some rows. A split with fewer groups in total than domains is omitted.

    Args:
        seed: determines the assignment.
        balanced: keep the real task's balance; otherwise labels do not affect the assignment, so that the dropped rows
            reveal no label.
        store: a folder for the placebo's rows, if the task's own rows are on disk.
    Returns: the task ``<task>.placebo``; None if train or test has too few groups, or there is only one domain.
    """
    domains = [f"p{number}" for number in range(len(task.domains))]
    spec = _placebo_spec(task.spec if balanced else replace(task.spec, balance=None), domains)
    rows = _pool_rows(task, spec.balance, len(domains))
    if len(domains) < 2 or not {"train", "test"} <= set(rows["split"]):
        return None
    rng = np.random.default_rng([seed, *spec.id.encode()])
    rows = rows.select("id", "split", pl.Series("placebo", _assign_groups(rows, spec.balance, len(domains), rng)))
    assigned = _assign_rows(task, rows, domains, store)
    filled: Mapping[str, Mapping[str, Rows]] = assigned
    if task.sizes:
        frames = {
            domain: {split: in_memory(part) for split, part in splits.items()} for domain, splits in assigned.items()
        }
        equal = any(size.rows is not None for size in task.sizes.values())
        filled, _ = fill_to_sizes(spec, frames, dict.fromkeys(domains, tuple(task.sizes)), seed, equal=equal)
    sources = tuple(sorted({slug for domain in task.domains for slug in task.sources[domain]}))
    placebo = AssembledTask(spec, {}, dict.fromkeys(domains, sources))
    for domain, splits in filled.items():
        placebo.domains[domain] = {
            split: finish_rows(part, spec, domain, split, store) for split, part in splits.items() if len(part)
        }
        placebo.counts += [
            TransformCount(
                domain=domain, split=split, name="fill_to_size", before=len(assigned[domain][split]), after=len(part)
            )
            for split, part in splits.items()
        ]
    if not any("test" in splits for splits in placebo.domains.values()):
        return None
    check_schema(placebo)
    add_subsets(placebo, seed)
    return placebo


def _pool_rows(task: AssembledTask, balance: Balance | None, n_domains: int) -> pl.DataFrame:
    """Collect the columns that determine the assignment, sorted by group and id.

    Returns: id, domain, split, group (prefixed with the domain) and the columns used for balancing, without splits that
        have fewer groups than domains.
    """
    columns = dict.fromkeys(["id", "domain", "group", *([] if balance is None else balance.stratum.meta.root_names())])
    pooled = pl.concat(
        _prefix_groups(rows.select(*columns)).with_columns(pl.lit(split).alias("split"))
        for splits in task.domains.values()
        for split, rows in splits.items()
    )
    n_groups = dict(pooled.group_by("split").agg(pl.col("group").n_unique()).iter_rows())
    divisible = [split for split in SPLITS if n_groups.get(split, 0) >= n_domains]
    return pooled.filter(pl.col("split").is_in(divisible)).sort("group", "id")


def _prefix_groups(rows: pl.DataFrame) -> pl.DataFrame:
    """Prefix each group with its domain, so that groups of different domains stay distinct."""
    return rows.with_columns(pl.concat_str("domain", "group", separator="/").alias("group"))


def _assign_rows(
    task: AssembledTask, assignment: pl.DataFrame, domains: Sequence[str], store: Path | None
) -> dict[str, dict[str, Rows]]:
    """Assign a task's rows to placebo domains; returns frames, or rows on disk if ``store`` is given.

    Args:
        task: the real task.
        assignment: columns ``id``, ``split`` and ``placebo``, the index of the placebo domain; other rows are dropped.
        domains: names of the placebo domains.
        store: a folder for the rows.
    """
    assigned: dict[str, dict[str, Rows]] = {domain: {} for domain in domains}
    for split in SPLITS:
        numbers = assignment.filter(split=split).select("id", "placebo")
        if not len(numbers):
            continue
        takers = [RowWriter(store and store / task.spec.name / "placebo" / split / domain) for domain in domains]
        for rows in (splits[split] for splits in task.domains.values() if split in splits):
            for part in slices_of(rows):
                with_number = _prefix_groups(part).join(numbers, on="id", how="inner", maintain_order="left")
                for number, taker in enumerate(takers):
                    taker.add(with_number.filter(placebo=number).drop("placebo"))
        for taker, domain in zip(takers, domains, strict=True):
            assigned[domain][split] = taker.rows()
    return assigned


def _placebo_spec(spec: TaskSpec, domains: list[str]) -> TaskSpec:
    balance = spec.balance
    if balance is not None and balance.shares == COMMON:
        balance = None  # randomly assigned domains have the same distribution already
    elif balance is not None and spec.kind is TaskKind.CLASSIFICATION:
        balance = replace(balance, stratum=pl.col("label"))  # finished rows hold codes
    return replace(
        spec,
        name=f"{spec.name}{PLACEBO}",
        title=f"{spec.title}: groups assigned to domains at random, so that there is no shift",
        domains=(),
        id_domain=None,
        balance=balance,
        fewshot_domains=tuple(domains[: len(spec.fewshot_domains)]),
        notes=("Rows keep their split. Drops here come from sampling and training variance only.",),
    )


def _assign_groups(
    rows: pl.DataFrame, balance: Balance | None, n_domains: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Assign groups to domains at random, stratified if every stratum has enough groups in each split."""
    groups = (rows["group"].rank("dense") - 1).to_numpy().astype(np.int64)
    splits = rows["split"].replace_strict({split: code for code, split in enumerate(SPLITS)}, return_dtype=pl.Int64)
    if balance is not None:
        strata = rows.select(balance.stratum.cast(pl.Int64).alias("stratum"), "group", splits.alias("split"))
        if _enough_of_each_kind(strata, n_domains):
            kinds = strata.select(pl.struct("split", "stratum").rank("dense")).to_series().to_numpy().astype(np.int64)
            return placebo_domains(groups, kinds, n_domains, rng)
    return placebo_domains(groups, splits.to_numpy(), n_domains, rng)


def _enough_of_each_kind(strata: pl.DataFrame, n_domains: int) -> bool:
    """Return whether a stratified assignment gives every domain rows of each split and stratum.

    A kind is the set of groups of one split that contain the same strata.
    """
    kinds = strata.group_by("group", "split").agg(pl.col("stratum").unique().sort())
    sizes = kinds.group_by("split", "stratum").agg(n_groups=pl.len())
    largest = sizes.explode("stratum").group_by("split", "stratum").agg(pl.col("n_groups").max())
    return bool((largest["n_groups"] >= n_domains).all())
