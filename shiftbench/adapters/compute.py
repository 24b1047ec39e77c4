"""``compute``: scores by domain from predictions and references, with the interface of ``evaluate``'s metrics."""

from collections.abc import Sequence
from typing import Any

from shiftbench.metrics.classification import accuracy, confusion_counts, macro_f1
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

METRICS = {"macro_f1": macro_f1, "accuracy": accuracy}


def compute(
    *,
    predictions: Sequence[Any],
    references: Sequence[Any],
    domains: Sequence[Any],
    home: Any = None,
    metric: str = "macro_f1",
) -> dict[str, float]:
    """Return scores by domain, their mean and minimum; with ``home``, also the drops from that domain.

    Args:
        predictions: labels of any type, one per text.
        references: gold labels; a prediction that is not among them counts as wrong.
        domains: the domain of each text.
        home: the source domain.
        metric: macro_f1 (over the classes that occur in each domain) or accuracy.
    Returns: fractions: ``<metric>_<domain>`` for each domain, ``mean_st`` and ``worst_st`` over all domains except
        ``home``, and with ``home`` also ``ss``, ``mean_sd`` and ``worst_sd``. Intervals and tests need
        ``shiftbench.score``.
    Raises: InvalidInput if lengths differ, ``metric`` or ``home`` is unknown, or ``home`` is the only domain.

    >>> compute(predictions=[1, 0, 1, 1], references=[1, 0, 1, 0], domains=["a", "a", "b", "b"], metric="accuracy")
    {'accuracy_a': 1.0, 'accuracy_b': 0.5, 'mean_st': 0.75, 'worst_st': 0.5}
    """
    predicted, gold, places = list(predictions), list(references), list(domains)
    names = list(dict.fromkeys(places))
    _check_inputs((predicted, gold, places), names, home, metric)
    labels = {label: code for code, label in enumerate(dict.fromkeys(gold))}
    tables = confusion_counts(
        [labels[label] for label in gold],
        [labels.get(label, len(labels)) for label in predicted],  # other labels count as unusable output: wrong
        len(labels),
        cells=[names.index(place) for place in places],
        n_cells=len(names),
    )
    scores = {name: float(METRICS[metric](table)) for name, table in zip(names, tables, strict=True)}
    away = [score for name, score in scores.items() if home is None or name != home]
    figures = {f"{metric}_{name}": score for name, score in scores.items()}
    figures |= {"mean_st": sum(away) / len(away), "worst_st": min(away)}
    if home is not None:
        own = scores[home]
        figures |= {"ss": own, "mean_sd": own - figures["mean_st"], "worst_sd": own - figures["worst_st"]}
    return figures


def _check_inputs(columns: tuple[list[Any], ...], names: list[Any], home: Any, metric: str) -> None:
    problems = []
    if len({len(column) for column in columns}) > 1 or not names:
        lengths = ", ".join(str(len(column)) for column in columns)
        cure = "give one prediction, reference and domain per text"
        problems.append(
            Problem(
                "predictions, references and domains differ in length",
                "predictions, references, domains",
                lengths,
                cure,
            )
        )
    if metric not in METRICS:
        problems.append(Problem("there is no such metric", "metric", repr(metric), did_you_mean(metric, list(METRICS))))
    if home is not None and (home not in names or len(names) < 2):
        cure = "give one of the domains; there must be at least two"
        problems.append(Problem("this is not a valid source domain", "home", repr(home), cure))
    if problems:
        raise InvalidInput(problems)
