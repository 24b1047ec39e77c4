"""Copies: same predictions are one row, nearly the same ones are marked, names that look alike are told apart."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index, find_board
from shiftbench.leaderboard.board.boards import skeleton
from shiftbench.leaderboard.board.copies import N_NEIGHBOURS, Copies
from shiftbench.leaderboard.pages.board_page import rows_fragment
from shiftbench.leaderboard.store import Store
from shiftbench.validation.cards import Card
from tests.leaderboard.conftest import Visible, predict
from tests.leaderboard.pages.board_table import query
from tests.leaderboard.sending import Sender

TASK = "nli"


@pytest.fixture(scope="module")
def predictions(synthetic: DatasetFolder) -> pl.DataFrame:
    return predict(synthetic, list(synthetic.task(TASK).domains), 0.1, TASK)


class Sent:
    """A store, and what was sent to it."""

    def __init__(self, folder: DatasetFolder, root: Path) -> None:
        self.folder, self.store, self._root = folder, Store(root / "store"), root

    def send(self, rows: pl.DataFrame, name: str, submitter: str = "somebody", suffix: str = ".parquet") -> str:
        path = self._root / f"sent{suffix}"
        rows.write_csv(path) if suffix == ".csv" else rows.write_parquet(path)
        card = Card(name=name, paradigm="fine-tuned", data=self.folder.content_hash)
        return self.store.submit(path, card, [self.folder], submitter)[0].id

    def index(self) -> Index:
        index = Index([self.folder], self.store)
        assert index.settle()
        return index

    def text(self, index: Index) -> str:
        return Visible(str(rows_fragment(index, query(index, f"board=synthetic/{TASK}")))).text


@pytest.fixture
def sent(synthetic: DatasetFolder, tmp_path: Path) -> Sent:
    return Sent(synthetic, tmp_path)


def with_errors(folder: DatasetFolder, rows: pl.DataFrame, share: float) -> pl.DataFrame:
    """Replace a share of the predictions by another label, evenly over the file."""
    labels = list(folder.task(TASK).labels)
    every = round(1 / share)
    other = pl.col("prediction").replace(labels, [*labels[1:], labels[0]])
    changed = pl.int_range(pl.len()) % every == every - 1
    return rows.with_columns(prediction=pl.when(changed).then(other).otherwise("prediction"))


def names(index: Index) -> list[str]:
    return sorted(index.frame(find_board(f"synthetic/{TASK}", index.boards()))["name"])


def test_equal_files_under_other_names_are_one_row_the_earliest(
    sent: Sent, predictions: pl.DataFrame, wording: SnapshotAssertion
) -> None:
    first = sent.send(predictions, "first")
    copies = [
        sent.send(predictions, "again", "another"),
        sent.send(predictions.sample(fraction=1.0, shuffle=True, seed=0), "other order", suffix=".csv"),
        sent.send(predictions.with_columns(seed=pl.lit(3)), "other seed"),
    ]
    date_entries(sent.store, [first, *copies])
    other = sent.send(with_errors(sent.folder, predictions, 0.2), "other predictions")
    index = sent.index()
    board = find_board(f"synthetic/{TASK}", index.boards())
    frame = index.frame(board)
    assert sorted(frame["id"]) == sorted([first, other])
    assert (frame["rank"].to_list(), frame["rank_high"].max()) == ([1, 2], 2)  # a copy takes no rank
    assert frame["copies"][0].to_list() == wording
    assert "again (by another), other order (by somebody) and 1 " in " ".join(sent.text(index).split())
    assert set(copies) < index.scored_ids()  # they keep their pages
    assert [index.originals(each) for each in (*copies, first, other)] == [{TASK: first}] * 3 + [{}] * 2
    sent.store.withdraw(first, "somebody")
    index.refresh()
    assert index.settle()
    assert names(index) == ["again", "other predictions"]
    again = sent.index()  # from its saved tables
    assert names(again) == ["again", "other predictions"]


def test_a_copy_of_the_same_second_is_no_original(tmp_path: Path, sender: Sender) -> None:
    """Before: of entries of one second the smallest id was first, which whoever copies could choose by the name."""
    store = Store(tmp_path)
    first, copies = sender.send(store, "model 0", "somebody")[0].id, list[str]()
    while not copies or min(copies) > first:
        copies.append(sender.send(store, f"model {1 + len(copies)}", "somebody")[0].id)
    assert [entry.id for entry in store.entries()] == [first, *copies]
    index = Index([sender.folder], store)
    assert {original for each in copies for original in index.originals(each).values()} == {first}


def date_entries(store: Store, identities: Sequence[str]) -> None:
    """Have entries submitted a day after the other."""
    for day, identity in enumerate(identities, start=1):
        path = store.entry_files(identity).card
        entry = replace(store.entry(identity), submitted_at=f"2026-01-{day:02}T00:00:00+00:00")
        from shiftbench.leaderboard.store.entries import entry_bytes

        path.write_bytes(entry_bytes(entry))


@pytest.mark.parametrize(("share", "is_marked"), [(1 / 300, True), (1 / 100, False)])
def test_nearly_the_same_predictions_are_marked(
    sent: Sent, predictions: pl.DataFrame, share: float, is_marked: bool
) -> None:
    first = sent.send(predictions, "first")
    near = sent.send(with_errors(sent.folder, predictions, share), "a little changed", "another")
    date_entries(sent.store, [first, near])
    index = sent.index()
    assert names(index) == ["a little changed", "first"]
    text = sent.text(index)
    assert text.count("nearly the same") == is_marked


def test_names_that_look_alike_are_shown_with_their_submitter(sent: Sent, predictions: pl.DataFrame) -> None:
    for number, (name, submitter) in enumerate([("admin", "ada"), ("\u0430dmin", "bob"), ("Unlike", "ada")]):
        sent.send(with_errors(sent.folder, predictions, 0.1 * (number + 1)), name, submitter)
    text = sent.text(sent.index())
    assert ("by ada" in text, "by bob" in text, text.count("by ada")) == (True, True, 1)


@pytest.mark.parametrize(
    ("one", "other", "is_alike"),
    [
        ("admin", "\u0430dmin", True),
        ("tfidf", "TF-IDF", True),
        ("bert", "b\u200bert", True),
        ("\uff42ert", "bert", True),
        ("modern", "modem", True),
        ("r\u00e9sum\u00e9", "resume", True),
        ("bert-base", "bert-large", False),
        ("gpt-4", "gpt-5", False),
    ],
)
def test_skeletons(one: str, other: str, is_alike: bool) -> None:
    assert (skeleton(one) == skeleton(other)) == is_alike


def test_ten_thousand_entries_are_looked_through_quickly(sent: Sent, predictions: pl.DataFrame) -> None:
    sent.send(predictions, "first")
    index = sent.index()
    rows, n = index._snapshot.every, 10_000
    scores = np.random.default_rng(0).normal(0.8, 0.05, n)
    many = rows[np.zeros(n, dtype=np.int64)].with_columns(
        id=pl.int_range(pl.len()).cast(pl.String).str.zfill(16), mean_st=pl.Series(scores), mean_ss=pl.Series(scores)
    )
    copies, begun = Copies(sent.store), time.perf_counter()
    assert copies.fold(many, {sent.folder.content_hash}).height == n
    assert time.perf_counter() - begun < 1.0
    board, asked = find_board(f"synthetic/{TASK}", index.boards()), list[str]()
    copies._agreement = lambda a, b, task: asked.append(a) or 0.0  # type: ignore[method-assign,func-returns-value]
    begun = time.perf_counter()
    copies.find_near(board, many.head(1_000))
    assert time.perf_counter() - begun < 5
    assert 0 < len(asked) <= 1_000 * N_NEIGHBOURS
    asked.clear()
    copies.find_near(board, many.head(1_000))
    Copies(sent.store).find_near(board, many.head(1_000))  # another server knows it from the store
    assert asked == []
