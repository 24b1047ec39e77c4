"""A small dataset folder in the shape of BOSS: one ID domain and three OOD ones a task. Every text is invented."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.builders.assembling.assemble import assemble
from shiftbench.builders.assembling.cut import Splits
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import Provenance, SourceFacts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.spec import DomainSpec, TaskSpec
from shiftbench.builders.writing.writer import write_folder
from shiftbench.leaderboard.store import Store
from shiftbench.validation.cards import Card
from shiftbench.validation.vocabulary import GOLD, TaskKind

# Names of domains and their titles, the ID domain first; the last has no train split.
SA = {"amazon": "Amazon", "dynasent": "Dynasent", "semeval": "SemEval", "sst": "SST"}
NER = {"few_nerd": "Few-NERD", "conll": "CoNLL", "wnut": "WNUT", "e_ner": "E-NER"}
NLI = {"mnli": "MNLI", "anli": "ANLI", "wanli": "WANLI"}
CANDIDATES = {"scitail": "SciTail", "cb": "CB"}
TYPES = ("location", "person", "organization", "miscellaneous", "building", "art", "product", "event")
TAGS = ("O", *(f"{mark}-{name}" for name in TYPES for mark in "BI"))
UNTRAINED = ("sst", "e_ner", "cb")
N_TEST, N_TRAIN = 40, 30


def _spec(name: str, domains: dict[str, str], kind: TaskKind, labels: Sequence[str]) -> TaskSpec:
    inputs = ("tokens",) if kind is TaskKind.TAGGING else ("text",)
    return TaskSpec(
        benchmark="boss",
        name=name,
        title=f"Invented texts in the form of {name}",
        kind=kind,
        inputs=inputs,
        labels=tuple(labels),
        metric="span_f1" if kind is TaskKind.TAGGING else "accuracy",
        train=N_TRAIN,
        validation=0,
        test=N_TEST,
        domains=tuple(
            DomainSpec(domain, {}, (), provenance=Provenance(title=title, text_sources=(title,)))
            for domain, title in domains.items()
        ),
        id_domain=next(iter(domains)),
    )


def _rows(spec: TaskSpec, domain: str, n_rows: int) -> pl.DataFrame:
    rng = np.random.default_rng([1, *f"{spec.name}/{domain}".encode()])
    words = [[f"{domain[:3]}{word}" for word in rng.integers(60, size=8)] for _ in range(n_rows)]
    groups = [f"g{row // 2}" for row in range(n_rows)]
    if spec.kind is TaskKind.TAGGING:
        tags = []
        for _ in range(n_rows):
            kinds = rng.choice(TYPES, size=2)
            tags.append(["O", f"B-{kinds[0]}", f"I-{kinds[0]}", "O", "O", f"B-{kinds[1]}", "O", "O"])
        return pl.DataFrame({"tokens": words, "tags": tags, "group": groups})
    labels = np.array(spec.labels)[rng.integers(len(spec.labels), size=n_rows)]
    texts = [" ".join(row) + f" {number}" for number, row in enumerate(words)]
    return pl.DataFrame({"text": texts, "label": labels, "group": groups})


def _split(frame: pl.DataFrame, domain: str) -> Splits:
    test = {"test": frame.head(N_TEST)}
    return test if domain in UNTRAINED else {**test, "train": frame.tail(N_TRAIN)}


def build_id_folder(out: Path, encoder: Encoder | None, *, partial: bool = False) -> DatasetFolder:
    """Write the folder: sa, ner and nli with an ID domain, and the candidates of nli."""
    nli = _spec("nli", NLI, TaskKind.CLASSIFICATION, ("entailment", "neutral", "contradiction"))
    candidates = _spec("nli_candidates", CANDIDATES, nli.kind, nli.labels)
    specs = [
        (_spec("sa", SA, TaskKind.CLASSIFICATION, ("negative", "positive", "neutral")), SA),
        (_spec("ner", NER, TaskKind.TAGGING, TAGS), NER),
        (nli, NLI),
        (replace(candidates, id_domain=None, candidates_for="nli"), CANDIDATES),
    ]
    tasks = []
    for spec, domains in specs:
        rows = {domain: _split(_rows(spec, domain, N_TEST + N_TRAIN), domain) for domain in domains}
        tasks.append(assemble(spec, rows, dict.fromkeys(rows, ("invented",)), seed=0, equal=False))
    source = SourceFacts(
        title="Invented", url="https://example.org/none", revision="1", licence="Apache-2.0", open_licence=True,
        citation="",
    )  # fmt: skip
    write_folder(
        out, tasks, {"invented": source}, title="BOSS in small", seed=0, partial=partial, synthetic=True,
        encoder=encoder,
    )  # fmt: skip
    return DatasetFolder.open(out)


def id_predictions(
    folder: DatasetFolder,
    task: str,
    source: str,
    *,
    targets: Sequence[str] | None = None,
    errors: float = 0.15,
    seeds: Sequence[int] = (0,),
) -> pl.DataFrame:
    """Predict gold with a share of errors, twice as many away from home."""
    info = folder.task(task)
    parts = []
    for target in targets or info.domains:
        gold = folder.split(task, target, "test")
        names = dict(enumerate(info.labels))
        for seed in seeds:
            rng = np.random.default_rng([seed, *f"{task}/{source}/{target}".encode()])
            wrong = pl.Series(rng.random(len(gold)) < errors * (1 if target in source.split("+") else 2))
            column = gold[GOLD[info.kind]]
            if info.kind is TaskKind.TAGGING:
                right = column.list.eval(pl.element().replace_strict(names, return_dtype=pl.String)).list.join(" ")
                # One of the four rarer types for another: wrong of eight types, right of four.
                other = right.str.replace_all("-(building|art|product|event)", "-miscellaneous")
                other = other.str.replace_all("-(person|location)", "-organization")
            else:
                right = column.replace_strict(names, return_dtype=pl.String)
                other = ((column + 1) % len(info.labels)).replace_strict(names, return_dtype=pl.String)
            columns = {"source": source, "id": gold["id"], "prediction": other.zip_with(wrong, right), "seed": seed}
            parts.append(pl.DataFrame(columns, schema_overrides={"seed": pl.Int64}))
    return pl.concat(parts)


def fill_id_store(folder: DatasetFolder, root: Path) -> Store:
    """Submit a good, a poor, a zero-shot, a partial and a joined entry."""

    def predict(source: str, errors: float, targets: list[str] | None = None, tasks: str = "sa ner") -> pl.DataFrame:
        homes = {"sa": "amazon", "ner": "few_nerd"}
        return pl.concat(
            id_predictions(
                folder,
                task,
                source.replace("ID", homes[task]),
                errors=errors,
                targets=targets if task == "sa" else None,
            )
            for task in tasks.split()
        )

    store = Store(root / "store")
    entries = {
        "Good model": predict("ID", 0.1),
        "Another model": predict("ID", 0.3),
        "Zero-shot model": predict("none", 0.15),
        "Partial model": predict("ID", 0.02, ["amazon", "sst"]),
        "Joined model": predict("amazon+dynasent", 0.02, tasks="sa"),
    }
    for name, frame in entries.items():
        path = root / f"{len(name)}.parquet"
        frame.write_parquet(path)
        store.submit(path, Card(name=name, paradigm="fine-tuned", data=folder.content_hash), [folder])
    return store
