"""Comparisons as CSV and BibTeX; for tables see ``terminal.comparison_lines``.

Functions take the comparisons of one first entry with others, and the names of all entries, the first one's first.
"""

import re
from collections.abc import Sequence

from shiftbench.metrics.precision import MIN_RUNS
from shiftbench.scoring.comparing.shape import TRAINED_MODELS, Comparison, winner
from shiftbench.scoring.reports.plain_tables import latex_text
from shiftbench.validation.csv_export import Cell, guarded_csv

_PROVENANCE = ("data", "settings", "subset", "metric_version", "depth_encoder", "token_encoder")


def csv_table(pairs: Sequence[Comparison], names: Sequence[str]) -> str:
    """Write comparisons as CSV with a header and one row per difference: fractions, unrounded."""
    header = [
        "a", "b", "entry_a", "entry_b", "task", "source", "target", "figure", "a_minus_b", "low", "high", "p",
        "p_corrected", "better", "at_floor", "about", "runs_needed", "margin", "p_equivalent", *_PROVENANCE,
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for other, pair in zip(names[1:], pairs, strict=True):
        facts = [(shift.task, shift.source, shift.target, each) for shift in pair.shifts for each in shift.differences]
        facts += [(mean.task, mean.source or "", "+".join(mean.targets), mean.difference) for mean in pair.means]
        for task, source, target, each in facts:
            better = {"a": names[0], "b": other, None: ""}[winner(each)]
            ids = [names[0], other, pair.a, pair.b]
            test_of_task = next((one for one in pair.tasks if one.task == task), None)
            about = (test_of_task.about, test_of_task.runs_needed) if test_of_task else (TRAINED_MODELS, MIN_RUNS)
            values: list[Cell] = [each.figure, each.value, each.low, each.high, each.p, each.p_corrected, better]
            tested = [*values, each.at_floor or "", *about, pair.margin, each.p_equivalent]
            rows.append([*ids, task, source, target, *tested, *(getattr(pair, name) for name in _PROVENANCE)])
    return guarded_csv(header, rows)


def bibtex(key: str, *, author: str, title: str, year: str, url: str, note: str) -> str:
    """Write a BibTeX entry of a page; all fields except the URL are escaped for BibTeX and LaTeX."""
    fields = {
        "author": f"{{{bibtex_text(author)}}}",
        "title": f"{{{bibtex_text(title)}}}",
        "year": year,
        "url": url,
        **({"note": bibtex_text(note)} if note else {}),
    }
    written = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{{re.sub('[^0-9A-Za-z]+', '-', key).strip('-')},\n{written}\n}}\n"


def bibtex_text(text: str) -> str:
    """Escape a text so that BibTeX and LaTeX print it verbatim."""
    # BibTeX counts braces, even escaped ones.
    return latex_text(text.replace("{", "(").replace("}", ")").replace("\\", "/"))
