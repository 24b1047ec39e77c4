"""Dataset folders and predictions in shapes that pages must show: with a placebo, wide, one of every kind."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.builders.assembling.assemble import assemble
from shiftbench.builders.assembling.placebo import placebo_task
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import SourceFacts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.spec import TaskSpec
from shiftbench.builders.writing.writer import write_folder
from shiftbench.validation.vocabulary import TaskKind

CITATION = "@inproceedings{invented-2014,\n  title = {Texts of 1998},\n  year = {2014},\n}"


def build_dealt_folder(
    out: Path, domains: Sequence[str], encoder: Encoder | None = None, *, n_test: int = 60, open_licence: bool = True
) -> DatasetFolder:
    """Write a folder with the task ``moods`` of any domains, and its placebo."""
    spec = TaskSpec(
        benchmark="dealt", name="moods", title="Invented moods", kind=TaskKind.CLASSIFICATION, inputs=("text",),
        labels=("bad", "good", "odd"), metric="macro_f1", train=40, validation=0, test=n_test, domains=(),
    )  # fmt: skip
    rows = {}
    for number, domain in enumerate(domains):
        rng = np.random.default_rng([3, number])
        texts = [
            " ".join(f"{domain[:2]}{word}" for word in rng.integers(40, size=6)) + f" {i}" for i in range(n_test + 40)
        ]
        labels = np.array(spec.labels)[rng.integers(3, size=len(texts))]
        frame = pl.DataFrame({"text": texts, "label": labels, "group": [f"g{i}" for i in range(len(texts))]})
        rows[domain] = {"test": frame.head(n_test), "train": frame.tail(40)}
    task = assemble(spec, rows, dict.fromkeys(rows, ("invented",)), seed=0, equal=False)
    placebo = placebo_task(task, 0)
    assert placebo is not None
    source = SourceFacts(
        title="Invented", url="https://example.org/none", revision="1", licence="yes", open_licence=open_licence,
        citation=CITATION,
    )  # fmt: skip
    write_folder(
        out, [task, placebo], {"invented": source}, title="Dealt", seed=0, partial=False, synthetic=False,
        encoder=encoder,
    )  # fmt: skip
    return DatasetFolder.open(out)


def labels_with_errors(
    folder: DatasetFolder, task: str, sources: Sequence[str], errors: float, seeds: Sequence[int] = (0,)
) -> pl.DataFrame:
    """Predict gold labels with a share of errors, more of them away from home, differently so for each shift."""
    labels, parts = np.array(folder.task(task).labels), []
    for source in sources:
        for target, facts in folder.task(task).domains.items():
            if "test" not in facts.splits:
                continue
            rows = folder.split(task, target, "test")
            harder = np.random.default_rng([*f"{task}{source}{target}".encode()]).random() * errors
            share = errors if target in source.split("+") or task.endswith(".placebo") else errors + harder
            for seed in seeds:
                rng = np.random.default_rng([seed, *f"{task}{source}{target}".encode()])
                codes = (rows["label"].to_numpy() + (rng.random(len(rows)) < share)) % len(labels)
                parts.append(
                    rows.select(
                        "id",
                        source=pl.lit(source),
                        prediction=pl.Series(labels[codes]),
                        seed=pl.lit(seed, dtype=pl.Int64),
                    )
                )
    return pl.concat(parts).select("source", "id", "prediction", "seed")
