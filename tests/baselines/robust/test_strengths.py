"""Strengths: typed by ``--set``, and they change what they name."""

from dataclasses import fields
from typing import Any

import pytest

from shiftbench.baselines.robust.method import METHODS, Robustness, method_class, strengths_of
from shiftbench.baselines.robust.synonyms import SynonymSource
from shiftbench.baselines.training.options import Schedule, TrainingOptions
from shiftbench.validation.report import InvalidInput


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


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["clip"], "--set: this is no setting; found 'clip'; write NAME=VALUE"),
        (["clip=1", "clip=2"], "--set: this is set twice; found 'clip'; leave one of them out"),
        (["clipp=1"], "--set: there is no such setting; found 'clipp'; did you mean 'clip'?"),
        (["epochs=1"], "--set: this setting has an option of its own; found 'epochs'; give --epochs"),
        (["warmup=2"], "--set warmup: this setting cannot be so; found '2'; give at least 0 and at most 1"),
        (["clip=nan"], "--set clip: this setting cannot be so; found 'nan'"),
        (["clip=many"], "--set clip: this setting is a number; found 'many'"),
        (["schedule=cosine"], "--set schedule: there is no such choice; found 'cosine'"),
    ],
)  # fmt: skip
def test_wrong_settings_of_the_training_are_refused(settings: list[str], words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        typed(*settings).hyperparameters()
    assert str(refused.value).startswith(words)


@pytest.mark.parametrize(
    ("method", "setting", "words"),
    [
        ("irm", "irm.weigth=1", "no method of this training has such a strength; found 'irm.weigth'; did you mean"),
        ("coral", "irm.weight=1", "no method of this training has such a strength; found 'irm.weight'; did you mean"),
        (None, "irm.weight=1", "no method of this training has such a strength; found 'irm.weight'; give --method"),
        ("irm", "irm.weight=x", "--set irm.weight: this strength is a number; found 'x'; give a number"),
        ("irm", "irm.warm-up=1.5", "--set irm.warm-up: this strength is a number; found '1.5'; give a whole number"),
        ("smoothing", "smoothing.epsilon=2", "this strength cannot be so; found '2'; give at least 0 and at most 1"),
        ("focal", "focal.gamma=nan", "this strength cannot be so; found 'nan'; give at least 0"),
    ],
)
def test_wrong_strengths_are_refused(method: str | None, setting: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Robustness.of([method] if method else None, training=typed(setting))
    assert words in str(refused.value)


@pytest.mark.parametrize("name", [name for name in METHODS if strengths_of(method_class(name))])
def test_ends_of_a_search_are_allowed_values(name: str) -> None:
    for key, each in strengths_of(method_class(name)).items():
        ends: Any = each.metadata["draws"] or (each.default,)
        for value in ends:
            shown = int(value) if isinstance(each.default, int) else value
            Robustness.of([name], SynonymSource.EMBEDDINGS, typed(f"{name}.{key}={shown}"))
