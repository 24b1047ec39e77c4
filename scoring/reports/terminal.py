"""Scores, comparisons, boards and checked claims for a terminal: points (x100), 'n/a' if undefined."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from shiftbench.scoring.comparing.claims import Claim, ClaimCheck, FigureCheck, Status
from shiftbench.scoring.comparing.shape import FIGURES, Comparison, Difference, p_text, winner
from shiftbench.scoring.comparing.words import CORRECTED, about_lines, chance_words, floor_words
from shiftbench.scoring.reports.confidence import NAMES, mean_rows
from shiftbench.scoring.reports.frame.sentences import sentence, sentences
from shiftbench.scoring.reports.numbers import MINUS, MISSING, metric_name, plain_points, plain_score, share
from shiftbench.scoring.reports.pictures.words import source_name
from shiftbench.scoring.reports.plain_tables import PlainTable, starred
from shiftbench.scoring.reports.score_words import detectable_lines, margin_lines, verdict_lines
from shiftbench.scoring.reports.task_page import TaskPage
from shiftbench.scoring.scores.floors import DROP_SCORES, is_drop_at_floor
from shiftbench.scoring.scores.shape import Confidence, Estimate, Scores, TaskScores
from shiftbench.scoring.scores.summary import ID_OOD, NO_DEPTHS
from shiftbench.validation.report import plural
from shiftbench.validation.versions import NO_SETTINGS
from shiftbench.validation.vocabulary import OUTSIDE_SOURCES

FLOOR_MARK = "floor "
"""Prefix of a drop with a score at chance."""


def score_lines(scores: Scores) -> Iterator[RenderableType]:
    """List the summary, every task's matrices and summary table, then what is missing.

    Undefined values and optional missing parts are omitted.
    """
    for line in verdict_lines(scores):
        yield Text(line, style="bold")
    yield from warning_lines([scores])
    for task in scores.tasks:
        if task.id_ood is None or len({shift.source for shift in task.shifts}) > 1 or len(task.in_domain) > 1:
            yield from _matrix(task, "ST", "st", diagonal=True)
        yield from _matrix(task, "SD", "sd")
        yield from _matrix(task, "TD", "td")
        if any(shift.reference_td is not None for shift in task.shifts):
            yield from _matrix(task, "TD relative to the reference's TT", "reference_td")
        yield from _summary(TaskPage(scores, task))
        if task.confidence is not None:
            yield from _confidence(task.task, task.confidence)
    missing = [item for item in scores.missing if item.what != NO_DEPTHS]
    if missing:
        yield f"Missing, so not scored ({len(missing)}):"
    for item in missing:
        where = " ".join(part for part in (item.task, item.source, "->" if item.target else None, item.target) if part)
        yield f"  {where}: {item.what}"


def summary_table(scores: Scores) -> PlainTable:
    """Build the table with one row per task: means, average drop and worst drops."""
    head = ("Task", "Metric", "Shifts", "Mean SS", "Mean ST", "Average drop", "Worst SD", "Worst TD")
    rows = []
    for task in scores.tasks:
        summary = task.summary
        drops = map(plain_score, (summary.average_drop, summary.worst_sd, summary.worst_td))
        means = map(plain_score, (summary.mean_ss, summary.mean_st))
        rows.append((task.task, metric_name(task.metric), str(summary.n_shifts), *means, *drops))
    return PlainTable("Summary, in points", head, rows, n_names=2)


def shifts_table(scores: Scores) -> PlainTable:
    """Build the table with one row per shift: scores, drops and the scenario."""
    head = ("Task", "Trained on", "Tested on", "ST", "SS", "TT", "SD", "TD", "Scenario")
    rows = []
    for name, shift in ((task.task, shift) for task in scores.tasks for shift in task.shifts):
        figures = map(plain_score, (shift.st, shift.ss, shift.tt, shift.sd, shift.td))
        rows.append((name, source_name(shift.source), shift.target, *figures, shift.scenario))
    return PlainTable("Every shift, in points", head, rows, n_names=3)


def comparison_lines(comparisons: Sequence[Comparison]) -> Iterator[RenderableType]:
    """List for each comparison the means, then one row per shift: A - B in points, starred if corrected p < 0.05.

    Args:
        comparisons: comparisons of a first entry with others.
    """
    for comparison in comparisons:
        yield f"A = {comparison.a}, B = {comparison.b}"
        yield from (f"{line}." for line in about_lines([comparison]))
        low = {task.task: chance_words(task.at_floor, ("A", "B")) for task in comparison.tasks}
        means = []
        for mean in comparison.means:
            figure = mean.difference.figure if mean.source is None else f"{mean.source}, {mean.difference.figure}"
            where = f"{mean.task} {figure}{' (ranked by)' if mean.ranked else ''}"
            words = floor_words(mean.difference, ("A", "B"))
            over = [", ".join(mean.targets), low.get(mean.task, "") if mean.ranked else ""]
            means.append([where, *_difference(mean.difference), words or "\n".join(filter(None, over))])
        title = "A minus B in points, 95% intervals, p and corrected p; * = corrected p < 0.05"
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
    yield "'floor': a score in the drop is at chance, so the drop is shown but not compared."


def _difference(difference: Difference) -> tuple[str, str, str]:
    """Return the difference with its interval, p, and p corrected."""
    shown = starred(plain_score(difference.estimate), winner(difference) is not None)
    return (
        (shown, "floor", "") if difference.at_floor else (shown, p_text(difference.p), p_text(difference.p_corrected))
    )


def warning_lines(results: Sequence[Scores]) -> Iterator[Text]:
    """List reasons why scores are not comparable, without repetitions."""
    for warning in dict.fromkeys(warning for scores in results for warning in warnings(scores)):
        yield Text(warning, style="yellow")


def warnings(scores: Scores) -> list[str]:
    """List reasons why scores are not comparable, a sentence each."""
    return sentences("terminal", "warnings", scores)


def _matrix(task: TaskScores, title: str, figure: str, *, diagonal: bool = False) -> Iterator[PlainTable]:
    """Yield the table of a figure (a field of ``Shift``) over all shifts; nothing if no shift has a value.

    SD and TD are marked if one of their scores is at chance.
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
    # Rows without any value are omitted: for example, models without an in-domain score have no drops.
    known = {source for (source, _), each in estimates.items() if each is not None and each.value is not None}
    if not known:
        return
    sources = sorted(known, key=lambda source: (source in OUTSIDE_SOURCES, "+" in source, source))
    rows = [[source, *(cells.get((source, domain), "") for domain in task.domains)] for source in sources]
    title = f"{task.task}: {title} in points ({task.metric}); row = source, column = target"
    title += ", diagonal = SS" if diagonal else ""
    yield PlainTable(title, ("source", *task.domains), rows)


