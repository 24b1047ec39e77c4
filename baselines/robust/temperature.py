"""Temperature scaling: calibrates confidences on the source domain (Guo et al. 2017)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.baselines.robust.method import MethodTraining, TrainingMethod

LEAST, MOST = 0.05, 20.0


@dataclass(frozen=True)
class Temperature(TrainingMethod):
    """Temperature scaling: confidences are calibrated on the source's validation rows; predictions do not change."""

    of_validation = True

    def adjust(
        self, training: MethodTraining, model: Any, logits: NDArray[np.float64], rows: pl.DataFrame
    ) -> NDArray[np.float64]:
        """Divide logits by the temperature fitted on the validation rows."""
        held_out = training.validation
        assert held_out is not None
        assert training.logits is not None
        labels = held_out["label"].to_numpy().astype(np.int64)
        return logits / fit_temperature(training.logits(model, held_out), labels)


def fit_temperature(logits: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Find the temperature T at which ``softmax(logits / T)`` maximises the likelihood of the labels.

    Args:
        logits: logits of the source's validation rows, shape (n, C).
    Returns: T, between 0.05 and 20; above 1 if the model is overconfident.
    Source: Guo et al. 2017, sec. 4.2.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    def loss(log_t: float) -> float:
        log_p = log_softmax(logits / np.exp(log_t), axis=1)
        return float(-log_p[np.arange(len(labels)), labels].mean())

    minimum = minimize_scalar(loss, bounds=(np.log(LEAST), np.log(MOST)), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(minimum.x))
