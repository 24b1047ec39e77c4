"""What single annotators score, in words that stand beside what models do."""

from shiftbench.scoring.reports.numbers import metric_name, points
from shiftbench.scoring.scores.shape import Annotators

ANNOTATORS = "Single annotators"
AGAINST_OTHERS = "one annotator against the majority of the others on the same test texts"


def annotator_words(annotators: Annotators, metric: str) -> str:
    """Return how well single annotators agree, on average and by domain.

    Args:
        annotators: their scores.
        metric: the task's metric.
    """
    by_domain = ", ".join(f"{domain} {points(value)}" for domain, value in annotators.others.items())
    return (
        f"Single annotators reach {points(annotators.mean_others)} {metric_name(metric)} against the majority of the "
        f"others ({by_domain}), and {points(annotators.mean_gold)} against the gold label, which their own votes "
        "helped to make."
    )
