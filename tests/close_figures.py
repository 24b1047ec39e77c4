"""Comparing what two computations found: floating-point figures with a tolerance, everything else exactly.

The last digits of a figure depend on the processor (its vector instructions decide in which order terms are added), on
library versions, on the number of threads and on the shape of the array that the figure is computed in. Figures that
differ in any of these are compared here. Bytes are compared only where one process made both from the same arrays.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pydantic import BaseModel

ROUNDING = 1e-9
"""Tolerance of a formula in double precision. Adding n terms between 0 and 1 in another order moves their mean by at
most n times 1.1e-16, so by 1e-10 for a million terms; one text of a million moves a score by 1e-6."""
FITTED = 1e-4
"""Tolerance of a classifier's confidence. Its optimiser stops where the gradient is below scikit-learn's default of
1e-4, and rounding may decide which iteration is the last."""


def assert_close(found: Any, expected: Any, tolerance: float = ROUNDING, where: str = "") -> None:
    """Check that two values are equal but for the last digits of their floating-point figures.

    Args:
        found: a number, text, frame or pydantic model, or mappings and sequences of these.
        expected: the same.
        tolerance: of figures, absolute up to 1 and relative above.
        where: the path of the values in what is compared, for the message.
    """
    if isinstance(found, BaseModel) and isinstance(expected, BaseModel):
        assert type(found) is type(expected), where
        found, expected = found.model_dump(), expected.model_dump()
    if isinstance(found, pl.DataFrame):
        assert_frame_equal(found, expected, rel_tol=tolerance, abs_tol=tolerance)
    elif isinstance(found, Mapping) and isinstance(expected, Mapping):
        assert list(found) == list(expected), where
        for key in found:
            assert_close(found[key], expected[key], tolerance, f"{where}.{key}")
    elif isinstance(found, Sequence) and isinstance(expected, Sequence) and not isinstance(found, str | bytes):
        assert len(found) == len(expected), where
        for place, pair in enumerate(zip(found, expected, strict=True)):
            assert_close(*pair, tolerance, f"{where}[{place}]")
    elif isinstance(found, float) and isinstance(expected, float):
        assert found == pytest.approx(expected, rel=tolerance, abs=tolerance, nan_ok=True), where
    else:
        assert found == expected, where
