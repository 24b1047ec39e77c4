"""The Python API: the names that a notebook imports, each documented by its docstring.

    import shiftbench as sb

    data = sb.open_dataset("build/dr")
    scores = sb.score("preds.parquet", data)

Names are imported lazily, so this import is fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
"""The public names, listed in ``__init__.pyi`` with the module of each."""
