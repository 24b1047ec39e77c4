"""The last layer of a classifier, and its input features, which methods mix, align, or use to refit the layer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from shiftbench.baselines.robust.losses import inputs_of, logits_of
from shiftbench.baselines.training.prediction import HEADS
from shiftbench.baselines.training.trainer import Batch
from shiftbench.validation.report import InvalidInput, Problem


def last_layer(model: Any) -> nn.Linear:
    """Find the last linear layer of the model's head; InvalidInput if it has none, or has an adapter."""
    heads = [module for name, module in model.named_modules() if name.rpartition(".")[2] in HEADS]
    layers = [module for head in heads for module in head.modules() if isinstance(module, nn.Linear)]
    if hasattr(model, "peft_config") or not layers:
        what = "this method requires a classifier with a linear last layer and no adapter"
        cure = "omit the method or --adapter"
        raise InvalidInput(Problem(what, "--method", type(model).__name__, cure))
    return layers[-1]


@contextmanager
def reading_features(model: Any) -> Iterator[list[Tensor]]:
    """Collect the last layer's input in each forward pass of the ``with`` block: features, shape (B, d)."""
    seen: list[Tensor] = []
    handle = last_layer(model).register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    try:
        yield seen
    finally:
        handle.remove()


def logits_and_features(model: Any, batch: Batch) -> tuple[Tensor, Tensor]:
    """Compute logits, shape (B, C), and features, shape (B, d), of a batch, both attached to the graph."""
    with reading_features(model) as seen:
        logits = logits_of(model(**inputs_of(batch)))
    return logits, seen[0]


def read_features(model: Any, batch: Mapping[str, Tensor]) -> list[NDArray[np.float32]]:
    """Compute the features of a batch, for prediction: one array of shape (d,) per row."""
    return list(logits_and_features(model, dict(batch))[1].float().cpu().numpy())


def set_last_layer(model: Any, weights: NDArray[np.float64], biases: NDArray[np.float64]) -> None:
    """Overwrite the last layer's weights, shape (C, d), and biases, shape (C,)."""
    layer = last_layer(model)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weights))
        layer.bias.copy_(torch.from_numpy(biases))


def fit_layer(
    features: NDArray[np.float32], labels: NDArray[np.int64], n_classes: int, inverse_penalty: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit the last layer by logistic regression on standardised features (L2).

    Args:
        features: shape (n, d).
        labels: shape (n,), with all classes.
    Returns: weights, shape (C, d), and biases, shape (C,), for the original features.
    """
    from sklearn.linear_model import LogisticRegression

    mean, scale = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    scale = np.where(scale > 0, scale, 1.0)
    fitted = LogisticRegression(C=inverse_penalty, max_iter=1000).fit((features - mean) / scale, labels)
    weights, biases = np.asarray(fitted.coef_) / scale, np.asarray(fitted.intercept_)
    if n_classes == 2:  # scikit-learn returns one row: the log-odds of the second class
        weights, biases = np.stack([np.zeros_like(weights[0]), weights[0]]), np.array([0.0, biases[0]])
    return weights, biases - weights @ mean
