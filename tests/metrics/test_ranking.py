"""Rank intervals and the leading set: by their definition, and on boards whose truth is known (``-m long -s``)."""

import numpy as np
import pytest
from scipy import stats

from shiftbench.metrics.ranking import RankedReplicates, rank_intervals
from tests.metrics.boards import RankSetting, TestSets, drawn_board, false_separations, power, rank_coverage

FEW, MANY = TestSets([10], 20), TestSets([150], 4)
SPREAD, TIES = (0.05, 0.04, 0.03, 0.02, 0.0, -0.03), (0.0,) * 6
PAGES = [TestSets([6], 40), FEW, TestSets([20], 20), MANY, TestSets([1000], 1), TestSets([6] + [150] * 5, 4)]
RECIPES = [
    ("6 equal, 5 runs", RankSetting(TIES, TestSets([300], 2), 5, 0.02)),
    ("20 equal, 5 runs", RankSetting((0.0,) * 20, TestSets([300], 2), 5, 0.02)),
    ("6 apart, 5 runs", RankSetting(SPREAD, TestSets([300], 2), 5, 0.02)),
    ("6 equal, 10 runs", RankSetting(TIES, TestSets([300], 2), 10, 0.02)),
    ("6 equal, 5 runs, 12 groups of 40", RankSetting(TIES, TestSets([12], 40), 5, 0.02)),
    ("6 equal, 5 runs without training variance", RankSetting(TIES, TestSets([300], 2), 5)),
    ("6 equal, 5 runs, a tenth collapsed", RankSetting(TIES, TestSets([300], 2), 5, 0.02, 0.1)),
]


def rng(seed=0):
    return np.random.default_rng(seed)


def slow_rank_intervals(points, replicates, df, level=0.95):
    """Compute intervals by the definition, pair by pair, in the scale of Student's t of each draw."""
    deviations = replicates - points[:, None]
    n_entries, n_draws = deviations.shape
    df = 1 / (1 / df + 1 / n_draws)
    pairs = [(a, b) for a in range(n_entries) for b in range(a)]
    moved = {(a, b): deviations[a] - deviations[b] for a, b in pairs}
    sd = {pair: np.sqrt((each**2).mean()) for pair, each in moved.items()}
    ratios = [np.abs(moved[pair]) / sd[pair] for pair in pairs if sd[pair] > 1e-12]
    # The square of a draw is a part of the sum of squares that it is studentised by.
    square = np.quantile(np.max(ratios, axis=0), level, method="higher") ** 2
    critical = np.sqrt(square * df / (df + 1 - square)) if square < df + 1 else np.inf
    best, worst = np.ones(n_entries, dtype=int), np.full(n_entries, n_entries)
    for a, b in pairs:
        apart = points[a] - points[b]
        if sd[a, b] <= 1e-12 < abs(apart) or (sd[a, b] > 1e-12 and abs(apart) > critical * sd[a, b]):
            better, other = (a, b) if apart > 0 else (b, a)
            best[other] += 1
            worst[better] -= 1
    return best, worst


@pytest.mark.parametrize("df", [8.0, 30.0, np.inf])
def test_entries_added_one_by_one_get_the_intervals_of_the_definition(df):
    generator = rng(3)
    points = generator.normal(0.7, 0.05, size=150)
    noise = 0.01 * generator.normal(size=(150, 60))
    noise[3], noise[70] = noise[4], noise[5] * (1 + 1e-9)  # one that deviates as another, one that nearly does
    replicates = points[:, None] + noise + 0.003
    together = rank_intervals(points, replicates, df=df)
    ranked = RankedReplicates()
    n_counted_anew = 0
    for part in (slice(0, 1), slice(1, 90), *(slice(n, n + 1) for n in range(90, 150))):
        ranked.add(points[part], replicates[part], df=df)
        n_counted_anew += ranked._counted_at != ranked._critical(0.95)
        so_far = rank_intervals(points[: part.stop], replicates[: part.stop], df=df)
        np.testing.assert_array_equal(ranked.intervals(), so_far)
    assert 2 < n_counted_anew < 60, "few entries change the multiple"
    np.testing.assert_array_equal(ranked.intervals(), together)
    np.testing.assert_array_equal(together, slow_rank_intervals(points, replicates, df))
    assert (together[0] > 1).any()


def test_two_entries_are_told_apart_where_students_test_tells_them_apart():
    generator = rng(5)
    told, tested = [], []
    for _ in range(300):
        apart = generator.normal(0.02, 0.05, size=15)
        moved = (apart - apart.mean()) / np.sqrt(15 * 14)
        signs = generator.choice([-1.0, 1.0], size=(15, 400))
        points = np.array([0.5 + apart.mean(), 0.5])
        best, _ = rank_intervals(points, points[:, None] + np.stack([moved @ signs, np.zeros(400)]), df=14)
        told.append(best.max() == 2)
        tested.append(stats.ttest_1samp(apart, 0).pvalue < 0.05)
    assert 0.15 < np.mean(tested) < 0.5
    assert np.mean(np.array(told) == tested) > 0.93


