"""Results of scoring and comparing: tables, LaTeX and pictures; they show as HTML in Jupyter and as text elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from shiftbench.notebook.tables import COMPARISON_TABLES, SCORE_TABLES, Rows, Schema
from shiftbench.scoring.comparing.shape import Comparison
from shiftbench.scoring.reports import exports
from shiftbench.scoring.reports.plain_tables import (
    PlainTable,
    comparison_table,
    html,
    latex,
    means_table,
    shifts_table,
    summary_table,
)
from shiftbench.scoring.reports.terminal import comparison_lines, score_lines, warnings
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.plain_console import printed_text
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

T = TypeVar("T")

_LATEX: Mapping[str, Callable[[Scores], PlainTable]] = {"shifts": shifts_table, "summary": summary_table}


class _Result:
    """Tables by name; what they are made of is the sub-class's."""

    _tables: Mapping[str, tuple[Schema, Rows]]
    _content: Any

    def table(self, name: str) -> pl.DataFrame:
        """Build a polars table: fractions in [0, 1], drops in [-1, 1], null where undefined.

        Args:
            name: of scores "summary", "shifts", "in_domain", "depth", "id_ood", "confidence" or "missing"; of a
                comparison "shifts" or "means". ``shiftbench/notebook/tables.py`` lists the columns.
        Raises: InvalidInput for another name.
        """
        schema, rows = _choose(self._tables, name, "table")
        return pl.DataFrame(list(rows(self._content)), schema=schema, orient="row")

    def to_pandas(self, name: str = "shifts") -> "pd.DataFrame":
        """Build a table as a pandas frame.

        Raises: ImportError when pandas is not installed, InvalidInput for a name that ``table`` does not have.
        """
        if find_spec("pandas") is None:
            raise ImportError("to_pandas needs pandas, which is not installed: pip install pandas", name="pandas")
        return self.table(name).to_pandas()


class ScoreResult(_Result):
    """Scores of one prediction file, as ``score`` returns them.

    Attributes:
        scores: all figures with their intervals, as ``shiftbench score --json`` prints them (fractions).
    """

    _tables = SCORE_TABLES

    def __init__(self, scores: Scores) -> None:
        self.scores = self._content = scores

    def to_latex(self, name: str = "shifts") -> str:
        """Write "shifts" or "summary" as a LaTeX table (booktabs), in points, intervals in brackets."""
        return latex(_choose(_LATEX, name, "LaTeX table")(self.scores), warnings(self.scores))

    def plot(self, name: str = "matrix", task: str | None = None) -> "Figure":
        """Draw a matplotlib figure, in points.

        Args:
            name: "matrix" (ST, SD and TD of sources by targets), "scenarios" (the plane of SD and TD) or "depth"
                (Depth F1 by lambda).
            task: draw this task alone; by default every task has its row of panels.
        Raises: InvalidInput for another name or task, or when there is nothing to draw.
        """
        from shiftbench.notebook.plots import PLOTS

        return _choose(PLOTS, name, "plot")(self.scores, task)

    def _repr_html_(self) -> str:
        return html([summary_table(self.scores), shifts_table(self.scores)], warnings(self.scores))

    def __repr__(self) -> str:
        """Return what ``shiftbench score`` prints."""
        return printed_text(score_lines(self.scores))


class ComparisonResult(_Result):
    """Entries compared with the first of them, as ``compare`` returns them.

    Attributes:
        comparisons: the first entry with each other one, as ``shiftbench compare --json`` holds them (fractions).
    """

    _tables = COMPARISON_TABLES

    def __init__(self, comparisons: Sequence[Comparison]) -> None:
        self.comparisons = self._content = tuple(comparisons)

    def to_latex(self) -> str:
        """Write a LaTeX table (booktabs), in points; bold where the corrected p is below 0.05."""
        return exports.latex(self.comparisons, [self.comparisons[0].a, *(pair.b for pair in self.comparisons)])

    def _repr_html_(self) -> str:
        return html([means_table(self.comparisons), comparison_table(self.comparisons)])

    def __repr__(self) -> str:
        """Return what ``shiftbench compare`` prints."""
        return printed_text(comparison_lines(self.comparisons))


def _choose(choices: Mapping[str, T], name: str, what: str) -> T:
    """Return the choice of this name; InvalidInput suggests one where there is none."""
    if name not in choices:
        raise InvalidInput(Problem(f"there is no such {what}", "name", f"'{name}'", did_you_mean(name, list(choices))))
    return choices[name]