def _confidence(task: str, confidence: Confidence) -> Iterator[RenderableType]:
    """List the confidence metrics, averaged over domains and shifts, and the part of TD due to label shift."""
    rows = []
    for figure, estimates in mean_rows(confidence):
        rows.append([figure.name, *(plain_score(each, figure.decimals) for each in estimates)])
    yield PlainTable(f"{task}: confidence in points, means", ("figure", *NAMES), rows)
    yield sentence("scores", "brier", confidence.given)
    if confidence.mean_label_shift is not None and confidence.mean_rest is not None:
        shift, rest = plain_score(confidence.mean_label_shift), plain_score(confidence.mean_rest)
        yield f"TD = label shift {shift} + rest {rest}, means over shifts"


def _summary(page: TaskPage) -> Iterator[RenderableType]:
    """List the headline values of a page, with explanations."""
    task, summary = page.task, page.task.summary
    rows = []
    for tile in page.tiles:
        value, *interval = plain_score(tile.estimate).split(" ", 1)
        ends = tile.total and f"[{plain_points(tile.total.low)}, {plain_points(tile.total.high)}]"
        total = [f"with training runs {ends}"] if ends else []
        remarks = [remark.replace(MINUS, "-") for remark in tile.remarks]
        if tile.estimate.value is not None:
            rows.append([tile.name.replace(MINUS, "-"), value, "".join(interval), "\n".join([*total, *remarks])])
    title = f"{task.task}: summary over {plural(summary.n_shifts, 'shift')}, {page.basis}, in points"
    yield PlainTable(title, ("figure", "points", "95% interval", ""), rows, texts=("",))
    shares = [f"{name} {share(part)}" for name, part in summary.scenario_shares.items() if part is not None]
    if shares:
        yield f"Scenarios: {', '.join(shares)}; resolved (both drops; not corrected): {share(summary.resolved_share)}."
    yield from detectable_lines(task)
    yield from margin_lines(task)
    yield from page.notes
    every = (summary.mean_ss, summary.mean_st, *(figure for shift in task.shifts for figure in (shift.st, shift.sd)))
    for reason in dict.fromkeys(figure.no_interval for figure in every if figure.no_interval):
        yield f"Some values have no interval: {reason}."
    if not page.has_totals:
        yield sentence("terminal", "without_runs", summary.basis == ID_OOD)


_COUNTED: dict[Status, str] = {"agrees": "as claimed", "moved": "changed with the versions", "differs": "different"}


def claim_lines(claim: Claim, checked: ClaimCheck) -> Iterator[RenderableType]:
    """List every difference as claimed and as recomputed, other mismatches, and whether the claim holds.

    Args:
        claim: the claim.
        checked: the result of repeating it.
    """
    for pair in dict.fromkeys(each.pair for each in checked.figures):
        rows = [_claim_row(each) for each in checked.figures if each.pair == pair]
        head = ("over", "figure", "claimed", "p", "found", "p", "")
        yield PlainTable(f"{pair} in points, p corrected", head, rows)
    counts = Counter(each.status for each in checked.figures)
    named = [(words, counts[status]) for status, words in _COUNTED.items() if counts[status]]
    fallen = sum(not each.stands for each in checked.figures)
    no_settings = NO_SETTINGS if claim.comparisons[0].settings is None else ""
    yield from sentences("terminal", "claim", checked, claim.package, no_settings, named, fallen)


def _claim_row(check: FigureCheck) -> list[str]:
    status = check.status if check.stands else f"{check.status}: different conclusion"
    return [check.where, check.figure, *_claim_cells(check.claimed), *_claim_cells(check.found), status]


def _claim_cells(difference: Difference | None) -> tuple[str, str]:
    if difference is None:
        return "missing", MISSING
    return plain_points(difference.value, 2, signed=True), p_text(difference.p_corrected)
