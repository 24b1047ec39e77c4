"""The list of what was drawn and what was not, as a table for a terminal and as JSON."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from shiftbench.scoring.papers.analysis.figures import Analysis
from shiftbench.scoring.reports.plain_tables import PlainTable


def analysis_lines(analyses: Sequence[Analysis], out: Path, notes: Sequence[str]) -> Iterator[RenderableType]:
    """List a table of the figures drawn, what each leaves out, and what could not be drawn.

    Args:
        analyses: the analyses, drawn or not.
        out: the folder of their files.
        notes: what holds of all of them.
    """
    drawn = [each for each in analyses if each.drawn]
    if not drawn:
        yield "Nothing could be drawn from these entries; the reasons follow."
    if drawn:
        rows = [
            [each.figure.name, each.figure.paper or "-", f"{each.findings.rows.height:,}",
             " ".join(path.suffix[1:] for path in each.files(out))]
            for each in drawn
        ]  # fmt: skip
        columns = ("figure", "paper", "rows", "files")
        yield PlainTable(f"Drawn into {out}", columns, rows, texts=("paper", "files"))
    for each in drawn:
        yield from (f"{each.figure.name} leaves out: {line}" for line in each.findings.left_out)
    for each in analyses:
        if not each.drawn:
            yield from (f"{each.figure.name} not drawn: {line}" for line in each.findings.left_out)
    yield from (Text(note, style="yellow") for note in notes)


def as_json(analyses: Sequence[Analysis], n_entries: int, out: Path, notes: Sequence[str]) -> dict[str, Any]:
    """Write analyses as plain JSON data.

    Args:
        analyses: the analyses, drawn or not.
        n_entries: entries that they were made from.
        out: the folder of their files.
        notes: what holds of all of them.
    Returns: ``{"entries", "figures", "notes"}`` with paths as text.
    """
    return {
        "entries": n_entries,
        "figures": [
            {
                "name": each.figure.name,
                "drawn": each.drawn,
                "rows": each.findings.rows.height,
                "files": [str(path) for path in each.files(out)],
                "left_out": list(each.findings.left_out),
            }
            for each in analyses
        ],
        "notes": list(notes),
    }
