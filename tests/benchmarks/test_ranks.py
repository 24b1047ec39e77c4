"""Simulated pages of 'logs ranks', and a real board by it and by the bootstrap of the public threads."""

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.ranks import (
    EQUAL,
    IGNORED,
    component_lines,
    draw_page,
    measure,
    plain_bootstrap,
    rank_lines,
    run_rank_bench,
)
from shiftbench.scoring.comparing.unit_ranks import rank_table
from shiftbench.scoring.interchange.boards import read_board
from shiftbench.scoring.interchange.score_tables import Reading

BOARD = Path(__file__).parents[3] / "shared" / "data" / "boards" / "mteb_eng_v2.csv"


def test_fewer_neighbours_of_a_real_board_are_decided_than_scripts_say() -> None:
    if not BOARD.is_file():
        pytest.skip("no real board at ../shared/data/boards")
    table = read_board([BOARD], Reading())
    ranking = rank_table(table)
    assert (len(ranking.models), len(ranking.left_out), ranking.n_units) == (103, 37, 41)
    place = {name: row for row, name in enumerate(table.models)}
    scores = table.scores[[place[model.name] for model in ranking.models]]
    apart = plain_bootstrap(scores, np.random.default_rng(1))
    assert len(ranking.tied_first) > int((~apart[0]).sum())
    assert ranking.decided <= ranking.decided_uncorrected <= sum(apart[row, row + 1] for row in range(102)) + 2
    assert ranking.models[0].name in ranking.tied_first


@pytest.mark.parametrize("kind", [*EQUAL, *IGNORED])
def test_pages_are_of_equal_models(kind: str) -> None:
    rng = np.random.default_rng(2)
    gaps, errors = [], []
    for _ in range(60):
        table, weights = draw_page(kind, 6, 40, rng)
        weights = np.ones(table.shape[1]) if weights is None else weights
        gap = table[0] - table[-1]
        known = np.isfinite(gap)
        gaps.append(np.average(gap[known], weights=weights[known]))
        errors.append(abs(gaps[-1]))
    assert abs(np.mean(gaps)) < 4 * np.mean(errors) / np.sqrt(60)


def test_finished_settings_are_not_simulated_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.ranks.MODELS", (5,))
    monkeypatch.setattr("benchmarks.ranks.UNITS", (8,))
    resume = tmp_path / "cells.jsonl"
    first = measure(40, 1, resume)
    lines = resume.read_text()
    monkeypatch.setattr("benchmarks.ranks._simulate", None)
    assert measure(40, 1, resume) == first
    assert resume.read_text() == lines
    assert len(list(rank_lines(first))) == 2


def test_limits_of_components_are_counted() -> None:
    (table,) = component_lines(20, 1)
    assert re.findall(r"\d+", table.rows[0][0]) == ["200", "3", "1"]
    assert table.rows[-1][2] == "n/a"
    assert all(float(cell.split("%")[0]) >= 70 for row in table.rows for cell in row[1:] if cell != "n/a")


def test_times_are_judged_at_full_size_only() -> None:
    assert [timing.met for timing in run_rank_bench(0.05)] == [None] * 3
