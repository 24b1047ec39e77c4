"""Rankings of tables: claims by unit, incomplete models, influential units, and claims that no longer hold."""

import numpy as np
import pytest

from shiftbench.scoring.comparing.unit_ranks import ScoreTable, Unit, compare_rankings, rank_table
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

NAMES = ("acme/big", "acme/big2", "bits/one", "corp/x")


def board(n_units=30, unit=Unit.TASKS, seed=1, effects=(2.0, 1.9, 0.0, -0.1), names=NAMES, **more):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(len(effects), n_units)) * 0.5 + np.array(effects)[:, None] + rng.normal(size=n_units)
    return ScoreTable(names, [f"u{n}" for n in range(n_units)], scores, unit, **more)


def test_tied_for_first_and_neighbours_follow_the_pairs():
    found = rank_table(board())
    scores = [each.score for each in found.models]
    assert scores == sorted(scores, reverse=True)
    assert set(found.tied_first) == set(NAMES[:2])
    assert (found.models[0].best_rank, found.models[0].worst_rank) == (1, 2)
    assert found.decided == 1
    assert [letters[0] for letters in found.pairs] == [".", ".", "-", "-"]

    assert found.needed is not None
    assert found.needed.about is None or found.needed.about > found.needed.at_least
    assert {each.unit for each in found.without} == {f"u{n}" for n in range(30)}
    assert found.families[0].models == NAMES[:2]


def test_the_unit_decides_the_claim(wording):
    claims = {}
    for unit, n_groups, found, n_units in (
        (Unit.ITEMS, None, "items", 40),
        (Unit.ITEMS, 10, "clusters", 10),
        (Unit.TASKS, None, "tasks", 40),
        (Unit.TASKS, 8, "families", 8),
        (Unit.TASKS, 7, "tasks", 40),
    ):
        groups = None if n_groups is None else [f"g{n % n_groups}" for n in range(40)]
        ranking = rank_table(board(40, unit, groups=groups))
        assert (ranking.unit, ranking.n_units) == (found, n_units)
        assert len(ranking.without) == (40 if n_groups is None else n_groups)
        assert ranking.without_by == (unit if n_groups is None else "clusters" if unit is Unit.ITEMS else "families")
        claims[f"{unit}, {n_groups} groups"] = ranking.claim
    assert claims == wording


def test_families_pool_tasks_by_their_number():
    groups = ["large"] * 12 + [f"small {n}" for n in range(9)]
    table = board(21, groups=groups)
    ranking = rank_table(table)
    assert ranking.n_units == 10
    assert ranking.models[0].score == pytest.approx(table.scores[NAMES.index(ranking.models[0].name)].mean())


def test_under_8_units_there_are_no_ranks():
    ranking = rank_table(board(7))
    assert ranking.no_ranks
    assert (ranking.pairs, ranking.tied_first, ranking.models[0].best_rank) == ((), (), None)


def test_a_model_left_out_is_compared_on_common_units_and_named_where_its_own_mean_leads():
    table = board()
    scores = table.scores.copy()
    scores[3] += 9
    scores[3, :3] = np.nan
    ranking = rank_table(ScoreTable(NAMES, table.units, scores, Unit.TASKS))
    (left,) = ranking.left_out
    assert (left.name, left.n_units, left.missing) == ("corp/x", 27, ("u0", "u1", "u2"))
    assert (left.better_than, left.worse_than) == (3, 0)
    assert ranking.leads_left_out == "corp/x"
    assert left.against_first is not None
    assert left.against_first.difference > 5
    assert len(ranking.models) == 3


def test_lower_is_better_turns_the_order_and_shows_scores_as_they_are():
    table = board()
    lower = np.ones(30, dtype=bool)
    ranking = rank_table(ScoreTable(NAMES, table.units, table.scores, Unit.TASKS, lower=lower))
    scores = [each.score for each in ranking.models]
    assert scores == sorted(scores)
    assert ranking.models[0].name in ("corp/x", "bits/one")


def test_tasks_on_different_scales_are_noted():
    table = board()
    scaled = table.scores.copy()
    scaled[:, :15] *= 100
    other = ScoreTable(NAMES, table.units, scaled, Unit.TASKS)
    (note,) = [note for note in rank_table(other).notes if "--standardise" in note]
    assert "on 'u" in note
    for quiet in (rank_table(table), rank_table(other, standardised=True)):
        assert not any("--standardise" in note for note in quiet.notes)


def test_standardising_takes_scale_out_of_a_unit():
    table = board()
    scaled = table.scores.copy()
    scaled[:, 0] *= 1000
    other = ScoreTable(NAMES, table.units, scaled, Unit.TASKS)
    assert rank_table(other, standardised=True).pairs == rank_table(table, standardised=True).pairs
    assert rank_table(other).models[0].score > 10


def test_win_rate_is_the_share_of_models_beaten():
    scores = np.array([[3.0] * 8, [2.0] * 8, [2.0] * 8])
    ranking = rank_table(ScoreTable(("a", "b", "c"), [str(n) for n in range(8)], scores, Unit.TASKS))
    assert [each.win_rate for each in ranking.models] == [1.0, 0.25, 0.25]
    assert ranking.duplicates == (("b", "c"),)


def test_claims_that_a_new_entry_takes_away_are_named(wording):
    old = board()
    rng = np.random.default_rng(5)
    entry = old.scores.max(axis=0) + 1 + 0.1 * rng.normal(size=30)
    new = ScoreTable((*NAMES, "new/best"), old.units, np.vstack([old.scores, entry]), Unit.TASKS)
    standing = compare_rankings(rank_table(old), rank_table(new))
    assert standing.entered == ("new/best",)
    fallen = [each.claim for each in standing.claims if not each.holds]
    assert fallen == wording
    assert standing.n_held == standing.n_pairs == 4
    same = compare_rankings(rank_table(old), rank_table(old))
    assert all(each.holds for each in same.claims)
    assert (same.entered, same.gone, same.changed) == ((), (), ())


def test_a_score_far_off_is_named():
    table = board()
    scores = table.scores.copy()
    assert rank_table(table).notes == ()
    scores[2, 5] = -40.0
    (note,) = rank_table(ScoreTable(NAMES, table.units, scores, Unit.TASKS)).notes
    assert "'bits/one' on 'u5' (-40)" in note
    binary = (table.scores > 1).astype(float)
    assert rank_table(ScoreTable(NAMES, table.units, binary, Unit.ITEMS)).notes == ()


def test_too_few_models_are_refused(wording):
    table = board()
    scores = table.scores.copy()
    scores[1:, 4] = np.nan
    assert [
        refusal(InvalidInput, rank_table, ScoreTable(NAMES, table.units, scores, Unit.TASKS)),
        refusal(InvalidInput, rank_table, ScoreTable(NAMES[:1], table.units, table.scores[:1], Unit.TASKS)),
    ] == wording
