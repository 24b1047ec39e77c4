"""Benchmarks of ours that no paper defines: ``NAME.toml``, ``NAME.bib`` and ``NAME.lock.json`` each, found by name.

In: nothing. Out: the specs, which ``building`` carries out as it does those of a user (``build own --spec``).
"""

from pathlib import Path


def spec_files() -> list[Path]:
    """List the specs in this folder, in the order of their names."""
    return sorted(Path(__file__).parent.glob("*.toml"))
