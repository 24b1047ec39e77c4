"""Pairwise comparison of entries: one family, the same test as for a single pair, nothing computed twice."""

from pathlib import Path

import pytest

from shiftbench.leaderboard.store import Store
from shiftbench.scoring.comparing.entries import MAX_PAIRWISE, compare_in_pairs, compare_with_first
from shiftbench.scoring.comparing.shape import Comparison, Difference, mirror_comparison, winner
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.conftest import Filled
from tests.scoring.comparing.test_entries import sides


def ranked(pair: Comparison) -> Difference:
    return next(mean.difference for mean in pair.means if mean.ranked)


def test_a_pair_has_the_test_of_its_own_comparison_and_its_share_of_the_level(filled: Filled, tmp_path: Path) -> None:
    chosen = sides(filled, "good", "poor", "script", "partial")
    steps: list[tuple[int, int]] = []
    found = compare_in_pairs(
        chosen,
        filled.folder,
        Store(tmp_path),
        "nli",
        progress=lambda *step: steps.append(step),
    )
    assert steps == [(number, 6) for number in range(1, 7)]
    assert len(found) == 12
    good, poor = (side.id for side in chosen[:2])
    alone = ranked(compare_with_first(chosen[:2], filled.folder, Store(tmp_path / "other"), "nli")[0])
    difference = ranked(found[good, poor])
    assert (difference.value, difference.p) == (alone.value, alone.p)
    assert (difference.low, difference.high) == (alone.low, alone.high)
    assert difference.p_corrected >= alone.p_corrected >= alone.p
    assert (winner(difference), winner(ranked(found[poor, good]))) == ("a", "b")
    assert ranked(found[poor, good]).value == -difference.value


def test_exchanging_two_entries_changes_signs_alone(filled: Filled, tmp_path: Path) -> None:
    chosen = sides(filled, "good", "poor")
    one, other = (
        compare_with_first(each, filled.folder, Store(tmp_path / str(n)))[0]
        for n, each in enumerate((chosen, chosen[::-1]))
    )
    turned = mirror_comparison(one)
    assert (turned.a, turned.b, turned.only_a, turned.tasks) == (other.a, other.b, other.only_a, other.tasks)
    pairs = [(a.difference, b.difference) for a, b in zip(turned.means, other.means, strict=True)]
    for a, b in zip(turned.shifts, other.shifts, strict=True):
        pairs += zip(a.differences, b.differences, strict=True)
    assert len(pairs) > 12
    for a, b in pairs:
        assert (a.figure, a.at_floor) == (b.figure, b.at_floor)
        assert a.value == pytest.approx(b.value, abs=1e-12)
        assert a.p_corrected == pytest.approx(b.p_corrected)
    assert mirror_comparison(turned) == one


def test_a_pair_that_is_kept_is_not_computed_again_the_other_way_round(
    filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen, store = sides(filled, "good", "poor"), Store(tmp_path)
    (one,) = compare_with_first(chosen, filled.folder, store)
    monkeypatch.setattr("shiftbench.scoring.comparing.entries.compare_entrants", None)
    assert compare_with_first(chosen[::-1], filled.folder, store) == (mirror_comparison(one),)


@pytest.mark.parametrize("n", [1, MAX_PAIRWISE + 1])
def test_so_many_entries_are_refused(filled: Filled, tmp_path: Path, n: int) -> None:
    with pytest.raises(InvalidInput, match=f"found {n}; choose 2 to {MAX_PAIRWISE} entries"):
        compare_in_pairs(sides(filled, "good") * n, filled.folder, Store(tmp_path), "nli")
