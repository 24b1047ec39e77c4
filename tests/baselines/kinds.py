"""A small dataset folder of the task kinds that are not classification, each easy to learn. Every text is invented."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench.builders.assembling.assemble import assemble
from shiftbench.builders.folder.manifest import SourceFacts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.spec import TaskSpec
from shiftbench.builders.writing.writer import write_folder
from shiftbench.validation.vocabulary import TaskKind

COLOURS = ("red", "blue", "green", "white")
THINGS = ("cup", "boat", "lamp", "door", "coat", "bell")
PLAIN = ("the", "of", "and", "was", "here", "there", "often", "seen")
LETTERS = tuple("abcdefghij")
WORDS = (*COLOURS, *THINGS, *PLAIN, "which", "colour")

Row = Callable[[np.random.Generator, str], dict[str, Any]]


def tagged(rng: np.random.Generator, domain: str) -> dict[str, Any]:
    """Build rows of tags: names are a first and a second colour, places a thing; domains differ in length."""
    parts: list[str] = []
    tags: list[str] = []
    for _ in range(3 if domain == "notes" else 6):
        first, second = rng.choice(COLOURS[:2]), rng.choice(COLOURS[2:])
        words, names = {
            0: ([first, second], ["B-name", "I-name"]),
            1: ([rng.choice(THINGS)], ["B-place"]),
            2: ([rng.choice(PLAIN)], ["O"]),
        }[int(rng.integers(3))]
        parts += map(str, words)
        tags += names
    return {"tokens": parts, "tags": tags}


def asked(rng: np.random.Generator, domain: str) -> dict[str, Any]:
    """Build questions: the answer is the only colour; a third of the questions of ``open`` have none."""
    words = [str(word) for word in rng.choice(PLAIN + THINGS, size=8)]
    answered = domain == "solved" or rng.random() < 2 / 3
    if answered:
        words[int(rng.integers(8))] = str(rng.choice(COLOURS))
    context = " ".join(words)
    answer = next((word for word in words if word in COLOURS), None)
    found = {"text": [answer], "answer_start": [context.index(answer)]} if answer else {"text": [], "answer_start": []}
    return {"title": "A page", "context": context, "question": "which colour?", "answers": found}


def copied(rng: np.random.Generator, domain: str) -> dict[str, Any]:
    """Build texts to write: each is the text that was read."""
    text = " ".join(rng.choice(LETTERS, size=rng.integers(1, 5)))
    return {"source_text": text, "target_text": text}


_TASKS: dict[str, tuple[TaskKind, Row, tuple[str, ...], tuple[str, ...], str, dict[str, int]]] = {
    "tags": (
        TaskKind.TAGGING, tagged, ("notes", "letters"), ("tokens",), "span_f1",
        {"train": 160, "validation": 20, "test": 20},
    ),
    "questions": (
        TaskKind.EXTRACTIVE_QA, asked, ("solved", "open"), ("title", "context", "question"), "token_f1",
        {"train": 240, "validation": 30, "test": 30},
    ),
    "copies": (
        TaskKind.GENERATION, copied, ("short",), ("source_text",), "bertscore_f1",
        {"train": 8000, "validation": 50, "test": 200},
    ),
}  # fmt: skip


def build_kinds(out: Path) -> DatasetFolder:
    """Write the folder: tasks ``tags``, ``questions`` and ``copies``."""
    tasks = []
    for name, (kind, row, domains, inputs, metric, sizes) in _TASKS.items():
        spec = TaskSpec(
            benchmark="kinds", name=name, title=f"Invented {name}", kind=kind, inputs=inputs,
            labels=("O", "B-name", "I-name", "B-place") if kind is TaskKind.TAGGING else (),
            metric=metric, domains=(), **sizes,
        )  # fmt: skip
        rows = {domain: _splits(row, domain, sizes) for domain in domains}
        tasks.append(assemble(spec, rows, dict.fromkeys(rows, ("invented",)), seed=0, equal=False))
    source = SourceFacts(
        title="Invented", url="https://example.org/none", revision="1", licence="CC0", open_licence=True,
        citation="@misc{invented,\n  title = {Invented}\n}",
    )  # fmt: skip
    write_folder(out, tasks, {"invented": source}, title="Kinds", seed=0, partial=False, synthetic=True, encoder=None)
    return DatasetFolder.open(out)


_DTYPES = {"answers": pl.Struct({"text": pl.List(pl.String), "answer_start": pl.List(pl.Int32)})}


def _splits(row: Row, domain: str, sizes: dict[str, int]) -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng([*domain.encode()])
    return {
        split: pl.DataFrame(
            [row(rng, domain) | {"group": f"{split}{number}"} for number in range(n_rows)], schema_overrides=_DTYPES
        )
        for split, n_rows in sizes.items()
    }
