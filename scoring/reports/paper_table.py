"""A paper's results table: models by in-domain score, score under shift, drop and worst drop, with intervals.

The model with the highest score under shift comes first, in bold in papers; a star marks significant differences from
it. The caption has what readers need to check the table: metric, data, test.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType

from shiftbench.scoring.comparing.shape import AVERAGE_DROP, RECIPES, Comparison, MeanComparison, winner
from shiftbench.scoring.comparing.words import failure_words, method_words
from shiftbench.scoring.reports.numbers import metric_name, plain_score
from shiftbench.scoring.reports.plain_tables import Bold, PlainTable, as_markdown, latex, starred
from shiftbench.scoring.scores.shape import Estimate, Scores, TaskScores
from shiftbench.validation.csv_export import Cell, guarded_csv
from shiftbench.validation.report import counted

STAR = "*"


@dataclass(frozen=True)
class PaperRow:
    """One model on one task.

    Attributes:
        task, metric, model: names.
        n_shifts: number of shifts that its figures cover.
        figures: estimates by column; None if the model has none.
        marked: columns that differ significantly from the best model's.
        p: corrected p values of those tests, by column.
        best: whether its score under shift is the highest.
    """

    task: str
    metric: str
    model: str
    n_shifts: int
    figures: Mapping[str, Estimate]
    marked: frozenset[str]
    p: Mapping[str, float]
    best: bool


@dataclass(frozen=True)
class PaperTable:
    """Rows sorted by task, then by descending score under shift; ``columns`` are the figures' display names."""

    rows: Sequence[PaperRow]
    columns: Mapping[str, str]
    caption: str

    @property
    def has_tasks(self) -> bool:
        """Whether there is more than one task."""
        return len({row.task for row in self.rows}) > 1


def paper_table(entries: Sequence[tuple[str, Scores]], pairs: Mapping[str, Mapping[str, Comparison]]) -> PaperTable:
    """Build the table.

    Args:
        entries: models' names and scores on one dataset.
        pairs: by task and the other model's name, comparisons of the best model with it, corrected together.
    """
    tasks = list(dict.fromkeys(task.task for _, scores in entries for task in scores.tasks))
    of_task = {
        name: [(model, task) for model, scores in entries for task in scores.tasks if task.task == name]
        for name in tasks
    }
    every = [task for results in of_task.values() for _, task in results]
    at_home = [task.summary for task in every if task.summary.mean_ss.value is not None]
    has_average = all(summary.average_drop.value is not None for summary in at_home)
    columns = {"st": "ST"}
    if at_home:  # models trained on none of these domains have only scores
        columns = {"ss": "SS", "st": "ST", "drop": "Average drop" if has_average else "Mean SD", "worst": "Worst SD"}
    rows = []
    for name, results in of_task.items():
        best = best_model(results)
        for model, task in sorted(results, key=lambda each: -_order(each[1])):
            pair = pairs.get(name, {}).get(model)
            p = _p_values(pair, has_average=has_average) if pair else {}
            figures = _figures(task, has_average=has_average)
            marked = frozenset(column for column, each in p.items() if winner(each.difference) is not None)
            tested = {column: each.difference.p_corrected for column, each in p.items()}
            known = {column: value for column, value in tested.items() if value is not None}
            is_best, n_shifts = len(results) > 1 and model == best, task.summary.n_shifts
            rows.append(PaperRow(name, task.metric, model, n_shifts, figures, marked, known, is_best))
    return PaperTable(rows, columns, _caption(rows, entries[0][1], pairs, has_drops="drop" in columns))


def best_model(results: Sequence[tuple[str, TaskScores]]) -> str:
    """Return the model with the highest score under shift; the first among ties."""
    return max(results, key=lambda each: _order(each[1]))[0]


def paper_lines(table: PaperTable) -> Iterator[RenderableType]:
    """List the table and the caption."""
    yield _plain(table, "Scores in points")
    yield table.caption


def paper_latex(table: PaperTable) -> str:
    """Format the table for LaTeX (package booktabs), with its caption."""
    return latex(_plain(table, table.caption))


def paper_markdown(table: PaperTable) -> str:
    """Format the table as Markdown, with its caption below."""
    return as_markdown(paper_lines(table))


