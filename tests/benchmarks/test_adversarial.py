"""The attack on intervals and gates: its fast way beside the engine's own, a part of its cells, and how it resumes."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks.adversarial import suite
from benchmarks.adversarial.cells import all_cells, drawn_cells, pair_scores
from benchmarks.adversarial.engine import accuracy_scores, arrange, macro_f1_scores, sum_limits, texts_of
from benchmarks.adversarial.generators import Labelled, Pair, TestSet, beta
from benchmarks.adversarial.suite import attack, attack_lines, measure
from shiftbench.scoring.scores.figures import Score, difference, single
from shiftbench.scoring.scores.values import sampled_scores
from shiftbench.validation.plain_console import print_parts

N_DRAWS = 2000
SEED = "5eed"
PART = (
    ("unlike domains", "12 x 50, .2, ST 0.7"),
    ("unlike domains", "30 x 20, .2, ST 0.95"),
    ("alike domains", "150 x 2, correlation 0.2, p 0.7"),
    ("gates", "6 of 150 x 2, 2 of 12 x 50, limit 0.7"),
    ("paired differences", "150 x 2, 3 lost and 0 won texts expected, correlation 0"),
    ("paired differences", "300 x 1, 5 lost and 5 won texts expected, correlation 0"),
    ("few errors", "12 x 50, correlation 0.2, p 0.928"),
    ("few errors", "150 x 2, correlation 0, p 0.013"),
    ("macro-F1", "300 x 1, classes 0.6/0.3/0.1, p 0.9, correlation 0"),
    ("macro-F1", "12 x 50, classes 0.9/0.1, p 0.7, correlation 0.2"),
    ("size and outcome", "50 groups of 5 to 80, longer ones harder; truth of texts"),
    ("unlike n", "1,000 texts less 20 texts"),
    ("duplicates", "every text three times, in one group"),
)


def test_generators_draw_what_they_say() -> None:
    rng = np.random.default_rng(1)
    drawn = TestSet((3,) * 50 + (8,) * 20, 0.8, 0.3)
    right, sizes = drawn.draw(4000, rng)
    shares = right.sum(axis=1) / sizes.sum(axis=1)
    assert shares.mean() == pytest.approx(drawn.truth, abs=0.002)
    assert shares.var() == pytest.approx(drawn.variance, rel=0.08)
    chances = beta(np.full(20_000, 0.7), 0.4, rng)
    assert chances.var() == pytest.approx(0.4 * 0.21, rel=0.05)
    pair = Pair((4,) * 100, 0.7, 0.1, 0.04, 0.2)
    one, other = pair_scores(pair, 2000, rng)
    assert (one.value - other.value).mean() == pytest.approx(pair.truth, abs=0.002)
    labelled = Labelled((2,) * 5000, 0.7, (0.6, 0.3, 0.1), 0.3)
    assert macro_f1_scores(labelled.draw(20, rng)).value.mean() == pytest.approx(labelled.truth, abs=0.005)
    tied = TestSet((5, 10, 60) * 200, 0.7, 0.1, longer_is_harder=0.1)
    right, sizes = tied.draw(200, rng)
    assert right.sum() / sizes.sum() == pytest.approx(tied.truth, abs=0.005)
    assert (right / sizes).mean() == pytest.approx(tied.truth_of_groups, abs=0.005)


def test_the_fast_way_is_the_engine_on_200_draws() -> None:
    """Score 100 pairs of models, and 100 draws of classes, text by text."""
    rng = np.random.default_rng(2)
    for pair in (Pair((1, 2, 5) * 20, 0.9, 0.05, 0.01, 0.2), Pair((10,) * 12, 0.8, 0.1, 0.0)):
        tables = pair.draw(50, rng)
        texts = tables.sum(axis=-1)
        models = [accuracy_scores(tables[..., 0] + tables[..., side], texts) for side in (1, 2)]
        apart = np.transpose(sum_limits([1.0, -1.0], models))
        for draw in range(50):
            kinds, groups = texts_of(tables[draw])
            right = np.stack([(kinds == 0) | (kinds == side) for side in (1, 2)])
            target = arrange(1 - right.astype(np.int64), 2, groups)
            scores = [sampled_scores(target, [run], "accuracy")[0] for run in (0, 1)]
            for score, fast in zip(scores, models, strict=True):
                _check_equal(score, fast.one(draw))
            paired = difference(*map(single, scores)).limits()
            assert paired == pytest.approx(difference(*(single(fast.one(draw)) for fast in models)).limits(), abs=1e-10)
            moved = [single(replace(score, test_set=number)) for number, score in enumerate(scores)]
            assert difference(*moved).limits() == pytest.approx(apart[draw], abs=1e-10)
    for labelled in (Labelled((1, 3) * 30, 0.9, (0.6, 0.3, 0.1), 0.2), Labelled((20,) * 10, 0.7, (0.9, 0.1))):
        drawn = labelled.draw(50, rng)
        k = drawn.shape[-1]
        classes = macro_f1_scores(drawn)
        assert classes.is_refused.any() or k == 3
        for draw in range(50):
            kinds, groups = texts_of(drawn[draw].reshape(len(labelled.sizes), k * k))
            gold, predicted = np.divmod(kinds, k)
            target = arrange((gold * (k + 1) + predicted)[None], k, groups)
            _check_equal(sampled_scores(target, [0], "macro_f1")[0], classes.one(draw))


def _check_equal(score: Score, fast: Score) -> None:
    assert score.value == pytest.approx(fast.value, abs=1e-10)
    assert (score.no_interval is None) == (fast.no_interval is None)
    if score.no_interval is None:
        assert (score.n, score.df, score.groups) == pytest.approx((fast.n, fast.df, fast.groups), rel=1e-10)
        np.testing.assert_allclose(score.influences, fast.influences, atol=1e-10)
        np.testing.assert_allclose(score.right, fast.right, atol=1e-10)
        assert single(score).limits() == pytest.approx(single(fast).limits(), abs=1e-10)


@pytest.mark.parametrize(("family", "name"), PART)
def test_a_part_of_the_attack(family: str, name: str) -> None:
    (cell,) = [each for each in all_cells(SEED) if (each.family, each.name) == (family, name)]
    assert cell.wanted is not None
    for found in measure(cell, N_DRAWS, SEED):
        assert found.draws == N_DRAWS or family == "alike domains"
        assert found.share >= cell.wanted, found
        assert found.low <= found.share <= found.high
        if family == "alike domains":
            assert found.ratio is not None
            assert found.ratio <= 1.05


def test_drawn_cells() -> None:
    """Check that coverage and width hold where design and correlation are drawn, by a tenth of the whole."""
    rows = [found for cell in drawn_cells(SEED, 20) for found in measure(cell, N_DRAWS, SEED)]
    shares = np.array([row.share for row in rows])
    assert 0.94 <= shares.mean() <= 0.965
    assert shares.min() >= 0.9
    assert np.mean([row.ratio is not None and row.ratio <= 1.25 for row in rows]) >= 0.9


def test_what_is_not_promised_fails() -> None:
    """Copies that no group joins, and a truth of groups where texts are scored, must be seen to break intervals."""
    cells = {cell.name: cell for cell in all_cells(SEED) if cell.wanted is None}
    for name in (
        "every text three times, in groups of their own",
        "50 groups of 5 to 80, longer ones harder; truth of groups",
    ):
        (found,) = measure(cells[name], N_DRAWS, SEED)
        assert found.high < 0.85
        assert not found.fails


def test_an_attack_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = all_cells(SEED)
    few = [cells[0], *[cell for cell in cells if cell.name.startswith("300 x 1, a class of 3 texts")]]
    monkeypatch.setattr(suite, "all_cells", lambda seed: few)
    path = tmp_path / "finished.jsonl"
    whole = attack(30, SEED, path)
    lines = path.read_text().splitlines()
    path.write_text(lines[1] + "\n")
    assert attack(30, SEED, path) == whole == attack(30, SEED)
    assert sorted(path.read_text().splitlines()) == sorted(lines)
    out = io.StringIO()
    print_parts(attack_lines(whole), Console(file=out, width=200))
    assert "no guarantee" in out.getvalue()
    # A file of other draws does not count.
    assert attack(20, SEED, path)[0].draws == 20
