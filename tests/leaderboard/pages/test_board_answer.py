"""The answer in words: it says no more than the tests behind the ranks."""

from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.pages.board_answer import answer, reasons
from shiftbench.leaderboard.pages.shell import macro
from shiftbench.scoring.comparing.shape import RECIPES, TRAINED_MODELS
from tests.leaderboard.conftest import Visible

_SCHEMA: dict[str, Any] = {
    "id": pl.String, "name": pl.String, "mean_st": pl.Float64, "with_leader": pl.Boolean, "corrected": pl.Float64,
    "rank_about": pl.String, "at_floor": pl.Boolean, "average_drop": pl.Float64, "average_drop.low": pl.Float64,
    "average_drop.high": pl.Float64, "average_drop.placebo": pl.Float64,
}  # fmt: skip


def row(name: str, score: float, **facts: Any) -> dict[str, Any]:
    usual = {"with_leader": False, "rank_about": RECIPES, "at_floor": False, "average_drop": 0.021}
    ends = {"average_drop.low": 0.011, "average_drop.high": 0.031}
    return {"id": name, "name": name, "mean_st": score, **usual, **ends, **facts}


LEADER = row("DeBERTa", 0.872, with_leader=True, corrected=0.871)


def words(*rows: dict[str, Any], public: bool = True) -> str:
    frame = pl.DataFrame(list(rows), schema=_SCHEMA, orient="row")
    found = answer(frame, "on unseen domains", lambda row: "/entry", has_public_labels=public)
    return Visible(macro("answer.html", "answer", found)).lines


def test_a_leader_is_named_with_what_the_tests_show(wording: SnapshotAssertion) -> None:
    tied = [row(f"E{number}", 0.87, with_leader=True) for number in range(9)]
    other, unknown = row("BERT", 0.7), {"with_leader": None, "corrected": None, "rank_about": None}
    found = {
        "tied, with a placebo": words(LEADER | {"average_drop.placebo": 0.001}, tied[0], other),
        **{f"{n} tied": words(LEADER, *tied[:n]) for n in (2, 3, 4, 9)},
        "above all": words(LEADER, other),
        "alone": words(LEADER),
        "not tested": words(row("A", 0.8, **unknown), row("B", 0.7, **unknown)),
        "trained models": words(LEADER | {"rank_about": TRAINED_MODELS}, other),
        "at chance": words(LEADER | {"at_floor": True}, other),
        "no entry": words(),
    }
    assert found == wording
    assert "BERT." not in found["tied, with a placebo"].removeprefix("DeBERTa")


def test_thousands_of_ties_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: each row as a dict, 0.3 s of each page of a board with 7,500 ties."""
    read: list[int] = []
    monkeypatch.setattr(pl.DataFrame, "iter_rows", counted(pl.DataFrame.iter_rows, read))
    tied = [row(f"E{number}", 0.87, with_leader=True) for number in range(2_000)]
    assert "E0, E1 and 1,998 " in words(LEADER, *tied)
    assert sum(read) <= 3


def counted(iter_rows: Any, read: list[int]) -> Any:
    """Return ``iter_rows`` of a frame that notes how many rows it had."""

    def counting(frame: pl.DataFrame, **options: Any) -> Any:
        read.append(frame.height)
        return iter_rows(frame, **options)

    return counting


def test_the_loss_is_told_from_none_or_not(wording: SnapshotAssertion) -> None:
    found = {}
    for name, low, high, drop in (
        ("loss", 0.011, 0.031, 0.021),
        ("gain", -0.031, -0.011, -0.021),
        ("not significant", -0.01, 0.02, 0.005),
        ("no interval", None, None, 0.021),
    ):
        ends = {"average_drop": drop, "average_drop.low": low, "average_drop.high": high}
        said = words(LEADER | ends | {"average_drop.placebo": -0.004}, row("B", 0.7))
        found[name] = said[said.index(".", said.index("87.2") + 5) + 2 :]
    assert found == wording


def test_on_withheld_labels_the_last_round_speaks(wording: SnapshotAssertion) -> None:
    unknown = {"with_leader": None, "corrected": None, "rank_about": None, "average_drop": None}
    places = unknown | {"with_leader": True, "mean_st": None}
    assert [
        words(row("A", 0.8, **unknown), row("B", 0.7, **unknown), public=False),
        words(row("A", None, **places), row("B", None, **places), public=False),
        words(public=False),
    ] == wording


@pytest.mark.parametrize(
    ("facts", "public", "parts"),
    [
        ({}, True, []),
        ({"mean_st": 0.8}, True, ["scored"]),
        ({"mean_st": 0.8, "mean_st.low": 0.7}, True, ["scored", "intervals"]),
        ({"mean_st": 0.8, "drop.placebo": 0.1}, True, ["scored", "placebo"]),
        ({"mean_st": 0.8, "mean_st.low": 0.7, "mean_st.placebo": 0.8}, True, ["scored", "intervals", "placebo"]),
        ({"other": 0.8, "other.low": 0.7, "other.placebo": 0.7}, True, []),  # figures that are not shown
        ({}, False, ["withheld"]),
        ({"mean_st": 0.8}, False, ["scored", "withheld"]),
    ],
)
def test_reasons_to_trust_are_those_of_the_rows_shown(facts: dict[str, float], public: bool, parts: list[str]) -> None:
    names = [f"{name}{part}" for name in ("mean_st", "drop", "other") for part in ("", ".low", ".placebo")]
    frame = pl.DataFrame([dict.fromkeys(names), dict.fromkeys(names) | facts], schema=dict.fromkeys(names, pl.Float64))
    found = reasons(frame, ["mean_st", "drop"], has_public_labels=public)
    assert Visible(macro("answer.html", "reasons", found)).links == [f"/about#{part}" for part in parts]
