"""Depth tables: how deep each target test text lies in each source domain. A property of the data, shipped with it."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from shiftbench.builders.assembling.assemble import AssembledTask
from shiftbench.builders.encoder import Encoder, Vectors, encoder_texts
from shiftbench.builders.stored_rows import in_memory
from shiftbench.metrics.depth import Floats, depth_weights, tte_depth
from shiftbench.validation.schemas import check_rows, depth_schema
from shiftbench.validation.vocabulary import SOURCE_JOINER


def depth_tables(task: AssembledTask, encoder: Encoder) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Compute the table of every ordered pair of domains, the pair of a domain with itself included.

    A source needs two train texts, a target a test text. The joined source of a pairing has a table of its own.
    Other joined sources are made of the tables of their parts when they are scored: for that, a table also holds the
    target's train texts, from which the deepest text of the pool (equation 2) is found.

    Args:
        task: a task with all its rows.
        encoder: makes the vectors; each text is embedded once.
    Yields: source, target, and a table as ``shiftbench.validation.schemas.depth_schema`` has it: first the source's
        own train texts (each left out of its own depth), then the target's test texts, then its train texts unless
        they are the source's. Weights are those of the test texts; null elsewhere, and for all texts of a target that
        lies no further out than the deepest source text.
    """
    vectors: dict[tuple[str, str], Vectors] = {}
    parts_of = {(domain, split) for domain, splits in task.domains.items() for split in splits if split != "validation"}
    for number, (domain, split) in enumerate(sorted(parts_of), start=1):
        texts = encoder_texts(in_memory(task.domains[domain][split]), task.spec.inputs)
        what = f"encoding {task.spec.name}.{domain} {split} ({number} of {len(parts_of)})"
        vectors[domain, split] = encoder.encode(texts, what)
    for source, parts in _sources(task).items():
        train = np.concatenate([vectors[part, "train"] for part in parts])
        if len(train) < 2:
            continue
        ids = pl.concat([task.domains[part]["train"]["id"] for part in parts])
        own = tte_depth(train)
        for target, target_splits in task.domains.items():
            if (target, "test") not in vectors:
                continue
            depth = tte_depth(train, vectors[target, "test"])
            weight = depth_weights(depth, own) if depth.min() < own.max() else np.full(len(depth), np.nan)
            parts_of_table = [_part(ids, own), _part(target_splits["test"]["id"], depth, weight)]
            if target not in parts and (target, "train") in vectors:
                parts_of_table.append(_part(target_splits["train"]["id"], tte_depth(train, vectors[target, "train"])))
            table = pl.concat(parts_of_table).select("id", pl.lit(source).alias("source"), "depth", "weight")
            check_rows(table, depth_schema(), f"depth of {target} in {source}")
            yield source, target, table


def _part(ids: pl.Series, depth: Floats, weight: Floats | None = None) -> pl.DataFrame:
    weights = np.full(len(depth), np.nan) if weight is None else weight
    return pl.DataFrame({"id": ids, "depth": depth, "weight": weights}).with_columns(pl.col("weight").fill_nan(None))


def _sources(task: AssembledTask) -> dict[str, tuple[str, ...]]:
    """List the sources, each with the domains it consists of."""
    trained = [domain for domain, splits in task.domains.items() if "train" in splits]
    sources = {domain: (domain,) for domain in trained}
    return sources | ({SOURCE_JOINER.join(sorted(trained)): tuple(sorted(trained))} if task.spec.pairing else {})
