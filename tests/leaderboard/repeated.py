"""Domains of one kind of text, so without a shift, where a share of test texts nearly repeats a train text."""

from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.builders.assembling.assemble import assemble
from shiftbench.builders.folder.manifest import SourceFacts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.spec import TaskSpec
from shiftbench.builders.writing.writer import write_folder
from shiftbench.validation.vocabulary import TaskKind
from tests.leaderboard.shapes import CITATION

DOMAINS = ("attic", "cellar", "garden")
N_TRAIN, N_TEST = 150, 400
LABELS = ("bad", "good")


def build_repeating_folder(
    out: Path, repeated: float, *, seed: int = 0, closed: str | None = None, label_key: str | None = None
) -> None:
    """Write a folder with the task ``tales``; ``closed`` is a domain that may not be published."""
    spec = TaskSpec(
        benchmark="twice", name="tales", title="Invented tales", kind=TaskKind.CLASSIFICATION, inputs=("text",),
        labels=LABELS, metric="accuracy", train=N_TRAIN, validation=0, test=N_TEST, domains=(),
    )  # fmt: skip
    rows = {domain: _domain(np.random.default_rng([seed, number]), repeated) for number, domain in enumerate(DOMAINS)}
    sources = {domain: ("kept" if domain == closed else "open",) for domain in DOMAINS}
    task = assemble(spec, rows, sources, seed=0, equal=False)
    facts = {
        name: SourceFacts(
            title=f"Invented, {name}", url="https://example.org/none", revision="1", licence=name,
            open_licence=name == "open", citation=CITATION,
        )
        for name in sorted({name for names in sources.values() for name in names})
    }  # fmt: skip
    write_folder(
        out, [task], facts, title="Twice", seed=0, partial=False, synthetic=False, encoder=None, label_key=label_key
    )


def _domain(rng: np.random.Generator, repeated: float) -> dict[str, pl.DataFrame]:
    """Draw texts of 20 words, some of which are told more often by one label."""
    n = N_TRAIN + N_TEST
    codes = rng.integers(2, size=n)
    words = rng.integers(300, size=(n, 20))
    telling = rng.random(words.shape) < 0.12
    words = np.where(telling, 300 + 40 * codes[:, None] + rng.integers(40, size=words.shape), words)
    texts = [" ".join(f"w{word}" for word in row) for row in words]
    for number in N_TRAIN + np.flatnonzero(rng.random(N_TEST) < repeated):
        of = rng.integers(N_TRAIN)
        texts[number], codes[number] = texts[of] + " again", codes[of]
    labels = np.array(LABELS)[codes]
    frame = pl.DataFrame({"text": texts, "label": labels, "group": [f"g{number}" for number in range(n)]})
    return {"train": frame.head(N_TRAIN), "test": frame.tail(N_TEST)}


def nearest_text_predictions(folder: DatasetFolder) -> pl.DataFrame:
    """Predict the label of the train text with most words in common: a model that remembers what it has seen."""
    parts = []
    for source in DOMAINS:
        train = folder.split("tales", source, "train")
        for target in DOMAINS:
            test = folder.split("tales", target, "test")
            nearest = (_counts(test) @ _counts(train).T).argmax(axis=1)
            predicted = np.array(LABELS)[train["label"].to_numpy()[nearest]]
            parts.append(test.select("id", source=pl.lit(source), prediction=pl.Series(predicted)))
    return pl.concat(parts)


def _counts(rows: pl.DataFrame) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    table = np.zeros((len(rows), 380), np.float32)
    for number, text in enumerate(rows["text"]):
        for word in text.removesuffix(" again").split(" "):
            table[number, int(word[1:])] += 1
    return table
