"""Dates in the domain column: noticed, and grouped by spans of time when asked."""

from datetime import date, timedelta

import polars as pl
import pytest

from shiftbench.builders.building.own_columns import Columns
from shiftbench.builders.building.own_dates import count_spans, group_dates, look_like_dates
from shiftbench.builders.building.own_rows import own_rows
from shiftbench.builders.building.own_tables import table_of
from shiftbench.validation.report import InvalidInput

DAYS = [str(date(2024, 1, 1) + timedelta(days=number)) for number in range(400)]


def frame(domains: list[str]) -> pl.DataFrame:
    labels = ["yes" if number % 2 else "no" for number in range(len(domains))]
    site = [f"site {number % 3}" for number in range(len(domains))]
    texts = [f"text {number}" for number in range(len(domains))]
    return pl.DataFrame({"text": texts, "label": labels, "day": domains, "site": site})


def refusal(domains: list[str], **columns: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        own_rows([table_of(frame(domains), "mine.csv")], Columns(**{"domain": "day", **columns}))
    return str(refused.value)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["2024-01-31", "2024-05-02T10:15:00Z"], ["2024-q1", "2024-q2"]),
        (["2024-01-31 23:59", "2023-12-31 00:00"], ["2024-q1", "2023-q4"]),
        (["31.12.2023", "01.04.2024"], ["2023-q4", "2024-q2"]),
        (["12/31/2023", "04/01/2024"], ["2023-q4", "2024-q2"]),
        (["31/12/2023", "01/04/2024"], ["2023-q4", "2024-q2"]),
        (["20231231", "20240401"], ["2023-q4", "2024-q2"]),
    ],
)
def test_dates_are_grouped_in_any_usual_form(written: list[str], expected: list[str]) -> None:
    assert look_like_dates(pl.Series(written))
    assert group_dates(pl.Series(written), "quarter", "mine.csv", "day").to_list() == expected


def test_day_and_month_are_not_guessed() -> None:
    with pytest.raises(InvalidInput, match="ambiguous"):
        group_dates(pl.Series(["03/04/2024", "05/06/2024"]), "month", "mine.csv", "day")
    assert group_dates(pl.Series(["03/04/2024", "05/06/2024"]), "year", "mine.csv", "day").to_list() == ["2024"] * 2


def test_what_is_no_date_is_named_with_its_row() -> None:
    message = refusal(["2024-01-01", "soon", "2024-02-01"], domain_by="month")
    assert "'day', row 2: " in message
    assert not look_like_dates(pl.Series(["books", "2024-01-01"]))
    assert not look_like_dates(pl.Series(["r20240101", "r20240102"]))


def test_rows_get_spans_as_domains_and_dates_are_noticed() -> None:
    grouped = own_rows([table_of(frame(DAYS), "mine.csv")], Columns(domain="day", domain_by="month"))
    assert grouped.frame["domain"].n_unique() == count_spans(pl.Series(DAYS))["month"] == 14
    plain = own_rows([table_of(frame(DAYS), "mine.csv")], Columns(domain="day"))
    words = "400 domains, these are dates: group them with --columns month=NAME (14 domains)"
    assert any(words in note for note in plain.notes)


def test_ids_by_mistake_are_told_with_columns_that_may_be_meant() -> None:
    message = refusal([f"user {number}" for number in range(5_000)])
    assert "5,000" in message
    assert "'site' (3)" in message
    days = [str(date(2000, 1, 1) + timedelta(days=number)) for number in range(5_000)]
    assert "month=NAME" in refusal(days)
