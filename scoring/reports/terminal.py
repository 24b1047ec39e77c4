"""Scores, comparisons, boards and checked claims for a terminal: points (x100), 'n/a' where a figure is undefined."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from shiftbench.scoring.comparing.claims import Claim, ClaimCheck, FigureCheck, Status
from shiftbench.scoring.comparing.shape import FIGURES, Comparison, Difference, p_text, winner
from shiftbench.scoring.comparing.words import CORRECTED, about_lines, floor_words
from shiftbench.scoring.reports.confidence import NAMES, brier_note, mean_rows
from shiftbench.scoring.reports.numbers import (
    MINUS,
    MISSING,
    drop_text,
    metric_name,
    plain_points,
    plain_score,
    score_text,
    share,
)
from shiftbench.scoring.reports.pictures.words import ELSEWHERE_MARK, source_name
from shiftbench.scoring.reports.plain_tables import PlainTable, starred
from shiftbench.scoring.reports.score_words import (
    annotator_words,
    detectable_lines,
    detectable_text,
    margin_lines,
    mean_flip_words,
    near_duplicate_words,
    slope_rows,
    tail_lines,
    verdict_lines,
)
from shiftbench.scoring.scores.floors import DROP_SCORES, is_drop_at_floor
from shiftbench.scoring.scores.shape import OUTSIDE_BASES, Confidence, Estimate, IdOod, Scores, Summary, TaskScores
from shiftbench.scoring.scores.summary import ID_OOD, NO_DEPTHS
from shiftbench.validation.report import counted
from shiftbench.validation.versions import NO_SETTINGS
from shiftbench.validation.vocabulary import ELSEWHERE, OUTSIDE_SOURCES

_NONE = Estimate(value=None)
FLOOR_MARK = "floor "
"""Before a drop with a score behind it that is at chance."""


def score_lines(scores: Scores) -> Iterator[RenderableType]:
    """List what scores come to, then every task's matrices and summary, then what is missing.

    What does not apply is left out: figures that are undefined, and gaps that nobody asked to be filled.
    """
    for line in verdict_lines(scores):
        yield Text(line, style="bold")
    yield from _warning_lines([scores])
    for task in scores.tasks:
        if task.id_ood is not None:
            yield _id_ood(f"{task.task}: ID and OOD scores in points ({task.metric})", [(None, task.id_ood)])
        if task.id_ood is None or len({shift.source for shift in task.shifts}) > 1 or len(task.in_domain) > 1:
            yield from _matrix(task, "ST", "st", diagonal=True)
        yield from _matrix(task, "SD", "sd")
        yield from _matrix(task, "TD", "td")
        if any(shift.reference_td is not None for shift in task.shifts):
            yield from _matrix(task, "TD against the reference's TT", "reference_td")
        yield from _detectable(task)
        yield from margin_lines(task)
        yield from _summary(task)
        if task.confidence is not None:
            yield from _confidence(task.task, task.confidence)
    missing = [item for item in scores.missing if item.what != NO_DEPTHS]
    if missing:
        yield f"Missing, so not scored ({len(missing)}):"
    for item in missing:
        where = " ".join(part for part in (item.task, item.source, "->" if item.target else None, item.target) if part)
        yield f"  {where}: {item.what}"


def summary_table(scores: Scores) -> PlainTable:
    """Build the table of a row a task: means, the average drop and the worst ones."""
    head = ("Task", "Metric", "Shifts", "Mean SS", "Mean ST", "Average drop", "Worst SD", "Worst TD")
    rows = []
    for task in scores.tasks:
        summary = task.summary
        drops = map(drop_text, (summary.average_drop, summary.worst_sd, summary.worst_td))
        means = map(score_text, (summary.mean_ss, summary.mean_st))
        rows.append((task.task, metric_name(task.metric), str(summary.n_shifts), *means, *drops))
    return PlainTable("Summary, in points", head, rows, n_names=2)


def shifts_table(scores: Scores) -> PlainTable:
    """Build the table of a row a shift: scores, drops and the scenario."""
    head = ("Task", "Trained on", "Tested on", "ST", "SS", "TT", "SD", "TD", "Scenario")
    rows = []
    for name, shift in ((task.task, shift) for task in scores.tasks for shift in task.shifts):
        figures = (*map(score_text, (shift.st, shift.ss, shift.tt)), *map(drop_text, (shift.sd, shift.td)))
        rows.append((name, source_name(shift.source), shift.target, *figures, shift.scenario))
    return PlainTable("Every shift, in points", head, rows, n_names=3)


def board_lines(results: Sequence[tuple[str, Scores]]) -> Iterator[RenderableType]:
    """List one table a task with a row for each entry, given by name and scores."""
    yield from _warning_lines([scores for _, scores in results])
    columns = ("entry", "mean SS", "mean ST", "average drop", "worst SD", "worst TD", "DF1@0", "DF1@90")
    for name in dict.fromkeys(task.task for _, scores in results for task in scores.tasks):
        results_of_task = [(entry, task) for entry, scores in results for task in scores.tasks if task.task == name]
        with_id = [(entry, task.id_ood) for entry, task in results_of_task if task.id_ood is not None]
        if with_id:
            yield _id_ood(f"{name}: points", with_id)
            continue
        if any(task.summary.basis == ID_OOD for _, task in results_of_task):
            continue  # candidates, which are no board of their own
        rows = []
        for entry, task in results_of_task:
            summary = task.summary
            depth = [summary.depth_f1.get(lambda_, Estimate(value=None)) for lambda_ in ("0", "90")]
            drops = (summary.average_drop, summary.worst_sd, summary.worst_td)
            rows.append([entry, *map(plain_score, (summary.mean_ss, summary.mean_st, *drops, *depth))])
        yield PlainTable(f"{name}: points", columns, rows)


def comparison_lines(comparisons: Sequence[Comparison]) -> Iterator[RenderableType]:
    """List for each comparison the means, then a row a shift: A minus B in points, starred where p is below 0.05."""
    for comparison in comparisons:
        yield f"A = {comparison.a}, B = {comparison.b}"
        yield from (f"{line}." for line in about_lines([comparison]))
        means = []
        for mean in comparison.means:
            figure = mean.difference.figure if mean.source is None else f"{mean.source}, {mean.difference.figure}"
            where = f"{mean.task} {figure}{' (ranked by)' if mean.ranked else ''}"
            words = floor_words(mean.difference, ("A", "B"))
            means.append([where, *_difference(mean.difference), words or ", ".join(mean.targets)])
        title = "A minus B in points, 95% intervals, p alone and corrected; * = corrected p < 0.05"
        yield PlainTable(title, ("mean", "difference", "p", "corrected", "over"), means, texts=("over",))
        rows = []
        for shift in comparison.shifts:
            cells = [
                cell
                for value, *p_values in map(_difference, shift.differences)
                for cell in (value, "\n".join(filter(None, p_values)))
            ]
            rows.append([f"{shift.task} {shift.source} -> {shift.target}", str(shift.runs), *cells])
        yield PlainTable(title, ("shift", "runs", *(word for name in FIGURES for word in (name, "p"))), rows)
        for name, only in (("A", comparison.only_a), ("B", comparison.only_b)):
            if only:
                yield f"Only in {name}: {', '.join(only)}"
    yield f"Scores: above 0 favours A. Drops: below 0 favours A. p: two-sided; {CORRECTED}."
    yield "'floor': a score behind the drop is at chance, so the drop is shown and not compared."


def _difference(difference: Difference) -> tuple[str, str, str]:
    """Return the difference with its interval, p, and p corrected."""
    shown = starred(plain_score(difference.estimate), winner(difference) is not None)
    return (
        (shown, "floor", "") if difference.at_floor else (shown, p_text(difference.p), p_text(difference.p_corrected))
    )


def _warning_lines(results: Sequence[Scores]) -> Iterator[Text]:
    for warning in dict.fromkeys(warning for scores in results for warning in warnings(scores)):
        yield Text(warning, style="yellow")


def warnings(scores: Scores) -> list[str]:
    """List what keeps scores from being comparable, a sentence each."""
    listed = []
    if scores.synthetic_data:
        listed.append("Synthetic data: these scores show the tools at work and measure nothing else.")
    if scores.partial_data:
        listed.append("Partial data: not comparable with scores on the full benchmark.")
    if scores.unverified_data:
        listed.append("Some upstream files match no record: they may be incomplete, or of another revision.")
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


def _matrix(task: TaskScores, title: str, figure: str, *, diagonal: bool = False) -> Iterator[PlainTable]:
    """Yield the table of a figure of all shifts, by its field, if it is known of one.

    SD and TD are marked where a score behind them is at chance.
    """
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
    yield PlainTable(title, ("source", *task.domains), rows)


def _detectable(task: TaskScores) -> Iterator[RenderableType]:
    """List the smallest detectable drops: a row a shift, then what they come to."""
    shifts = [shift for shift in task.shifts if shift.detectable]
    drops = [name for name in ("sd", "td") if any(name in shift.detectable for shift in shifts)]
    rows = [
        [f"{shift.source} -> {shift.target}", *(detectable_text(shift.detectable.get(name)) for name in drops)]
        for shift in shifts
    ]
    if rows:
        title = f"{task.task}: smallest detectable drops in points (corrected over the shifts)"
        yield PlainTable(title, ("shift", *map(str.upper, drops)), rows)
    yield from detectable_lines(task)


def _id_ood(title: str, results: Sequence[tuple[str | None, IdOod]]) -> PlainTable:
    """Build a row for each entry (None: named by what it was trained on), of entities also one for the four types."""
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
    return PlainTable(title, ("entry" if results[0][0] else "source", *columns), rows)


def _confidence(task: str, confidence: Confidence) -> Iterator[RenderableType]:
    """List what confidences are worth, means over domains and shifts, and how much of TD is label shift."""
    rows = []
    for figure, estimates in mean_rows(confidence):
        rows.append([figure.name, *(plain_score(each, figure.decimals) for each in estimates)])
    yield PlainTable(f"{task}: confidence in points, means", ("figure", *NAMES), rows)
    yield brier_note(confidence)
    if confidence.mean_label_shift is not None and confidence.mean_rest is not None:
        shift, rest = plain_score(confidence.mean_label_shift), plain_score(confidence.mean_rest)
        yield f"TD = label shift {shift} + rest {rest}, means over shifts"


def _meaning_lines(task: TaskScores, *, has_drops: bool) -> Iterator[str]:
    """List what is to be known of drops and flips before they are read."""
    if task.annotators is not None:
        yield annotator_words(task.annotators, task.metric)
    if task.near_duplicates is not None and has_drops:
        yield near_duplicate_words(task.near_duplicates)
    if any(shift.flips for shift in task.shifts):
        yield mean_flip_words(task).replace(MINUS, "-")


def _summary(task: TaskScores) -> Iterator[RenderableType]:
    summary, one_source = task.summary, task.summary.basis == ID_OOD
    table = Table(show_header=False, box=box.SIMPLE_HEAD)
    table.add_column("figure", overflow="fold")
    table.add_column("points", justify="right", no_wrap=True)
    for row in summary_rows(summary):
        table.add_row(*row)
    outside = summary.basis == OUTSIDE_BASES[ELSEWHERE]
    basis = f"{ELSEWHERE_MARK}: drops do not apply" if outside else summary.basis
    yield f"\n{task.task}: summary over {counted(summary.n_shifts, 'shift')}, {basis}"
    yield table
    yield from tail_lines(task)
    yield from _meaning_lines(task, has_drops=has_scenarios(summary))
    every = (summary.mean_ss, summary.mean_st, *(figure for shift in task.shifts for figure in (shift.st, shift.sd)))
    for reason in dict.fromkeys(figure.no_interval for figure in every if figure.no_interval):
        yield f"Some figures have no interval: {reason}."
    if not summary.total:
        yield "Intervals: other test sets, same models."
        needs = "single sources, every shift among them, and 5 or more runs a source with the same seeds on each target"
        needs = "5 or more runs with the same seeds on each target" if one_source else needs
        yield f"Training variance was not measured; that needs {needs}."


_FIGURES = (
    ("mean SS", "mean_ss"),
    ("mean ST", "mean_st"),
    ("average drop", "average_drop"),
    ("worst SD (interval: all shifts at once)", "worst_sd"),
    ("worst TD (interval: all shifts at once)", "worst_td"),
    ("average worst SD", "average_worst_sd"),
    ("average worst TD", "average_worst_td"),
)


def summary_rows(summary: Summary) -> Iterator[tuple[str, str]]:
    """List labels and figures, in points; of a grid that is not complete the mean SD in place of the average drop."""
    figures: list[tuple[str, Estimate]] = [(label, getattr(summary, name)) for label, name in _FIGURES]
    if summary.average_drop.value is None:
        figures.insert(2, ("mean SD", summary.mean_sd))
    by_depth = [(f"Depth F1 at lambda {lambda_}", each) for lambda_, each in summary.depth_f1.items()]
    yield from _rows_with_values(figures)
    for name, interval in summary.total.items():
        bounds = f"[{plain_points(interval.low)}, {plain_points(interval.high)}]"
        yield f"{name.replace('_', ' ')}, training runs too", bounds
    yield from _rows_with_values([*by_depth, *slope_rows(summary)])
    if has_scenarios(summary):
        yield from ((f"{name} shifts", share(part)) for name, part in summary.scenario_shares.items())
        yield "scenarios resolved (both drops; count uncorrected)", share(summary.resolved_share)


def has_scenarios(summary: Summary) -> bool:
    """Check whether any shift has both drops; without a model trained on the target there is no TD."""
    return any(part is not None for part in summary.scenario_shares.values())


def _rows_with_values(figures: list[tuple[str, Estimate]]) -> Iterator[tuple[str, str]]:
    return ((label, plain_score(each)) for label, each in figures if each.value is not None)


_COUNTED: dict[Status, str] = {"agrees": "as claimed", "moved": "moved", "differs": "differ"}


def claim_lines(claim: Claim, checked: ClaimCheck) -> Iterator[RenderableType]:
    """List every figure as claimed and as found, what else is not as claimed, and whether the claim holds."""
    for pair in dict.fromkeys(each.pair for each in checked.figures):
        rows = [_claim_row(each) for each in checked.figures if each.pair == pair]
        head = ("over", "figure", "claimed", "p", "found", "p", "")
        yield PlainTable(f"{pair} in points, p corrected", head, rows)
    yield from (f"{fact.what} differs: claimed {fact.claimed}; found {fact.found}" for fact in checked.facts)
    if checked.moved_by:
        moved = ", ".join(f"{each.what} {each.claimed} -> {each.found}" for each in checked.moved_by)
        when = "Whether the claim was right when it was made,"
        yield f"{moved}: figures may move. {when} {claim.package} alone can check."
    if claim.comparisons[0].settings is None:
        yield f"The claim: {NO_SETTINGS}."
    yield _claim_verdict(checked)


def _claim_row(check: FigureCheck) -> list[str]:
    status = check.status if check.stands else f"{check.status}: another conclusion"
    return [check.where, check.figure, *_claim_cells(check.claimed), *_claim_cells(check.found), status]


def _claim_cells(difference: Difference | None) -> tuple[str, str]:
    if difference is None:
        return "not there", MISSING
    return plain_points(difference.value, 2, signed=True), p_text(difference.p_corrected)


def _claim_verdict(checked: ClaimCheck) -> str:
    counts = Counter(each.status for each in checked.figures)
    parts = ", ".join(f"{counts[status]} {word}" for status, word in _COUNTED.items() if counts[status])
    figures = f"{counted(len(checked.figures), 'figure')}: {parts}"
    fallen = sum(not each.stands for each in checked.figures)
    stands = "every conclusion stands" if not fallen else f"{counted(fallen, 'conclusion')} fallen"
    return f"{'The claim holds' if checked.holds else 'The claim does not hold'}. {figures}; {stands}."
