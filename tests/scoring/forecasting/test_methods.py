"""Forecasts of single methods: calibration, class priors, and reasons if an input is missing."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shiftbench.scoring.forecasting.methods import (
    METHODS,
    NO_HOME,
    NO_LABELS,
    NO_PROBABILITIES,
    forecast_run,
    shift_runs,
)
from shiftbench.scoring.forecasting.samples import Sample, TaskSamples

N = 300


def sample(rng: np.random.Generator, name: str, signal: float, *, sharp: float = 1.0) -> Sample:
    labels = rng.integers(0, 2, N)
    logits = rng.normal(0, 1, (N, 2))
    logits[np.arange(N), labels] += signal
    table = np.exp(sharp * logits)
    table /= table.sum(axis=1, keepdims=True)
    return Sample(pl.Series([f"{name}{number}" for number in range(N)]), table.argmax(axis=1), table, labels)


def samples(seeds: int, sharp: float = 1.0, first: int = 0) -> TaskSamples:
    rng = np.random.default_rng([seeds, first])
    home = {("a", seed): sample(rng, "a", 1 + 0.1 * seed, sharp=sharp) for seed in range(first, first + seeds)}
    shifts = {(run, "b"): sample(rng, "b", 0.5 + 0.1 * run[1], sharp=sharp) for run in home}
    return TaskSamples("t", "accuracy", ("x", "y"), home, shifts)


def first_forecasts(given: TaskSamples) -> dict[str, float | str]:
    return forecast_run(next(shift_runs(given)), list(METHODS))


def test_overconfidence_at_home_is_taken_off() -> None:
    calm, sure = (first_forecasts(samples(2, sharp)) for sharp in (1.0, 6.0))
    for name in ("doc", "atc", "cot"):
        assert sure[name] == pytest.approx(calm[name], abs=0.01)


def test_without_probabilities_the_others_are_left() -> None:
    given = samples(2)
    bare = replace(
        given,
        home={run: replace(each, probabilities=None) for run, each in given.home.items()},
        shifts={place: replace(each, probabilities=None) for place, each in given.shifts.items()},
    )
    found = first_forecasts(bare)
    assert {name for name, value in found.items() if value == NO_PROBABILITIES} == {"doc", "atc", "cot"}
    assert isinstance(found["source-accuracy"], float)


def test_without_a_home_there_is_no_forecast() -> None:
    assert set(first_forecasts(replace(samples(2), home={})).values()) == {NO_HOME}


def test_answers_have_no_labels() -> None:
    graded = Sample(pl.Series(["a0", "a1"]), None, None, None, np.array([0.5, 1.0]))
    away = replace(graded, ids=pl.Series(["b0", "b1"]), graded=None)
    found = first_forecasts(TaskSamples("qa", "token_f1", (), {("a", 0): graded}, {(("a", 0), "b"): away}))
    assert found["source-accuracy"] == 0.75
    assert {found[name] for name in ("doc", "atc", "cot")} == {NO_LABELS}
