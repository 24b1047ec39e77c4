"""Scores as text tables for a terminal: points (x100) with one decimal, 'n/a' where a figure is undefined.

A table that is too wide for the terminal is printed as lines instead: no number and no name is ever cut.
"""

import io
from collections.abc import Callable, Collection, Iterator, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from shiftbench.scoring.comparing.shape import Comparison, Difference, p_text, winner
from shiftbench.scoring.comparing.words import about_lines, floor_words
from shiftbench.scoring.reports.annotators import annotator_words
from shiftbench.scoring.reports.confidence_rows import NAMES, brier_note, mean_rows
from shiftbench.scoring.reports.detectable import detectable_lines, detectable_text
from shiftbench.scoring.reports.exports import mean_name
from shiftbench.scoring.reports.headline import near_duplicate_words
from shiftbench.scoring.reports.home_advantage import claim_words
from shiftbench.scoring.reports.margins import margin_lines
from shiftbench.scoring.reports.numbers import MINUS, plain_points, plain_score
from shiftbench.scoring.reports.pictures.flips import mean_flip_words
from shiftbench.scoring.reports.pictures.words import ELSEWHERE_MARK
from shiftbench.scoring.reports.summary_rows import has_scenarios, summary_rows
from shiftbench.scoring.reports.tail_figures import about_lines as tail_lines
from shiftbench.scoring.reports.verdict import verdict_lines
from shiftbench.scoring.scores.confidence_shape import Confidence
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.floors import DROP_SCORES, is_drop_at_floor
from shiftbench.scoring.scores.id_ood import ID_OOD
from shiftbench.scoring.scores.shape import OUTSIDE_BASES, IdOod, Scores, TaskScores
from shiftbench.scoring.scores.summary import NO_DEPTHS
from shiftbench.validation.report import counted
from shiftbench.validation.vocabulary import ELSEWHERE, OUTSIDE_SOURCES

_ANY_WIDTH = 10_000
_TEXT_WIDTH = 120
_NONE = Estimate(value=None)
FLOOR_MARK = "floor "
"""Before a drop with a score behind it that is at chance."""


def print_scores(scores: Scores, console: Console) -> None:
    """Print what scores come to, then every task's matrices and summary, then what is missing.

    What does not apply is not printed: figures that are undefined, and gaps that nobody asked to be filled.

    Args:
        scores: an entry's scores.
        console: where it is printed.
    """
    for line in verdict_lines(scores):
        console.print(line, style="bold", markup=False, highlight=False, soft_wrap=True)
    _print_warnings([scores], console)
    for task in scores.tasks:
        if task.id_ood is not None:
            _print_id_ood(console, f"{task.task}: ID and OOD scores in points ({task.metric})", [(None, task.id_ood)])
        if task.id_ood is None or len({shift.source for shift in task.shifts}) > 1 or len(task.in_domain) > 1:
            _print_matrix(console, task, "ST", "st", diagonal=True)
        _print_matrix(console, task, "SD", "sd")
        _print_matrix(console, task, "TD", "td")
        if any(shift.reference_td is not None for shift in task.shifts):
            _print_matrix(console, task, "TD against the reference's TT", "reference_td")
        _print_detectable(console, task)
        for line in margin_lines(task):
            console.print(line, markup=False, highlight=False)
        _print_summary(console, task)
        if task.confidence is not None:
            _print_confidence(console, task.task, task.confidence)
    missing = [item for item in scores.missing if item.what != NO_DEPTHS]
    if missing:
        console.print(f"Missing, so not scored ({len(missing)}):")
        for item in missing:
            where = " ".join(
                part for part in (item.task, item.source, "->" if item.target else None, item.target) if part
            )
            console.print(f"  {where}: {item.what}", markup=False)


