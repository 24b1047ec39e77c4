"""The methods by name, and what each forecasts for one run on one target."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftbench.metrics.depth import effective_size
from shiftbench.metrics.forecasts._checks import NoForecastError
from shiftbench.metrics.forecasts.confidence import (
    Score,
    average_confidence,
    difference_of_confidences,
    thresholded_confidence,
    transported_confidence,
)
from shiftbench.metrics.forecasts.lines import MIN_MODELS, agreement_of_seeds, agreement_on_the_line, score_by_depth
from shiftbench.metrics.forecasts.shift import (
    accuracy_at_shares,
    black_box_shares,
    importance_weighted,
    importance_weights,
    shares_by_em,
)
from shiftbench.metrics.forecasts.simple import source_accuracy
from shiftbench.metrics.priors import adjust_to_prior, fit_temperature
from shiftbench.scoring.forecasting.samples import Codes, Floats, Run, Sample, TaskSamples
from shiftbench.scoring.forecasting.text_vectors import ShiftVectors, TextPair

NO_HOME = "no labelled held-out texts of the source"
NO_PROBABILITIES = "the predictions have no probabilities of all labels"
NO_LABELS = "the task's outputs are no labels"
NO_VECTORS = "texts were not embedded (set SHIFTBENCH_ENCODER, or name the method)"

FLOORS = ("source-accuracy", "mean-drop")
TITLES = {
    "source-accuracy": "source accuracy (floor)",
    "mean-drop": "less mean drop (floor)",
    "average-confidence": "average confidence",
    "doc": "difference of confidences",
    "atc": "ATC, confidence",
    "atc-entropy": "ATC, entropy",
    "gde": "agreement of seeds",
    "agreement-line": "agreement on the line",
    "cot": "optimal transport",
    "nuclear-norm": "nuclear norm",
    "importance": "importance weighting",
    "bbse": "label shift, BBSE",
    "em": "label shift, EM",
    "depth": "depth curve",
    "divergence": "line on divergence",
    "average": "average of methods",
}
"""All methods, in the order in which they are shown."""
ACROSS = ("mean-drop", "nuclear-norm", "divergence", "average")
"""Methods that need other domains' shifts, or other methods: ``shiftbench.scoring.forecasting.run``."""
OF_TEXTS = ("importance", "depth")
"""Methods that need the texts' embeddings."""


@dataclass(frozen=True)
class ShiftRun:
    """One run on one target, with what its methods share.

    Attributes:
        run: source and seed.
        target: the domain.
        home: what it predicted on held-out source texts; None without any.
        away: what it predicted on the target.
        temperature: set at home; 1 without home or probabilities.
        n_classes: number of labels.
        siblings: what runs of the same source and other seeds predicted on the target.
        on_line: its forecast by agreement on the line, or the reason why there is none.
        vectors: embeddings of both sides; None where texts were not embedded.
    """

    run: Run
    target: str
    home: Sample | None
    away: Sample
    temperature: float
    n_classes: int
    siblings: Sequence[Codes]
    on_line: float | str
    vectors: Callable[[], TextPair] | None

    @property
    def at_home(self) -> Sample:
        """What it predicted at home; NoForecastError without."""
        if self.home is None:
            raise NoForecastError(NO_HOME)
        return self.home

    @cached_property
    def home_table(self) -> Floats:
        """Calibrated probabilities at home."""
        return self._calibrate(self.at_home)

    @cached_property
    def table(self) -> Floats:
        """Calibrated probabilities on the target."""
        return self._calibrate(self.away)

    @property
    def codes(self) -> Codes:
        """Predicted codes on the target; NoForecastError where outputs are no labels."""
        if self.away.predicted is None:
            raise NoForecastError(NO_LABELS)
        return self.away.predicted

    @property
    def home_codes(self) -> tuple[Codes, Codes]:
        """Gold and predicted codes at home; NoForecastError where outputs are no labels."""
        home = self.at_home
        if home.labels is None or home.predicted is None:
            raise NoForecastError(NO_LABELS)
        return home.labels, home.predicted

    @cached_property
    def prior(self) -> Floats:
        """Shares of the labels at home, shape (n_classes,)."""
        counts = np.bincount(self.home_codes[0], minlength=self.n_classes)
        return np.asarray(counts / counts.sum())

    @cached_property
    def texts(self) -> TextPair:
        """The embeddings of both sides; NoForecastError without."""
        if self.vectors is None:
            raise NoForecastError(NO_VECTORS)
        return self.vectors()

    @property
    def effective_size(self) -> float | None:
        """Source texts that importance weighting effectively rests on; None where it has no weights."""
        if self.home is None or self.vectors is None:
            return None
        try:
            return effective_size(importance_weights(self.texts.target_probability, len(self.texts.target)))
        except NoForecastError:
            return None

    def _calibrate(self, sample: Sample) -> Floats:
        if sample.probabilities is None:
            raise NoForecastError(NO_LABELS if sample.predicted is None else NO_PROBABILITIES)
        # From equal shares to equal shares the temperature alone is left.
        same = np.full(sample.probabilities.shape[1], 1 / sample.probabilities.shape[1])
        return adjust_to_prior(sample.probabilities, same, same, self.temperature)


def _forecast_on_line(shift: ShiftRun) -> float:
    if isinstance(shift.on_line, str):
        raise NoForecastError(shift.on_line)
    return shift.on_line