def _plain(table: PaperTable, title: str) -> PlainTable:
    head = [*(["Task"] if table.has_tasks else []), "Model", *table.columns.values()]
    rows = []
    for row in table.rows:
        cells = [row.task] if table.has_tasks else []
        cells.append(Bold(row.model) if row.best else row.model)
        for column in table.columns:
            text = starred(plain_score(row.figures[column]), column in row.marked)
            cells.append(Bold(text) if row.best and column == "st" else text)
        rows.append(cells)
    return PlainTable(title, head, rows, n_names=1 + table.has_tasks)


def paper_csv(table: PaperTable) -> str:
    """Format the table as CSV: fractions, unrounded; p values are against the best model, corrected."""
    header = ["task", "metric", "model", "shifts", "best"]
    header += [f"{column}{end}" for column in table.columns for end in ("", "_low", "_high")]
    header += ["st_p", "drop_p"]
    rows: list[list[Cell]] = []
    for row in table.rows:
        cells: list[Cell] = [row.task, row.metric, row.model, row.n_shifts, str(row.best).lower()]
        for column in table.columns:
            each = row.figures[column]
            cells += [each.value, each.low, each.high]
        rows.append([*cells, row.p.get("st"), row.p.get("drop")])
    return guarded_csv(header, rows)


def _order(task: TaskScores) -> float:
    value = task.summary.mean_st.value
    return float("-inf") if value is None else value


def _figures(task: TaskScores, *, has_average: bool) -> dict[str, Estimate]:
    summary = task.summary
    drop = summary.average_drop if has_average else summary.mean_sd
    return {"ss": summary.mean_ss, "st": summary.mean_st, "drop": drop, "worst": summary.worst_sd}


def _p_values(pair: Comparison, *, has_average: bool) -> dict[str, MeanComparison]:
    """Return the tests behind the columns that were tested."""
    tested = {"st": next((mean for mean in pair.means if mean.ranked), None)}
    if has_average:
        tested["drop"] = next((mean for mean in pair.means if mean.difference.figure == AVERAGE_DROP), None)
    return {column: mean for column, mean in tested.items() if mean is not None and mean.difference.p is not None}


def _caption(
    rows: Sequence[PaperRow], scores: Scores, pairs: Mapping[str, Mapping[str, Comparison]], *, has_drops: bool
) -> str:
    metrics = ", ".join(dict.fromkeys(metric_name(row.metric) for row in rows))
    tasks = ", ".join(dict.fromkeys(row.task for row in rows))
    shifts = " to ".join(map(str, sorted({min(row.n_shifts for row in rows), max(row.n_shifts for row in rows)})))
    parts = [
        f"{metrics} in points on {tasks} ({shifts} {'shift' if shifts == '1' else 'shifts'}), brackets: 95% intervals "
        "over other test texts",
        "ST: score under shift" + (", SS: score at home, drop: SS less ST, worst: of any shift" if has_drops else ""),
    ]
    compared = [pair for by_name in pairs.values() for pair in by_name.values()]
    if compared:
        first = "First row of each task" if len({row.task for row in rows}) > 1 else "First row"
        parts.append(
            f"{first}: highest ST; {STAR}: differs from it (p < 0.05, corrected over all tests), {_test(compared)}"
        )
    if len({(row.task, row.n_shifts) for row in rows}) > len({row.task for row in rows}):
        parts.append("Models cover different shifts: tests are on those that both have")
    if scores.subset != "all":
        parts.append(f"Subset {scores.subset}")
    parts.append(f"Data {scores.version}, metric version {scores.metric_version}")
    return ". ".join(parts) + "."


def _test(pairs: Sequence[Comparison]) -> str:
    tasks = [task for pair in pairs for task in pair.tasks]
    about = "; ".join(dict.fromkeys(f"about {task.about}, {method_words(task)}" for task in tasks))
    failed = dict.fromkeys(
        failure_words(task, (pair.a, pair.b)) for pair in pairs for task in pair.tasks if task.about == RECIPES
    )
    return ". ".join(
        [f"by the interval of the difference ({counted(len(pairs), 'pair')}; {about})", *filter(None, failed)]
    )
