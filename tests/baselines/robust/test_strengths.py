"""Strengths: typed by ``--set``, and they change what they name."""

from dataclasses import fields
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.robust.method import METHODS, Robustness, method_class, strengths_of
from shiftbench.baselines.robust.synonyms import SynonymSource
from shiftbench.baselines.training.options import Schedule, TrainingOptions
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal


def typed(*settings: str) -> TrainingOptions:
    return TrainingOptions(settings=list(settings))


@pytest.mark.parametrize("name", METHODS)
def test_a_strength_changes_what_it_names(name: str) -> None:
    for key, each in strengths_of(method_class(name)).items():
        value = each.default + 1 if isinstance(each.default, int) else each.default / 2 + 0.5 * each.metadata["least"]
        robustness = Robustness.of([name], SynonymSource.EMBEDDINGS, typed(f"{name}.{key}={value}"))
        (method,) = robustness.methods.values()
        changed = [other.name for other in fields(method) if getattr(method, other.name) != other.default]
        assert changed == [each.name]
        assert getattr(method, each.name) == pytest.approx(value)
        assert robustness.settings["strengths"][name][key] == pytest.approx(value)
        assert robustness.card_facts["methods"] == [f"{name} ({key} {value:g})"]


def test_settings_of_the_training_stand_before_the_recipes() -> None:
    found = TrainingOptions(recipe="boss", settings=["weight-decay=0", "warmup=0.1", "clip=5", "schedule=linear"])
    settings = found.hyperparameters()
    assert (settings.weight_decay, settings.warmup, settings.clip) == (0, 0.1, 5)
    assert settings.schedule is Schedule.LINEAR


def test_wrong_settings_of_the_training_are_refused(wording: SnapshotAssertion) -> None:
    wrong = (
        "clip", "clip=1 clip=2", "clipp=1", "epochs=1", "warmup=2", "clip=nan", "clip=many", "schedule=cosine"
    )  # fmt: skip
    assert {each: refusal(InvalidInput, typed(*each.split()).hyperparameters) for each in wrong} == wording


def test_wrong_strengths_are_refused(wording: SnapshotAssertion) -> None:
    wrong = (
        (["irm"], "irm.weigth=1"),
        (["coral"], "irm.weight=1"),
        ([], "irm.weight=1"),
        (["irm"], "irm.weight=x"),
        (["irm"], "irm.warm-up=1.5"),
        (["smoothing"], "smoothing.epsilon=2"),
        (["focal"], "focal.gamma=nan"),
    )
    assert [refusal(InvalidInput, Robustness.of, methods, training=typed(each)) for methods, each in wrong] == wording


@pytest.mark.parametrize("name", [name for name in METHODS if strengths_of(method_class(name))])
def test_ends_of_a_search_are_allowed_values(name: str) -> None:
    for key, each in strengths_of(method_class(name)).items():
        ends: Any = each.metadata["draws"] or (each.default,)
        for value in ends:
            shown = int(value) if isinstance(each.default, int) else value
            Robustness.of([name], SynonymSource.EMBEDDINGS, typed(f"{name}.{key}={shown}"))
