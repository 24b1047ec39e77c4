"""Benchmarks defined by this project rather than a paper, each with ``NAME.toml``, ``NAME.bib`` and ``NAME.lock.json``.

Output: the specs, built by ``building`` in the same way as a user's (``build own --spec``).
"""

from pathlib import Path


def spec_files() -> list[Path]:
    """List the specs in this folder, sorted by name."""
    return sorted(Path(__file__).parent.glob("*.toml"))
