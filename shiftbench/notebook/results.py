"""Results of scoring and comparing: tables, LaTeX and pictures; they show as HTML in Jupyter and as text elsewhere."""

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
from shiftbench.scoring.reports.frame.html import join
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


class _Words:
    """A result that is sentences and tables, of which every face is made: text, HTML, Markdown, LaTeX.

    A sub-class lists them, as its command prints them.
    """

    def _parts(self) -> Iterable[RenderableType]:
        raise NotImplementedError

    def _lines_and_tables(self) -> Iterator[str | PlainTable]:
        for part in self._parts():
            yield part if isinstance(part, str | PlainTable) else str(part)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables by title, as they are shown: texts, in points; a p is called by the column before it."""
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
        """Write all of it as Markdown."""
        return as_markdown(self._lines_and_tables())

    def to_latex(self) -> str:
        """Write the tables for the LaTeX package booktabs; sentences follow as comments."""
        return as_latex(self._lines_and_tables())

    def _repr_html_(self) -> str:
        return join(as_html(self._lines_and_tables()))

    def __repr__(self) -> str:
        """Return what the command prints."""
        return printed_text(self._parts())


class ScoreResult(_Result, _Words):
    """Scores of one prediction file, as ``score`` returns them.

    Attributes:
        scores: all figures with their intervals, as ``shiftbench score --json`` prints them (fractions).
    """

    _tables = SCORE_TABLES

    def __init__(self, scores: Scores) -> None:
        self.scores = self._content = scores

    def to_json(self) -> dict[str, Any]:
        """Return what ``shiftbench score --json`` writes."""
        return self.scores.model_dump(mode="json")

    def to_latex(self, name: str = "shifts") -> str:
        """Write "shifts" or "summary" as a LaTeX table (booktabs), in points, intervals in brackets."""
        return as_latex([_choose(_LATEX, name, "LaTeX table")(self.scores), *warnings(self.scores)])

    def plot(self, name: str = "matrix", task: str | None = None) -> "Figure":
        """Draw a matplotlib figure, in points.

        Args:
            name: "matrix" (ST, SD and TD of sources by targets), "scenarios" (the plane of SD and TD) or "depth"
                (Depth F1 by lambda).
            task: draw this task alone; by default every task has its row of panels.
        Raises: InvalidInput for another name or task, when there is nothing to draw, or without the extra 'pictures'.
        """
        require("matplotlib", "pictures")
        from shiftbench.notebook.plots import PLOTS

        return _choose(PLOTS, name, "plot")(self.scores, task)

    def _repr_html_(self) -> str:
        return join(as_html([*warnings(self.scores), summary_table(self.scores), shifts_table(self.scores)]))

    def _parts(self) -> Iterable[RenderableType]:
        return score_lines(self.scores)


class ComparisonResult(_Result, _Words):
    """Entries compared with the first of them, as ``compare`` returns them.

    Attributes:
        comparisons: the first entry with each other one, as ``shiftbench compare --json`` holds them (fractions).
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
    """One model's scores by domain, as ``check`` returns them.

    Attributes:
        found: scores by domain, differences and verdicts, as ``shiftbench check --json`` holds them (fractions).
        scores: the scores of the predictions.
        forecasts: of the domains without labels; None where all have some.
        doubts: what to know of the model before reading on, a sentence each.
        predictions: on rows with labels, by their ids, as ``gate`` and ``score`` take them with the same rows.
        unlabelled: on rows of domains without labels, as ``label`` takes them; None where there are none.
    """

    def __init__(self, checked: "Checked") -> None:
        self._checked = checked
        self.found, self.scores, self.forecasts = checked.found, checked.scores, checked.forecasts
        self.doubts, self.predictions, self.unlabelled = checked.doubts, checked.predictions, checked.unlabelled

    def to_json(self) -> dict[str, Any]:
        """Return what ``shiftbench check --json`` writes."""
        return self._checked.as_json()

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report, one page that needs no other file, and write it where a path is given."""
        return _written(self._checked.html, path)

    def _parts(self) -> Iterable[RenderableType]:
        yield from self.doubts
        yield from check_lines(self.found, self.forecasts)


class GateResult(_Words):
    """A gate's decision, as ``gate`` returns it: ``assert result.passed, result``.

    Attributes:
        passed: whether no limit is broken, and in a strict gate all are shown to be kept.
        report: a verdict for each limit and domain (fractions).
    """

    def __init__(self, report: GateReport) -> None:
        self.report, self.passed = report, report.passed

    def to_json(self) -> dict[str, Any]:
        """Return what ``shiftbench gate --json`` writes."""
        return {"passed": self.passed, **self.report.model_dump(mode="json")}

    def to_junit(self) -> str:
        """Write the decision as JUnit XML."""
        return junit_xml(self.report)

    def _parts(self) -> Iterable[RenderableType]:
        return gate_lines(self.report)


class ForecastResult(_Words):
    """Forecasts of a model's accuracy, as ``forecast`` returns them.

    Attributes:
        forecasts: all methods' forecasts, with intervals, as ``shiftbench forecast --json`` writes them (fractions).
    """

    def __init__(self, forecasts: Forecasts, data: str, method: str | None) -> None:
        self.forecasts, self._data, self._method = forecasts, data, method

    def to_json(self) -> dict[str, Any]:
        """Return what ``shiftbench forecast --json`` writes."""
        return self.forecasts.model_dump(mode="json")

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the page, which needs no other file, and write it where a path is given."""
        return _written(forecast_html(self.forecasts, self._data, self._method), path)

    def _parts(self) -> Iterable[RenderableType]:
        return forecast_lines(self.forecasts, self._method)


