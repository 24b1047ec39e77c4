"""Formatting of fractions as points (x100), with a placeholder for missing values.

Pages use typographic minus signs. Functions whose names start with ``plain`` write hyphens, for terminals and papers:
all terminals, spreadsheets and LaTeX read these as minus signs.
"""

import re

from shiftbench.scoring.scores.shape import Estimate

MISSING = "n/a"
MINUS = "\N{MINUS SIGN}"
_SIZES = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K"))
_HYPHEN = re.compile(r"(?<![^ \[(])-(?=\d)")


def signed(text: str) -> str:
    """Replace hyphens before numbers with real minus signs.

    >>> signed("loses -1.0 [-2.0, 3.0] points, p 1e-05, see a-1")
    'loses −1.0 [−2.0, 3.0] points, p 1e-05, see a-1'
    """
    return _HYPHEN.sub(MINUS, text)


def plain_points(fraction: float | None, decimals: int = 1, *, signed: bool = False) -> str:
    """Format a fraction in points; a value that rounds to zero has no minus sign.

    >>> plain_points(0.4567), plain_points(None), plain_points(-0.0001), plain_points(0.0278, 2, signed=True)
    ('45.7', 'n/a', '0.0', '+2.78')

    Args:
        fraction: None if missing.
        decimals: number of decimals.
        signed: whether non-negative values get a plus sign.
    """
    if fraction is None:
        return MISSING
    # Adding 0.0 turns a rounded minus zero into zero.
    return f"{round(100 * fraction, decimals) + 0.0:{'+' if signed else ''}.{decimals}f}"


def plain_score(estimate: Estimate, decimals: int = 1) -> str:
    """Format a value in points, with its interval if there is one.

    >>> plain_score(Estimate(value=0.5, low=-0.4, high=0.6)), plain_score(Estimate(value=None))
    ('50.0 [-40.0, 60.0]', 'n/a')
    """
    value = plain_points(estimate.value, decimals)
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return value
    return f"{value} [{plain_points(estimate.low, decimals)}, {plain_points(estimate.high, decimals)}]"


def points(fraction: float | None, decimals: int = 1) -> str:
    """Format a score in points.

    >>> points(0.39816), points(None), points(0.39816, 2), points(-0.1)
    ('39.8', 'n/a', '39.82', '−10.0')
    """
    return plain_points(fraction, decimals).replace("-", MINUS)


def drop_points(fraction: float | None, decimals: int = 1) -> str:
    """Format a drop in points with its sign; a plus means a lower score under shift.

    >>> drop_points(0.0278), drop_points(-0.0123), drop_points(-0.0001)
    ('+2.8', '−1.2', '0.0')
    """
    text = plain_points(fraction, decimals, signed=True)
    return text.replace("-", MINUS) if text.strip("+0.") else text.removeprefix("+")


def interval(estimate: Estimate, decimals: int = 1) -> str:
    """Format an interval in points; ``""`` if there is none.

    >>> interval(Estimate(value=0.021, low=-0.004, high=0.047)), interval(Estimate(value=0.021))
    ('[−0.4, 4.7]', '')
    """
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{points(estimate.low, decimals)}, {points(estimate.high, decimals)}]"


def half_width(estimate: Estimate, decimals: int = 1) -> str:
    """Format half the width of an interval, in points; ``""`` if there is none.

    >>> half_width(Estimate(value=0.87, low=0.862, high=0.88)), half_width(Estimate(value=0.87))
    ('±0.9', '')
    """
    if estimate.low is None or estimate.high is None:
        return ""
    return f"\N{PLUS-MINUS SIGN}{points((estimate.high - estimate.low) / 2, decimals)}"


def score_text(estimate: Estimate) -> str:
    """Format a score in points, with its interval if there is one.

    >>> score_text(Estimate(value=0.4, low=0.38, high=0.42)), score_text(Estimate(value=None))
    ('40.0 [38.0, 42.0]', 'n/a')
    """
    return f"{points(estimate.value)} {interval(estimate)}".rstrip()


def drop_text(estimate: Estimate) -> str:
    """Format a drop in points, signed, with its interval if there is one.

    >>> drop_text(Estimate(value=0.04, low=-0.01, high=0.09))
    '+4.0 [−1.0, 9.0]'
    """
    return f"{drop_points(estimate.value)} {interval(estimate)}".rstrip()


def share(fraction: float | None) -> str:
    """Format a share in percent.

    >>> share(0.75), share(None)
    ('75%', 'n/a')
    """
    return MISSING if fraction is None else f"{100 * fraction:.0f}%"


def count(number: int | None) -> str:
    """Format an integer with thousands separators.

    >>> count(22700000)
    '22,700,000'
    """
    return MISSING if number is None else f"{number:,}"


def short_count(number: int) -> str:
    """Format a whole number in few characters.

    >>> short_count(22_700_000), short_count(340), short_count(999_900), short_count(9_999)
    ('22.7M', '340', '1M', '9999')
    """
    if number < 10_000:
        return str(number)
    # 999,900 is written as 1M, since it rounds to that with three digits.
    size, letter = next(each for each in _SIZES if number >= 0.9995 * each[0])
    return f"{number / size:.3g}{letter}"


def metric_name(metric: str) -> str:
    """Return a metric's name as papers write it.

    >>> metric_name("macro_f1"), metric_name("accuracy")
    ('macro-F1', 'accuracy')
    """
    return metric.replace("_", "-").replace("f1", "F1")


def p_words(p: float | None) -> str:
    """Format a p value.

    >>> p_words(0.0123), p_words(1e-9), p_words(None)
    ('0.012', 'below 0.001', 'n/a')
    """
    return "n/a" if p is None else "below 0.001" if p < 0.001 else f"{p:.3f}"
