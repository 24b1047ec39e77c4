"""Schema of forecasts: fractions in [0, 1], unrounded; missing values are null, with a reason."""

import pydantic

from shiftbench.scoring.scores.shape import Record


class Forecast(Record):
    """One method's forecast of accuracy, or of the task's ``metric``.

    ``low`` and ``high`` are its interval at the shift's ``level``; null without one.
    """

    method: str
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = pydantic.Field(default=None, description="Why there is no forecast")


class ShiftForecast(Record):
    """All forecasts of one source on one target, means over ``n_runs`` seeds.

    ``level`` is the level of the intervals. ``set_on`` are the domains on whose errors intervals are calibrated; the
    target is excluded, and so are domains whose only sources include the target. ``truth_error`` is the standard
    error of the truth over test texts.
    """

    source: str
    target: str
    n_texts: int
    n_runs: int
    truth: float | None
    truth_error: float | None = None
    source_score: float | None
    level: float | None
    set_on: tuple[str, ...]
    forecasts: tuple[Forecast, ...]

    def of(self, method: str) -> Forecast | None:
        """Return a method's forecast; None if it was not requested."""
        return next((each for each in self.forecasts if each.method == method), None)


class OrderEvidence(Record):
    """The method that orders a source's targets, and the evidence for its order where labels are known.

    ``method`` is null if none has a forecast of every target. Of the ``n_pairs`` pairs of labelled targets with
    significantly different scores, ``right`` are ordered correctly. For each domain, the method (out of ``n_methods``)
    is selected on the other domains. ``p`` is exact: the domains are permuted, with the selection repeated for each
    permutation. ``right``, ``n_pairs`` and ``p`` are null below 6 labelled domains: too few to evaluate an order.
    """

    source: str
    method: str | None
    n_domains: int
    n_methods: int = 0
    right: float | None = None
    n_pairs: int | None = None
    p: float | None = None


class HeldIn(Record):
    """Coverage of a method's intervals on labelled domains, each calibrated without the domain itself.

    A domain counts in ``held`` if the intervals of at least ``level`` of the shifts into it cover the truth. ``share``
    is the coverage averaged over domains, ``low`` and ``high`` its 95% interval over domains; ``level`` is the
    intervals' level, or its mean if they have several.
    """

    level: float
    held: int
    n_domains: int
    share: float
    low: float
    high: float


class MethodOrder(Record):
    """Evaluation of a method's ordering of each source's targets, means over models and sources of the boards.

    ``regret`` is the true score of the predicted worst target minus the true minimum, ``chance`` the mean regret of a
    random ordering. ``pairs`` is the share of correctly ordered pairs, among pairs with significantly different scores.
    Each ``p`` is over permutations of the domains, for all models at once. ``n_domains`` is the number of targets
    ordered.
    """

    regret: float
    chance: float
    p_regret: float
    pairs: float | None
    p_pairs: float | None
    n_domains: int


class MethodErrors(Record):
    """Errors of a method on labelled targets, averaged per target (over models and sources), then over targets.

    ``error`` is the mean absolute error, ``bias`` the mean of forecast minus truth, ``interval_score`` Winkler's score
    of the intervals in ``held``. ``skill`` has, by naive baseline, the share of the baseline's error that the method
    avoids, on shifts that both forecast; ``p`` is from a paired test over target domains, null with fewer than 6 (too
    few for significance).
    ``order`` is null for naive baselines and corrected methods, and if no source has two targets. Over several boards,
    ``n_domains`` counts the target domains of all of them.
    """

    method: str
    n_models: int
    n_domains: int
    n_shifts: int
    error: float
    bias: float
    interval_score: float | None
    held: HeldIn | None
    skill: dict[str, float | None]
    p: dict[str, float | None]
    order: MethodOrder | None = None
    n_ranked: None = pydantic.Field(default=None, description="Null from 0.3 on: see ``order``. Removed in 0.4")
    rank_correlation: None = pydantic.Field(default=None, description="Null from 0.3 on: see ``order``. Removed in 0.4")


class TaskForecast(Record):
    """Forecasts of all shifts of one task of one prediction file.

    ``metric`` is the forecast metric, a mean over texts. ``labelled`` are the target domains with known labels, on
    whose errors the intervals are calibrated. ``orders`` has one item per source; ``notes`` have domains in single
    quotes.
    """

    task: str
    metric: str
    domains: tuple[str, ...]
    labelled: tuple[str, ...]
    n_validation: int
    shifts: tuple[ShiftForecast, ...]
    orders: tuple[OrderEvidence, ...] = ()
    errors: tuple[MethodErrors, ...]
    notes: tuple[str, ...]


class Forecasts(Record):
    """Forecasts of a prediction file."""

    predictions: str
    tasks: tuple[TaskForecast, ...]
    left_out: tuple[str, ...] = ()
    concept_shift: str


class BoardStandings(Record):
    """All methods on one board; ``board`` is null for all boards together."""

    board: str | None
    models: tuple[str, ...]
    standings: tuple[MethodErrors, ...]
    set_on: None = pydantic.Field(
        default=None, description="Null from 0.3 on: intervals are not calibrated on other boards. Removed in 0.4"
    )


class MethodComparison(Record):
    """All methods on all models with probabilities, by board and over all boards."""

    boards: tuple[BoardStandings, ...]
    left_out: tuple[str, ...]
    concept_shift: str
