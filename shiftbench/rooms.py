"""The packages that are installed beside this one: Python must find these, and no others of their names."""

import os
from importlib.util import find_spec

ROOMS = ("builders", "baselines", "leaderboard", "validation")


def check_rooms() -> None:
    """Check that Python finds our own packages; their names are common, and nothing is imported for it.

    Raises: ImportError naming the package that something else hides, and where that lies.
    """
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name in ROOMS:
        ours, location = os.path.join(home, name), _import_location(name)
        if location != ours and not (location and os.path.exists(location) and os.path.samefile(location, ours)):
            raise ImportError(_describe_clash(name, ours, location), name=name, path=location)


def _import_location(name: str) -> str | None:
    """Find the folder (or the single file) that ``import name`` would read; None where there is none."""
    spec = find_spec(name)
    if spec is None:
        return None
    if spec.origin is None:  # a folder without __init__.py
        return next(iter(spec.submodule_search_locations or ()), None)
    folder, file = os.path.split(spec.origin)
    return folder if file.startswith("__init__.") else spec.origin


def _describe_clash(name: str, ours: str, location: str | None) -> str:
    if location is None:
        return f"shiftbench needs its package '{name}', which is not at {ours}; install shiftbench again"
    return (
        f"shiftbench needs its own package '{name}' at {ours}, but Python finds another one first, at {location}; "
        "rename it, run Python from another folder, or uninstall the distribution that it belongs to"
    )
