"""How long servers ask to wait, and how long is waited where they do not say."""

import time
from email.utils import formatdate

import pytest

from shiftbench.validation.retries import draw_wait, read_retry_after


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        ("0.6", 0.6),
        ("-3", 0.0),
        ("nan", 0.0),
        ("", None),
        ("tomorrow", None),
        ("Wed, 21 Oct 99999 07:28:00 GMT", None),
    ],
)
def test_a_number_is_read_and_nonsense_is_not(text: str, seconds: float | None) -> None:
    assert read_retry_after({"Retry-After": text}) == seconds


def test_a_moment_is_read_as_the_time_until_then() -> None:
    found = read_retry_after({"Retry-After": formatdate(time.time() + 90, usegmt=True)})
    assert found is not None
    assert 80 < found <= 90


def test_waits_double_up_to_the_longest_and_differ() -> None:
    for tries, most in ((1, 0.5), (2, 1.0), (5, 8.0), (6, 16.0), (7, 16.0), (10_000, 16.0)):
        waits = [draw_wait(tries, first=0.5, longest=16) for _ in range(50)]
        assert most / 2 <= min(waits) < max(waits) <= most
