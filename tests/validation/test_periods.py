"""Names of periods: their order, gaps, and ranges."""

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.validation.periods import find_timeline
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal


@pytest.mark.parametrize(
    ("names", "unit", "steps"),
    [
        (["2025-02", "2024-12", "2025-01"], "month", [0, 1, 2]),
        (["2025-W01", "2024-W52", "2025w03"], "week", [0, 1, 3]),
        (["2025-q1", "2024-Q4", "2025Q3"], "quarter", [0, 1, 3]),
        (["2021", "2019"], "year", [0, 2]),
        (["2025-03-01", "2025-02-28"], "day", [0, 1]),
    ],
)
def test_dates_are_recognised_and_gaps_counted(names: list[str], unit: str, steps: list[int]) -> None:
    timeline = find_timeline(names)
    assert timeline is not None
    places = list(timeline.places.values())
    assert (timeline.unit, [place - places[0] for place in places]) == (unit, steps)


@pytest.mark.parametrize("names", [["2025-01", "books"], ["2025-01", "2025-Q1"], ["2025-13"], ["1", "2"], []])
def test_other_names_are_no_dates(names: list[str]) -> None:
    assert find_timeline(names) is None


def test_ordered_names_follow_by_number_or_as_they_are() -> None:
    by_number = find_timeline(["10", "9", "-1.5"], is_ordered=True)
    as_they_are = find_timeline(["beta", "alpha"], is_ordered=True)
    assert by_number is not None
    assert list(by_number.places) == ["-1.5", "9", "10"]
    assert as_they_are is not None
    assert as_they_are.places == {"beta": 0, "alpha": 1}
    assert as_they_are.range("beta..alpha") == ("beta", "alpha")


def test_a_range_is_of_the_periods_that_begin_in_it() -> None:
    weeks = find_timeline([f"2025-W{week:02}" for week in range(1, 20)])
    assert weeks is not None
    assert weeks.range("2025-01..2025-02") == tuple(f"2025-W{week:02}" for week in range(2, 10))
    assert weeks.range("2025-W03..2025-W05") == ("2025-W03", "2025-W04", "2025-W05")
    assert weeks.range("2025-Q1")[-1] == "2025-W14"
    assert len(weeks.range("2024..2025")) == 19


def test_what_is_no_range_is_refused(wording: SnapshotAssertion) -> None:
    months, versions = find_timeline(["2025-01", "2025-02"]), find_timeline(["v1", "v2"], is_ordered=True)
    assert months is not None
    assert versions is not None
    assert [
        refusal(InvalidInput, months.range, "2024-01..2024-03"),
        refusal(InvalidInput, months.range, "spring"),
        refusal(InvalidInput, versions.range, "v1..v3"),
    ] == wording
