"""Placebo tasks: a task's groups dealt at random to as many domains, to see what drops look like without a shift."""

from dataclasses import replace

import numpy as np
import polars as pl

from builders.assemble import AssembledTask, add_subsets, check_schema, with_ids
from leaderboard.metrics.placebo import placebo_domains
from validation.vocabulary import PLACEBO, SPLITS


def placebo_task(task: AssembledTask, seed: int) -> AssembledTask | None:
    """Deal a finished task's rows to placebo domains ``p0``, ``p1``, ...; every row keeps its split.

    A split of which the domains have fewer groups in all than there are domains is left out.

    Returns: the task ``<task>.placebo``; None where train or test cannot be dealt, or there is one domain only.
    """
    n_domains = len(task.domains)
    pooled = pl.concat(
        frame.with_columns(pl.lit(split).alias("split"), pl.concat_str("domain", "group", separator="/").alias("group"))
        for splits in task.domains.values()
        for split, frame in splits.items()
    )
    n_groups = dict(pooled.group_by("split").agg(pl.col("group").n_unique()).iter_rows())
    dealt = [split for split in SPLITS if n_groups.get(split, 0) >= n_domains]
    if n_domains < 2 or not {"train", "test"} <= set(dealt):
        return None
    # Codes follow the sorted groups, so the deal does not depend on the order of the rows.
    rows = pooled.filter(pl.col("split").is_in(dealt)).sort("group", "id")
    groups = rows["group"].rank("dense").to_numpy().astype(np.int64)
    splits = rows["split"].replace_strict({split: code for code, split in enumerate(SPLITS)}, return_dtype=pl.Int64)
    rng = np.random.default_rng([seed, *f"{task.spec.id}{PLACEBO}".encode()])
    rows = rows.with_columns(pl.Series("dealt", placebo_domains(groups, splits.to_numpy(), n_domains, rng)))
    domains = [f"p{number}" for number in range(n_domains)]
    spec = replace(
        task.spec,
        name=f"{task.spec.name}{PLACEBO}",
        title=f"{task.spec.title}: its groups dealt at random, so that there is no shift",
        domains=(),
        fewshot_domains=tuple(domains[: len(task.spec.fewshot_domains)]),
        notes=("Rows keep their split. Drops here are what sampling and training alone give.",),
    )
    placebo = AssembledTask(
        spec, {}, dict.fromkeys(domains, tuple(sorted({slug for slugs in task.sources.values() for slug in slugs})))
    )
    for number, domain in enumerate(domains):
        own = rows.filter(pl.col("dealt") == number)
        placebo.domains[domain] = {split: with_ids(own.filter(split=split), spec, domain, split) for split in dealt}
    check_schema(placebo)
    add_subsets(placebo, seed)
    return placebo
