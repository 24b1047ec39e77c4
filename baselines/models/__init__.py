"""Models of any kind behind one interface, for ``predict`` and ``check``.

A model is named by its ``spec``: a Hub id or folder (``pretrained``, ``sentence_model``), ``module:callable``
(``callables``), a scikit-learn pipeline saved with skops, or a trusted pickle (``pipelines``), or the URL of an
OpenAI-compatible server (``served``). ``loading`` dispatches on the spec, ``labels`` maps labels by name, never by
position, ``doubts`` warns if another order of the labels would score far better, ``parts`` predicts in resumable parts,
and ``heads`` lets fine-tuning start from a checkpoint's own head.
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
"""The module of each name: names are imported lazily, so that reading the commands' options imports no model code."""


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'shiftbench.baselines.models' has no attribute {name!r}")
    return getattr(importlib.import_module(f"shiftbench.baselines.models.{_HOMES[name]}"), name)
