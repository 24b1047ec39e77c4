"""The forecasting methods by name, and their forecasts for one run on one target."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftbench.metrics.forecasts import (
    NoForecastError,
    difference_of_confidences,
    source_accuracy,
    thresholded_confidence,
    transported_confidence,
)
from shiftbench.metrics.priors import adjust_to_prior, fit_temperature
from shiftbench.scoring.forecasting.samples import Floats, Run, Sample, TaskSamples
from shiftbench.validation.report import Problem, UnknownChoice, did_you_mean

NO_HOME = "no labelled held-out texts of the source"
NO_PROBABILITIES = "the predictions have no probabilities of all labels"
NO_LABELS = "the task's outputs are not labels"

FLOORS = ("source-accuracy", "mean-drop")
TITLES = {
    "source-accuracy": "source accuracy (baseline)",
    "mean-drop": "minus mean drop (baseline)",
    "doc": "difference of confidences",
    "atc": "ATC, confidence",
    "cot": "optimal transport",
    "cot-corrected": "optimal transport, corrected",
}
"""All methods, in display order."""
CORRECTED = {"mean-drop": "source-accuracy", "cot-corrected": "cot"}
"""Methods that subtract another method's mean error on the other labelled domains."""
ORDERING = ("cot", "doc", "atc")
"""Methods that may order domains; ties go to the first. None of them uses another domain's labels. The naive
baselines are not listed, because they forecast the same value for all domains.
"""
GONE = (
    "average-confidence", "atc-entropy", "gde", "agreement-line", "nuclear-norm", "importance", "bbse", "em", "depth",
    "divergence", "average",
)  # fmt: skip
"""Methods of former versions, removed because on real boards they forecast neither the score nor the order better."""


def chosen_methods(names: Sequence[str] | None) -> tuple[str, ...]:
    """Return methods in display order, always including the naive baselines.

    Args:
        names: requested names; None for all.

    Raises: InvalidInput for an unknown method, with the nearest name, or for a removed one.
    """
    for name in names or ():
        if name in GONE:
            what = (
                "this method was removed: on real boards it forecast neither score nor order better than the "
                "remaining ones"
            )
            raise UnknownChoice(Problem(what, "--method", f"'{name}'", f"choose from {', '.join(TITLES)}"))
        if name not in TITLES:
            what = "there is no such forecasting method"
            raise UnknownChoice(Problem(what, "--method", f"'{name}'", did_you_mean(name, list(TITLES))))
    return tuple(name for name in TITLES if names is None or name in (*FLOORS, *names))


@dataclass(frozen=True)
class ShiftRun:
    """One run on one target, with the inputs that its methods share.

    Attributes:
        run: source and seed.
        target: the domain.
        home: its predictions on held-out source texts; None without any.
        away: its predictions on the target.
        temperature: fitted on in-domain predictions; 1 without them or without probabilities.
        n_classes: number of labels.
    """

    run: Run
    target: str
    home: Sample | None
    away: Sample
    temperature: float
    n_classes: int

    @property
    def at_home(self) -> Sample:
        """In-domain predictions; NoForecastError without any."""
        if self.home is None:
            raise NoForecastError(NO_HOME)
        return self.home

    @cached_property
    def home_table(self) -> Floats:
        """Calibrated in-domain probabilities."""
        return self._calibrate(self.at_home)

    @cached_property
    def table(self) -> Floats:
        """Calibrated probabilities on the target."""
        return self._calibrate(self.away)

    @cached_property
    def prior(self) -> Floats:
        """Class prior on the source domain, shape (n_classes,)."""
        labels = self.at_home.labels
        if labels is None:
            raise NoForecastError(NO_LABELS)
        counts = np.bincount(labels, minlength=self.n_classes)
        return np.asarray(counts / counts.sum())

    def _calibrate(self, sample: Sample) -> Floats:
        if sample.probabilities is None:
            raise NoForecastError(NO_LABELS if sample.predicted is None else NO_PROBABILITIES)
        # With equal priors, only the temperature has an effect.
        same = np.full(sample.probabilities.shape[1], 1 / sample.probabilities.shape[1])
        return adjust_to_prior(sample.probabilities, same, same, self.temperature)


METHODS: Mapping[str, Callable[[ShiftRun], float]] = {
    "source-accuracy": lambda shift: source_accuracy(shift.at_home.scores),
    "doc": lambda shift: difference_of_confidences(shift.home_table, shift.at_home.scores, shift.table),
    "atc": lambda shift: thresholded_confidence(shift.home_table, shift.at_home.scores, shift.table),
    "cot": lambda shift: transported_confidence(shift.table, shift.prior),
}
"""Methods that need only the shift itself."""


def forecast_run(shift: ShiftRun, methods: Sequence[str]) -> dict[str, float | str]:
    """Forecast by each method of ``METHODS``; a string is the reason why a method has no forecast."""
    found: dict[str, float | str] = {}
    for name in methods:
        try:
            found[name] = METHODS[name](shift)
        except NoForecastError as reason:
            found[name] = str(reason)
    return found


def shift_runs(samples: TaskSamples) -> Iterator[ShiftRun]:
    """List every run on every target, by target, source and seed."""
    temperatures = {run: _fit_home_temperature(home) for run, home in samples.home.items()}
    for run, target in sorted(samples.shifts, key=lambda each: (each[1], *each[0])):
        home, away = samples.home.get(run), samples.shifts[run, target]
        yield ShiftRun(run, target, home, away, temperatures.get(run, 1.0), len(samples.labels))


def _fit_home_temperature(home: Sample) -> float:
    if home.probabilities is None or home.labels is None:
        return 1.0
    return fit_temperature(home.probabilities, home.labels)
