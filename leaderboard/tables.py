"""Scores as text tables for a terminal: points (x100) with one decimal, 'n/a' where a figure is undefined."""

from collections.abc import Callable, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from leaderboard.bench import Timing
from leaderboard.compare import Comparison
from leaderboard.metrics.coverage import CAUTIOUS
from leaderboard.scores import Estimate, Scores, Shift, TaskScores
from validation.vocabulary import NO_SOURCE


def print_scores(scores: Scores, console: Console) -> None:
    """Print every task's matrices and summary, then what is missing."""
    for warning in warnings(scores):
        console.print(warning, style="yellow")
    for task in scores.tasks:
        console.print(_matrix(task, "ST", lambda shift: shift.st, diagonal=True))
        console.print(_matrix(task, "SD", lambda shift: shift.sd))
        console.print(_matrix(task, "TD", lambda shift: shift.td))
        console.print(_summary(task))
    if scores.missing:
        console.print(f"Not there to be scored ({len(scores.missing)}):")
        for item in scores.missing:
            where = " ".join(
                part for part in (item.task, item.source, "->" if item.target else None, item.target) if part
            )
            console.print(f"  {where}: {item.what}", markup=False)


def print_board(results: Sequence[tuple[str, Scores]], console: Console) -> None:
    """Print one table a task with a row for each named entry."""
    tasks = dict.fromkeys(task.task for _, scores in results for task in scores.tasks)
    for name in tasks:
        table = Table(title=f"{name}: points", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for column in (
            "entry",
            "mean SS",
            "mean ST",
            "average drop",
            "worst SD",
            "worst TD",
            "DF1@0",
            "DF1@50",
            "DF1@90",
        ):
            table.add_column(column, justify="left" if column == "entry" else "right", no_wrap=column != "entry")
        for entry, scores in results:
            for summary in (task.summary for task in scores.tasks if task.task == name):
                depth = [summary.depth_f1.get(lambda_, Estimate(value=None)) for lambda_ in ("0", "50", "90")]
                drops = (summary.average_drop, summary.worst_sd, summary.worst_td)
                table.add_row(escape(entry), *map(_two_lines, (summary.mean_ss, summary.mean_st, *drops, *depth)))
        console.print(table)


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print a row a shift: A minus B in points, starred where Holm's p is below 0.05."""
    table = Table(title="A minus B in points; * = p < 0.05 after Holm's correction", box=box.SIMPLE_HEAD)
    for column in ("task", "shift", "runs", "ST", "p", "SD", "p", "TD", "p"):
        table.add_column(column, justify="left" if column in ("task", "shift") else "right", no_wrap=True)
    for shift in comparison.shifts:
        cells = []
        for difference in shift.differences:
            star = "*" if difference.p_holm is not None and difference.p_holm < 0.05 else " "
            cells += [points(Estimate(value=difference.value)) + star, _p_value(difference.p_holm)]
        table.add_row(shift.task, f"{shift.source} -> {shift.target}", str(shift.runs), *cells)
    console.print(f"A = {comparison.a}, B = {comparison.b}", markup=False)
    console.print(table)
    console.print("ST: above 0 favours A. SD, TD: below 0 favours A. p: two-sided, corrected over the whole table.")
    for name, only in (("A", comparison.only_a), ("B", comparison.only_b)):
        if only:
            console.print(f"Only in {name}: {', '.join(only)}", markup=False)


def print_timing(timing: Timing, console: Console) -> None:
    """Print one measurement on a line of its own, as soon as it is there."""
    verdict = "[green]met[/green]" if timing.met else "[red]missed[/red]"
    console.print(
        f"{escape(timing.name)}: {_seconds(timing.seconds)}; {escape(timing.yardstick)}: "
        f"{_seconds(timing.yardstick_seconds)}; ratio {timing.ratio:,.2f}, wanted {escape(timing.wanted)}: {verdict}"
    )


def print_coverage(found: Mapping[str, Mapping[str, float]], n_tasks: int, console: Console) -> None:
    """Print how often each kind of interval held the truth."""
    table = Table(title=f"Share of {n_tasks:,} simulated tasks in which 95% intervals hold the truth")
    table.add_column("figure")
    for kind in found:
        table.add_column(kind, justify="right")
    for figure in next(iter(found.values())):
        wanted = " (at least 95% wanted)" if figure in CAUTIOUS else ""
        table.add_row(figure + wanted, *(f"{100 * by_figure[figure]:.2f}%" for by_figure in found.values()))
    console.print(table)


def _seconds(value: float) -> str:
    return f"{value:,.2f} s" if value >= 1 else f"{1000 * value:,.2f} ms"


def _p_value(p: float | None) -> str:
    return "n/a" if p is None else f"{p:.4f}"


def warnings(scores: Scores) -> list[str]:
    """Say what keeps these scores from being comparable."""
    found = []
    if scores.synthetic_data:
        found.append("Synthetic data: these scores show the tools at work and measure nothing else.")
    if scores.partial_data:
        found.append("Partial data: not comparable with scores on the full benchmark.")
    return found


def _matrix(task: TaskScores, title: str, figure: Callable[[Shift], Estimate], *, diagonal: bool = False) -> Table:
    table = Table(
        title=f"{task.task}: {title} in points ({task.metric}); row = source, column = target", box=box.SIMPLE_HEAD
    )
    table.add_column("source")
    for domain in task.domains:
        table.add_column(domain, justify="right")
    cells = {(shift.source, shift.target): _two_lines(figure(shift)) for shift in task.shifts}
    if diagonal:
        cells |= {(item.domain, item.domain): f"[bold]{_two_lines(item.score)}[/bold]" for item in task.in_domain}
    sources = sorted({source for source, _ in cells}, key=lambda source: (source == NO_SOURCE, "+" in source, source))
    for source in sources:
        table.add_row(source, *(cells.get((source, domain), "") for domain in task.domains))
    return table


def _summary(task: TaskScores) -> Table:
    summary = task.summary
    table = Table(
        title=f"{task.task}: summary over {summary.n_shifts} shifts, {summary.basis}",
        show_header=False,
        box=box.SIMPLE_HEAD,
    )
    table.add_column("figure")
    table.add_column("points", justify="right")
    for label, name in (
        ("mean SS", "mean_ss"),
        ("mean ST", "mean_st"),
        ("average drop", "average_drop"),
        ("worst SD", "worst_sd"),
        ("worst TD", "worst_td"),
        ("average worst SD", "average_worst_sd"),
        ("average worst TD", "average_worst_td"),
    ):
        table.add_row(label, points(getattr(summary, name)))
    for drop, value in (("SD", summary.worst_sd_split_half), ("TD", summary.worst_td_split_half)):
        table.add_row(f"worst {drop}, selected on one half, taken on the other", points(Estimate(value=value)))
    for name, interval in summary.total.items():
        bounds = f"[{_decimal(interval.low)}, {_decimal(interval.high)}]"
        table.add_row(f"{name.replace('_', ' ')}, training runs too", bounds)
    for lambda_, estimate in summary.depth_f1.items():
        table.add_row(f"Depth F1 at lambda {lambda_}", points(estimate))
    for name, share in summary.scenario_shares.items():
        table.add_row(f"{name} shifts", _percent(share))
    table.add_row("scenarios resolved", _percent(summary.resolved_share))
    table.add_row("p that the source does not matter (permutation)", _p_value(summary.source_permutation_p))
    if not summary.total:
        table.caption = "Intervals: other test sets, same models. Training variance needs 5 runs a source."
    return table


def _percent(share: float | None) -> str:
    return "n/a" if share is None else f"{100 * share:.0f}%"


def _two_lines(estimate: Estimate) -> str:
    """Put the interval below the figure: in a table of many columns it has no room beside it."""
    return points(estimate).replace(" ", "\n", 1)


def points(estimate: Estimate) -> str:
    """Write a fraction as points, with its interval where there is one.

    >>> points(Estimate(value=0.4567)), points(Estimate(value=None)), points(Estimate(value=0.5, low=0.4, high=0.6))
    ('45.7', 'n/a', '50.0 [40.0, 60.0]')
    """
    if estimate.value is None:
        return "n/a"
    if estimate.low is None or estimate.high is None:
        return _decimal(estimate.value)
    return f"{_decimal(estimate.value)} [{_decimal(estimate.low)}, {_decimal(estimate.high)}]"


def _decimal(fraction: float) -> str:
    # Adding 0.0 turns a rounded minus zero into zero.
    return f"{round(100 * fraction, 1) + 0.0:.1f}"