def _forecast_by_bbse(shift: ShiftRun) -> float:
    found = black_box_shares(*shift.home_codes, shift.codes, shift.n_classes)
    return accuracy_at_shares(*shift.home_codes, found)


def _forecast_by_em(shift: ShiftRun) -> float:
    return accuracy_at_shares(*shift.home_codes, shares_by_em(shift.table, shift.prior))


def _forecast_by_importance(shift: ShiftRun) -> float:
    right, pair = shift.at_home.scores, shift.texts
    return importance_weighted(right, pair.target_probability, len(pair.target)).value


def _forecast_by_threshold(shift: ShiftRun, score: Score) -> float:
    return thresholded_confidence(shift.home_table, shift.at_home.scores, shift.table, score)


METHODS: Mapping[str, Callable[[ShiftRun], float]] = {
    "source-accuracy": lambda shift: source_accuracy(shift.at_home.scores),
    "average-confidence": lambda shift: average_confidence(shift.table),
    "doc": lambda shift: difference_of_confidences(shift.home_table, shift.at_home.scores, shift.table),
    "atc": lambda shift: _forecast_by_threshold(shift, "confidence"),
    "atc-entropy": lambda shift: _forecast_by_threshold(shift, "entropy"),
    "gde": lambda shift: agreement_of_seeds(shift.codes, shift.siblings),
    "agreement-line": _forecast_on_line,
    "cot": lambda shift: transported_confidence(shift.table, shift.prior),
    "importance": _forecast_by_importance,
    "bbse": _forecast_by_bbse,
    "em": _forecast_by_em,
    "depth": lambda shift: score_by_depth(shift.texts.depths[0], shift.at_home.scores, shift.texts.depths[1]),
}
"""Methods that need the shift itself and nothing else."""


def forecast_run(shift: ShiftRun, methods: Sequence[str]) -> dict[str, float | str]:
    """Forecast by each method of ``METHODS``; a text is the reason why one has no forecast."""
    found: dict[str, float | str] = {}
    for name in methods:
        try:
            found[name] = METHODS[name](shift)
        except NoForecastError as reason:
            found[name] = str(reason)
    return found


def shift_runs(samples: TaskSamples, vectors: ShiftVectors | None) -> Iterator[ShiftRun]:
    """List every run on every target, by target, source and seed."""
    temperatures = {run: _fit_home_temperature(home) for run, home in samples.home.items()}
    lines: dict[tuple[str, str], Mapping[int, float] | str] = {}
    for run, target in sorted(samples.shifts, key=lambda each: (each[1], *each[0])):
        source, seed = run
        group = {other: samples.shifts[(source, other), target] for other in _list_seeds(samples, source, target)}
        if (source, target) not in lines:
            lines[source, target] = _fit_agreement_line(source, target, samples)
        line = lines[source, target]
        home, away = samples.home.get(run), samples.shifts[run, target]
        yield ShiftRun(
            run,
            target,
            home,
            away,
            temperatures.get(run, 1.0),
            len(samples.labels),
            [other.predicted for number, other in group.items() if number != seed and other.predicted is not None],
            line if isinstance(line, str) else line.get(seed, NO_HOME),
            None if vectors is None or home is None else _defer_pair(vectors, source, target, home, away),
        )


def _defer_pair(vectors: ShiftVectors, source: str, target: str, home: Sample, away: Sample) -> Callable[[], TextPair]:
    return lambda: vectors.pair(source, target, home.ids, away.ids)


def _fit_home_temperature(home: Sample) -> float:
    if home.probabilities is None or home.labels is None:
        return 1.0
    return fit_temperature(home.probabilities, home.labels)


def _list_seeds(samples: TaskSamples, source: str, target: str) -> list[int]:
    return sorted(seed for (name, seed), where in samples.shifts if name == source and where == target)


def _fit_agreement_line(source: str, target: str, samples: TaskSamples) -> Mapping[int, float] | str:
    """Forecast the runs of a source on a target by agreement on the line, by seed; the reason where there is no line.

    Runs of other models count where they were at home on the same texts.
    """
    own = [seed for seed in _list_seeds(samples, source, target) if (source, seed) in samples.home]
    if not own:
        return NO_HOME
    ids = samples.home[source, own[0]].ids
    models = [
        (each.home[source, seed], each.shifts[(source, seed), target], seed if each is samples else None)
        for each in (samples, *samples.pool)
        for seed in _list_seeds(each, source, target)
        if (source, seed) in each.home and each.home[source, seed].ids.equals(ids)
    ]
    if not samples.labels:
        return NO_LABELS
    if len(models) < MIN_MODELS:
        return f"a line of agreements needs {MIN_MODELS} models of one source, there are {len(models)}"
    home = np.stack([_require_codes(at_home) for at_home, _, _ in models])
    away = np.stack([_require_codes(on_target) for _, on_target, _ in models])
    try:
        values = agreement_on_the_line(home, [at_home.scores.mean() for at_home, _, _ in models], away)
    except NoForecastError as reason:
        return str(reason)
    return {seed: float(value) for (_, _, seed), value in zip(models, values, strict=True) if seed is not None}


def _require_codes(sample: Sample) -> Codes:
    assert sample.predicted is not None
    return sample.predicted
