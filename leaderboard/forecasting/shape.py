"""The shape of forecasts: fractions in [0, 1], unrounded; what is not there is null, with its reason."""

import pydantic

from leaderboard.scoring.estimate import Record


class Forecast(Record):
    """One method's forecast of accuracy, or of the task's ``metric``.

    ``low`` and ``high`` bound the interval of the level that the task's ``level`` names; null without one.
    """

    method: str
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = pydantic.Field(default=None, description="Why there is no forecast")


class ShiftForecast(Record):
    """All forecasts of one source on one target, means over ``n_runs`` seeds.

    ``level`` is that of the intervals, ``set_on`` the domains whose errors set them: neither the target, nor with it as
    their source. ``expected_macro_f1`` is that of the confusion table to expect from calibrated probabilities.
    """

    source: str
    target: str
    n_texts: int
    n_runs: int
    truth: float | None
    source_score: float | None
    level: float | None
    set_on: tuple[str, ...]
    forecasts: tuple[Forecast, ...]
    expected_macro_f1: float | None
    macro_f1: float | None

    def of(self, method: str) -> Forecast | None:
        """Return a method's forecast; None where it was not asked for."""
        return next((each for each in self.forecasts if each.method == method), None)


class HeldIn(Record):
    """In how many of the domains with labels a method's intervals held, each set on the others alone.

    ``share`` is the mean over domains of the share of shifts inside, with its 95% interval; ``level`` that of the
    intervals.
    """

    level: float
    held: int
    n_domains: int
    share: float
    low: float
    high: float


class MethodErrors(Record):
    """How a method did on the domains with labels: means over target domains of means over their shifts.

    ``error`` is the mean absolute error, ``bias`` the mean of forecast less truth, ``interval_score`` Winkler's, at
    the level of ``held``. ``skill`` by floor is the share of its error that the method saves, on shifts that both
    forecast.
    """

    method: str
    n_domains: int
    n_shifts: int
    error: float
    bias: float
    interval_score: float | None
    skill: dict[str, float | None]
    held: HeldIn | None


class TaskForecast(Record):
    """Forecasts of all shifts of one task of one prediction file.

    ``metric`` is the mean over texts that is forecast. ``labelled`` are the target domains whose labels are known:
    their errors set the intervals. ``notes`` have domains in single quotes.
    """

    task: str
    metric: str
    domains: tuple[str, ...]
    labelled: tuple[str, ...]
    n_validation: int
    shifts: tuple[ShiftForecast, ...]
    errors: tuple[MethodErrors, ...]
    notes: tuple[str, ...]


class Forecasts(Record):
    """Forecasts of a prediction file."""

    predictions: str
    tasks: tuple[TaskForecast, ...]
    left_out: tuple[str, ...] = ()
    concept_shift: str


class Standing(Record):
    """How one method does on one board, or over all: means over target domains of means over models and sources.

    ``n_units`` counts target domains of boards. ``interval_score`` is Winkler's, ``held`` the domains in which at least
    the intervals' level of the shifts lay inside, of ``n_intervals`` with intervals. ``skill`` and ``p`` are by floor,
    on shifts that both forecast; p is null with fewer than 6 target domains: the test cannot tell.
    ``rank_correlation`` is Spearman's over the models of a shift, its mean over the ``n_ranked`` shifts of 10 or more.
    """

    method: str
    n_models: int
    n_units: int
    n_shifts: int
    error: float
    bias: float
    interval_score: float | None
    held: int | None
    n_intervals: int
    skill: dict[str, float | None]
    p: dict[str, float | None]
    rank_correlation: float | None
    n_ranked: int


class BoardStandings(Record):
    """All methods on one board; ``board`` is null for all boards together."""

    board: str | None
    models: tuple[str, ...]
    standings: tuple[Standing, ...]


class MethodComparison(Record):
    """All methods on all models with probabilities, board by board and over all boards."""

    boards: tuple[BoardStandings, ...]
    left_out: tuple[str, ...]
    concept_shift: str
