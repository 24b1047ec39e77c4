"""Annotators' votes on test texts: kept aside while rows are assembled, and counted on the rows that are left."""

from collections.abc import Mapping, Sequence

import polars as pl

from shiftbench.builders.folder.statistics import Annotators
from shiftbench.builders.specs.spec import TaskSpec
from shiftbench.builders.specs.transforms import VOTES
from shiftbench.builders.stored_rows import Rows, slices_of
from shiftbench.metrics.agreement import annotator_tables
from shiftbench.metrics.classification import accuracy, macro_f1
from shiftbench.validation.vocabulary import TaskKind


def upstream_votes(spec: TaskSpec, splits: Mapping[str, Rows]) -> pl.DataFrame | None:
    """Collect the votes on a domain's test texts, where a step has read them.

    Args:
        spec: the task.
        splits: by upstream split, rows with the label's name and maybe ``VOTES``.
    Returns: the inputs, ``label`` and ``VOTES``, one row for each two that agree in the former; None without votes.
    """
    if spec.kind is not TaskKind.CLASSIFICATION or "test" not in splits:
        return None
    columns = (*spec.inputs, "label")
    parts = [part.select(*columns, VOTES).drop_nulls(VOTES) for part in slices_of(splits["test"]) if VOTES in part]
    votes = pl.concat(parts).unique(columns, keep="first", maintain_order=True) if parts else None
    return votes if votes is not None and len(votes) else None


def count_annotators(
    votes: pl.DataFrame, tests: Rows, inputs: Sequence[str], labels: Sequence[str]
) -> Annotators | None:
    """Score single annotators on finished test rows.

    Args:
        votes: as ``upstream_votes`` has them; votes for no label of the task do not count.
        tests: finished test rows, labels as codes.
        inputs: the task's inputs.
        labels: names of the labels, by code.
    Returns: None where no text has two votes.
    """
    codes = {name: code for code, name in enumerate(labels)}
    counts = [
        pl.col(VOTES).list.count_matches(name).cast(pl.Int64).alias(f"votes_{code}") for name, code in codes.items()
    ]
    counted = votes.select(*inputs, *counts, label=pl.col("label").replace_strict(codes, return_dtype=pl.Int64))
    rows = pl.concat(part.select(*inputs, "label") for part in slices_of(tests))
    names = [f"votes_{code}" for code in range(len(labels))]
    known = rows.join(counted, on=[*inputs, "label"], how="inner").filter(pl.sum_horizontal(names) >= 2)
    if not len(known):
        return None
    tables = annotator_tables(known.select(names).to_numpy(), known["label"].to_numpy())
    scores = [{"accuracy": float(accuracy(table)), "macro_f1": float(macro_f1(table))} for table in tables]
    n_votes = known.select(pl.sum_horizontal(names)).to_series()
    return Annotators(texts=len(known), votes=float(n_votes.to_numpy().mean()), others=scores[0], gold=scores[1])