def print_board(results: Sequence[tuple[str, Scores]], console: Console) -> None:
    """Print one table a task with a row for each named entry.

    Args:
        results: name and scores of each entry.
        console: where it is printed.
    """
    _print_warnings([scores for _, scores in results], console)
    columns = ("entry", "mean SS", "mean ST", "average drop", "worst SD", "worst TD", "DF1@0", "DF1@90")
    for name in dict.fromkeys(task.task for _, scores in results for task in scores.tasks):
        results_of_task = [(entry, task) for entry, scores in results for task in scores.tasks if task.task == name]
        with_id = [(entry, task.id_ood) for entry, task in results_of_task if task.id_ood is not None]
        if with_id:
            _print_id_ood(console, f"{name}: points", with_id)
            continue
        if any(task.summary.basis == ID_OOD for _, task in results_of_task):
            continue  # candidates, which are no board of their own
        rows = []
        for entry, task in results_of_task:
            summary = task.summary
            depth = [summary.depth_f1.get(lambda_, Estimate(value=None)) for lambda_ in ("0", "90")]
            drops = (summary.average_drop, summary.worst_sd, summary.worst_td)
            rows.append([entry, *map(plain_score, (summary.mean_ss, summary.mean_st, *drops, *depth))])
        print_table(console, f"{name}: points", columns, rows)


def print_comparisons(comparisons: Sequence[Comparison], console: Console) -> None:
    """Print the means, then a row a shift: A minus B in points, starred where p is below 0.05.

    Args:
        comparisons: a table for each.
        console: where it is printed.
    """
    for comparison in comparisons:
        console.print(f"A = {comparison.a}, B = {comparison.b}", markup=False, highlight=False, soft_wrap=True)
        for line in about_lines([comparison]):
            console.print(f"{line}.", markup=False, highlight=False, soft_wrap=True)
        means = []
        for mean in comparison.means:
            where = f"{mean.task} {mean_name(mean)}{' (ranked by)' if mean.ranked else ''}"
            words = floor_words(mean.difference, ("A", "B"))
            means.append([where, *_difference(mean.difference), words or ", ".join(mean.targets)])
        title = "A minus B in points; * = p < 0.05, corrected"
        print_table(console, title, ("mean", "difference", "p", "over"), means)
        rows = []
        for shift in comparison.shifts:
            cells = [cell for difference in shift.differences for cell in _difference(difference)]
            rows.append([f"{shift.task} {shift.source} -> {shift.target}", str(shift.runs), *cells])
        print_table(console, title, ("shift", "runs", "ST", "p", "SD", "p", "TD", "p"), rows)
        for name, only in (("A", comparison.only_a), ("B", comparison.only_b)):
            if only:
                console.print(f"Only in {name}: {', '.join(only)}", markup=False)
    console.print("Scores: above 0 favours A. Drops: below 0 favours A. p: two-sided, corrected over all tests here.")
    console.print("'floor': a score behind the drop is at chance, so the drop is shown and not compared.")


def _difference(difference: Difference) -> tuple[str, str]:
    star = "*" if winner(difference) else " "
    return plain_points(difference.value) + star, "floor" if difference.at_floor else p_text(difference.p_corrected)


def _print_warnings(results: Sequence[Scores], console: Console) -> None:
    for warning in dict.fromkeys(warning for scores in results for warning in warnings(scores)):
        console.print(warning, style="yellow")


