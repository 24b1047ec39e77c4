"""A paper's results table: models by in-domain score, score under shift, drop and worst drop, with intervals.

The model with the highest score under shift comes first, in bold in papers; a star marks significant differences from
it. The caption has what readers need to check the table: metric, data, test.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.console import RenderableType

from shiftbench.scoring.comparing.shape import AVERAGE_DROP, RECIPES, Comparison, Difference, winner
from shiftbench.scoring.comparing.words import failure_words, method_words
from shiftbench.scoring.reports.frame.sentences import sentence
from shiftbench.scoring.reports.numbers import metric_name, plain_score
from shiftbench.scoring.reports.plain_tables import Bold, PlainTable, as_markdown, latex, starred
from shiftbench.scoring.scores.shape import Scores, TaskScores
from shiftbench.validation.csv_export import Cell, guarded_csv


class PaperTable(NamedTuple):
    """The rows, by task and then by descending score under shift; the caption; and the rows as CSV, not rounded."""

    rows: PlainTable
    caption: str
    csv: str


def paper_table(entries: Sequence[tuple[str, Scores]], pairs: Mapping[str, Mapping[str, Comparison]]) -> PaperTable:
    """Build the results table of a paper.

    Args:
        entries: models' names and scores on one dataset.
        pairs: comparisons of the best model with every other model, by task and the other model's name; their p values
            are corrected together.

    Returns: the table; its CSV has fractions, and p values against the best model, corrected.
    """
    every = [(model, task) for model, scores in entries for task in scores.tasks]
    tasks = list(dict.fromkeys(task.task for _, task in every))
    at_home = [task.summary for _, task in every if task.summary.mean_ss.value is not None]
    has_average = all(summary.average_drop.value is not None for summary in at_home)
    columns = {"st": "ST"}
    if at_home:  # models trained on none of these domains have only scores
        columns = {"ss": "SS", "st": "ST", "drop": "Average drop" if has_average else "Mean SD", "worst": "Worst SD"}
    rows: list[Sequence[str]] = []
    csv: list[list[Cell]] = []
    for name in tasks:
        results = sorted((each for each in every if each[1].task == name), key=lambda each: -_order(each[1]))
        best = best_model(results) if len(results) > 1 else None
        for model, task in results:
            summary, tests = task.summary, _tests(pairs.get(name, {}).get(model), has_average=has_average)
            drop = summary.average_drop if has_average else summary.mean_sd
            figures = {"ss": summary.mean_ss, "st": summary.mean_st, "drop": drop, "worst": summary.worst_sd}
            cells = [name] if len(tasks) > 1 else []
            cells.append(Bold(model) if model == best else model)
            for column in columns:
                text = starred(plain_score(figures[column]), column in tests and winner(tests[column]) is not None)
                cells.append(Bold(text) if model == best and column == "st" else text)
            rows.append(cells)
            ends = [end for name in columns for end in (figures[name].value, figures[name].low, figures[name].high)]
            p_values = [tests[column].p_corrected if column in tests else None for column in ("st", "drop")]
            csv.append([name, task.metric, model, summary.n_shifts, str(model == best).lower(), *ends, *p_values])
    head = [*(["Task"] if len(tasks) > 1 else []), "Model", *columns.values()]
    header = ["task", "metric", "model", "shifts", "best"]
    header += [f"{column}{end}" for column in columns for end in ("", "_low", "_high")]
    return PaperTable(
        PlainTable("Scores in points", head, rows, n_names=len(head) - len(columns)),
        _caption([task for _, task in every], entries[0][1], pairs, has_drops="drop" in columns),
        guarded_csv([*header, "st_p", "drop_p"], csv),
    )


def best_model(results: Sequence[tuple[str, TaskScores]]) -> str:
    """Return the model with the highest mean score under shift; the first among ties.

    Args:
        results: names of the models with their scores on one task.
    """
    return max(results, key=lambda each: _order(each[1]))[0]


def paper_lines(table: PaperTable) -> Iterator[RenderableType]:
    """List the table and the caption."""
    yield table.rows
    yield table.caption


def paper_latex(table: PaperTable) -> str:
    """Format the table for LaTeX (package booktabs), with its caption."""
    return latex(table.rows._replace(title=table.caption))


def paper_markdown(table: PaperTable) -> str:
    """Format the table as Markdown, with its caption below."""
    return as_markdown(paper_lines(table))


def _order(task: TaskScores) -> float:
    value = task.summary.mean_st.value
    return float("-inf") if value is None else value


def _tests(pair: Comparison | None, *, has_average: bool) -> dict[str, Difference]:
    """Return the difference from the best model for each column that was tested."""
    means = pair.means if pair is not None else ()
    tested = {"st": next((mean.difference for mean in means if mean.ranked), None)}
    if has_average:
        drops = (mean.difference for mean in means if mean.difference.figure == AVERAGE_DROP)
        tested["drop"] = next(drops, None)
    return {column: each for column, each in tested.items() if each is not None and each.p is not None}


def _caption(
    every: Sequence[TaskScores], scores: Scores, pairs: Mapping[str, Mapping[str, Comparison]], *, has_drops: bool
) -> str:
    compared = [pair for by_name in pairs.values() for pair in by_name.values()]
    found = [(pair, task) for pair in compared for task in pair.tasks]
    tests = dict.fromkeys(f"about {task.about}, {method_words(task)}" for _, task in found)
    failed = dict.fromkeys(failure_words(task, (pair.a, pair.b)) for pair, task in found if task.about == RECIPES)
    metrics = list(dict.fromkeys(metric_name(task.metric) for task in every))
    tasks = list(dict.fromkeys(task.task for task in every))
    counts = sorted({task.summary.n_shifts for task in every})
    covered = {(task.task, task.summary.n_shifts) for task in every}
    facts = (metrics, tasks, sorted({counts[0], counts[-1]}), has_drops, compared, list(tests), filter(None, failed))
    return sentence("paper", "caption", *facts, len(covered) > len(tasks), scores)
