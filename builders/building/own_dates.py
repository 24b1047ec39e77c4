"""Dates as domains: grouped by month, quarter or year, because a domain for each day has too few texts."""

from collections.abc import Mapping

import polars as pl

from shiftbench.validation.report import InvalidInput, Problem, and_more

_FORMATS: Mapping[str, str] = {
    "%Y-%m-%d": "2024-03-31",
    "%Y/%m/%d": "2024/03/31",
    "%Y%m%d": "20240331",
    "%d.%m.%Y": "31.03.2024",
    "%m/%d/%Y": "03/31/2024",
    "%d/%m/%Y": "31/03/2024",
}
_NAMES = {
    "week": pl.col("date").dt.strftime("%G-W%V"),
    "month": pl.col("date").dt.strftime("%Y-%m"),
    "quarter": pl.format("{}-q{}", pl.col("date").dt.year(), pl.col("date").dt.quarter()),
    "year": pl.col("date").dt.strftime("%Y"),
}
_SHARE = 0.95
"""Minimum share of distinct values that are dates, for a column of dates."""


def look_like_dates(domains: pl.Series) -> bool:
    """Return whether nearly all distinct values are dates.

    Args:
        domains: values as text. A date has day, month and year, such as ``2024-03-31``; a time may follow.
    """
    values = domains.drop_nulls().unique()
    least = max(2, _SHARE * len(values))
    return any(int(_parse_dates(values, form).is_not_null().sum()) >= least for form in _FORMATS)


def count_spans(domains: pl.Series) -> dict[str, int]:
    """Count the domains that grouping by week, month and so on would create.

    Args:
        domains: dates as text; other values are ignored.
    Returns: number of domains by span.
    """
    form = _best_form(domains)
    dates = pl.DataFrame({"date": _parse_dates(domains, form).drop_nulls()})
    return {span: int(dates.select(name.n_unique()).item()) for span, name in _NAMES.items()}


def group_dates(domains: pl.Series, span: str, file: str, column: str) -> pl.Series:
    """Group dates by a span of time.

    Args:
        domains: dates as text; a time of day after the date is ignored; nulls stay.
        span: ``week``, ``month``, ``quarter`` or ``year``.
        file, column: the file and its column, for error messages.
    Returns: names of the spans, such as ``2024-W13``, ``2024-03``, ``2024-q1`` or ``2024``.
    Raises: InvalidInput if a value is not a date, or day and month are ambiguous.
    """
    form = _best_form(domains)
    dates = _parse_dates(domains, form)
    bad = (dates.is_null() & domains.is_not_null()).arg_true()
    if len(bad):
        value = repr(domains[int(bad[0])])[:80] + and_more(len(bad) - 1)
        cure = "write dates as 2024-03-31, or use the role 'domain' instead of week, month, quarter or year"
        raise InvalidInput(Problem("a value is not a date", file, value, cure, column=column, row=int(bad[0]) + 1))
    if form in ("%m/%d/%Y", "%d/%m/%Y"):
        other = "%d/%m/%Y" if form == "%m/%d/%Y" else "%m/%d/%Y"
        if _parse_dates(domains, other).is_not_null().all() and span != "year":
            what, cure = "these dates are ambiguous: day and month could be swapped", "write dates as 2024-03-31"
            raise InvalidInput(Problem(what, file, repr(domains[0])[:80], cure, column=column))
    return pl.DataFrame({"date": dates}).select(domain=_NAMES[span])["domain"]


def _best_form(domains: pl.Series) -> str:
    """Return the date format that parses most values; the first in case of ties."""
    values = domains.drop_nulls().unique()
    return max(_FORMATS, key=lambda form: int(_parse_dates(values, form).is_not_null().sum()))


def _parse_dates(values: pl.Series, form: str) -> pl.Series:
    """Parse dates of one format; null for other values. Only a time may follow a date."""
    length = len(_FORMATS[form])
    text = values.str.strip_chars()
    after = text.str.slice(length)
    dates = text.str.slice(0, length).str.to_date(form, strict=False)
    is_whole = (text.str.len_chars() >= length) & ((after == "") | after.str.contains(r"^[T ]\d{1,2}:\d{2}"))
    return dates.set(~is_whole.fill_null(value=False), None)