class FittedTable:
    """A table whose first column names its rows; where it is wider than the terminal, lines.

    In the table an interval stands below its figure: with many columns it has no room beside it.

    Args:
        title: the line above.
        columns: their names.
        rows: a cell for each column.
        texts: columns that hold words, not numbers; their cells may have line breaks.
    """

    def __init__(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, texts: Collection[str] = ()
    ) -> None:
        self.title, self.columns, self.rows, self.texts = title, columns, rows, texts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Return the title, then the table or, where it does not fit, its lines."""
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0) if self.texts else 0, pad_edge=False)
        for number, column in enumerate(self.columns):
            justify: JustifyMethod = "right" if number and column not in self.texts else "left"
            table.add_column(column, justify=justify, no_wrap=True)
        for row in self.rows:
            table.add_row(*(Text(cell.replace(" [", "\n[") if number else cell) for number, cell in enumerate(row)))
        yield Text(f"\n{self.title}")
        wide = Measurement.get(console, options.update(max_width=_ANY_WIDTH), table).maximum
        if wide <= console.width:
            yield table
            return
        for name, *cells in self.rows:
            each = zip(self.columns[1:], cells, strict=True)
            shown = [f"{' '.join(column.split())} {' '.join(cell.split())}" for column, cell in each if cell]
            for line in (name, *_packed(shown, console.width)):
                yield Text(line, no_wrap=True, overflow="ignore")


def print_table(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, texts: Collection[str] = ()
) -> None:
    """Print a ``FittedTable``."""
    console.print(FittedTable(title, columns, rows, texts=texts))


def _packed(items: Sequence[str], width: int) -> Iterator[str]:
    """Set items side by side, as many a line as fit; none is broken.

    >>> list(_packed(["slate 1.0", "travel 2.0", "fiction 3.0"], 26))
    ['  slate 1.0; travel 2.0', '  fiction 3.0']
    """
    line = ""
    for item in items:
        longer = f"{line}; {item}" if line else f"  {item}"
        if line and len(longer) > width:
            yield line
            longer = f"  {item}"
        line = longer
    if line:
        yield line


def warnings(scores: Scores) -> list[str]:
    """List what keeps scores from being comparable.

    Args:
        scores: an entry's scores.
    Returns: a sentence each; none where nothing does.
    """
    listed = []
    if scores.synthetic_data:
        listed.append("Synthetic data: these scores show the tools at work and measure nothing else.")
    if scores.partial_data:
        listed.append("Partial data: not comparable with scores on the full benchmark.")
    if scores.unverified_data:
        listed.append("Unverified data: some upstream files may not be whole, or are of another revision.")
    for task in scores.tasks:
        low = sum(bool(shift.at_floor) for shift in task.shifts)
        if task.summary.at_floor:
            listed.append(f"{task.task}: at chance or one label for all texts (mean ST): its drops say nothing.")
        elif low:
            listed.append(
                f"{task.task}: {low} of {counted(len(task.shifts), 'shift')} have a score at chance; their drops are "
                "marked 'floor' and say nothing about the shift."
            )
    return listed


def _print_matrix(console: Console, task: TaskScores, title: str, figure: str, *, diagonal: bool = False) -> None:
    """Print a figure of all shifts, by its field; SD and TD are marked where a score behind them is at chance."""
    estimates: dict[tuple[str, str], Estimate | None] = {
        (shift.source, shift.target): getattr(shift, figure) for shift in task.shifts
    }
    marked = task.shifts if figure in DROP_SCORES else ()
    low = {(shift.source, shift.target) for shift in marked if is_drop_at_floor(shift, figure)}
    if diagonal:
        estimates |= {(item.domain, item.domain): item.score for item in task.in_domain}
    cells = {
        cell: f"{FLOOR_MARK if cell in low and estimate.value is not None else ''}{plain_score(estimate)}"
        for cell, estimate in estimates.items()
        if estimate is not None
    }
    # A row of which nothing is known has no drop that could apply: its models have no score at home, say.
    known = {source for (source, _), each in estimates.items() if each is not None and each.value is not None}
    if not known:
        return
    sources = sorted(known, key=lambda source: (source in OUTSIDE_SOURCES, "+" in source, source))
    rows = [[source, *(cells.get((source, domain), "") for domain in task.domains)] for source in sources]
    title = f"{task.task}: {title} in points ({task.metric}); row = source, column = target"
    title += ", diagonal = SS" if diagonal else ""
    print_table(console, title, ("source", *task.domains), rows)


def _print_detectable(console: Console, task: TaskScores) -> None:
    """Print the smallest detectable drops: a row a shift, then what they come to."""
    shifts = [shift for shift in task.shifts if shift.detectable]
    drops = [name for name in ("sd", "td") if any(name in shift.detectable for shift in shifts)]
    rows = [
        [f"{shift.source} -> {shift.target}", *(detectable_text(shift.detectable.get(name)) for name in drops)]
        for shift in shifts
    ]
    lines = list(detectable_lines(task))
    if rows:
        title = f"{task.task}: smallest detectable drops in points (corrected over the shifts)"
        print_table(console, title, ("shift", *map(str.upper, drops)), rows)
    for line in lines:
        console.print(line, highlight=False)


def _print_id_ood(console: Console, title: str, results: Sequence[tuple[str | None, IdOod]]) -> None:
    """Print a row for each entry (None: named by what it was trained on), of entities also one for the four types."""
    away = list(dict.fromkeys(domain for _, item in results for domain in item.ood))
    rows = []
    for entry, item in results:
        name = item.source if entry is None else entry
        rows.append([name, *map(plain_score, (item.id, *(item.ood.get(domain, _NONE) for domain in away)))])
        rows[-1] += [plain_score(item.mean_ood), plain_score(item.drop)]
        if item.four_types is not None:
            four = item.four_types
            plain = (four.id, *(four.ood.get(domain) for domain in away), four.mean_ood)
            rows.append([f"{name}, four types", *map(plain_points, plain), ""])
    columns = (results[0][1].id_domain + " (ID)", *away, "mean OOD", "ID - mean OOD")
    print_table(console, title, ("entry" if results[0][0] else "source", *columns), rows)


def _print_confidence(console: Console, task: str, confidence: Confidence) -> None:
    """Print what confidences are worth, means over domains and shifts, and how much of TD is label shift."""
    rows = []
    for figure, estimates in mean_rows(confidence):
        rows.append([figure.name, *(plain_score(each, figure.decimals) for each in estimates)])
    print_table(console, f"{task}: confidence in points, means", ("figure", *NAMES), rows)
    console.print(brier_note(confidence), highlight=False)
    if confidence.mean_label_shift is not None and confidence.mean_rest is not None:
        shift, rest = plain_score(confidence.mean_label_shift), plain_score(confidence.mean_rest)
        console.print(f"TD = label shift {shift} + rest {rest}, means over shifts", markup=False, highlight=False)


def _meaning_lines(task: TaskScores, *, has_drops: bool) -> Iterator[str]:
    """List what is to be known of drops, flips and home advantage before they are read."""
    if task.annotators is not None:
        yield annotator_words(task.annotators, task.metric)
    if task.near_duplicates is not None and has_drops:
        yield near_duplicate_words(task.near_duplicates)
    if any(shift.flips for shift in task.shifts):
        yield mean_flip_words(task).replace(MINUS, "-")
    if task.summary.home_advantage is not None:
        yield claim_words(task.summary.home_advantage, at_floor=task.summary.at_floor)


def _print_summary(console: Console, task: TaskScores) -> None:
    summary, one_source = task.summary, task.summary.basis == ID_OOD
    table = Table(show_header=False, box=box.SIMPLE_HEAD)
    table.add_column("figure", overflow="fold")
    table.add_column("points", justify="right", no_wrap=True)
    for row in summary_rows(summary):
        table.add_row(*row)
    outside = summary.basis == OUTSIDE_BASES[ELSEWHERE]
    basis = f"{ELSEWHERE_MARK}: drops do not apply" if outside else summary.basis
    console.print(f"\n{task.task}: summary over {counted(summary.n_shifts, 'shift')}, {basis}", highlight=False)
    console.print(table)
    for line in (*tail_lines(task), *_meaning_lines(task, has_drops=has_scenarios(summary))):
        console.print(line, highlight=False, markup=False)
    every = (summary.mean_ss, summary.mean_st, *(figure for shift in task.shifts for figure in (shift.st, shift.sd)))
    for reason in dict.fromkeys(figure.no_interval for figure in every if figure.no_interval):
        console.print(f"Some figures have no interval: {reason}.", highlight=False)
    if not summary.total:
        console.print("Intervals: other test sets, same models.", highlight=False)
        needs = "single sources, every shift among them, and 5 or more runs a source with the same seeds on each target"
        needs = "5 or more runs with the same seeds on each target" if one_source else needs
        console.print(f"Training variance was not measured; that needs {needs}.", highlight=False)


def capture_print(show: Callable[[Console], None]) -> str:
    """Return what a function prints to a console of 120 columns."""
    stream = io.StringIO()
    show(Console(file=stream, width=_TEXT_WIDTH))
    return stream.getvalue().strip("\n")
