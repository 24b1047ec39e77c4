"""Fractions as readers see them: points (x100), with a word for what is not there."""

from leaderboard.scoring.shape import Estimate

MISSING = "n/a"
MINUS = "\N{MINUS SIGN}"


def points(fraction: float | None, decimals: int = 1) -> str:
    """Give a score in points.

    >>> points(0.39816), points(None), points(0.39816, 2)
    ('39.8', 'n/a', '39.82')
    """
    return MISSING if fraction is None else _signed(f"{100 * fraction:.{decimals}f}")


def drop_points(fraction: float | None, decimals: int = 1) -> str:
    """Give a drop in points with its sign: a plus means that score was lost.

    >>> drop_points(0.0278), drop_points(-0.0123), drop_points(-0.0001)
    ('+2.8', '−1.2', '0.0')
    """
    if fraction is None:
        return MISSING
    text = _signed(f"{100 * fraction:.{decimals}f}")
    return text if text.startswith(MINUS) or not text.strip("0.") else f"+{text}"


def interval(estimate: Estimate, decimals: int = 1) -> str:
    """Give a figure's interval in points; empty where none was computed.

    >>> interval(Estimate(value=0.021, low=-0.004, high=0.047)), interval(Estimate(value=0.021))
    ('[−0.4, 4.7]', '')
    """
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{points(estimate.low, decimals)}, {points(estimate.high, decimals)}]"


def score_text(estimate: Estimate) -> str:
    """Give a score in points, with its interval where there is one.

    >>> score_text(Estimate(value=0.4, low=0.38, high=0.42)), score_text(Estimate(value=None))
    ('40.0 [38.0, 42.0]', 'n/a')
    """
    return f"{points(estimate.value)} {interval(estimate)}".rstrip()


def drop_text(estimate: Estimate) -> str:
    """Give a drop in points, signed, with its interval where there is one.

    >>> drop_text(Estimate(value=0.04, low=-0.01, high=0.09))
    '+4.0 [−1.0, 9.0]'
    """
    return f"{drop_points(estimate.value)} {interval(estimate)}".rstrip()


def share(fraction: float | None) -> str:
    """Give a share in percent.

    >>> share(0.75), share(None)
    ('75%', 'n/a')
    """
    return MISSING if fraction is None else f"{100 * fraction:.0f}%"


def count(number: int | None) -> str:
    """Give a whole number with thin groups of three.

    >>> count(22700000)
    '22,700,000'
    """
    return MISSING if number is None else f"{number:,}"


def metric_name(metric: str) -> str:
    """Give a metric's name as papers write it.

    >>> metric_name("macro_f1"), metric_name("accuracy")
    ('macro-F1', 'accuracy')
    """
    return metric.replace("_", "-").replace("f1", "F1")


def _signed(text: str) -> str:
    """Write a real minus sign, and no sign before a zero."""
    if not text.strip("-0."):
        return text.lstrip("-")
    return text.replace("-", MINUS)
