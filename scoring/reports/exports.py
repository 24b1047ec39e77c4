"""Comparisons as text for papers, notes and spreadsheets: LaTeX (booktabs), Markdown, CSV, BibTeX.

All take the comparisons of one first entry with others, and the names of all, the first one's before.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from shiftbench.metrics.precision import MIN_RUNS
from shiftbench.scoring.comparing.shape import (
    FIGURES,
    TRAINED_MODELS,
    Comparison,
    Difference,
    MeanComparison,
    p_text,
    winner,
)
from shiftbench.scoring.comparing.words import CORRECTED, about_lines
from shiftbench.scoring.reports.numbers import MISSING, plain_points
from shiftbench.validation.csv_export import Cell, guarded_csv
from shiftbench.validation.plain_text import escape_invisible

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    **{letter: f"\\{letter}" for letter in "&%$#_"},
}
_MADE_WITH = ("data", "settings", "subset", "metric_version", "depth_encoder", "token_encoder")
_MARKDOWN = "\\`*_[]<>|~#&$"


def latex_text(text: str) -> str:
    r"""Write a text so that LaTeX prints it as it is.

    >>> print(latex_text("a_b & 50%"))
    a\_b \& 50\%
    """
    return "".join(_LATEX.get(letter, letter) for letter in escape_invisible(" ".join(text.split())))


def markdown_text(text: str) -> str:
    r"""Write a text so that Markdown shows it as it is, in a table too.

    >>> print(markdown_text("a|b *c*"))
    a\|b \*c\*
    """
    return "".join(
        f"\\{letter}" if letter in _MARKDOWN else letter for letter in escape_invisible(" ".join(text.split()))
    )


def latex_tabular(head: Sequence[str], rows: Iterable[Sequence[str]], n_names: int) -> list[str]:
    """Write a ``tabular`` for the LaTeX package booktabs, in lines; cells are LaTeX, the first ones stand left."""
    first, *others = (" & ".join(cells) + r" \\" for cells in (head, *rows))
    begin = rf"\begin{{tabular}}{{{'l' * n_names}{'r' * (len(head) - n_names)}}}"
    return [begin, r"\toprule", first, r"\midrule", *others, r"\bottomrule", r"\end{tabular}"]


def markdown_rows(head: Sequence[str], rows: Iterable[Sequence[str]], n_names: int) -> list[str]:
    """Write a Markdown table, in lines; cells are Markdown, the first ``n_names`` stand left."""
    align = ["---" if number < n_names else "---:" for number in range(len(head))]
    return ["| " + " | ".join(cells) + " |" for cells in (head, align, *rows)]


def latex(pairs: Sequence[Comparison], names: Sequence[str]) -> str:
    """Write comparisons as a table for the LaTeX package booktabs, in points; bold: a difference is significant."""
    head = ["Shift", "Against", *(cell for name in FIGURES for cell in (rf"$\Delta${name}", "$p$"))]
    rows = [
        [latex_text(name).replace("→", r"$\to$"), latex_text(other), *_padded(differences, _latex_cells)]
        for other, name, differences in _comparison_rows(pairs, names)
    ]
    return "\n".join([*latex_tabular(head, rows, 2), f"% {latex_text(_comment(pairs, names))}"]) + "\n"


def markdown(pairs: Sequence[Comparison], names: Sequence[str]) -> str:
    """Write comparisons as a Markdown table, in points; bold where a difference is significant."""
    head = ["Shift", "Against", *(cell for name in FIGURES for cell in (f"Δ{name}", "p"))]
    rows = [
        [markdown_text(name), markdown_text(other), *_padded(differences, _markdown_cells)]
        for other, name, differences in _comparison_rows(pairs, names)
    ]
    return "\n".join(markdown_rows(head, rows, 2)) + f"\n\n{markdown_text(_comment(pairs, names))}\n"


def _padded(differences: Sequence[Difference], written: Callable[[Difference], tuple[str, str]]) -> list[str]:
    cells = [cell for difference in differences for cell in written(difference)]
    return cells + [""] * (2 * (len(FIGURES) - len(differences)))


def csv_table(pairs: Sequence[Comparison], names: Sequence[str]) -> str:
    """Write comparisons as CSV with a header, a row for each difference: fractions, unrounded."""
    header = [
        "a", "b", "entry_a", "entry_b", "task", "source", "target", "figure", "a_minus_b", "low", "high", "p",
        "p_corrected", "better", "at_floor", "about", "runs_needed", "margin", "p_equivalent", *_MADE_WITH,
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
            rows.append([*ids, task, source, target, *tested, *(getattr(pair, name) for name in _MADE_WITH)])
    return guarded_csv(header, rows)


def bibtex(pairs: Sequence[Comparison], names: Sequence[str], said: Sequence[str]) -> str:
    """Write a BibTeX entry of the comparison; ``said`` are its sentences."""
    first = pairs[0]
    key = f"shiftbench-{first.a[:6]}-" + "-".join(pair.b[:6] for pair in pairs)
    title = f"Comparison of {names[0]} with {', '.join(names[1:])}"
    fields = {
        "title": "{" + bibtex_text(title) + "}",
        "howpublished": "shiftbench leaderboard",
        "note": bibtex_text(" ".join(f"{sentence}." for sentence in said)),
    }
    written = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{{''.join(letter for letter in key if letter.isalnum() or letter == '-')},\n{written}\n}}\n"


def bibtex_text(text: str) -> str:
    """Write a text so that BibTeX and LaTeX print it as it is."""
    # BibTeX counts braces, escaped ones too.
    return latex_text(text.replace("{", "(").replace("}", ")").replace("\\", "/"))


def mean_name(mean: MeanComparison) -> str:
    """Describe a mean over shifts: the figure, and what the models were trained on where that is one thing."""
    return mean.difference.figure if mean.source is None else f"{mean.source}, {mean.difference.figure}"


Row = tuple[str, str, Sequence[Difference]]


def _comparison_rows(pairs: Sequence[Comparison], names: Sequence[str]) -> Iterator[Row]:
    """List the rows of a table: the other's name, what was compared, and by which figures."""
    for other, pair in zip(names[1:], pairs, strict=True):
        for mean in pair.means:
            yield other, f"{mean.task}: {mean_name(mean)}", (mean.difference,)
        for shift in pair.shifts:
            yield other, f"{shift.task}: {shift.source} → {shift.target}", shift.differences


def _comment(pairs: Sequence[Comparison], names: Sequence[str]) -> str:
    first = pairs[0]
    entries = ", ".join(pair.b for pair in pairs)
    return (
        f"{names[0]} minus the other, in points; {CORRECTED}; bold: p < 0.05; means stand in the first column. "
        f"{'. '.join(about_lines(pairs))}. "
        f"Entries {first.a} and {entries}, {first.version}, metric version {first.metric_version}."
    )


def _cell(difference: Difference) -> tuple[str, str]:
    p = MISSING if difference.value is None else p_text(difference.p_corrected)
    return plain_points(difference.value, signed=True), p


def _latex_cells(difference: Difference) -> tuple[str, str]:
    value, p = _cell(difference)
    number = rf"$\mathbf{{{value}}}$" if winner(difference) else f"${value}$"
    return (value if value == MISSING else number), p.replace("< ", "$<$")


def _markdown_cells(difference: Difference) -> tuple[str, str]:
    value, p = _cell(difference)
    return (f"**{value}**" if winner(difference) else value), p.replace("<", "&lt;")
