"""Loading any model for a task: what ``predict`` and ``check`` ask, by one interface.

A model is named by its ``spec``: a Hub id or folder (``pretrained``, ``sentence_model``), ``module:callable``
(``callables``), a scikit-learn pipeline saved with skops, or a pickle that is trusted (``pipelines``), or the URL of an
OpenAI-compatible server (``served``). ``loading`` tells them apart, ``labels`` maps labels by name and never by
position, ``doubts`` says where another order of labels would score far better, ``parts`` predicts rows in parts
that outlive a stop, and ``heads`` lets fine-tuning start from a checkpoint's own head.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shiftbench.baselines.models.doubts import list_doubts
    from shiftbench.baselines.models.labels import parse_label_map
    from shiftbench.baselines.models.loaded import LoadedModel, RowFailure, TextCounts
    from shiftbench.baselines.models.loading import load_model
    from shiftbench.baselines.models.parts import predict_in_parts

__all__ = [
    "LoadedModel", "RowFailure", "TextCounts", "list_doubts", "load_model", "parse_label_map", "predict_in_parts",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(("LoadedModel", "RowFailure", "TextCounts"), "loaded"),
    "list_doubts": "doubts",
    "load_model": "loading",
    "parse_label_map": "labels",
    "predict_in_parts": "parts",
}
"""The module of each name: the commands' options are read without importing any of them."""


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'shiftbench.baselines.models' has no attribute {name!r}")
    return getattr(importlib.import_module(f"shiftbench.baselines.models.{_HOMES[name]}"), name)