def test_shared_replicates_tell_apart_what_separate_ones_do_not():
    shared = 0.05 * rng().normal(size=400)
    points = np.array([0.60, 0.62])
    own = 0.002 * rng(1).normal(size=(2, 400))
    assert rank_intervals(points, points[:, None] + shared + own)[0].tolist() == [2, 1]
    apart = np.stack([shared, rng(2).permutation(shared)])
    assert rank_intervals(points, points[:, None] + apart)[0].tolist() == [1, 1]


def test_rank_intervals_of_one_and_of_identical_entries():
    assert [ranks.tolist() for ranks in rank_intervals([0.5], np.full((1, 9), 0.5))] == [[1], [1]]
    same = np.tile(0.5 + 0.1 * rng().normal(size=50), (3, 1))
    assert [ranks.tolist() for ranks in rank_intervals([0.5] * 3, same)] == [[1, 1, 1], [3, 3, 3]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rank_intervals([0.1, 0.2], np.ones((3, 4))), r"\(n_entries, n_draws\)"),
        (lambda: rank_intervals([0.1, np.nan], np.ones((2, 4))), "do not cover the grid"),
        (lambda: rank_intervals([0.1], np.ones((1, 4)), level=95), "95% is 0.95"),
    ],
)
def test_malformed_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(("tests", "n_entries"), [(TestSets([6], 40), 6), (FEW, 20), (MANY, 20)])
def test_equal_entries_are_seldom_told_apart(tests, n_entries):
    n = 400
    found = false_separations(RankSetting((0.0,) * n_entries, tests), n, 11)
    assert found.shut_out <= found.apart <= stats.binom.ppf(0.999, n, 0.05) / n


def test_a_better_entry_is_told_apart():
    assert power(RankSetting((0.0,) * 5, MANY), 3, 150, 2) > 0.35
    assert power(RankSetting((0.0,) * 5, MANY), 5, 60, 2) > 0.9
    assert power(RankSetting((0.0,) * 20, MANY), 6, 40, 2) > 0.9


def test_rank_intervals_hold_the_ranks_of_recipes():
    setting = RankSetting(TIES, TestSets([100], 2), 5, 0.05)
    models, _ = rank_coverage(setting, 60, 3, training=False)
    recipes, width = rank_coverage(setting, 60, 3)
    assert models < 0.7
    assert recipes > 0.85
    assert 1 <= width <= 6
    held, width = rank_coverage(RankSetting(SPREAD, TestSets([1000], 4)), 40, 4)
    assert held > 0.85
    assert width < 4


def test_the_leader_of_equal_entries_owes_its_score_to_selection():
    generator = rng(4)
    over, left = [], []
    for _ in range(60):
        drawn = drawn_board(RankSetting(TIES, TestSets([100], 2), 5, 0.02), generator)
        leader = drawn.ranked.leader()
        assert leader.tied[leader.entry]
        assert leader.entry == int(np.argmax(drawn.points))
        over.append(drawn.points.max() - drawn.points.mean())
        left.append(leader.corrected - drawn.points.mean())
    assert np.mean(np.abs(left)) < np.mean(over)
    assert abs(np.mean(left)) < 0.5 * np.mean(over)


@pytest.mark.long
def test_equal_entries_are_told_apart_on_one_page_in_twenty():
    n = 1000
    print(
        f"\nequal entries, {n:,} boards: any told apart, one shut out by the leader; power at 3 and 5 standard errors"
    )
    for n_entries in (5, 20, 60):
        for tests in PAGES:
            setting = RankSetting((0.0,) * n_entries, tests)
            found = false_separations(setting, n, 21)
            cells = [found.apart, found.shut_out, *(power(setting, errors, 100, 22) for errors in (3, 5))]
            percent = " | ".join(f"{100 * cell:.1f}" for cell in cells)
            print(f"| {n_entries} | {tests.groups} of {tests.size} | {percent} |", flush=True)
            assert found.apart <= stats.binom.ppf(0.999, n, 0.05) / n


@pytest.mark.long
def test_rank_intervals_of_recipes():
    n = 1000
    print(f"\nrecipes, {n:,} boards: all intervals hold, mean width; of these models, then of recipes")
    for name, setting in RECIPES:
        (models, narrow), (recipes, width) = (rank_coverage(setting, n, 2, training=runs) for runs in (False, True))
        print(f"| {name} | {100 * models:.1f} | {narrow:.2f} | {100 * recipes:.1f} | {width:.2f} |", flush=True)
        assert recipes >= stats.binom.ppf(0.001, n, 0.95) / n or setting.collapsed, name


@pytest.mark.long
def test_what_selection_adds_to_the_leader():
    print("\nleader's score less its true one, points, 400 boards: as it is, less selection")
    for name, setting in RECIPES[:5]:
        generator = rng(5)
        raw, corrected = [], []
        for _ in range(400):
            drawn = drawn_board(setting, generator)
            leader = drawn.ranked.leader()
            true = 0.75 + setting.leads[leader.entry]
            raw.append(drawn.points[leader.entry] - true)
            corrected.append(leader.corrected - true)
        print(f"| {name} | {100 * np.mean(raw):+.2f} | {100 * np.mean(corrected):+.2f} |")
        assert abs(np.mean(corrected)) < abs(np.mean(raw)) or abs(np.mean(raw)) < 0.003
