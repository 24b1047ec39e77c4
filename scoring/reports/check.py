"""One model's scores by domain: the output of ``shiftbench check``, and its report as one HTML page.

Sentences are in ``frame/templates``: check.txt, slices.txt, time.txt. They contain hyphens as minus signs, which
the page replaces with typographic ones.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import RenderableType

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.alarm import ALARM
from shiftbench.scoring.forecasting.shape import Forecasts
from shiftbench.scoring.reports.confidence import FIGURES
from shiftbench.scoring.reports.forecast import unlabelled_lines, unlabelled_pictures, unlabelled_tables
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.sentences import sentence, sentences
from shiftbench.scoring.reports.frame.site import notices, render, report_file
from shiftbench.scoring.reports.numbers import MINUS, metric_name, p_words, plain_points, plain_score, share
from shiftbench.scoring.reports.pictures.charts import depth_curves, has_depth, score_series
from shiftbench.scoring.reports.pictures.rows import scores_by_domain, scores_by_slice
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.examples import WrongExample
from shiftbench.scoring.scores.next_steps import Step
from shiftbench.scoring.scores.shape import DomainCheck, Estimate, NextStep, OverTime, SlicesFound, TaskScores
from shiftbench.validation.vocabulary import ELSEWHERE

LEVEL = 0.05


def _is_whole_file(check: DomainCheck) -> bool:
    """Return whether slices of a file with a single domain were searched; then no domains can be compared."""
    return check.slices is not None and len(check.domains) == 1


def headline(check: DomainCheck) -> str:
    """Return the main finding in a sentence."""
    return sentence("check", "headline", check, _is_whole_file(check))


class Command(str):
    """A command to run, which pages format as code."""

    __slots__ = ()


def verdict_lines(check: DomainCheck) -> Iterator[str | list[str]]:
    """List the main finding and the next step for each domain; if all are undecided, that is stated first."""
    is_open = bool(check.steps) and all(each.step == Step.LABEL for each in check.steps)
    yield sentence("check", "undecided", check) if is_open else headline(check)
    if check.steps:
        yield sentence("check", "steps", check)
        yield _step_items(check)
    if is_open:
        yield headline(check)


def _step_items(check: DomainCheck) -> list[str]:
    """List the steps, grouped by command, with each command below its group."""
    by_command: dict[tuple[str, str | None], list[str]] = {}
    order = list(Step)
    for each in sorted(check.steps, key=lambda each: (order.index(Step(each.step)), each.texts or 0)):
        words = sentence("check", "step", each, check.home)
        by_command.setdefault((each.step, each.command), []).append(words)
    items: list[str] = []
    for (_, command), words_of in by_command.items():
        items += words_of if command is None else [*words_of, Command(command)]
    return items


def with_evidence(check: DomainCheck, command: Callable[[NextStep], str | None]) -> DomainCheck:
    """Add reasons and commands to the recommended steps of a check.

    Args:
        check: the check, with domains as they are shown.
        command: returns the command to run for a step; None if there is none.
    """
    domains = {each.domain: each for each in check.domains}
    steps = []
    for each in check.steps:
        evidence = sentence("check", "evidence", each, check, domains.get(each.domain), _largest_gain(each, check))
        steps.append(each.model_copy(update={"evidence": evidence, "command": command(each)}))
    return check.model_copy(update={"steps": tuple(steps)})


def _largest_gain(step: NextStep, check: DomainCheck) -> tuple[str, Estimate] | None:
    """Return the probe with the largest significant lead over the model on the step's domain, and the lead."""
    gains = [
        (probe.name, gain)
        for probe in check.probes
        if (gain := probe.reference_td.get(step.domain)) is not None and gain.low is not None and gain.low > 0
    ]
    return max(gains, key=lambda each: each[1].value or 0.0, default=None)


def difference_lines(check: DomainCheck) -> Iterator[str | list[str]]:
    """List the significant differences between domains, and the detectable difference.

    Yields: sentences, and the list of significant differences.
    """
    tested = [each for each in check.domains if each.p is not None]
    shown = sorted((each for each in tested if (each.p or 0.0) < LEVEL), key=lambda each: each.p or 0.0)
    first, *others = sentences("check", "differences", check, tested, shown)
    yield first
    if shown:
        yield [sentence("check", "difference", each, check.mean_drop is not None) for each in shown]
    yield from others


def time_lines(course: OverTime) -> list[str]:
    """List the findings over time; an alarm comes first, the statement that there is none last."""
    lines, found = [sentence("time", "course", course)], course.alarm
    if found is not None:
        at = next((each for each in course.periods if each.period == found.at), None)
        evidence = evidence_words(found.largest if at is None else at.evidence)
        lines.insert(int(at is None), sentence("time", "alarm", course, at, evidence, ALARM))
    elif any(each.is_reference for each in course.periods):
        lines.append("There is no period after the reference yet, so nothing can be monitored.")
    return lines


