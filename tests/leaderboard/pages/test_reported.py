"""Figures of papers below a board's entries: as printed, on their own boards, with what keeps them apart."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.manifest import SizeFacts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Board
from shiftbench.leaderboard.board.boards import boards_of
from shiftbench.leaderboard.pages import reported
from shiftbench.leaderboard.pages.reported import ReportedRow, reported_tables
from tests.conftest import SHARED
from tests.leaderboard.id_folder import NER

DATA = Path(reported.__file__).parent
DROPS = {
    "avg_in_domain": "mean_ss",
    "avg_cross_domain": "mean_st",
    "avg_drop": "average_drop",
    "worst_sd": "worst_sd",
    "worst_td": "worst_td",
}


def board(folder: DatasetFolder, task: str = "sa") -> Board:
    return next(item for item in boards_of([folder]) if item.task == task)


def printed(source: str) -> list[dict[str, str]]:
    """Read a table of a paper as it was typed out beside the project."""
    path = SHARED / "reported" / source
    if not path.is_file():
        pytest.skip("the papers' figures are not beside the project")
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def ours(file: str) -> dict[tuple[str, str, str, str], str]:
    """Return a table's figures as they are stored, by task, model, setting and figure."""
    with (DATA / file).open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    found = {(row["task"], row["model"], row["setting"], row["figure"]): row["score"] for row in lines}
    assert len(found) == len(lines)
    return found


@pytest.mark.parametrize(
    ("file", "source", "model"),
    [
        ("boss_table5.csv", "boss_table5_methods.csv", "method"),
        ("boss_table6.csv", "boss_table6_llms.csv", "model"),
    ],
)
def test_figures_of_boss_are_those_of_the_paper(file: str, source: str, model: str) -> None:
    lines = printed(source)
    assert ours(file) == {
        (row["task"].lower(), row[model], row.get("setting", ""), row["dataset"]): row["score"] for row in lines
    }


@pytest.mark.parametrize(
    ("file", "source"),
    [("dr_table4.csv", "dr_table4_finetuned_large.csv"), ("dr_table5.csv", "dr_table5_fewshot.csv")],
)
def test_figures_of_domain_robustness_are_those_of_the_paper(file: str, source: str) -> None:
    lines = printed(source)
    assert ours(file) == {
        (row["task"].lower(), row["model"], f"{row['shots']}-shot" if row.get("shots") else "", figure): row[column]
        for row in lines
        for column, figure in DROPS.items()
        if column in row
    }


def test_figures_of_depth_f1_are_those_of_the_paper() -> None:
    lines = printed("df1_table2_3_results.csv")
    for file, task in (("df1_table2.csv", "SA"), ("df1_table3.csv", "NLI")):
        mine = [row for row in lines if row["task"] == task]
        wanted = {(row["pairing"].lower(), row["model"], "", "mean_st"): row["f1"] for row in mine}
        wanted |= {
            (row["pairing"].lower(), row["model"], "", f"depth_f1_{row['lambda']}"): row["df1"]
            for row in mine
            if row["lambda"] in ("0", "50", "90")
        }
        assert ours(file) == wanted


def by_model(folder: DatasetFolder, task: str) -> dict[tuple[str, str, str], ReportedRow]:
    return {
        (row.reported, row.model, row.setting): row
        for table in reported_tables(board(folder, task))
        for row in table.rows
    }


def test_points_become_fractions_with_their_mean_and_drop(id_folder: DatasetFolder) -> None:
    row = by_model(id_folder, "sa")["BOSS Table 5", "Vanilla", ""]
    mean = (0.4738 + 0.4990 + 0.7516) / 3
    away = {"ood.dynasent": 0.4738, "ood.semeval": 0.4990, "ood.sst": 0.7516}
    assert row.figures == pytest.approx({"mean_ood": mean, "id_score": 0.9094, **away, "drop": 0.9094 - mean})
    assert (row.name, row.paradigm) == ("Vanilla", "fine-tuned")


def test_what_is_not_printed_stays_open(id_folder: DatasetFolder) -> None:
    found = by_model(id_folder, "ner")
    row = found["BOSS Table 6", "Turbo", "ICL*"]
    assert row.figures["id_score"] is None
    assert (row.figures["mean_ood"], row.figures["drop"]) == (None, None)
    # Methods that cannot be used on a task, and figures that are lost.
    assert not [key for key in found if key[1] in ("EDA", "ES")]
    assert [key[2] for key in found if key[1] == "T5-3B"] == ["0-shot"]
    # A zero-shot model has no home to drop from.
    assert found["BOSS Table 6", "Turbo", "0-shot"].figures["mean_ood"] is not None
    assert found["BOSS Table 6", "Turbo", "0-shot"].figures["drop"] is None
    assert found["BOSS Table 6", "Turbo", "ICL"].figures["drop"] is not None


def test_a_domain_that_is_not_here_leaves_the_mean_open(id_folder: DatasetFolder) -> None:
    # The synthetic folder's nli lacks ContractNLI: figures are of the domains that are here.
    row = by_model(id_folder, "nli")["BOSS Table 5", "Vanilla", ""]
    assert list(row.figures) == ["mean_ood", "id_score", "ood.anli", "ood.wanli", "drop"]


