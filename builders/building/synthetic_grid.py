"""All seven tasks of Domain Robustness in synthetic form, at any size: to measure speed, and to test every task kind.

Texts are random words, so they measure nothing about language; sizes, kinds, groups and tag sets are the benchmark's
(Table 2). Predictions are gold with errors, more of them out of domain.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench.builders.assembling.assemble import assemble
from shiftbench.builders.assembling.cut import Splits
from shiftbench.builders.building.synthetic import write_generated
from shiftbench.builders.encoder import Encoder, Vectors
from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.spec import TaskSpec
from shiftbench.builders.writing.writer import check_out
from shiftbench.validation.vocabulary import GOLD, UNPARSED, TaskKind

TITLE = "Synthetic grid (random words)"
_HEADS = ["ba", "co", "de", "fi", "gu", "ha", "jo", "ku", "le", "mi", "no", "pu", "ra", "so", "ti", "vu"]
_TAILS = ["lan", "mer", "nor", "pit", "ram", "sel", "tok", "vin"]
_WORDS = np.array([head + tail for head in _HEADS for tail in _TAILS])
_UNPARSED_SHARE = 0.01

Rows = Callable[[np.random.Generator, int], pl.DataFrame]


@dataclass(frozen=True)
class _GridTask:
    name: str
    kind: TaskKind
    metric: str
    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    n_domains: int
    n_test: int
    rows: Rows


def _texts(rng: np.random.Generator, n: int, shortest: int, longest: int) -> list[str]:
    lengths = rng.integers(shortest, longest + 1, size=n)
    words = _WORDS[rng.integers(len(_WORDS), size=int(lengths.sum()))]
    return [" ".join(part) for part in np.split(words, np.cumsum(lengths)[:-1])]


def _reviews(rng: np.random.Generator, n: int) -> pl.DataFrame:
    labels = np.array(["negative", "positive"])[rng.integers(2, size=n)]
    return pl.DataFrame({"text": _texts(rng, n, 20, 40), "label": labels, "group": [f"r{row}" for row in range(n)]})


def _pairs(rng: np.random.Generator, n: int) -> pl.DataFrame:
    groups = np.arange(n) // 3
    premises = np.array(_texts(rng, -(-n // 3), 10, 25))[groups]
    labels = np.array(["entailment", "neutral", "contradiction"])[rng.integers(3, size=n)]
    columns = {"premise": premises, "hypothesis": _texts(rng, n, 5, 15), "label": labels}
    return pl.DataFrame({**columns, "group": [f"p{group}" for group in groups]})


def _aspects(rng: np.random.Generator, n: int) -> pl.DataFrame:
    tokens = [text.split(" ") for text in _texts(rng, n, 8, 25)]
    names = np.array(["O", "O", "O", "O", "T-POS", "T-NEG", "T-NEU"])
    tags = [names[rng.integers(len(names), size=len(row))].tolist() for row in tokens]
    return pl.DataFrame({"tokens": tokens, "tags": tags, "group": [f"s{row}" for row in range(n)]})


def _questions(rng: np.random.Generator, n: int) -> pl.DataFrame:
    contexts = _texts(rng, n, 60, 100)
    answers: list[dict[str, list[Any]]] = []
    for context in contexts:
        if rng.random() < 0.2:
            answers.append({"text": [], "answer_start": []})
            continue
        words = context.split(" ")
        accepted = []
        for length in rng.integers(1, 5, size=2):
            first = int(rng.integers(len(words) - length))
            accepted.append((" ".join(words[first : first + length]), len(" ".join(words[:first])) + (first > 0)))
        answers.append({"text": [text for text, _ in accepted], "answer_start": [start for _, start in accepted]})
    schema = pl.Struct({"text": pl.List(pl.String), "answer_start": pl.List(pl.Int32)})
    documents = [f"document {row // 25}" for row in range(n)]
    columns = {"title": documents, "context": contexts, "question": _texts(rng, n, 8, 14)}
    return pl.DataFrame({**columns, "answers": pl.Series(answers, dtype=schema), "group": documents})


def _generation(source: tuple[int, int], target: tuple[int, int], *, answer: bool = False) -> Rows:
    def rows(rng: np.random.Generator, n: int) -> pl.DataFrame:
        columns = {"source_text": _texts(rng, n, *source), "target_text": _texts(rng, n, *target)}
        extra = {"answer": _texts(rng, n, 1, 4)} if answer else {}
        return pl.DataFrame({**columns, **extra, "group": [f"g{row}" for row in range(n)]})

    return rows


_POLARITIES = ("O", "T-POS", "T-NEG", "T-NEU")
_TASKS = (
    _GridTask("sa", TaskKind.CLASSIFICATION, "macro_f1", ("text",), ("negative", "positive"), 6, 2500, _reviews),
    _GridTask("nli", TaskKind.CLASSIFICATION, "macro_f1", ("premise", "hypothesis"),
          ("entailment", "neutral", "contradiction"), 5, 2000, _pairs),
    _GridTask("ab", TaskKind.TAGGING, "span_f1", ("tokens",), _POLARITIES, 5, 1400, _aspects),
    _GridTask("qa", TaskKind.EXTRACTIVE_QA, "token_f1", ("title", "context", "question"), (), 6, 2500, _questions),
    _GridTask("qg", TaskKind.GENERATION, "bertscore_f1", ("source_text", "answer"), (), 6, 1000,
          _generation((60, 100), (8, 14), answer=True)),
    _GridTask("as", TaskKind.GENERATION, "bertscore_f1", ("source_text",), (), 5, 500,
          _generation((80, 150), (15, 60))),
    _GridTask("tg", TaskKind.GENERATION, "bertscore_f1", ("source_text",), (), 6, 1000, _generation((40, 80), (5, 20))),
)  # fmt: skip


class RandomVectors(Encoder):
    """An encoder for tests of depth arithmetic: each text's vector is derived from its hash."""

    def __init__(self) -> None:
        self.name, self.revision = "random-vectors", "1"

    def encode(self, texts: Sequence[str], description: str = "encoding") -> Vectors:
        """Return a pseudo-random unit vector of 32 dimensions for each text, determined only by the text."""
        digests = b"".join(hashlib.sha256(text.encode()).digest() for text in texts)
        vectors = np.frombuffer(digests, dtype=np.uint8).reshape(len(texts), 32).astype(np.float32) - 127.5
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def build_grid(out: Path, *, scale: float = 1.0, seed: int = 0, n_train: int = 30, overwrite: bool = False) -> Manifest:
    """Generate a dataset folder with all seven tasks.

    Args:
        out: the dataset folder to write.
        scale: test sizes as a fraction of Table 2's; 1 gives about 52,000 test rows.
        seed: determines all rows.
        n_train: train rows per domain; scoring only needs them for depths.
        overwrite: replace an existing dataset folder.
    """
    check_out(out, overwrite=overwrite)
    tasks = []
    for task in _TASKS:
        rows: dict[str, Splits] = {}
        for number in range(task.n_domains):
            rng = np.random.default_rng([seed, number, *task.name.encode()])
            n_test = max(12, round(scale * task.n_test))
            frame = task.rows(rng, n_test + n_train)
            rows[f"d{number}"] = {"test": frame.head(n_test), "train": frame.tail(n_train)}
        spec = TaskSpec(
            benchmark="synthetic",
            name=task.name,
            title=f"Random words in the form of {task.name}",
            kind=task.kind,
            inputs=task.inputs,
            labels=task.labels,
            metric=task.metric,
            train=n_train,
            validation=0,
            test=n_test,
            domains=(),
        )
        tasks.append(assemble(spec, rows, dict.fromkeys(rows, ("generated",)), seed=seed, equal=False))
    texts = "Random words from builders/building/synthetic_grid.py"
    return write_generated(out, tasks, title=TITLE, texts=texts, seed=seed, encoder=RandomVectors())


