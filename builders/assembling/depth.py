"""Depth tables: the depth of each target test text in each source domain. A property of the data, shipped with it."""

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
    """Compute the depth table of every ordered pair of domains, including each domain with itself.

    A source needs two train texts, a target one test text. The pooled source domains of a pairing have a common
    table. Tables of other pooled sources are derived from those of their domains during scoring. For this, each table
    also includes the target's train texts, needed to find the deepest text of the pool (equation 2).

    Args:
        task: a task with all its rows.
        encoder: the sentence encoder; each text is embedded once.
    Yields: source, target, and a table with schema ``shiftbench.validation.schemas.depth_schema``: first the source's
        train texts (each excluded from its own depth), then the target's test texts, then its train texts unless they
        are the source's. Only test texts have weights; the weights of a target are null if none of its test
        texts is shallower than the deepest source text.
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
    """Return the domains of each source, by the source's name."""
    trained = [domain for domain, splits in task.domains.items() if "train" in splits]
    sources = {domain: (domain,) for domain in trained}
    return sources | ({SOURCE_JOINER.join(sorted(trained)): tuple(sorted(trained))} if task.spec.pairing else {})
