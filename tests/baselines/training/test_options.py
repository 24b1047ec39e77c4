"""Options: what was typed stands, recipes fill in the rest, and what does not go together is refused."""

from typing import Any

from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.training.options import GENERATION_RECIPES, GENERATION_SWEEPS, Schedule, TrainingOptions
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal


def test_a_recipe_gives_what_was_not_typed() -> None:
    found = TrainingOptions(recipe="boss", epochs=2).hyperparameters()
    assert (found.epochs, found.batch_size, found.learning_rate, found.weight_decay) == (2, 16, 1e-5, 0.01)
    assert (found.schedule, found.warmup, found.clip) == (Schedule.CONSTANT, 0, 0)
    assert (found.max_length, found.eval_max_length) == (256, 768)


def test_the_paper_s_grid_has_all_pairs_once() -> None:
    found = TrainingOptions(recipe="dr", sweep="dr").candidates()
    assert {(each.learning_rate, each.batch_size) for each in found} == {
        (rate, size) for rate in (1e-5, 5e-5, 1e-4) for size in (4, 8, 16, 64)
    }
    assert len(found) == 12
    assert {each.epochs for each in found} == {10}
    rates = [
        each.learning_rate for each in TrainingOptions(sweep="dr").candidates(GENERATION_RECIPES, GENERATION_SWEEPS)
    ]
    assert rates == [1e-3, 5e-4, 1e-4, 5e-5, 1e-5]


def test_what_was_typed_is_not_swept() -> None:
    found = TrainingOptions(sweep="dr", batch_size=32).candidates()
    assert [(each.learning_rate, each.batch_size) for each in found] == [(1e-5, 32), (5e-5, 32), (1e-4, 32)]


def test_what_does_not_go_together_is_refused(wording: SnapshotAssertion) -> None:
    wrong: tuple[dict[str, Any], ...] = (
        {"train_size": 5, "shots": 1},
        {"sweep": "dr", "select": False},
        {"sweep": "dr", "keep_state": [1.0]},
        {"sweep": "dr", "epochs": 0.0},
    )
    assert [refusal(InvalidInput, TrainingOptions(**options).check) for options in wrong] == wording


def test_a_state_after_the_end_of_training_is_refused(wording: SnapshotAssertion) -> None:
    assert TrainingOptions(keep_state=[3]).hyperparameters().epochs == 3
    assert refusal(InvalidInput, TrainingOptions(keep_state=[1, 4]).hyperparameters) == wording


def test_unknown_recipes_and_sweeps_are_named(wording: SnapshotAssertion) -> None:
    assert [
        refusal(InvalidInput, TrainingOptions(recipe="bos").hyperparameters),
        refusal(InvalidInput, TrainingOptions(sweep="d").candidates),
    ] == wording
