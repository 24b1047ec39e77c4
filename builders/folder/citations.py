"""BibTeX of the papers and data sets that this project names, from ``citations.bib``."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

_FILE = Path(__file__).parent / "citations.bib"


def cite(key: str) -> str:
    """Return a BibTeX entry of ``citations.bib``.

    Args:
        key: the entry's key.
    Returns: the entry as it stands there, several lines without a newline at the end.
    Raises: InvalidInput proposing the nearest key where there is no such entry.
    """
    citations = read_citations()
    if key not in citations:
        raise InvalidInput(
            Problem("there is no such entry", _FILE.name, f"'{key}'", did_you_mean(key, list(citations)))
        )
    return citations[key]


@cache
def read_citations() -> Mapping[str, str]:
    """Read ``citations.bib``: all entries by key."""
    return parse_citations(_FILE.read_text(encoding="utf-8"), _FILE.name)


def parse_citations(text: str, file: str) -> dict[str, str]:
    """Parse BibTeX into entries by key, each as it was written; ``file`` names the text in problems.

    Raises: InvalidInput naming every line with a block that is no entry, or whose key came before.
    """
    from bibtexparser.entrypoint import parse_string

    library = parse_string(text, parse_stack=[])
    if library.failed_blocks:
        raise InvalidInput(
            Problem(
                "this is no BibTeX entry of its own",
                file,
                f"{(block.raw or '').splitlines()[0]!r} in line {(block.start_line or 0) + 1}",
                "close its braces, give each field once, and use no key twice",
            )
            for block in library.failed_blocks
        )
    return {entry.key: entry.raw or "" for entry in library.entries}
