"""One set of invented rows of one's own, built with different settings: one content hash, several settings hashes."""

from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.builders.building.own import build_own
from shiftbench.builders.folder.reader import DatasetFolder


def own_rows(per_group: int = 1) -> pl.DataFrame:
    """Return 420 rows of two domains, 300 of them test rows, in groups of so many rows."""
    rows = [
        (domain, label, f"the {domain} were {label} on day {number}", split)
        for domain in ("fans", "lamps")
        for label in ("good", "bad", "fair")
        for split, numbers in {"test": range(50), "train": range(50, 60), "validation": range(60, 70)}.items()
        for number in numbers
    ]
    frame = pl.DataFrame(rows, schema=["domain", "label", "text", "split"], orient="row")
    return frame.with_columns(group=(1000 + pl.int_range(pl.len()) // per_group).cast(pl.String))


def build_rows(place: Path, rows: pl.DataFrame, **options: Any) -> DatasetFolder:
    """Build a folder from rows, and open it."""
    place.mkdir(parents=True)
    rows.write_csv(place / "rows.csv")
    build_own("reviews", place / "rows.csv", place / "out", **options)
    return DatasetFolder.open(place / "out")
