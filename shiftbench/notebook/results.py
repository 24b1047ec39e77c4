"""Results of scoring and comparing: tables, LaTeX and plots; displayed as HTML in Jupyter and as text elsewhere."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
from rich.console import RenderableType

from shiftbench.notebook.tables import COMPARISON_TABLES, SCORE_TABLES, Rows, Schema
from shiftbench.scoring.comparing.shape import Comparison
from shiftbench.scoring.comparing.unit_ranks import Ranking, Standing
from shiftbench.scoring.forecasting.shape import Forecasts
from shiftbench.scoring.reports.check import check_lines
from shiftbench.scoring.reports.forecast import forecast_html, forecast_lines
from shiftbench.scoring.reports.gate import gate_lines, junit_xml
from shiftbench.scoring.reports.pictures.files import svg_file
from shiftbench.scoring.reports.pictures.rows import rank_intervals
from shiftbench.scoring.reports.plain_tables import PlainTable, as_html, as_latex, as_markdown
from shiftbench.scoring.reports.plan_tables import plan_lines
from shiftbench.scoring.reports.rank_tables import rank_lines, rank_report
from shiftbench.scoring.reports.terminal import comparison_lines, score_lines, shifts_table, summary_table, warnings
from shiftbench.scoring.scores.limits import GateReport
from shiftbench.scoring.scores.plan import DetectionPlan
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.command_line import require
from shiftbench.validation.plain_console import printed_text
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from shiftbench.checking.check import Checked
    from shiftbench.checking.label_draws import Draw
    from shiftbench.checking.label_rows import LabelRows
    from shiftbench.checking.sampled_scores import SampledScore

T = TypeVar("T")

_LATEX: Mapping[str, Callable[[Scores], PlainTable]] = {"shifts": shifts_table, "summary": summary_table}


class _Result:
    """Base class of results with named tables; subclasses define the content."""

    _tables: Mapping[str, tuple[Schema, Rows]]
    _content: Any

    def table(self, name: str) -> pl.DataFrame:
        """Build a polars table: fractions in [0, 1], drops in [-1, 1], null if undefined.

        Args:
            name: for scores "summary", "shifts", "in_domain", "depth", "id_ood", "confidence" or "missing"; for a
                comparison "shifts" or "means". ``shiftbench/notebook/tables.py`` lists the columns.
        Raises: InvalidInput for another name.
        """
        schema, rows = _choose(self._tables, name, "table")
        return pl.DataFrame(list(rows(self._content)), schema=schema, orient="row")

    def to_pandas(self, name: str = "shifts") -> "pd.DataFrame":
        """Build a table as a pandas frame.

        Raises: ImportError if pandas is not installed, InvalidInput for a name that ``table`` does not accept.
        """
        if find_spec("pandas") is None:
            raise ImportError("to_pandas needs pandas, which is not installed: pip install pandas", name="pandas")
        return self.table(name).to_pandas()


class _Words:
    """Base class of results made of sentences and tables, which are rendered as text, HTML, Markdown and LaTeX.

    Subclasses return these parts from ``_parts``; they are the output of the command of the same name.
    """

    def _parts(self) -> Iterable[RenderableType]:
        raise NotImplementedError

    def _lines_and_tables(self) -> Iterator[str | PlainTable]:
        for part in self._parts():
            yield part if isinstance(part, str | PlainTable) else str(part)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the displayed tables by title, with all cells as text and scores in points.

        A header that occurs more than once is prefixed with the name of the column before it.
        """
        shown = [part for part in self._lines_and_tables() if isinstance(part, PlainTable)]
        return {
            table.title: pl.DataFrame(
                list(table.rows),
                schema=[
                    f"{before} {name}" if list(table.head).count(name) > 1 else name
                    for before, name in zip(("", *table.head), table.head, strict=False)
                ],
                orient="row",
            )
            for table in shown
        }

    def to_markdown(self) -> str:
        """Format the whole result as Markdown."""
        return as_markdown(self._lines_and_tables())

    def to_latex(self) -> str:
        """Format the tables for the LaTeX package booktabs; sentences follow as comments."""
        return as_latex(self._lines_and_tables())

    def _repr_html_(self) -> str:
        return as_html(self._lines_and_tables())

    def __repr__(self) -> str:
        """Return the output of the command."""
        return printed_text(self._parts())


