"""The shape of forecasts: fractions in [0, 1], unrounded; what is not there is null, with its reason."""

import pydantic

from shiftbench.scoring.scores.shape import Record


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
    their source. ``truth_error`` is the standard error of the truth over test texts.
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
        """Return a method's forecast; None where it was not asked for."""
        return next((each for each in self.forecasts if each.method == method), None)


class OrderEvidence(Record):
    """By which method the targets of a source are ordered, and how right its order is where labels are known.

    ``method`` is null where none has a forecast of every target. ``right`` of the ``n_pairs`` pairs of labelled targets
    that their labels separate are ordered right, each by the method chosen (of ``n_methods``) without the domain that
    is judged; ``p`` is exact, over the orders of the domains with the choice made again in each. All three are null
    below 6 labelled domains: too few to judge an order.
    """

    source: str
    method: str | None
    n_domains: int
    n_methods: int = 0
    right: float | None = None
    n_pairs: int | None = None
    p: float | None = None


class HeldIn(Record):
    """In how many of the domains with labels a method's intervals held, none of them set on the domain itself.

    They held in a domain where at least ``level`` of the shifts into it lay inside. ``share`` is the mean over domains
    of the share of shifts inside, ``low`` and ``high`` its 95% interval over domains; ``level`` that of the intervals,
    a mean where they have several.
    """

    level: float
    held: int
    n_domains: int
    share: float
    low: float
    high: float


class MethodOrder(Record):
    """How a method orders the targets of each source, means over models and sources of the boards.

    ``regret`` is the true score of the target named worst less the lowest one, ``chance`` what a forecast without
    knowledge has on average; ``pairs`` is the share of the pairs that labels separate that are ordered right. Each
    ``p`` is over permutations of the domains, of all models at once. ``n_domains`` are the targets ordered.
    """

    regret: float
    chance: float
    p_regret: float
    pairs: float | None
    p_pairs: float | None
    n_domains: int


class MethodErrors(Record):
    """How a method did where labels are known: means over target domains of means over their models and sources.

    ``error`` is the mean absolute error, ``bias`` the mean of forecast less truth, ``interval_score`` Winkler's, at the
    levels of ``held``. ``skill`` by floor is the share of its error that the method saves, on shifts that both
    forecast; ``p`` is that of a paired test over target domains, null with fewer than 6 of them: the test cannot tell.
    ``order`` is null of floors and corrected methods, and where no source has two targets. Over several boards,
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
    n_ranked: None = pydantic.Field(default=None, description="Null from 0.3 on: ``order`` says it. Ends with 0.4")
    rank_correlation: None = pydantic.Field(
        default=None, description="Null from 0.3 on: ``order`` says it. Ends with 0.4"
    )


class TaskForecast(Record):
    """Forecasts of all shifts of one task of one prediction file.

    ``metric`` is the mean over texts that is forecast. ``labelled`` are the target domains whose labels are known:
    their errors set the intervals. ``orders`` has one for each source; ``notes`` have domains in single quotes.
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
        default=None, description="Null from 0.3 on: no other board sets intervals. Ends with 0.4"
    )


class MethodComparison(Record):
    """All methods on all models with probabilities, board by board and over all boards."""

    boards: tuple[BoardStandings, ...]
    left_out: tuple[str, ...]
    concept_shift: str
