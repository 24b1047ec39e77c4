"""Simulated crowds on withheld labels play against the package's own rules; the threat model has their gains."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from benchmarks.labels import (
    ACCOUNTS,
    ATTACKS,
    CLASSES,
    HALVES,
    PRIORS,
    TEXTS,
    Cell,
    Crowd,
    Ladders,
    attack_cells,
    measure,
    newcomer,
    paired_step,
    tables,
)
from shiftbench.leaderboard.release.ladder import Rung, next_rung, step_between
from tests.leaderboard.release.attacks import measured

PAGE = Path(__file__).parents[2] / "docs" / "why" / "threat-model.md"


def test_the_simulated_ladder_is_the_packages_own() -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(3, size=(6, 600))
    ladders, again = Ladders(gold, np.random.default_rng(4)), np.random.default_rng(4)
    rungs: list[Rung | None] = [None] * len(gold)
    n_told = 0
    for share in (0.9, 0.6, 0.55, 0.5, 0.2):
        file = np.where(rng.random(gold.shape) < share, rng.integers(3, size=gold.shape), gold)
        told, order = ladders.look(file), again.permutation(600)
        for row, codes in enumerate(file):
            own, guess = measured(codes == gold[row]), measured(codes[order] == gold[row])
            expected = next_rung(own, rungs[row], guess, 0.5)
            assert told[row] == pytest.approx(np.nan if expected is None else expected, nan_ok=True)
            if expected is not None:
                rungs[row], n_told = Rung(expected, own), n_told + 1
    assert 10 < n_told < 30


def test_steps_are_the_packages_own() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random((2, 4, 500)) < 0.7
    expected = [step_between(measured(a), measured(b)) for a, b in zip(first, second, strict=True)]
    assert paired_step(first, second) == pytest.approx(np.array(expected))


@pytest.mark.parametrize("prior", PRIORS)
def test_beliefs_are_calibrated(prior: str) -> None:
    crowd = Crowd(20, 2_000, 3, prior, np.random.default_rng(2))
    best = crowd.beliefs.argmax(axis=2)
    assert crowd.share_right(best).mean() == pytest.approx(crowd.chance_of(best).mean(), abs=0.01)
    assert crowd.gain().mean() == pytest.approx(0, abs=0.01)


def test_the_page_has_the_gains_of_few_texts() -> None:
    """Attack halves of 500 texts again, by at most 20 accounts, and compare the worst of all attacks."""
    for half in HALVES:
        cells: list[Cell] = []
        for attack, classes, prior in product(ATTACKS, CLASSES, PRIORS):
            cells += attack_cells(half, attack, classes, prior, 500, 20, 1, ACCOUNTS[:3])
        worst = [max(100 * cell.gain for cell in cells if cell.accounts == n) for n in ACCOUNTS[:3]]
        assert worst == pytest.approx(gains_of_page(half)["500"][0][:3], abs=0.1)


def test_gains_of_the_page_are_within_what_is_promised() -> None:
    for half in HALVES:
        for texts, (gains, bound) in gains_of_page(half).items():
            assert max(gains) <= bound, (half, texts)
            if half == "ranking" and texts in ("2,000", "5,000"):
                assert gains[-1] <= 3


def gains_of_page(half: str) -> dict[str, tuple[list[float], float]]:
    """Read the page's rows of a half: by number of texts the gains without their standard errors, and the bound."""
    rows = re.findall(rf"^\| {half} \|(.*)\|$", PAGE.read_text(), re.M)
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    assert [row[0] for row in cells] == [f"{texts:,}" for texts in TEXTS]
    return {row[0]: ([float(cell.partition("±")[0]) for cell in row[1:-1]], float(row[-1])) for row in cells}


def test_finished_settings_are_not_simulated_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.labels.TEXTS", (60,))
    monkeypatch.setattr("benchmarks.labels.ACCOUNTS", (1, 2))
    resume = tmp_path / "cells.jsonl"
    first = measure(2, 1, resume)
    monkeypatch.setattr("benchmarks.labels.attack_cells", None)
    monkeypatch.setattr("benchmarks.labels.newcomer", None)
    assert measure(2, 1, resume) == first
    assert [len(table.rows) for table in tables(*first)] == [1, 1, 12, 12, 1, 1, 1, 1]


def test_a_newcomer_is_told_of_a_large_lead_and_never_of_none() -> None:
    seen = newcomer(1_000, 20, np.random.default_rng(3))
    assert seen.told["2 0.05"] > 0.5
    assert seen.told["2 0.0"] <= 0.2
    assert seen.told["50 0.05"] <= seen.told["2 0.05"]
    assert seen.first == 1