class ScoreResult(_Result, _Words):
    """Scores of one prediction file, returned by ``score``.

    Attributes:
        scores: all scores with their intervals, as in ``shiftbench score --json`` (fractions).
    """

    _tables = SCORE_TABLES

    def __init__(self, scores: Scores) -> None:
        self.scores = self._content = scores

    def to_json(self) -> dict[str, Any]:
        """Return the contents of ``shiftbench score --json``."""
        return self.scores.model_dump(mode="json")

    def to_latex(self, name: str = "shifts") -> str:
        """Format "shifts" or "summary" as a LaTeX table (booktabs), in points, with intervals in brackets."""
        return as_latex([_choose(_LATEX, name, "LaTeX table")(self.scores), *warnings(self.scores)])

    def plot(self, name: str = "matrix", task: str | None = None) -> "Figure":
        """Draw a matplotlib figure, in points.

        Args:
            name: "matrix" (ST, SD and TD, sources by targets), "scenarios" (SD against TD) or "depth" (Depth F1 by
                lambda).
            task: draw only this task; by default one row of panels per task.
        Raises: InvalidInput for another name or task, if there is nothing to plot, or without the extra 'pictures'.
        """
        require("matplotlib", "pictures")
        from shiftbench.notebook.plots import PLOTS

        return _choose(PLOTS, name, "plot")(self.scores, task)

    def _repr_html_(self) -> str:
        return as_html([*warnings(self.scores), summary_table(self.scores), shifts_table(self.scores)])

    def _parts(self) -> Iterable[RenderableType]:
        return score_lines(self.scores)


class ComparisonResult(_Result, _Words):
    """Comparisons of the first entry with each of the others, returned by ``compare``.

    Attributes:
        comparisons: one for each other entry, as in ``shiftbench compare --json`` (fractions).
    """

    _tables = COMPARISON_TABLES

    def __init__(self, comparisons: Sequence[Comparison]) -> None:
        self.comparisons = self._content = tuple(comparisons)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the comparisons that ``shiftbench compare --json`` writes."""
        return [comparison.model_dump(mode="json") for comparison in self.comparisons]

    def _parts(self) -> Iterable[RenderableType]:
        return comparison_lines(self.comparisons)


class CheckResult(_Words):
    """One model's scores by domain, returned by ``check``.

    Attributes:
        found: scores by domain, differences and verdicts, as in ``shiftbench check --json`` (fractions).
        scores: the scores of the predictions.
        forecasts: forecasts for the domains without labels; None if all have labels.
        doubts: warnings about the model, one sentence each.
        predictions: predictions on rows with labels, with the rows' ids; input of ``gate`` and ``score`` with the same
            rows.
        unlabelled: predictions on rows of domains without labels, input of ``label``; None if there are none.
    """

    def __init__(self, checked: "Checked") -> None:
        self._checked = checked
        self.found, self.scores, self.forecasts = checked.found, checked.scores, checked.forecasts
        self.doubts, self.predictions, self.unlabelled = checked.doubts, checked.predictions, checked.unlabelled

    def to_json(self) -> dict[str, Any]:
        """Return the contents of ``shiftbench check --json``."""
        return self._checked.as_json()

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report, a self-contained HTML page; also write it if a path is given."""
        return _written(self._checked.html, path)

    def _parts(self) -> Iterable[RenderableType]:
        yield from self.doubts
        yield from check_lines(self.found, self.forecasts)


class GateResult(_Words):
    """A gate's decision, returned by ``gate``: ``assert result.passed, result``.

    Attributes:
        passed: whether no limit is significantly violated and, in a strict gate, no test is inconclusive.
        report: a verdict for each limit and domain (fractions).
    """

    def __init__(self, report: GateReport) -> None:
        self.report, self.passed = report, report.passed

    def to_json(self) -> dict[str, Any]:
        """Return the contents of ``shiftbench gate --json``."""
        return {"passed": self.passed, **self.report.model_dump(mode="json")}

    def to_junit(self) -> str:
        """Format the decision as JUnit XML."""
        return junit_xml(self.report)

    def _parts(self) -> Iterable[RenderableType]:
        return gate_lines(self.report)


