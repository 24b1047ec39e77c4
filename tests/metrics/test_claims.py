"""Error rates of claims about models: entries of known truth, before and after (``pytest -m long -s``)."""

import numpy as np
import pytest

from shiftbench.metrics.ranking import RankedReplicates
from tests.metrics.claims import RankSetting, Setting, board, family, rank_coverage, type_one

N_TASKS = 2000
SPREAD, TIES = (0.80, 0.79, 0.78, 0.77, 0.75, 0.72), (0.75,) * 6

GAUSSIAN = [
    Setting("5 runs", (5, 5)),
    Setting("10 runs", (10, 10)),
    Setting("5 and 10 runs", (5, 10)),
    Setting("5 runs, TD", (5, 5), statistic="TD"),
    Setting("5 runs, macro-F1", (5, 5), score="macro-F1"),
    Setting("5 runs, 30 groups of 20", (5, 5), n_groups=30, size=20),
    Setting("10 runs that hardly differ", (10, 10), run_sd=0.002),
]
COLLAPSED = [
    Setting("5 runs, a tenth collapsed", (5, 5), collapsed=0.1),
    Setting("10 runs, a tenth collapsed", (10, 10), collapsed=0.1),
]
BEFORE = [Setting("1 run", (1, 1)), Setting("3 runs", (3, 3))]
BOARDS = [
    RankSetting("6 apart, 5 runs", SPREAD, 5),
    RankSetting("6 equal, 5 runs", TIES, 5),
    RankSetting("6 equal, 10 runs", TIES, 10),
    RankSetting("2 equal, 5 runs", TIES[:2], 5),
    RankSetting("15 equal, 5 runs", (0.75,) * 15, 5),
    RankSetting("6 equal, 5 runs, 30 groups of 20", TIES, 5, n_groups=30, size=20),
    RankSetting("6 equal, 5 runs, no training variance", TIES, 5, run_sd=0.0),
    RankSetting("6 equal, 5 runs, a tenth collapsed", TIES, 5, collapsed=0.1),
    RankSetting("6 apart, 10 runs, a tenth collapsed", SPREAD, 10, collapsed=0.1),
]


def test_recipes_do_not_differ_by_their_runs() -> None:
    (before, after) = type_one([Setting("5", (5, 5), n_groups=200)], 150, 1, n_swaps=99)["5"]
    assert before > 0.2  # the swap test takes training for a difference
    assert after <= 0.09


def test_a_recipe_that_is_better_is_found() -> None:
    rng = np.random.default_rng(2)
    from tests.metrics.claims import p_values

    setting = Setting("10", (10, 10), n_groups=200)
    found = [p_values(setting, rng, ahead=0.05, n_swaps=9)[1] for _ in range(40)]
    assert np.mean(np.array(found) < 0.05) > 0.9


def test_rank_intervals_hold_the_ranks_of_recipes() -> None:
    setting = RankSetting("equal", TIES, 5, n_groups=100)
    before, after, _, width = rank_coverage([setting], 25, 3)["equal"]
    assert before < 0.85
    assert after > 0.9
    assert 1 <= width <= 6


def test_the_leader_of_equal_entries_is_not_apart_from_them_and_owes_its_score_to_selection() -> None:
    rng = np.random.default_rng(4)
    kept, over, left = [], [], []
    for _ in range(40):
        points, replicates, training, per_df = board(RankSetting("", TIES, 5, n_groups=100), rng)
        ranked = RankedReplicates()
        ranked.add(points, replicates, training=training, per_df=per_df)
        leader = ranked.leader()
        assert leader.tied[leader.entry]
        assert leader.entry == int(np.argmax(points))
        kept.append(leader.tied.all())
        over.append(points.max() - points.mean())
        left.append(leader.corrected - points.mean())
    assert np.mean(kept) > 0.85
    assert np.mean(np.abs(left)) < np.mean(over)
    assert abs(np.mean(left)) < 0.5 * np.mean(over)


def test_a_comparison_without_a_difference_claims_little_and_the_ranked_mean_is_found_first() -> None:
    nothing, something = family(150, 5, n_swaps=199), family(60, 6, effect=0.13, n_swaps=499)
    assert nothing[0, 1] <= 0.1
    assert something[1, 1] >= something[1, 0]
    assert something[1, 1] > 0.5


@pytest.mark.long
def test_type_one_errors_of_recipes() -> None:
    print("\nentries of one recipe, share of p < .05 in 2,000: swap test (before), t on crossed components (after)")
    for settings, low, high in ((GAUSSIAN, 0.03, 0.07), (COLLAPSED, 0.0, 0.07), (BEFORE, None, None)):
        for name, (before, after) in type_one(settings, N_TASKS, 1, n_swaps=99).items():
            print(
                f"| {name} | {100 * before:.1f} | {100 * after:.1f} |"
                if low is not None
                else f"| {name} | {100 * before:.1f} | - |"
            )
            if low is not None:
                assert low <= after <= high, name


@pytest.mark.long
def test_rank_intervals_of_recipes() -> None:
    print("\n95% rank intervals, 2,000 entries or more: coverage and mean width before, after")
    for setting in BOARDS:
        n_boards = max(1, 2000 // len(setting.scores))
        before, after, width_before, width = rank_coverage([setting], n_boards, 2)[setting.name]
        print(f"| {setting.name} | {100 * before:.1f} | {width_before:.2f} | {100 * after:.1f} | {width:.2f} |")
        assert after >= 0.93, setting.name


@pytest.mark.long
def test_claims_of_a_whole_comparison() -> None:
    print(
        "\na mean and 20 shifts: any claim, the mean claimed, shifts claimed; Holm over all (before), graphical (after)"
    )
    for effect in (0.0, 0.08, 0.13):
        found = family(N_TASKS, 3, effect=effect)
        cells = " | ".join(f"{100 * a:.1f} | {100 * b:.1f}" for a, b in found[:2])
        print(f"| {effect:g} | {cells} | {found[2, 0]:.2f} | {found[2, 1]:.2f} |")
        if effect == 0:
            assert found[0, 1] <= 0.065
        else:
            assert found[1, 1] > found[1, 0]


@pytest.mark.long
def test_what_selection_adds_to_the_leader() -> None:
    print("\nleader's score less its true score, points: as it is, less selection")
    for setting in BOARDS[:5]:
        rng = np.random.default_rng(5)
        raw, corrected = [], []
        for _ in range(400):
            points, replicates, training, per_df = board(setting, rng)
            ranked = RankedReplicates()
            ranked.add(points, replicates, training=training, per_df=per_df)
            leader = ranked.leader()
            raw.append(points[leader.entry] - setting.scores[leader.entry])
            corrected.append(leader.corrected - setting.scores[leader.entry])
        print(f"| {setting.name} | {100 * np.mean(raw):+.2f} | {100 * np.mean(corrected):+.2f} |")
        assert abs(np.mean(corrected)) < abs(np.mean(raw)) or abs(np.mean(raw)) < 0.003
