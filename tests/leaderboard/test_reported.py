"""Boards of tasks with one training domain, and the figures of papers below their entries."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.folder import DatasetFolder
from leaderboard.app import create_app
from leaderboard.store import Store
from leaderboard.views import pages, reported
from leaderboard.views.board import Board, BoardRow, board_rows, boards, find_board
from leaderboard.views.listing import Catalogue
from leaderboard.views.reported import ReportedRow, ReportedTable, reported_tables
from leaderboard.views.submission import check
from tests.conftest import SHARED
from validation.cards import Card

from .conftest import SCRIPT, Visible
from .id_folder import NER, SA, id_predictions

DATA = Path(reported.__file__).parent


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
        SCRIPT: predict("ID", 0.3),
        "Zero-shot model": predict("none", 0.15),
        "Partial model": predict("ID", 0.02, ["amazon", "sst"]),
        "Joined model": predict("amazon+dynasent", 0.02, tasks="sa"),
    }
    for name, frame in entries.items():
        path = root / f"{len(name)}.parquet"
        frame.write_parquet(path)
        store.submit(path, Card(name=name, paradigm="fine-tuned", data=folder.content_hash), [folder])
    return store


@pytest.fixture(scope="module")
def store(id_folder: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Store:
    return fill_id_store(id_folder, tmp_path_factory.mktemp("id-store"))


@pytest.fixture(scope="module")
def catalogue(id_folder: DatasetFolder, store: Store) -> Catalogue:
    return Catalogue([id_folder], store)


def board(folder: DatasetFolder, task: str = "sa") -> Board:
    return find_board(f"boss/{task}", boards([folder]))


@pytest.fixture(scope="module")
def rows(catalogue: Catalogue, id_folder: DatasetFolder) -> list[BoardRow]:
    return board_rows(board(id_folder), catalogue.entries())


def shown(catalogue: Catalogue, folder: DatasetFolder, task: str) -> Visible:
    listed = catalogue.entries()
    return Visible(pages.board_html(board(folder, task), board_rows(board(folder, task), listed), listed))


# Entries


def test_candidates_are_no_board(id_folder: DatasetFolder) -> None:
    assert [item.name for item in boards([id_folder])] == ["boss/sa", "boss/ner", "boss/nli"]


def test_complete_entries_are_ranked_by_mean_ood(rows: list[BoardRow]) -> None:
    assert [(row.rank, row.name) for row in rows[:3]] == [(1, "Good model"), (2, "Zero-shot model"), (3, SCRIPT)]
    assert {(row.rank, row.name) for row in rows[3:]} == {(None, "Joined model"), (None, "Partial model")}
    # They score highest, and still stand below.
    assert min(row.mean_st.value for row in rows[3:]) > rows[0].mean_st.value  # type: ignore[type-var, operator]
    means = [row.id_ood.mean_ood.value for row in rows[:3] if row.id_ood]
    assert means == sorted(means, reverse=True)  # type: ignore[type-var]
    assert [row.mean_st.value for row in rows[:3]] == means


def test_unranked_entries_say_why(rows: list[BoardRow]) -> None:
    by_name = {row.name: row for row in rows}
    assert by_name["Partial model"].missing[0] == "amazon \N{RIGHTWARDS ARROW} dynasent: no predictions"
    assert "some data set is not OOD for it" in by_name["Joined model"].missing[0]
    assert by_name["Zero-shot model"].missing == ()


def test_the_table_has_a_column_for_each_data_set(catalogue: Catalogue, id_folder: DatasetFolder) -> None:
    page = shown(catalogue, id_folder, "sa")
    heads = ["Mean OOD", "Amazon (ID)", "Dynasent", "SemEval", "SST", "ID \N{MINUS SIGN} OOD"]
    places = [page.text.index(head) for head in heads]
    assert places == sorted(places)
    assert "Worst SD" not in page.text
    assert "Scenarios" not in page.text
    assert "4 types" not in page.text
    # A name that is a program is text.
    assert SCRIPT in page.text
    assert "script" not in page.tags


def test_entities_have_the_four_types_below(catalogue: Catalogue, id_folder: DatasetFolder) -> None:
    row = board_rows(board(id_folder, "ner"), catalogue.entries())[0]
    assert row.id_ood is not None
    four = row.id_ood.four_types
    assert four is not None
    text = shown(catalogue, id_folder, "ner").text
    for value in (four.id, four.mean_ood, *four.ood.values()):
        assert f"4 types {100 * value:.1f}" in text  # type: ignore[operator]


def test_the_legend_is_the_boards_own(id_folder: DatasetFolder, synthetic: DatasetFolder) -> None:
    assert "Mean OOD" in pages.legend_html(board(id_folder))
    assert "4 types" in pages.legend_html(board(id_folder, "ner"))
    assert "4 types" not in pages.legend_html(board(id_folder))
    assert pages.legend_html(boards([synthetic])[0]) == pages.legend_html()


def test_an_entrys_page_heads_with_id_and_ood(catalogue: Catalogue) -> None:
    item = next(item for item in catalogue.entries() if item.name == "Zero-shot model")
    assert item.scores is not None
    text = Visible(pages.entry_html(item, item.scores.tasks[0])).text
    assert "amazon (ID)" in text
    assert "zero-shot" in text
    assert f"{100 * item.scores.tasks[0].id_ood.mean_ood.value:.1f}" in text  # type: ignore[union-attr, operator]


def test_a_submission_is_previewed(catalogue: Catalogue, id_folder: DatasetFolder, tmp_path: Path) -> None:
    id_predictions(id_folder, "sa", "amazon").write_parquet(tmp_path / "p.parquet")
    card = f"name: x\nparadigm: other\ndata: {id_folder.content_hash}\n"
    answer = check(catalogue, str(tmp_path / "p.parquet"), card)
    assert answer["ok"]
    assert answer["summary"]["tasks"][0]["complete"]
    assert "boss/sa" in pages.answer_html(answer)


# What papers report


@pytest.mark.parametrize(
    ("file", "source", "model"),
    [
        ("boss_table5.csv", "boss_table5_methods.csv", "method"),
        ("boss_table6.csv", "boss_table6_llms.csv", "model"),
    ],
)
def test_figures_are_those_of_the_paper(file: str, source: str, model: str) -> None:
    path = SHARED / "reported" / source
    if not path.is_file():
        pytest.skip("the papers' figures are not beside the project")
    with path.open(encoding="utf-8") as stream:
        printed = [
            (row["task"].lower(), row[model], row.get("setting", ""), row["dataset"], row["score"])
            for row in csv.DictReader(stream)
        ]
    with (DATA / file).open(encoding="utf-8") as stream:
        ours = [
            (row["task"], row["model"], row["setting"], row["dataset"], row["score"]) for row in csv.DictReader(stream)
        ]
    assert ours == printed


def by_model(folder: DatasetFolder, task: str) -> dict[tuple[str, str, str], ReportedRow]:
    return {
        (row.reported, row.model, row.setting): row
        for table in reported_tables(board(folder, task))
        for row in table.rows
    }


def test_points_become_fractions_with_their_mean_and_drop(id_folder: DatasetFolder) -> None:
    row = by_model(id_folder, "sa")["BOSS Table 5", "Vanilla", ""]
    assert row.scores == pytest.approx({"amazon": 0.9094, "dynasent": 0.4738, "semeval": 0.4990, "sst": 0.7516})
    mean = (0.4738 + 0.4990 + 0.7516) / 3
    assert row.mean_ood == pytest.approx(mean)
    assert row.drop == pytest.approx(0.9094 - mean)


def test_what_is_not_printed_stays_open(id_folder: DatasetFolder) -> None:
    found = by_model(id_folder, "ner")
    row = found["BOSS Table 6", "Turbo", "ICL*"]
    assert row.scores["few_nerd"] is None
    assert (row.mean_ood, row.drop) == (None, None)
    # Methods that cannot be used on a task, and figures that are lost.
    assert not [key for key in found if key[1] in ("EDA", "ES")]
    assert [key[2] for key in found if key[1] == "T5-3B"] == ["0-shot"]
    # A zero-shot model has no home to drop from.
    assert found["BOSS Table 6", "Turbo", "0-shot"].mean_ood is not None
    assert found["BOSS Table 6", "Turbo", "0-shot"].drop is None
    assert found["BOSS Table 6", "Turbo", "ICL"].drop is not None


def test_a_domain_that_is_not_here_leaves_the_mean_open(id_folder: DatasetFolder) -> None:
    # The synthetic folder's nli lacks ContractNLI: figures are of the domains that are here.
    row = by_model(id_folder, "nli")["BOSS Table 5", "Vanilla", ""]
    assert list(row.scores) == ["mnli", "anli", "wanli"]


def notes(folder: DatasetFolder, task: str) -> dict[str, tuple[str, ...]]:
    return {table.title: table.notes for table in reported_tables(board(folder, task))}


def with_manifest(folder: DatasetFolder, **changes: Any) -> DatasetFolder:
    return replace(folder, manifest=folder.manifest.model_copy(update=changes))


def test_what_is_not_comparable_is_said(id_folder: DatasetFolder) -> None:
    whole = with_manifest(id_folder, synthetic=False)
    assert notes(whole, "sa")["BOSS Table 5"] == ()
    assert "could not be read" in notes(whole, "sa")["BOSS Table 6"][0]
    for title in ("BOSS Table 5", "BOSS Table 6"):
        assert "scores every sub-token" in notes(whole, "ner")[title][0]
        assert "synthetic" in notes(id_folder, "sa")[title][0]
        assert "a part of the upstream" in notes(with_manifest(whole, partial=True), "sa")[title][0]


def test_odd_figures_have_footnotes(id_folder: DatasetFolder) -> None:
    nli, sa = by_model(id_folder, "nli"), by_model(id_folder, "sa")
    assert "17.79" in nli["BOSS Table 5", "ES", ""].notes[0]
    assert "equals 0-shot" in sa["BOSS Table 6", "T5-3B", "ICL"].notes[0]
    assert sa["BOSS Table 5", "EDA", ""].notes == ()
    lines = list(csv.DictReader((DATA / "boss_table5.csv").read_text(encoding="utf-8").splitlines()))
    lines += csv.DictReader((DATA / "boss_table6.csv").read_text(encoding="utf-8").splitlines())
    toxic = {line["model"]: line["note"] for line in lines if line["task"] == "td" and line["note"]}
    assert toxic["EDA"] == "all four figures are Vanilla's"
    assert toxic["Small Ref"].startswith("differs from Vanilla")
    assert set(toxic) == {"EDA", "Small Ref", "T5-3B"}


def test_they_are_on_their_own_board_only(id_folder: DatasetFolder, synthetic: DatasetFolder) -> None:
    assert [table.title for table in reported_tables(board(id_folder))] == ["BOSS Table 5", "BOSS Table 6"]
    assert reported_tables(replace(board(id_folder), subset="fewshot")) == []
    assert all(reported_tables(item) == [] for item in boards([synthetic]))
    other = with_manifest(id_folder, benchmark="mine")
    assert reported_tables(Board("mine/sa", other, "sa", "all")) == []


def test_they_stand_below_the_entries(catalogue: Catalogue, id_folder: DatasetFolder) -> None:
    text = shown(catalogue, id_folder, "sa").text
    places = [text.index(words) for words in ("Partial model", "Reported in BOSS Table 5", "Vanilla", "LLaMA-13B")]
    assert places == sorted(places)
    assert "equals 0-shot on every data set" in text


def test_an_empty_board_shows_them_too(id_folder: DatasetFolder, tmp_path: Path) -> None:
    text = shown(Catalogue([id_folder], Store(tmp_path)), id_folder, "ner").text
    assert text.index("No entries yet") < text.index("Reported in BOSS Table 5")


def test_notes_and_names_are_escaped(
    id_folder: DatasetFolder, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ReportedRow(SCRIPT, SCRIPT, SCRIPT, {"amazon": 0.5}, None, None, (SCRIPT,))
    table = ReportedTable(SCRIPT, SCRIPT, (row,), (SCRIPT,))
    monkeypatch.setattr("leaderboard.views.id_ood.reported_tables", lambda _: [table])
    page = shown(catalogue, id_folder, "sa")
    assert "script" not in page.tags
    assert page.text.count(SCRIPT) >= 7


def test_the_endpoint_gives_entries_and_then_what_is_reported(id_folder: DatasetFolder, store: Store) -> None:
    app = create_app([id_folder], store)
    (function,) = [item.fn for item in app.fns.values() if item.api_name == "board"]
    found = json.loads(json.dumps(function("boss/sa"), allow_nan=False))  # type: ignore[misc]
    entries = [row for row in found if row["reported"] is None]
    printed = [row for row in found if row["reported"]]
    assert found == entries + printed
    assert [row["rank"] for row in entries] == [1, 2, 3, None, None]
    assert entries[0]["id_ood"]["id_domain"] == "amazon"
    assert {row["reported"] for row in printed} == {"BOSS Table 5", "BOSS Table 6"}
    assert all((row["rank"], row["id"], row["verified"]) == (None, None, False) for row in printed)
    assert set(printed[0]["scores"]) == set(SA)


def test_titles_join_the_papers_names(id_folder: DatasetFolder) -> None:
    assert reported.titles(id_folder.task("ner")) == NER
    bare = {
        name: facts.model_copy(update={"provenance": None}) for name, facts in id_folder.task("ner").domains.items()
    }
    info = id_folder.task("ner").model_copy(update={"domains": bare})
    assert reported.titles(info) == {name: name for name in NER}
    assert list(reported._rows(reported._tables()[0], "boss", "ner", info)) == []
