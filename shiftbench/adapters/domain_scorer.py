"""A scikit-learn scorer by domain: the worst domain's score, the mean, or the drop from the source domain.

Example:
    from shiftbench.adapters.domain_scorer import domain_scorer

    scorer = domain_scorer("worst_st", column="site")
    cross_validate(pipeline, frame, labels, groups=frame["author"], scoring=scorer)
"""

from collections.abc import Callable
from typing import Any

from shiftbench.adapters.compute import compute
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

_SIGNS = {"mean_st": 1, "worst_st": 1, "ss": 1, "mean_sd": -1, "worst_sd": -1}
"""Sign of each score: drops are better when smaller, so a search maximises their negative."""
_OF_HOME = ("ss", "mean_sd", "worst_sd")


def domain_scorer(
    figure: str = "worst_st", *, column: str | None = None, home: Any = None, metric: str = "macro_f1"
) -> Callable[..., float]:
    """Build a scorer; larger is better.

    Args:
        figure: ``worst_st``, ``mean_st``, ``ss``, ``mean_sd`` or ``worst_sd``; the last three need ``home``. Drops are
            returned as negatives.
        column: the column of ``X``, a data frame, with domains; by default they are passed as the metadata ``domains``
            (``sklearn.set_config(enable_metadata_routing=True)``, ``params={"domains": ...}``).
        home: the source domain.
        metric: macro_f1 or accuracy.
    Returns: a scorer for ``scoring=`` of cross_validate, GridSearchCV and others.
    Raises: InvalidInput if there is no such score, or ``home`` is missing.
    """
    if figure not in _SIGNS:
        raise InvalidInput(Problem("there is no such metric", "figure", repr(figure), did_you_mean(figure, [*_SIGNS])))
    if figure in _OF_HOME and home is None:
        raise InvalidInput(
            Problem(f"'{figure}' needs a source domain", "home", cure="give the domain that the model was trained on")
        )

    def value(gold: Any, predicted: Any, *, domains: Any) -> float:
        figures = compute(predictions=predicted, references=gold, domains=domains, home=home, metric=metric)
        return figures[figure]

    if column is None:
        from sklearn.metrics import make_scorer

        scorer: Any = make_scorer(value, greater_is_better=_SIGNS[figure] > 0)
        return scorer.set_score_request(domains=True)  # type: ignore[no-any-return]

    def score(estimator: Any, x: Any, y: Any) -> float:
        return _SIGNS[figure] * value(y, estimator.predict(x), domains=x[column])

    return score
