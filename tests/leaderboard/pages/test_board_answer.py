"""The answer in words: it says no more than the tests behind the ranks."""

from typing import Any

import polars as pl
import pytest

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
    return Visible(macro("answer.html", "answer", found)).text


def test_a_leader_with_ties_its_loss_and_the_placebos() -> None:
    found = words(LEADER | {"average_drop.placebo": 0.001}, row("Llama", 0.87, with_leader=True), row("BERT", 0.7))
    assert found.startswith(
        "DeBERTa leads with 87.2 on unseen domains, statistically tied with Llama. It loses 2.1 points to the shift; "
        "with domains assigned at random, the same texts lose 0.1."
    )
    assert "Shaded: entries whose scores do not differ significantly from the leader's." in found
    assert "Leading 3 entries is partly luck; without it, its score is 87.1." in found
    assert "BERT." not in found.removeprefix("DeBERTa")


@pytest.mark.parametrize(
    ("n_tied", "named"),
    [(2, "E0 and E1."), (3, "E0, E1 and E2."), (4, "E0, E1 and 2 other entries."), (9, "E0, E1 and 7 other entries.")],
)
def test_many_ties_are_counted(n_tied: int, named: str) -> None:
    tied = [row(f"E{number}", 0.87, with_leader=True) for number in range(n_tied)]
    assert f"statistically tied with {named}" in words(LEADER, *tied)


def test_thousands_of_ties_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: each row as a dict, 0.3 s of each page of a board with 7,500 ties."""
    read: list[int] = []
    monkeypatch.setattr(pl.DataFrame, "iter_rows", counted(pl.DataFrame.iter_rows, read))
    tied = [row(f"E{number}", 0.87, with_leader=True) for number in range(2_000)]
    assert "E0, E1 and 1998 other entries." in words(LEADER, *tied).replace(",998", "998")
    assert sum(read) <= 3


def counted(iter_rows: Any, read: list[int]) -> Any:
    """Return ``iter_rows`` of a frame that notes how many rows it had."""

    def counting(frame: pl.DataFrame, **options: Any) -> Any:
        read.append(frame.height)
        return iter_rows(frame, **options)

    return counting


def test_a_leader_alone() -> None:
    assert "significantly higher than every other entry." in words(LEADER, row("BERT", 0.7))
    assert words(LEADER).startswith("DeBERTa is the only ranked entry, with 87.2 on unseen domains.")


def test_what_was_not_tested_is_not_claimed() -> None:
    unknown = {"with_leader": None, "corrected": None, "rank_about": None}
    found = words(row("A", 0.8, **unknown), row("B", 0.7, **unknown))
    assert "A has the highest score on unseen domains, 80.0; whether its lead is statistically certain is not" in found
    assert "leads" not in found
    found = words(LEADER | {"rank_about": TRAINED_MODELS}, row("B", 0.7))
    assert "This holds for these trained models" in found
    assert "trained models" not in words(LEADER, row("B", 0.7))
    assert "No entry is shown to be above chance" in words(LEADER | {"at_floor": True}, row("B", 0.7))
    assert "loses" not in words(LEADER | {"at_floor": True}, row("B", 0.7))
    assert words() == "No entry is ranked yet: none covers every shift."


@pytest.mark.parametrize(
    ("low", "high", "drop", "said"),
    [
        (0.011, 0.031, 0.021, "It loses 2.1 points to the shift."),
        (-0.031, -0.011, -0.021, "It gains 2.1 points under the shift."),
        (-0.01, 0.02, 0.005, "No loss to the shift is shown: the 95% interval of its drop, 0.5 points, includes 0."),
        (None, None, 0.021, "Its drop, 2.1 points, has no interval, so neither a loss nor a gain is shown."),
    ],
)
def test_the_loss_is_told_from_none_or_not(low: float | None, high: float | None, drop: float, said: str) -> None:
    ends = {"average_drop": drop, "average_drop.low": low, "average_drop.high": high}
    assert said in words(LEADER | ends, row("B", 0.7))
    assert "the same texts gain 0.4." in words(LEADER | ends | {"average_drop.placebo": -0.004}, row("B", 0.7))


def test_on_withheld_labels_the_last_round_speaks() -> None:
    unknown = {"with_leader": None, "corrected": None, "rank_about": None, "average_drop": None}
    found = words(row("A", 0.8, **unknown), row("B", 0.7, **unknown), public=False)
    assert found == "A had the highest score of the last round, 80.0 on unseen domains."
    places = unknown | {"with_leader": True, "mean_st": None}
    found = words(row("A", None, **places), row("B", None, **places), public=False)
    assert found == "In the last round no entry is told to be better than A or B."
    assert words(public=False) == "No entry is ranked yet: no round has ranked any."


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
