"""A board by domain: means over models, how sure the order is, and what one model less would change."""

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.board.domains import board_domains
from shiftbench.leaderboard.board.rows import BY_DOMAIN
from shiftbench.leaderboard.pages.board_page import domains_page
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.conftest import Filled, Visible


def frame(*models: dict[str, tuple[float, float]], half: float = 0.01, floor: bool = False) -> pl.DataFrame:
    """Build rows of models from their scores into and out of each domain."""
    rows = []
    for number, scores in enumerate(models):
        each = [
            {"domain": name, "into": into, "into.low": into - half, "into.high": into + half, "lost": None,
             "lost.low": None, "lost.high": None, "out_of": out_of, "out_of.low": None, "out_of.high": None}
            for name, (into, out_of) in scores.items()
        ]  # fmt: skip
        rows.append({"id": str(number), "complete": True, "at_floor": floor, "by_domain": each})
    schema = {"id": pl.String, "complete": pl.Boolean, "at_floor": pl.Boolean, "by_domain": pl.List(BY_DOMAIN)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_means_ends_and_leads() -> None:
    found = board_domains(
        frame({"a": (0.5, 0.7), "b": (0.6, 0.6), "c": (0.9, 0.5)}, {"a": (0.4, 0.5), "b": (0.6, 0.6), "c": (0.8, 0.4)})
    )
    assert found.n_models == 2
    assert [each.domain for each in found.domains] == ["a", "b", "c"]
    assert found.domains[0].into.value == pytest.approx(0.45)
    assert (found.domains[0].into.low, found.domains[0].into.high) == pytest.approx((0.44, 0.46))
    assert found.hardest is not None
    assert (found.hardest.domain, found.hardest.next) == ("a", "b")
    assert found.hardest.lead.value == pytest.approx(0.15)
    assert found.hardest.lead.low == pytest.approx(0.15 - np.hypot(0.01, 0.01))
    assert found.hardest.others == ()
    assert found.easiest is not None
    assert found.easiest.domain == "c"
    assert found.best_source is not None
    # Without the first model a is a worse source than b.
    assert (found.best_source.domain, found.best_source.lead.low, found.best_source.others) == (
        "a",
        None,
        (("b", 1),),
    ) or (found.best_source.domain == "b")


def test_an_order_that_hangs_on_one_model_says_so() -> None:
    found = board_domains(frame({"a": (0.2, 0.5), "b": (0.9, 0.5)}, *[{"a": (0.55, 0.5), "b": (0.5, 0.5)}] * 3))
    assert found.hardest is not None
    assert (found.hardest.domain, found.hardest.others) == ("a", (("b", 1),))


def test_models_at_chance_and_boards_of_one_domain_are_left_out() -> None:
    assert board_domains(frame({"a": (0.5, 0.5), "b": (0.4, 0.5)}, floor=True)).domains == ()
    assert board_domains(frame({"a": (0.5, 0.5)})).hardest is None


def test_shifts_are_averaged_by_target_and_by_source(filled: Filled) -> None:
    index = Index([filled.folder], filled.store)
    scores = index.scores(filled.entries["good"].id).tasks[0]
    board = next(each for each in index.boards() if each.task == "nli")
    (by_domain,) = index.frame(board).filter(pl.col("id") == filled.entries["good"].id)["by_domain"].to_list()
    for each in by_domain:
        into = [shift for shift in scores.shifts if shift.target == each["domain"]]
        out_of = [shift for shift in scores.shifts if shift.source == each["domain"]]
        assert each["into"] == pytest.approx(np.mean([shift.st.value for shift in into]))
        assert each["lost"] == pytest.approx(np.mean([shift.td.value for shift in into]))
        assert each["out_of"] == pytest.approx(np.mean([shift.st.value for shift in out_of]))
        assert each["into.low"] == pytest.approx(np.mean([shift.st.low for shift in into]))
        # Independent test sets: narrower than the mean of the widths, wider than a single one over their number.
        widths = [shift.st.value - shift.st.low for shift in out_of]
        assert each["out_of"] - each["out_of.low"] == pytest.approx(np.linalg.norm(widths) / len(widths))


def test_the_page_names_the_ends(filled: Filled, wording: SnapshotAssertion) -> None:
    index = Index([filled.folder], filled.store)
    assert index.settle()
    assert Visible(domains_page(index, "synthetic/nli")).lines == wording
    with pytest.raises(InvalidInput, match="'synthetic/nlx'"):
        domains_page(index, "synthetic/nlx")