def evidence_words(evidence: float | None) -> str:
    """Format evidence; ``""`` if there is none.

    >>> evidence_words(0.004), evidence_words(1.23), evidence_words(154.2), evidence_words(5e6), evidence_words(None)
    ('below 0.01', '1.2', '154', 'over 1,000', '')
    """
    if evidence is None:
        return ""
    if evidence > 1000:
        return "over 1,000"
    return "below 0.01" if evidence < 0.01 else f"{evidence:.2g}" if evidence < 10 else f"{evidence:.0f}"


def found_lines(check: DomainCheck) -> Iterator[str | list[str]]:
    """List the findings, the main one first.

    For periods without a source domain, and for slices of a file with a single domain, steps and differences are
    omitted.

    Yields: sentences, and lists that belong to the sentence before them.
    """
    is_compared = check.over_time is None or check.mean_drop is not None
    is_compared = is_compared and not _is_whole_file(check)
    yield from sentences("slices", "slices", check.slices) if check.slices is not None else ()
    yield from time_lines(check.over_time) if check.over_time is not None else ()
    yield from verdict_lines(check) if is_compared else [headline(check)]
    yield from sentences("check", "floor", check)
    yield from difference_lines(check) if is_compared else ()


def explained_lines(check: DomainCheck) -> list[str]:
    """List the verdicts on drops: harder, shifted, or both."""
    return [sentence("check", "explained", each) for each in check.explained]


def check_lines(check: DomainCheck, forecasts: Forecasts | None = None) -> Iterator[RenderableType]:
    """List the findings, the main one first, then forecasts of the domains without labels.

    Args:
        check: the check, with reasons and commands (``with_evidence``).
        forecasts: forecasts of the domains without labels; None if every domain has labels.
    """
    for line in found_lines(check):
        items = [line] if isinstance(line, str) else [f"  {'  ' * isinstance(each, Command)}{each}" for each in line]
        yield from items
    if check.slices is not None and check.slices.slices:
        yield slice_table(check.slices)
    yield from explained_lines(check)
    yield score_table(check)
    if check.probes:
        yield probe_table(check)
    yield from sentences("check", "spread", check.spread) if check.spread is not None else ()
    yield sentence("check", "opening", check, _is_whole_file(check))
    yield from sentences("check", "left_out", check)
    if forecasts is not None:
        yield "\nDomains without labels"
        yield from unlabelled_lines(forecasts)
        yield from unlabelled_tables(forecasts)
        yield forecasts.concept_shift


def score_table(check: DomainCheck) -> PlainTable:
    """Build the table with one row per domain: score, no-skill level, difference, and remarks."""
    difference = "source drop" if check.mean_drop is not None else "against the rest"
    meanings = {
        "no skill": "random labels or the most frequent label, whichever scores higher",
        "source drop": f"in-domain score {MINUS} score here; uncorrected interval",
        "against the rest": f"score here {MINUS} mean of the other domains; uncorrected interval",
        "p": "for no difference, corrected over the domains (Holm)",
        "detectable": "smallest true difference detected with 80% power",
    }
    head = ("domain", "texts", metric_name(check.metric), "no skill", difference, "p", "detectable", "")
    rows = []
    for each in check.domains:
        floor, remarks = each.floor, ["source"] if each.domain == check.home else []
        if each.has_few_texts:
            remarks.append("too few texts: excluded")
        elif each.score.no_interval:
            remarks.append(f"no interval: {each.score.no_interval}")
        remarks += ["at chance"] if each.at_floor else []
        remarks += ["significant"] if each.p is not None and each.p < LEVEL else []
        remarks += [f"{share(each.unparsed)} without a usable output"] if each.unparsed else []
        cells = [
            plain_points(max(floor.chance, floor.majority)) if floor else "",
            plain_score(each.difference) if each.difference else "",
            p_words(each.p) if each.p is not None else "",
            plain_points(each.detectable) if each.detectable is not None else "",
        ]
        rows.append([each.domain, f"{each.n:,}", plain_score(each.score), *cells, ", ".join(remarks)])
    return PlainTable("Score by domain, in points", head, rows, texts=("",), meanings=meanings)


def probe_table(check: DomainCheck) -> PlainTable:
    """Build the table of the probes' in-domain scores, and of these scores minus the model's."""
    head, meanings = ["domain"], dict[str, str]()
    for probe in check.probes:
        head += [f"{probe.name}, trained here", "reference TD"]
        meanings |= {head[-2]: "TT: trained and tested here", head[-1]: f"TT {MINUS} this model's score"}
    rows = []
    for each in check.domains:
        row = [each.domain]
        for probe in check.probes:
            low = "\nat chance" if each.domain in probe.at_floor else ""
            found, above = probe.scores.get(each.domain), probe.reference_td.get(each.domain)
            row += [plain_score(found) + low if found else "", plain_score(above) if above else ""]
        rows.append(row)
    n_train = check.probes[0].n_train
    title = f"Probes, trained on {n_train:,} texts of the domain, resampled for each training run; means, in points"
    return PlainTable(title, head, rows, meanings=meanings)


