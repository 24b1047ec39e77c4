"""A store as the page shows it: three complete entries on one task (two of them equal), one partial, one zero-shot."""

from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.validation.cards import Card
from tests.conftest import WordEncoder

from .id_folder import build_id_folder
from .sending import Sender, tiny_sender

SCRIPT = "<script>document.title='owned'</script>"
"""A name that runs as a program wherever it is not escaped."""
GOOD, POOR, PARTIAL, ZERO_SHOT = "Good model", "Poor model", "Partial model", "Zero-shot model"


def predict(folder: DatasetFolder, sources: Sequence[str], errors: float, task: str = "nli") -> pl.DataFrame:
    """Predict gold labels with a share of errors, twice as many away from home."""
    rng = np.random.default_rng(7)
    labels = np.array(folder.task(task).labels)
    parts = []
    for source in sources:
        for target in folder.task(task).domains:
            rows = folder.split(task, target, "test").sort("id")
            wrong = rng.random(len(rows)) < errors * (1 if source == target else 2)
            codes = np.where(wrong, rng.integers(0, len(labels), len(rows)), rows["label"].to_numpy())
            parts.append(rows.select("id", source=pl.lit(source), prediction=pl.Series(labels[codes])))
    return pl.concat(parts).select("source", "id", "prediction")


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory, word_encoder: WordEncoder) -> DatasetFolder:
    """A small synthetic dataset folder with depth tables, its test sets large enough for intervals of macro-F1."""
    out = tmp_path_factory.mktemp("data") / "synthetic"
    build_synthetic(out, encoder=word_encoder, n_train=90, n_test=60)  # type: ignore[arg-type]
    return DatasetFolder.open(out)


@dataclass(frozen=True)
class Filled:
    """A store with entries, under the names that tests use."""

    store: Store
    folder: DatasetFolder
    entries: dict[str, Entry]
    files: dict[str, Path]

    def card(self, name: str) -> Card:
        return self.entries[name].card


def exchanged(folder: DatasetFolder, rows: pl.DataFrame) -> pl.DataFrame:
    """Exchange two predictions on texts of one label, of which one is right: other predictions, the same scores."""
    task = rows["id"][0].split("/")[1]
    tests = [folder.split(task, target, "test").select("id", "label") for target in folder.task(task).domains]
    first = rows.select(pl.first("source"), target=pl.col("id").str.split("/").list.get(2).first())
    cell = rows.join(first, on="source").filter(pl.col("id").str.split("/").list.get(2) == pl.col("target"))
    of_cell = cell.join(pl.concat(tests), on="id")
    for _, same in of_cell.group_by("label", maintain_order=True):
        said = same.unique("prediction", maintain_order=True)
        if said.height > 1:
            (a, b), (of_a, of_b) = said["id"][:2], said["prediction"][:2]
            is_first = pl.col("source") == rows["source"][0]
            swapped = pl.when(is_first & (pl.col("id") == a)).then(pl.lit(of_b))
            swapped = swapped.when(is_first & (pl.col("id") == b)).then(pl.lit(of_a))
            return rows.with_columns(prediction=swapped.otherwise("prediction"))
    raise AssertionError("all predictions of the first cell are right")


def fill(folder: DatasetFolder, root: Path) -> Filled:
    """Submit the five entries; ``script`` differs from ``good`` in two predictions alone, so both rank first."""
    domains = list(folder.task("nli").domains)
    frames = {
        "good": predict(folder, domains, 0.1),
        "script": exchanged(folder, predict(folder, domains, 0.1)),
        "poor": predict(folder, domains, 0.4),
        "partial": predict(folder, domains[:2], 0.05),
        "zero-shot": predict(folder, ["none"], 0.2),
    }
    facts: dict[str, dict[str, Any]] = {
        "good": {"name": GOOD, "url": "https://example.org/good", "parameters": 22_700_000},
        "script": {"name": SCRIPT, "family": SCRIPT, "command": SCRIPT, "contact": SCRIPT, "versions": {SCRIPT: "1"}},
        "poor": {"name": POOR},
        "partial": {"name": PARTIAL},
        "zero-shot": {"name": ZERO_SHOT, "paradigm": "zero-shot"},
    }
    store, entries, files = Store(root / "store"), {}, {}
    for name, frame in frames.items():
        files[name] = root / f"{name}.parquet"
        frame.write_parquet(files[name])
        card = Card(**{"paradigm": "fine-tuned", "data": folder.content_hash, **facts[name]})
        entries[name], _ = store.submit(files[name], card, [folder])
    return Filled(store, folder, entries, files)


@pytest.fixture(scope="session")
def filled(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """The filled store; tests that add to it take a copy (``fill`` into a folder of their own)."""
    return fill(synthetic, tmp_path_factory.mktemp("filled"))


@pytest.fixture(scope="module")
def index(filled: Filled) -> Index:
    return Index([filled.folder], filled.store)


@pytest.fixture(scope="session")
def id_folder(tmp_path_factory: pytest.TempPathFactory, word_encoder: Any) -> DatasetFolder:
    """A folder in the shape of BOSS."""
    return build_id_folder(tmp_path_factory.mktemp("id") / "boss", word_encoder)


@pytest.fixture(scope="session")
def sender(tmp_path_factory: pytest.TempPathFactory) -> Sender:
    """A sender of a prediction file that is scored in a tenth of a second."""
    return tiny_sender(tmp_path_factory.mktemp("sender"))


_INLINE = {"a", "abbr", "b", "code", "em", "i", "label", "small", "span", "strong", "sub", "sup"}
_UNREAD = {"style", "script", "svg", "option"}


class Visible(HTMLParser):
    """Collector of the elements that a browser would make, and of the text that it would show.

    Attributes:
        text: all text, of pictures, too.
        lines: text of the page's main part as it is read, a line a block, cells of a row separated by bars; without
            pictures and lists to choose from.
    """

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self._read, self._unread = "", 0
        self.feed(str(markup))

    @property
    def lines(self) -> str:
        main = self._read.partition("<main>")[2].partition("</main>")[0] or self._read
        lines = (" ".join(line.split()).strip("| ") for line in main.splitlines())
        return "\n".join(line for line in lines if line)

    def _break(self, tag: str, cell: str) -> None:
        if tag not in _INLINE:
            self._read += cell if tag in {"td", "th"} else "\n"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]
        self._unread += tag in _UNREAD
        self._break(tag, " | ")
        self._read += "<main>" if tag == "main" else ""
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in _UNREAD
        self._break(tag, "")
        self._read += "</main>" if tag == "main" else ""

    def handle_data(self, data: str) -> None:
        self.text += data
        # A line break within a text is a space, as a browser shows it.
        self._read += "" if self._unread else data.replace("\n", " ")
