"""The rows of the reference results on sentiment: 200 test texts each of SST, DynaSent and MAMS, and 300 of SST for
training.

SST and DynaSent come from a folder of ``boss``, with its class proportions. Each sentence of MAMS is used once, with
one of its aspects, chosen at random with a fixed seed and appended: "... (about: food)".

    shiftbench build boss sa --raw RAW --partial --encoder none --out build/boss-sa
    python baselines/results/sentiment_rows.py build/boss-sa RAW build/sentiment.csv shiftbench build own sentiment
    --raw build/sentiment.csv --encoder none --out build/sentiment
"""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from shiftbench.builders.folder.reader import DatasetFolder

N_TEST, N_TRAIN = 200, 300
SEED = 0


def boss_rows(boss: DatasetFolder, domain: str, split: str, n: int) -> pl.DataFrame:
    """Sample n rows of a domain of task sa: ``text`` and the name of its ``label``."""
    names = dict(enumerate(boss.task("sa").labels))
    rows = boss.split("sa", domain, split).select("text", label=pl.col("label").replace_strict(names))
    return rows.sample(n, seed=SEED)


def aspect_rows(raw: Path, n: int) -> pl.DataFrame:
    """Sample n sentences of MAMS, each with one of its aspects: ``text`` and ``label``."""
    aspects = [
        (sentence.findtext("text"), term.get("term"), term.get("polarity"))
        for sentence in ET.parse(raw / "mams/MAMS-ATSA/raw/test.xml").iter("sentence")
        for term in sentence.iter("aspectTerm")
    ]
    rows = pl.DataFrame(aspects, schema=["sentence", "term", "label"], orient="row")
    drawn = rows.sample(fraction=1, shuffle=True, seed=SEED).unique("sentence", keep="first", maintain_order=True)
    return drawn.head(n).select(pl.format("{} (about: {})", "sentence", "term").alias("text"), "label")


def main(
    boss: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of 'shiftbench build boss sa'.")],
    raw: Annotated[Path, typer.Argument(metavar="RAW", help="Folder of upstream files, with mams.")],
    out: Annotated[Path, typer.Argument(metavar="FILE", help="CSV to write.")],
) -> None:
    """Write the rows as CSV: text, label, domain, split."""
    folder = DatasetFolder.open(boss)
    parts = {
        ("sst", "train"): boss_rows(folder, "sst", "train", N_TRAIN),
        ("sst", "test"): boss_rows(folder, "sst", "test", N_TEST),
        ("dynasent", "test"): boss_rows(folder, "dynasent", "test", N_TEST),
        ("mams", "test"): aspect_rows(raw, N_TEST),
    }
    named = [rows.with_columns(domain=pl.lit(domain), split=pl.lit(split)) for (domain, split), rows in parts.items()]
    pl.concat(named).write_csv(out)


if __name__ == "__main__":
    typer.run(main)