class RankResult(_Words):
    """A leaderboard's ranks, as ``ranks`` returns them.

    Attributes:
        ranking: who is tied for first, pairs, neighbours, models left out, as ``shiftbench logs ranks --json`` has it.
        standing: what an earlier table's claims come to; None without one.
    """

    def __init__(self, ranking: Ranking, title: str, standing: Standing | None = None) -> None:
        self.ranking, self.standing, self._title = ranking, standing, title

    @property
    def tied_first(self) -> tuple[str, ...]:
        """Return the models that the first is not told apart from, itself first."""
        return self.ranking.tied_first

    def table(self) -> pl.DataFrame:
        """Build a polars table: a row for each ranked model, best first, with the fields of ``RankedModel``."""
        return pl.DataFrame([model.model_dump() for model in self.ranking.models])

    def to_json(self) -> dict[str, Any]:
        """Return the ranking as plain JSON data."""
        return self.ranking.model_dump(mode="json")

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report, which needs no other file, and write it where a path is given."""
        return _written(rank_report(self.ranking, self._title, self.standing), path)

    def to_svg(self, path: str | Path | None = None) -> str:
        """Return the picture of rank intervals, and write it where a path is given."""
        return _written(svg_file(rank_intervals(self.ranking), self._title), path)

    def _parts(self) -> Iterable[RenderableType]:
        return rank_lines(self.ranking, self.standing)


class LabelResult(_Words):
    """Texts to label, as ``label`` returns them.

    Attributes:
        draw: how they were drawn.
        table: the texts with an empty label and each one's probability of being drawn.
    """

    def __init__(self, draw: "Draw", rows: "LabelRows") -> None:
        from shiftbench.checking.label_draws import drawn_table

        self.draw, self._rows, self.table = draw, rows, drawn_table(draw, rows)

    def write(self, path: str | Path) -> None:
        """Write the CSV to fill in and, beside it, the record of the draw that ``score --sampled`` reads."""
        from shiftbench.checking.label_draws import write_draw

        write_draw(self.draw, self._rows, Path(path))

    def _parts(self) -> Iterable[RenderableType]:
        from shiftbench.checking.label_draws import draw_lines

        return draw_lines(self.draw)


class SampledResult(_Words):
    """Accuracy by domain from the few texts that were labelled, as ``score(..., sampled=)`` returns it.

    Attributes:
        domains: an estimate for each domain, as ``shiftbench score --sampled --json`` holds them (fractions).
    """

    def __init__(self, domains: "Sequence[SampledScore]") -> None:
        self.domains = tuple(domains)

    def to_json(self) -> dict[str, Any]:
        """Return what ``shiftbench score --sampled --json`` writes."""
        return {"sampled": [each.model_dump(mode="json") for each in self.domains]}

    def _parts(self) -> Iterable[RenderableType]:
        from shiftbench.checking.sampled_scores import sampled_lines

        return sampled_lines(self.domains)


class PlanResult(_Words):
    """What can be detected, as ``plan`` returns it.

    Attributes:
        plan: the smallest drops that are found, and what it takes to find 1, 2 and 5 points (fractions).
    """

    def __init__(self, plan: DetectionPlan) -> None:
        self.plan = plan

    def to_json(self) -> dict[str, Any]:
        """Return what ``shiftbench plan --json`` writes."""
        return self.plan.model_dump(mode="json")

    def _parts(self) -> Iterable[RenderableType]:
        return plan_lines(self.plan)


def _written(page: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(page, encoding="utf-8")
    return page


def _choose(choices: Mapping[str, T], name: str, what: str) -> T:
    """Return the choice of this name; InvalidInput suggests one where there is none."""
    if name not in choices:
        raise InvalidInput(Problem(f"there is no such {what}", "name", f"'{name}'", did_you_mean(name, list(choices))))
    return choices[name]
