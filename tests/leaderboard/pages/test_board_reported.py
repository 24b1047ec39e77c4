"""What papers report on a board of one training domain: below the entries, sorted and filtered by itself."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index, find_board
from shiftbench.leaderboard.pages.board_data import board_rows
from shiftbench.leaderboard.pages.board_page import board_page, rows_fragment
from shiftbench.leaderboard.store import Store
from shiftbench.validation.cards import Card
from tests.leaderboard.conftest import Visible
from tests.leaderboard.id_folder import id_predictions
from tests.leaderboard.pages.board_table import query, rows

TABLE = "BOSS Table"


@pytest.fixture(scope="module")
def id_index(id_folder: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Entries in the shape of BOSS: a good, a zero-shot, a partial and a joined one."""
    root = tmp_path_factory.mktemp("id-board")
    store = Store(root / "store")
    made = {"Good": ("ID", 0.1, None), "Zero": ("none", 0.15, None), "Partial": ("ID", 0.02, ["amazon", "sst"])}
    for name, (source, errors, targets) in made.items():
        parts = [
            id_predictions(
                id_folder, task, source.replace("ID", home), errors=errors, targets=targets if task == "sa" else None
            )
            for task, home in (("sa", "amazon"), ("ner", "few_nerd"))
        ]
        pl.concat(parts).write_parquet(root / "p.parquet")
        card = Card(name=name, paradigm="zero-shot" if name == "Zero" else "fine-tuned", data=id_folder.content_hash)
        store.submit(root / "p.parquet", card, [id_folder])
    found = Index([id_folder], store)
    assert found.settle()
    return found


def test_reported_rows_stand_below_and_are_sorted_by_themselves(id_index: Index, wording: SnapshotAssertion) -> None:
    folded = rows(id_index, "board=boss/sa")
    assert not any(TABLE in cell for row in folded.rows for cell in row)
    found = rows(id_index, urlsplit(folded.addresses["board-reported"]).query)
    firsts = [row[0] if len(row) == 1 else row[2] for row in found.rows]
    places = [
        next(place for place, text in enumerate(firsts) if text.startswith(words))
        for words in ("Good", "Zero", "Partial", "Vanilla", "LLaMA-13B")
    ]
    assert places == sorted(places)
    assert [row[0] for row in (*found.rows, folded.rows[-1]) if len(row) == 1] == wording
    for order in ("asc", "desc"):
        found = rows(id_index, f"board=boss/sa&sort=mean_ood&order={order}&reported=shown")
        head = next(place for place, row in enumerate(found.rows) if f"{TABLE} 5" in row[0])
        values = [float(row[5]) for row in found.rows[head + 1 : head + 6]]
        assert values == sorted(values, reverse=order == "desc")
        assert found.rows[0][2].startswith("Good" if order == "desc" else "Zero")


def test_reported_rows_are_filtered_by_what_papers_tell(id_index: Index) -> None:
    asked = "board=boss/sa&paradigm=zero-shot&reported=shown"
    only = [row[2] for row in rows(id_index, asked).rows if len(row) > 1 and not row[2].startswith("Zero")]
    assert {name.split(", ")[1][:6] for name in only} == {"0-shot"}
    assert len(only) == 6
    # No paper tells a size: such a filter leaves its rows out.
    shown = Visible(rows_fragment(id_index, query(id_index, "board=boss/sa&size=lt100m&reported=shown"))).text
    assert "papers" not in shown


def test_tasks_with_one_training_domain_have_a_column_for_each_data_set(id_index: Index) -> None:
    heads = [key for key in rows(id_index, "board=boss/sa&view=full").addresses if key.startswith("sort-")]
    wanted = ["id_score", "mean_ood", "drop", "ood.dynasent", "ood.semeval", "ood.sst"]
    assert [key.removeprefix("sort-") for key in heads][2:8] == wanted
    assert "merged" in rows_fragment(id_index, query(id_index, "board=boss/ner"))


def test_an_empty_board_shows_what_papers_report(id_folder: DatasetFolder, tmp_path: Path) -> None:
    index = Index([id_folder], Store(tmp_path))
    text = Visible(board_page(index, query(index, "board=boss/ner"))).text
    assert text.index("No entries") < text.index(f"{TABLE} 5")


def test_reported_rows_as_data(id_index: Index) -> None:
    boss = json.loads(json.dumps(board_rows(id_index, find_board("boss/ner", id_index.boards())), allow_nan=False))
    entries, printed = ([row for row in boss if (row["reported"] is None) == own] for own in (True, False))
    assert boss == entries + printed
    assert set(entries[0]["ood"]) == {"conll", "wnut", "e_ner"}
    assert entries[0]["id_score"]["four_types"] > 0.5
    assert {row["reported"] for row in printed} == {f"{TABLE} 5", f"{TABLE} 6"}
    assert all((row["rank"], row["id"], row["verified"]) == (None, None, False) for row in printed)


def reasons(index: Index, asked: str) -> list[str]:
    links = Visible(rows_fragment(index, query(index, asked))).links
    return [link.removeprefix("/about#") for link in links if link.startswith("/about#")]


def test_a_board_gives_only_the_reasons_to_trust_that_its_rows_have(
    id_index: Index, id_folder: DatasetFolder, tmp_path: Path
) -> None:
    """The folder in the shape of BOSS has no placebos."""
    assert reasons(id_index, "board=boss/sa") == ["scored", "intervals"]
    assert reasons(id_index, "board=boss/sa&reported=shown") == ["scored", "intervals"]
    assert reasons(id_index, "board=boss/sa&q=vanilla&reported=shown") == []
    papers_alone = Index([id_folder], Store(tmp_path / "store"))
    assert f"{TABLE} 5" in str(rows_fragment(papers_alone, query(papers_alone, "board=boss/sa&reported=shown")))
    assert reasons(papers_alone, "board=boss/sa&reported=shown") == []
