"""The list of what was drawn and what was not, as a table for a terminal and as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from shiftbench.scoring.papers.analysis.figures import Analysis
from shiftbench.scoring.reports.terminal import print_table


def print_analyses(analyses: Sequence[Analysis], out: Path, notes: Sequence[str], console: Console) -> None:
    """Print a table of the figures drawn, what each leaves out, and what could not be drawn.

    Args:
        analyses: the analyses, drawn or not.
        out: the folder of their files.
        notes: what holds of all of them.
        console: where it is printed.
    """
    drawn = [each for each in analyses if each.drawn]
    if not drawn:
        console.print("Nothing could be drawn from these entries; the reasons follow.", markup=False)
    if drawn:
        rows = [
            [each.figure.name, each.figure.paper or "-", f"{each.findings.rows.height:,}",
             " ".join(path.suffix[1:] for path in each.files(out))]
            for each in drawn
        ]  # fmt: skip
        columns = ("figure", "paper", "rows", "files")
        print_table(console, f"Drawn into {out}", columns, rows, texts=("paper", "files"))
    for each in drawn:
        _print_lines(console, f"{each.figure.name} leaves out", each.findings.left_out)
    for each in analyses:
        if not each.drawn:
            _print_lines(console, f"{each.figure.name} not drawn", each.findings.left_out)
    for note in notes:
        console.print(note, style="yellow", markup=False, highlight=False)


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


def _print_lines(console: Console, title: str, lines: Sequence[str]) -> None:
    for line in lines:
        console.print(f"{title}: {line}", markup=False, highlight=False, soft_wrap=True)
