"""The figures of the reference results are those of the scores kept beside them."""

import json
import re
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from leaderboard.scoring.shape import Scores
from validation.cards import read_card

RESULTS = Path(__file__).parents[2] / "baselines/results"
README = (RESULTS / "README.md").read_text(encoding="utf-8")
WHERE = {
    "mean SS": "summary.mean_ss",
    "mean ST": "summary.mean_st",
    "average drop": "summary.average_drop",
    "worst SD": "summary.worst_sd",
    "worst TD": "summary.worst_td",
    "MNLI (ID)": "id_ood.id",
    "ANLI": "id_ood.ood.anli",
    "ContractNLI": "id_ood.ood.contract_nli",
    "mean OOD": "id_ood.mean_ood",
    "ID - mean OOD": "id_ood.drop",
}
"""The columns of the tables, and where their figures stand in a task's scores."""


def tables() -> list[tuple[str, dict[str, str]]]:
    """Read the tables: the name of each result, and its cells by column."""
    rows = []
    for table in re.findall(r"((?:^\|.*\|\n)+)", README, flags=re.M):
        heads, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
        rows += [(cells[0].strip("`"), dict(zip(heads, cells, strict=True))) for cells in lines]
    return rows


def test_every_result_is_in_a_table() -> None:
    kept = {
        path.relative_to(RESULTS).as_posix().removesuffix(".scores.json") for path in RESULTS.rglob("*.scores.json")
    }
    assert kept == {name for name, _ in tables()}
    assert len(kept) == 9


@pytest.mark.parametrize(("name", "cells"), tables())
def test_the_figures_are_those_of_the_scores(name: str, cells: dict[str, str]) -> None:
    content = json.loads((RESULTS / f"{name}.scores.json").read_text(encoding="utf-8"))
    scores = Scores.model_validate(content)
    card = read_card(RESULTS / f"{name}.card.yaml")
    assert card.data == scores.data
    assert card.command is not None
    (task,) = content["tasks"]
    judged = {column: text for column, text in cells.items() if column in WHERE}
    assert len(judged) == 5
    for column, text in judged.items():
        assert text == _points(reduce(lambda part, key: part[key], WHERE[column].split("."), task))


def _points(estimate: Any) -> str:
    value, low, high = (f"{round(100 * estimate[key], 1) + 0.0:.1f}" for key in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"
