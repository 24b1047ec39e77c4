"""The front door: what a notebook imports, each name explained by its docstring.

    import shiftbench as sb

    data = sb.open_dataset("build/dr")
    scores = sb.score("preds.parquet", data)

Nothing heavier than this file is imported until a name is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
"""The public names, which ``__init__.pyi`` lists with the module of each."""
