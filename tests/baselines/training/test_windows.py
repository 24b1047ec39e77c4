"""Windows cover a text without gaps, full and overlapping."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.training.pieces import windows
from tests.refusals import refusal


@given(length=st.integers(0, 400), size=st.integers(1, 60))
def test_windows_cover_everything_and_share_a_third(length: int, size: int) -> None:
    cuts = windows(length, size)
    assert cuts[0].start == 0
    assert cuts[-1].stop == length
    assert len(cuts) == 1 or {len(cut) for cut in cuts} == {size}
    for before, after in pairwise(cuts):
        assert before.start < after.start <= before.stop - size // 3
    # One fewer could not cover it with such an overlap.
    assert len(cuts) == 1 or size + (len(cuts) - 2) * (size - size // 3) < length


def test_no_room_is_an_error(wording: SnapshotAssertion) -> None:
    assert refusal(ValueError, windows, 3, 0) == wording
