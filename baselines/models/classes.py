"""The classes of an estimator, and their names."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def classes_of(estimator: Any) -> Any:
    """Return the classes of a fitted single-label classifier; None for anything else."""
    classes = getattr(estimator, "classes_", None)
    is_classifier = hasattr(estimator, "predict") and classes is not None and np.ndim(classes) == 1
    return classes if is_classifier else None


def class_names(classes: Sequence[Any] | NDArray[Any]) -> list[str]:
    """Format the classes of an estimator as names; integers without a decimal point.

    >>> class_names(np.array([0.0, 1.0])), class_names(np.array(["no", "yes"]))
    (['0', '1'], ['no', 'yes'])
    """
    values = np.asarray(classes).tolist()
    return [str(int(value)) if isinstance(value, float) and value.is_integer() else str(value) for value in values]
