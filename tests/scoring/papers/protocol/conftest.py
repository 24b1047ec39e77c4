"""A benchmark maintainer's folder: an ID, two more data sets of the task, and two other candidates."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench.builders.assembling.assemble import AssembledTask, assemble
from shiftbench.builders.assembling.cut import Splits
from shiftbench.builders.building.synthetic import NLI
from shiftbench.builders.folder.manifest import Provenance, SourceFacts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.spec import DomainSpec, TaskSpec
from shiftbench.builders.writing import writer
from shiftbench.builders.writing.writer import write_folder

LABELS = ("entailment", "neutral", "contradiction", "not_entailment")
SOURCE = SourceFacts(
    title="made up", url="https://example.org/none", revision="1", licence="MIT", open_licence=True, citation=""
)
PROVENANCE = {
    "wide": Provenance(title="Wide", text_sources=("Letters", "Speeches"), breadth=10),
    "hard": Provenance(title="Hard", text_sources=("Letters",), challenge=True, made_from="Wide"),
    "law": Provenance(title="Law", text_sources=("Contracts",)),
    "court": Provenance(title="Court", text_sources=("Contracts", "Rulings")),
    "novel": Provenance(title="Novel", text_sources=("Novels",)),
}
TRAIN = {"wide": 120, "law": 40}
ERRORS = {"wide": 0.05, "hard": 0.5, "law": 0.3, "court": 0.4, "novel": 0.2}


def rows(domain: str, split: str, n: int) -> pl.DataFrame:
    """Make rows whose words belong to one data set; those of ``court`` are entailed or not."""
    numbers = np.random.default_rng([*f"{domain}/{split}".encode()]).integers(100, size=n)
    labels = ("entailment", "not_entailment") if domain == "court" else LABELS[:3]
    return pl.DataFrame(
        {
            "premise": [f"{domain} {split} premise {number // 2} of {numbers[number // 2]}" for number in range(n)],
            "hypothesis": [f"{domain} hypothesis {number} here" for number in range(n)],
            "label": [labels[number % len(labels)] for number in range(n)],
            "group": [f"{domain}-{split}-{number // 2}" for number in range(n)],
        }
    )


def assembled(name: str, domains: list[str], *, candidates_for: str | None = None) -> AssembledTask:
    splits: dict[str, Splits] = {
        domain: {"test": rows(domain, "test", 60)}
        | ({"train": rows(domain, "train", TRAIN[domain])} if domain in TRAIN else {})
        for domain in domains
    }
    spec: TaskSpec = replace(
        NLI,
        name=name,
        labels=LABELS,
        metric="accuracy",
        train=1000,
        validation=10,
        test=1000,
        fewshot_domains=(),
        as_upstream=True,
        id_domain="wide" if candidates_for is None else None,
        candidates_for=candidates_for,
        label_folds={"neutral": "not_entailment", "contradiction": "not_entailment"},
        domains=tuple(DomainSpec(domain, {}, (), provenance=PROVENANCE[domain]) for domain in domains),
    )
    return assemble(spec, splits, dict.fromkeys(domains, ("made",)), seed=0, equal=False)


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory, word_encoder: Any) -> DatasetFolder:
    """The folder: task ``nli`` (wide, hard, law) and its candidates ``nli_more`` (court, novel)."""
    out = tmp_path_factory.mktemp("suite") / "suite"
    tasks = [
        assembled("nli", ["wide", "hard", "law"]),
        assembled("nli_more", ["court", "novel"], candidates_for="nli"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "statistics_picture", lambda _: b"\x89PNG")
        write_folder(
            out, tasks, {"made": SOURCE}, title="Suite", seed=0, partial=False, synthetic=False, encoder=word_encoder
        )
    return DatasetFolder.open(out)


def predicted(folder: DatasetFolder, source: str = "wide", domains: tuple[str, ...] = tuple(ERRORS)) -> pl.DataFrame:
    """Predict gold labels with each data set's share of errors; finer labels where gold only knows the coarser."""
    parts = []
    for task, info in folder.manifest.tasks.items():
        for domain in info.domains:
            if domain not in domains:
                continue
            test = folder.split(task, domain, "test").sort("id")
            gold = np.array(LABELS)[test["label"].to_numpy()]
            wrong = np.arange(len(test)) < ERRORS[domain] * len(test)
            others = np.where(gold == "entailment", "contradiction", "entailment")
            right = np.where(gold == "not_entailment", "neutral", gold)
            answers = pl.Series(np.where(wrong, others, right))
            parts.append(test.select("id", source=pl.lit(source), prediction=answers))
    return pl.concat(parts).select("source", "id", "prediction")


@pytest.fixture(scope="session")
def predictions(suite: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Predictions of a model trained on wide, on every data set."""
    path = tmp_path_factory.mktemp("protocol") / "preds.parquet"
    predicted(suite).write_parquet(path)
    return path
