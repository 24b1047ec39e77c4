"""Likeness of domains' words, and the effective sample size of importance weighting, beside intervals."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shiftbench.scoring.forecasting.run import Grid, forecast_task
from shiftbench.scoring.forecasting.samples import Sample, TaskSamples
from shiftbench.scoring.forecasting.shape import TaskForecast
from shiftbench.scoring.forecasting.text_vectors import TextPair, mean_likeness, word_likeness
from shiftbench.scoring.reports.forecast_words import believed

from .test_run import grid


def test_domains_of_the_same_words_are_alike_and_of_others_are_not() -> None:
    texts = {"a": ["Rivers the hills", "rivers"], "b": ["rivers; RIVERS", "of hills"], "c": ["engines"], "d": ["the"]}
    found = word_likeness(texts)
    assert list(found) == ["a", "b", "c"]  # stop words are no words of its own
    assert found["a"]["b"] == pytest.approx(1.0)
    assert found["a"]["c"] == found["c"]["b"] == 0.0
    assert mean_likeness(found, ["a", "b", "c", "e"]) == pytest.approx(1 / 3)
    assert mean_likeness(found, ["a"]) is None


def test_half_of_the_words_in_common() -> None:
    found = word_likeness({"a": ["rivers hills"], "b": ["rivers engines"]})
    assert found["a"]["b"] == pytest.approx(0.5)


def test_likeness_is_of_the_domains_that_set_the_interval_and_moves_none() -> None:
    plain = grid(unknown=("f",))
    alike = {one: {other: 0.9 if one == other else 0.4 for other in "abcdef"} for one in "abcdef"}
    diagnosed = Grid(plain.cells, plain.methods, alike)
    cell = next(each for each in plain.cells if each.target == "f")
    before, after = plain.shift(cell), diagnosed.shift(cell)
    assert after.likeness == dict.fromkeys("abcde", 0.4)
    assert after.likeness_among == pytest.approx(0.4)
    assert before.likeness == {}
    assert before.forecasts == after.forecasts


def test_a_sentence_contains_the_condition_and_how_alike_the_target_is() -> None:
    made = grid()
    alike = {one: {other: 0.4 if "f" in (one, other) else 0.9 for other in "abcdef"} for one in "abcdef"}

    def sentence(likeness: dict[str, dict[str, float]]) -> str:
        diagnosed = Grid(made.cells, made.methods, likeness)
        shift = next(diagnosed.shift(each) for each in made.cells if each.target == "f")
        task = TaskForecast(
            task="t", metric="accuracy", domains=tuple("abcdef"), labelled=made.labelled, n_validation=0,
            shifts=(shift,), errors=(), notes=(),
        )  # fmt: skip
        return believed(shift, task)

    condition = "80% interval, if new domains differ from each other as the other 5 of 6 domains do"
    assert f"{condition}; likeness of words 0.40 to f, 0.90 among them; " in sentence(alike)
    assert f"{condition}; how alike f is to them is not known; " in sentence({})


class Vectors:
    """Texts of the target lie where a few of the source's texts lie."""

    def pair(self, source: str, target: str, home_ids: pl.Series, target_ids: pl.Series) -> TextPair:
        rng = np.random.default_rng(0)
        home = rng.normal(size=(len(home_ids), 2))
        away = rng.normal(size=(len(target_ids), 2)) + ([2.0, 0.0] if target == "far" else [0.0, 0.0])
        return TextPair(home.astype(np.float32), away.astype(np.float32))


def test_the_effective_size_is_small_where_the_target_is_unlike_the_source() -> None:
    rng = np.random.default_rng(1)

    def sample(name: str) -> Sample:
        gold = rng.integers(0, 2, 400)
        return Sample(pl.Series([f"{name}{n}" for n in range(400)]), rng.integers(0, 2, 400), None, gold)

    shifts = {(("home", 0), target): replace(sample(target), labels=None) for target in ("near", "far")}
    samples = TaskSamples("t", "accuracy", ("x", "y"), {("home", 0): sample("home")}, shifts)
    made = {each.target: each for each in forecast_task(samples, ("importance",), Vectors()).shifts}
    near, far = made["near"].effective_size, made["far"].effective_size
    assert near is not None
    assert far is not None
    assert near > 350
    assert far < 150
    without = forecast_task(samples, ("importance",)).shifts[0]
    assert without.effective_size is None