class ForecastResult(_Words):
    """Forecasts of a model's accuracy, returned by ``forecast``.

    Attributes:
        forecasts: all methods' forecasts with intervals, as in ``shiftbench forecast --json`` (fractions).
    """

    def __init__(self, forecasts: Forecasts, data: str, method: str | None) -> None:
        self.forecasts, self._data, self._method = forecasts, data, method

    def to_json(self) -> dict[str, Any]:
        """Return the contents of ``shiftbench forecast --json``."""
        return self.forecasts.model_dump(mode="json")

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report, a self-contained HTML page; also write it if a path is given."""
        return _written(forecast_html(self.forecasts, self._data, self._method), path)

    def _parts(self) -> Iterable[RenderableType]:
        return forecast_lines(self.forecasts, self._method)


class RankResult(_Words):
    """A leaderboard's ranks, returned by ``ranks``.

    Attributes:
        ranking: models tied for first, pairs, neighbours, excluded models, as in ``shiftbench logs ranks --json``.
        standing: which claims of an earlier table still hold; None without one.
    """

    def __init__(self, ranking: Ranking, title: str, standing: Standing | None = None) -> None:
        self.ranking, self.standing, self._title = ranking, standing, title

    @property
    def tied_first(self) -> tuple[str, ...]:
        """Return the first model, and those not significantly different from it."""
        return self.ranking.tied_first

    def table(self) -> pl.DataFrame:
        """Build a polars table: one row per ranked model, best first, with the fields of ``RankedModel``."""
        return pl.DataFrame([model.model_dump() for model in self.ranking.models])

    def to_json(self) -> dict[str, Any]:
        """Return the ranking as plain JSON data."""
        return self.ranking.model_dump(mode="json")

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report, a self-contained HTML page; also write it if a path is given."""
        return _written(rank_report(self.ranking, self._title, self.standing), path)

    def to_svg(self, path: str | Path | None = None) -> str:
        """Return the plot of rank intervals as SVG; also write it if a path is given."""
        return _written(svg_file(rank_intervals(self.ranking), self._title), path)

    def _parts(self) -> Iterable[RenderableType]:
        return rank_lines(self.ranking, self.standing)


class LabelResult(_Words):
    """Texts to label, returned by ``label``.

    Attributes:
        draw: how they were sampled.
        table: the texts with an empty label, and their sampling probabilities.
    """

    def __init__(self, draw: "Draw", rows: "LabelRows") -> None:
        from shiftbench.checking.label_draws import drawn_table

        self.draw, self._rows, self.table = draw, rows, drawn_table(draw, rows)

    def write(self, path: str | Path) -> None:
        """Write the CSV to fill in and, next to it, the record of the sample that ``score --sampled`` reads."""
        from shiftbench.checking.label_draws import write_draw

        write_draw(self.draw, self._rows, Path(path))

    def _parts(self) -> Iterable[RenderableType]:
        from shiftbench.checking.label_draws import draw_lines

        return draw_lines(self.draw)


class SampledResult(_Words):
    """Accuracy by domain from a labelled sample, returned by ``score(..., sampled=)``.

    Attributes:
        domains: an estimate for each domain, as in ``shiftbench score --sampled --json`` (fractions).
    """

    def __init__(self, domains: "Sequence[SampledScore]") -> None:
        self.domains = tuple(domains)

    def to_json(self) -> dict[str, Any]:
        """Return the contents of ``shiftbench score --sampled --json``."""
        return {"sampled": [each.model_dump(mode="json") for each in self.domains]}

    def _parts(self) -> Iterable[RenderableType]:
        from shiftbench.checking.sampled_scores import sampled_lines

        return sampled_lines(self.domains)


class PlanResult(_Words):
    """Detectable drops, returned by ``plan``.

    Attributes:
        plan: the smallest detectable drops, and the runs or texts needed to detect 1, 2 and 5 points (fractions).
    """

    def __init__(self, plan: DetectionPlan) -> None:
        self.plan = plan

    def to_json(self) -> dict[str, Any]:
        """Return the contents of ``shiftbench plan --json``."""
        return self.plan.model_dump(mode="json")

    def _parts(self) -> Iterable[RenderableType]:
        return plan_lines(self.plan)


def _written(page: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(page, encoding="utf-8")
    return page


def _choose(choices: Mapping[str, T], name: str, what: str) -> T:
    """Return the choice with this name; InvalidInput suggests a similar one if there is none."""
    if name not in choices:
        raise InvalidInput(Problem(f"there is no such {what}", "name", f"'{name}'", did_you_mean(name, list(choices))))
    return choices[name]
