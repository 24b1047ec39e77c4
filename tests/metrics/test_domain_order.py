"""Orders of domains: exact chances, choices that do not see what they are judged on, and boards of several models."""

from itertools import permutations

import numpy as np
import pytest

from shiftbench.metrics.domain_order import Board, judge_order, order_boards, separated


def signs(scores: list[float]) -> np.ndarray:
    return separated(scores, [0.001] * len(scores))


def test_pairs_that_labels_do_not_separate_are_left_out() -> None:
    scores = [0.50, 0.60, 0.61, 0.70, 0.80, 0.90]
    known = separated(scores, [0.02] * 6)
    assert known[1, 2] == 0
    found = judge_order([scores], known, np.random.default_rng(0))
    assert (found.n_pairs, found.right) == (14, 14.0)
    turned = judge_order([[0.50, 0.61, 0.60, 0.70, 0.80, 0.90]], known, np.random.default_rng(0))
    assert (turned.right, turned.p) == (14.0, found.p)
    assert found.p == pytest.approx(2 / 720)  # the two orders that differ in the pair left out


def test_p_is_that_of_all_orders_with_the_choice_in_each() -> None:
    """Against the procedure written out: choose without each domain, judge on it, in every order."""
    rng = np.random.default_rng(5)
    forecasts, truth = rng.normal(size=(3, 6)), np.sort(rng.normal(size=6))

    def statistic(known: np.ndarray) -> float:
        total = 0.0
        for domain in range(6):
            others = [each for each in range(6) if each != domain]
            agreed = [
                sum(np.sign(one[a] - one[b]) * known[a, b] for a in others for b in others if a < b)
                for one in forecasts
            ]
            best = forecasts[int(np.argmax(agreed))]
            total += sum(np.sign(best[domain] - best[other]) * known[domain, other] for other in others)
        return total

    known = signs(truth.tolist())
    every = [statistic(known[np.ix_(order, order)]) for order in permutations(range(6))]
    found = judge_order(forecasts, known, np.random.default_rng(0))
    assert found.p == pytest.approx(np.mean(np.array(every) >= statistic(known) - 1e-9))
    assert found.right == pytest.approx((statistic(known) / 2 + 15) / 2)


def test_methods_that_know_nothing_are_shown_in_5_percent() -> None:
    rng = np.random.default_rng(1)
    p = [judge_order(rng.normal(size=(3, 6)), signs(rng.normal(size=6).tolist()), rng).p for _ in range(400)]
    assert np.mean(np.array(p) <= 0.05) < 0.085  # 5% and three standard errors


def test_many_domains_are_drawn_and_equal_forecasts_count_half() -> None:
    scores = np.linspace(0.5, 0.9, 9)
    found = judge_order([scores], signs(scores.tolist()), np.random.default_rng(0))
    assert 0 < found.p < 0.001
    same = judge_order([np.full(9, 0.7)], signs(scores.tolist()), np.random.default_rng(0))
    assert (same.right, same.n_pairs, same.p) == (18.0, 36, 1.0)
    with pytest.raises(ValueError, match="6 domains"):
        judge_order([scores[:5]], signs(scores[:5].tolist()), np.random.default_rng(0))


def grid(noise: float, seed: int = 0, k: int = 5, models: int = 2) -> Board:
    """Every domain is source and target; targets differ, and forecasts are the truth with noise of each target."""
    rng = np.random.default_rng(seed)
    truths = np.broadcast_to(np.linspace(0.5, 0.8, k), (models, k, k)).copy()
    truths[:, np.arange(k), np.arange(k)] = np.nan
    forecasts = truths + noise * rng.normal(size=k)
    return Board(forecasts, truths, np.full(truths.shape, 0.01), np.arange(k))


def test_a_forecast_that_knows_the_order_has_no_regret_on_a_grid() -> None:
    found = order_boards([grid(0.0)], np.random.default_rng(0))
    assert found is not None
    assert (found.regret, found.pairs, found.n_domains) == (0.0, 1.0, 5)
    assert found.p_pairs == pytest.approx(1 / 120)
    # A random target of four, mean over rows: its score less the lowest one.
    truths = np.linspace(0.5, 0.8, 5)
    expected = np.mean([np.delete(truths, s).mean() - np.delete(truths, s).min() for s in range(5)])
    assert found.chance == pytest.approx(expected)


def test_models_that_err_alike_are_no_more_evidence_than_one() -> None:
    one, many = (order_boards([grid(1.0, 3, models=n)], np.random.default_rng(0)) for n in (1, 9))
    assert one is not None
    assert many is not None
    assert one.p_pairs == many.p_pairs
    assert one.p_regret == many.p_regret


def test_boards_together_need_fewer_domains_each_and_missing_shifts_refuse() -> None:
    two = order_boards([grid(0.0), grid(0.0, k=4)], np.random.default_rng(0))
    assert two is not None
    assert two.p_pairs == pytest.approx(1 / (120 * 24))
    assert two.n_domains == 9
    broken = grid(0.0)
    broken.forecasts[0, 0, 1] = np.nan
    assert order_boards([broken], np.random.default_rng(0)) is None
    single = Board(np.full((1, 1, 1), 0.5), np.full((1, 1, 1), 0.5), np.zeros((1, 1, 1)), np.array([-1]))
    assert order_boards([single], np.random.default_rng(0)) is None
