"""What labels spent by the advice of a check are worth, in small, on invented rows."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from benchmarks.advice import START, WAYS, File, advice_lines, decide, measure, summarise
from benchmarks.gates import Texts
from shiftbench.scoring.scores.next_steps import Step
from shiftbench.scoring.scores.outcomes import Outcomes, TargetRuns

SHARES = {"home": 0.9, "alike": 0.92, "near": 0.88, "lost": 0.5}
"""Right answers by domain: one gains 2 points, one loses 2, one 40."""


def target(name: str, texts: Texts, share: float, rng: np.random.Generator) -> TargetRuns:
    """Invent one model's outcomes, exactly a share of them right."""
    n = texts.groups * texts.size
    scores = (rng.permutation(n) < round(share * n)).astype(np.float64)[None]
    outcomes = Outcomes(
        formulas={"accuracy": lambda sums: sums[..., 0] / sums.sum(axis=-1)},
        micro="accuracy",
        n_counts=2,
        example_scores=scores,
        unparsed=np.zeros((1, n), dtype=np.bool_),
        values=np.stack([scores, 1 - scores], axis=-1),
        example_metric="accuracy",
    )
    groups = np.repeat(np.arange(texts.groups), texts.size)
    return TargetRuns("simulated", name, pl.Series(range(n)), groups, [("home", 0)], outcomes)


def invented(name: str = "model") -> File:
    rng, texts = np.random.default_rng(1), Texts(1_500)
    return File(name, "accuracy", "home", {each: target(each, texts, share, rng) for each, share in SHARES.items()})


def test_every_way_spends_the_same_on_the_same_draws() -> None:
    file, start = invented(), dict.fromkeys(("alike", "near", "lost"), START)
    file.shuffle(np.random.default_rng(2))
    to_label = [name for name, step in file.steps(start).items() if step == Step.LABEL]
    spent = {name: way(file, dict(start), 600, np.random.default_rng(3)) for name, way in WAYS.items()}
    assert {sum(each.values()) for each in spent.values()} == {3 * START + 600}
    assert set(spent["evenly"].values()) == {START + 200}
    assert "near" in to_label
    assert "lost" not in to_label  # nothing hangs on it
    assert {name for name, n in spent["by advice"].items() if n > START} == set(to_label)
    assert spent["by advice, 4 rounds"]["lost"] == START
    assert file.is_acceptable == {"alike": True, "near": True, "lost": False}
    whole = decide(file, file.sizes, 0)
    assert whole.wrongly_accepted == 0
    assert decide(file, start, 0).wrong >= whole.wrong


def test_advice_beats_an_even_spread_where_a_domain_is_lost_anyway() -> None:
    """On invented rows a third of the even spread's labels goes where the decision is taken."""
    rows = {
        (row.budget, row.way): row for row in summarise(measure([invented()], 25, 7, budgets=(150, 400)), (150, 400))
    }
    assert rows[400, "by advice"].high < 0
    assert rows[150, "at random"].low < 0 < rows[150, "at random"].high
    assert rows[400, "by advice"].means.wrong < rows[150, "by advice"].means.wrong
    table = list(advice_lines(list(rows.values()), [invented()], 25))
    assert re.findall(r"\d+", str(table[0]))[:3] == ["1", "3", "2"]


def test_finished_models_are_read_again(tmp_path: Path) -> None:
    place = tmp_path / "advice.jsonl"
    first = measure([invented("a")], 2, 7, place, budgets=(50,))
    size = place.stat().st_size
    again = measure([invented("a"), invented("b")], 2, 7, place, budgets=(50,))
    assert place.stat().st_size > size
    for way, shares in first.items():
        assert again[way].shape == (1, 2, 2, 4)
        assert again[way][:, :1] == pytest.approx(shares)


def drawn(texts: Texts, rng: np.random.Generator) -> File:
    """Draw a file of 4 domains that all lose exactly the margin; groups have shares of their own (beta)."""
    targets = {}
    for name, share in {"home": 0.85, **dict.fromkeys("abcd", 0.80)}.items():
        spread = 1 / texts.correlation - 1 if texts.correlation else 1e9
        shares = rng.beta(share * spread, (1 - share) * spread, texts.groups)
        right = (rng.random((texts.groups, texts.size)) < shares[:, None]).reshape(1, -1).astype(np.float64)
        made = target(name, texts, share, rng)
        counts = np.stack([right, 1 - right], axis=-1)
        targets[name] = replace(made, outcomes=replace(made.outcomes, example_scores=right, values=counts))
    return File("margin", "accuracy", "home", targets)


@pytest.mark.long
@pytest.mark.parametrize("texts", [Texts(1_500), Texts(300, 5, 0.2)])
def test_false_accepts_after_advice_was_followed(texts: Texts) -> None:
    """Prints them; promised is 5% of one check, so of labels spread without looking."""
    rng, n_files, wrong = np.random.default_rng(7), 1_000, dict.fromkeys(WAYS, 0)
    for _ in range(n_files):
        file = drawn(texts, rng)
        file.shuffle(rng)
        start = dict.fromkeys(file.sizes, START)
        for name, way in WAYS.items():
            wrong[name] += Step.ACCEPT in file.steps(way(file, dict(start), 4 * 300, rng)).values()
    for name, n in wrong.items():
        ends = binomtest(n, n_files).proportion_ci(0.95, method="wilson")
        print(f"\n{texts}, {name}: {100 * n / n_files:.1f}% [{100 * ends.low:.1f}, {100 * ends.high:.1f}]")
    assert binomtest(wrong["evenly"], n_files).proportion_ci(0.95, method="wilson").low < 0.05