def confidence_table(check: DomainCheck) -> PlainTable:
    """Build the table of confidence metrics by domain."""
    rows = [
        [each.domain, *(plain_score(figure.of(each.confidence), figure.decimals) for figure in FIGURES)]
        for each in check.domains
        if each.confidence is not None and not each.has_few_texts
    ]
    head, meanings = ("domain", *(each.name for each in FIGURES)), {each.name: each.meaning for each in FIGURES}
    return PlainTable("Confidence by domain, in points", head, rows, meanings=meanings)


def slice_table(found: SlicesFound) -> PlainTable:
    """Build the table of slices, compared with the rest of the texts."""
    head = ("slice", "texts", metric_name(found.measure), "against the rest", "p", "most typical words")
    meanings = {
        "against the rest": f"score {MINUS} score of all other texts; uncorrected interval",
        "p": "for no difference, corrected over all tested slices (Holm)",
    }
    rows = []
    for each in found.slices:
        texts = f"{each.n:,}" if each.n_tested is None else f"{each.n:,} ({each.n_tested:,} tested)"
        name = f"{each.name}, mostly {each.domain}" if each.domain else each.name
        figures = plain_score(each.score), plain_score(each.difference), p_words(each.p)
        rows.append([name, texts, *figures, ", ".join(each.words)])
    title = "Slices with a significant difference from the rest, in points"
    return PlainTable(title, head, rows, texts=("most typical words",), meanings=meanings)


def time_table(course: OverTime) -> PlainTable:
    """Build the table of periods: texts, score and, with an alarm, the evidence that scores fell."""
    has_looks = course.alarm is not None
    head = [course.unit, "texts", metric_name(course.measure), *(["evidence"] if has_looks else [])]
    rows = []
    for each in course.periods:
        period = f"{each.period}, reference" if each.is_reference else each.period
        evidence = [evidence_words(each.evidence)] if has_looks else []
        rows.append([period, f"{each.n:,}", plain_score(each.score), *evidence])
    meanings = {"evidence": f"for scores below the reference; {ALARM:g} is an alarm"}
    return PlainTable("Scores over time, in points", head, rows, meanings=meanings)


@dataclass(frozen=True)
class CheckShown:
    """The content of the page.

    ``task`` has the scores by depth, its domains named as in ``check``; ``examples`` are misclassified texts by domain;
    ``warnings`` about the model are at the top; ``forecasts`` are of domains without labels, None if all have labels.
    """

    check: DomainCheck
    data: str
    folder: DatasetFolder
    task: TaskScores
    examples: dict[str, Sequence[WrongExample]] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    forecasts: Forecasts | None = None


def check_html(shown: CheckShown) -> Markup:
    """Build the report as one self-contained HTML page.

    Args:
        shown: the content.
    """
    check, title = shown.check, f"{shown.check.model} on {shown.data}"
    first, *rest = found_lines(check)
    known = [each for each in check.domains if not each.has_few_texts and each.score.value is not None]
    shifts = tuple(each for each in shown.task.shifts if each.target not in check.few_texts)
    task, slices, course, forecasts = shown.task, check.slices, check.over_time, shown.forecasts
    body = render(
        "check_report.html",
        title=title,
        notices=notices([shown.folder]),
        shown=shown,
        check=check,
        first=first,
        lines=[line if isinstance(line, str) else list(_items(line)) for line in rest],
        opening=sentence("check", "opening", check, _is_whole_file(check)),
        slices=(scores_by_slice(slices), slice_table(slices)) if slices is not None and slices.slices else None,
        periods=(score_series(course), time_table(course)) if course is not None else None,
        domains=(scores_by_domain(known, check.home), score_table(check)) if known else None,
        unlabelled=(unlabelled_lines(forecasts), unlabelled_pictures(forecasts), unlabelled_tables(forecasts))
        if forecasts is not None
        else None,
        explained=explained_lines(check),
        probes=probe_table(check) if check.probes else None,
        depth=depth_curves(task.model_copy(update={"shifts": shifts})) if has_depth(task) else None,
        confidence=confidence_table(check) if any(each.confidence for each in check.domains) else None,
        source=check.home or ELSEWHERE,
        alarm=ALARM,
    )
    return report_file(title, [body], "shiftbench check")


def _items(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pair each item of a list with the command that follows it; ``""`` without one."""
    following = [*lines[1:], ""]
    for line, after in zip(lines, following, strict=True):
        if not isinstance(line, Command):
            yield line, after if isinstance(after, Command) else ""