def noisy_predictions(folder: DatasetFolder, *, seed: int = 0, n_runs: int = 1) -> pl.DataFrame:
    """Generate predictions on all domains for one model per source domain.

    Args:
        folder: a dataset folder of any task kinds.
        seed: determines the errors.
        n_runs: runs of each model, numbered from 0 in the column ``seed``.
    Returns: a frame with schema ``shiftbench.validation.schemas.prediction_schema``, without ``confidence``.
    """
    parts = []
    for name, task in folder.manifest.tasks.items():
        for target in task.domains:
            gold = folder.split(name, target, "test")
            right = _as_predictions(gold, task.kind, task.labels)
            for source in task.domains:
                rng = np.random.default_rng([seed, *f"{name}/{source}/{target}".encode()])
                for run in range(n_runs):
                    chance = pl.Series(rng.random(len(gold)))
                    if task.kind is TaskKind.TAGGING:
                        guesses = right.str.replace_all("T-POS", "T-NEG")
                    else:
                        guesses = right.gather(rng.permutation(len(gold)))
                    prediction = guesses.zip_with(chance > (0.8 if source == target else 0.65), right)
                    prediction = prediction.zip_with(chance < 1 - _UNPARSED_SHARE, pl.Series([UNPARSED]))
                    columns = {"source": source, "id": gold["id"], "prediction": prediction, "seed": run}
                    parts.append(pl.DataFrame(columns, schema_overrides={"seed": pl.Int64}))
    return pl.concat(parts)


def _as_predictions(gold: pl.DataFrame, kind: TaskKind, labels: tuple[str, ...]) -> pl.Series:
    column = gold[GOLD[kind]]
    names = dict(enumerate(labels))
    if kind is TaskKind.CLASSIFICATION:
        return column.replace_strict(names, return_dtype=pl.String)
    if kind is TaskKind.TAGGING:
        return column.list.eval(pl.element().replace_strict(names, return_dtype=pl.String)).list.join(" ")
    if kind is TaskKind.EXTRACTIVE_QA:
        return column.struct.field("text").list.get(0, null_on_oob=True).fill_null("")
    return column