def notes(folder: DatasetFolder, task: str) -> dict[str, tuple[str, ...]]:
    return {table.title: table.notes for table in reported_tables(board(folder, task))}


def with_manifest(folder: DatasetFolder, **changes: Any) -> DatasetFolder:
    return replace(folder, manifest=folder.manifest.model_copy(update=changes))


def test_what_is_not_comparable_is_said(
    id_folder: DatasetFolder, synthetic: DatasetFolder, wording: SnapshotAssertion
) -> None:
    whole = with_manifest(id_folder, synthetic=False)
    dr = with_manifest(synthetic, benchmark="dr", synthetic=False)
    info = synthetic.task("nli")
    cut = info.model_copy(update={"sizes": {"train": SizeFacts(paper=50_000, rows=4_000, smallest="kettles")}})
    tables = {
        "whole, sa": notes(whole, "sa"),
        "whole, ner": notes(whole, "ner"),
        "synthetic": notes(id_folder, "sa"),
        "partial": notes(with_manifest(whole, partial=True), "sa"),
        "Domain Robustness": notes(dr, "nli"),
        "smaller": notes(with_manifest(dr, tasks={**synthetic.manifest.tasks, "nli": cut}), "nli"),
        "few-shot": reported_tables(replace(board(dr, "nli"), subset="fewshot"))[0].notes,
    }
    assert tables == wording


def test_odd_figures_have_footnotes(id_folder: DatasetFolder, wording: SnapshotAssertion) -> None:
    nli, sa = by_model(id_folder, "nli"), by_model(id_folder, "sa")
    odd = [nli["BOSS Table 5", "ES", ""], sa["BOSS Table 6", "T5-3B", "ICL"], sa["BOSS Table 5", "EDA", ""]]
    lines = list(csv.DictReader((DATA / "boss_table5.csv").read_text(encoding="utf-8").splitlines()))
    lines += csv.DictReader((DATA / "boss_table6.csv").read_text(encoding="utf-8").splitlines())
    toxic = {line["model"]: line["note"] for line in lines if line["task"] == "td" and line["note"]}
    assert [[row.notes for row in odd], toxic] == wording


def test_they_are_on_their_own_board_only(id_folder: DatasetFolder, synthetic: DatasetFolder) -> None:
    assert [table.title for table in reported_tables(board(id_folder))] == ["BOSS Table 5", "BOSS Table 6"]
    assert reported_tables(replace(board(id_folder), subset="fewshot")) == []
    assert all(reported_tables(item) == [] for item in boards_of([synthetic]))
    other = with_manifest(id_folder, benchmark="mine")
    assert reported_tables(Board("mine/sa", other, "sa", "all")) == []


def test_tables_of_domain_robustness_stand_on_its_boards(synthetic: DatasetFolder) -> None:
    folder = with_manifest(synthetic, benchmark="dr", synthetic=False)
    found = by_model(folder, "nli")
    row = found["Domain Robustness Table 4", "RoBERTa-L", ""]
    wanted = {"mean_ss": 0.8929, "mean_st": 0.8781, "average_drop": 0.0148, "worst_sd": 0.0483, "worst_td": 0.0289}
    assert row.figures == pytest.approx(wanted)
    few = found["Domain Robustness Table 5", "GPT4", "4-shot"]
    assert (few.paradigm, few.figures["worst_td"]) == ("few-shot", pytest.approx(0.039))
    assert "average_drop" not in few.figures
    assert found["Domain Robustness Table 5", "Best FT", ""].paradigm == "fine-tuned"
    subset = replace(board(folder, "nli"), subset="fewshot")
    assert [table.title for table in reported_tables(subset)] == ["Domain Robustness Table 5"]


def test_tables_of_depth_f1_stand_on_their_pairings(synthetic: DatasetFolder) -> None:
    tasks = {name: synthetic.task("nli") for name in ("mus-3", "sis-1")}
    folder = with_manifest(synthetic, benchmark="df1", tasks=tasks)
    row = by_model(folder, "mus-3")["Depth F1 Table 3", "SBERTLR", ""]
    figures = {"mean_st": 0.383, "depth_f1_0": 0.677, "depth_f1_50": 0.406, "depth_f1_90": 0.399}
    assert row.figures == pytest.approx(figures)
    assert "impossible" in row.notes[0]
    assert by_model(folder, "sis-1")["Depth F1 Table 2", "RAG", ""].paradigm == "retrieval"


def test_titles_join_the_papers_names(id_folder: DatasetFolder) -> None:
    assert reported.titles(id_folder.task("ner")) == NER
    bare = {
        name: facts.model_copy(update={"provenance": None}) for name, facts in id_folder.task("ner").domains.items()
    }
    info = id_folder.task("ner").model_copy(update={"domains": bare})
    assert reported.titles(info) == {name: name for name in NER}
    assert list(reported._reported_rows(reported._tables()[0], "boss", "ner", info)) == []
