"""The front door: what a notebook imports, each name explained in ``shiftbench/README.md``.

    import shiftbench as sb

    data = sb.open_dataset("build/dr")
    scores = sb.score("preds.parquet", data)

Nothing heavier than this file is imported until a name is first used.
"""

from typing import Any

import lazy_loader

_import_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
"""The public names, which ``__init__.pyi`` lists with the module of each."""
__all__ += ["__version__"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name != "__version__":
        return _import_name(name)
    from importlib.metadata import version

    return version("shiftbench")
