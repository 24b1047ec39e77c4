"""One model's scores by domain: sentences, the output of ``shiftbench check``, and its report as one HTML page.

Sentences use hyphens as minus signs; the page replaces them with real ones.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import RenderableType

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.forecasting.shape import Forecasts
from shiftbench.scoring.reports.confidence import FIGURES
from shiftbench.scoring.reports.forecast import unlabelled_lines, unlabelled_pictures, unlabelled_tables
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.notices import notices
from shiftbench.scoring.reports.frame.parts import Section
from shiftbench.scoring.reports.frame.sentences import sentence
from shiftbench.scoring.reports.frame.site import render, report_file
from shiftbench.scoring.reports.numbers import (
    MINUS,
    drop_text,
    metric_name,
    p_words,
    plain_points,
    plain_score,
    share,
)
from shiftbench.scoring.reports.pictures.charts import depth_curves, has_depth
from shiftbench.scoring.reports.pictures.rows import scores_by_domain
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.reports.slice_words import slice_lines, slice_section, slice_table
from shiftbench.scoring.reports.time_words import time_lines, time_section
from shiftbench.scoring.scores.examples import WrongExample
from shiftbench.scoring.scores.next_steps import Step
from shiftbench.scoring.scores.shape import (
    DomainCheck,
    DomainScore,
    Estimate,
    ExplainedDomain,
    Leaks,
    NextStep,
    TaskScores,
)
from shiftbench.validation.report import counted
from shiftbench.validation.vocabulary import ELSEWHERE

LEVEL = 0.05
_N_DOUBTED = 5
"""Maximum number of rows with suspect labels listed in a sentence."""
ONE_MODEL = (
    "One model was scored, so there is no score by source: what models trained on each of these domains would reach is "
    "not known."
)


def opening_line(check: DomainCheck) -> str:
    """Return the limitation of checking a single model, and its source domain."""
    if _is_whole_file(check):
        return "All rows are one domain, so that slices are compared with the rest of them."
    if check.home is not None:
        return f"{ONE_MODEL} Home is '{check.home}', the domain that it was trained on."
    return f"{ONE_MODEL} No home domain was named (--trained-on), so drops do not apply."


def _is_whole_file(check: DomainCheck) -> bool:
    """Return whether slices were searched for in a file with a single domain, so there is nothing else to compare."""
    return check.slices is not None and len(check.domains) == 1


def headline(check: DomainCheck) -> str:
    """Return the main finding in a sentence."""
    if check.mean is None:
        return f"No domain has {check.min_texts} test texts, so there is no mean (--min-texts sets how many it takes)."
    if _is_whole_file(check):
        return f"Over {check.domains[0].domain}: {metric_name(check.metric)} {plain_score(check.mean)}."
    worst, best = (_domain_with_score(check, each) for each in ("lowest", "highest"))
    n = len(check.domains) - len(check.few_texts)
    at = f"mean {metric_name(check.metric)} {plain_score(check.mean)} over {counted(n, 'domain')}"
    drop = check.mean_drop
    if drop is not None and drop.value is not None:
        tail = f"; lowest: {worst}" if worst else ""
        return f"{_drop_words(drop, check.home)}{tail}; {at}."
    if check.spread is None:
        return f"Scores {at}."
    return f"Scores lowest on {worst}, highest on {best}; {at}."


class Command(str):
    """A command to run, which pages format as code."""

    __slots__ = ()


def verdict_lines(check: DomainCheck) -> Iterator[str | list[str]]:
    """List the main finding and the step for each domain; if nothing can be decided, that comes first."""
    is_open = bool(check.steps) and all(each.step == Step.LABEL for each in check.steps)
    if is_open:
        yield f"Nothing can be decided yet: {_reason_of_nothing(check)}."
    else:
        yield headline(check)
    if check.steps:
        yield f"What to do, at a margin of {_margin(check)}:"
        yield _step_items(check)
    if is_open:
        yield headline(check)


def _reason_of_nothing(check: DomainCheck) -> str:
    if check.home is not None and any(each.domain == check.home and each.at_floor for each in check.domains):
        return f"the model is not shown to be above chance at home ('{check.home}'), so its drops say nothing"
    counted_domains = [each for each in check.domains if not each.has_few_texts]
    if counted_domains and all(each.at_floor for each in counted_domains):
        return "the model is not shown to be above chance on any domain"
    if not any(each.difference for each in check.domains):
        return "there are not two domains with enough labels to compare"
    margin = _margin(check)
    return f"no domain is shown to lose less than {margin}, and none that loses as much is shown to lose at all"


def _margin(check: DomainCheck) -> str:
    return f"{plain_points(check.margin, 1).removesuffix('.0')} points"


def _step_items(check: DomainCheck) -> list[str]:
    """List the steps, grouped by command, with each command below its group."""
    by_command: dict[tuple[str, str | None], list[str]] = {}
    order = list(Step)
    for each in sorted(check.steps, key=lambda each: (order.index(Step(each.step)), each.texts or 0)):
        n_more = "" if each.texts is None else f" {each.texts:,} more"
        n_more += f", and as many of {check.home}" if each.of_home else ""
        words = f"{each.domain}: {each.step}{n_more}: {each.evidence}"
        by_command.setdefault((each.step, each.command), []).append(words)
    items: list[str] = []
    for (_, command), words_of in by_command.items():
        items += words_of if command is None else [*words_of, Command(command)]
    return items


def with_evidence(check: DomainCheck, command: Callable[[NextStep], str | None]) -> DomainCheck:
    """Return a check whose steps have reasons and commands.

    Args:
        check: the findings.
        command: returns the command of a step.
    """
    steps = (
        each.model_copy(update={"evidence": _evidence(each, check), "command": command(each)}) for each in check.steps
    )
    return check.model_copy(update={"steps": tuple(steps)})


def _evidence(step: NextStep, check: DomainCheck) -> str:
    domain = next((each for each in check.domains if each.domain == step.domain), None)
    margin = _margin(check)
    if domain is None:
        if step.texts is None:
            return "no text is labelled, and home says nothing of it"
        return f"no text is labelled; so many show that it loses less than {margin}, if it loses nothing"
    if domain.difference is None:
        few = f"{counted(domain.n, 'text')}, fewer than {check.min_texts}"
        return few if domain.has_few_texts else "there is nothing to compare it with"
    lost = _loss_words(domain.difference, check)
    if step.step == Step.ACCEPT:
        low = domain.difference.low  # relative to the others, losses are negative
        most = domain.difference.high if check.mean_drop else None if low is None else -low
        missed = f"; it may lose up to {plain_points(most)}" if most is not None and most > 0 else ""
        return f"{lost}, shown to lose less than {margin} (p {p_words(step.p)}){missed}"
    if step.step == Step.LABEL:
        return f"{lost}: {_reason_to_label(step, domain, domain.difference, check)}"
    return f"{lost} (p {p_words(step.p)}); {_evidence_of_probes(step, check)}"


def _reason_to_label(step: NextStep, domain: DomainScore, loss: Estimate, check: DomainCheck) -> str:
    margin, labelled = _margin(check), counted(domain.n, "labelled text")
    if any(each.at_floor for each in check.domains if each.domain in (domain.domain, check.home)):
        return "the model is not shown to be above chance"
    if step.texts is None:
        return f"too near {margin}, or compared with too few texts, for a number of labels within reach to decide"
    is_small = loss.value is None or (loss.value if check.mean_drop else -loss.value) < (check.margin or 0.0)
    return f"not shown {f'to be less than {margin} ' if is_small else ''}by {labelled}"


def _evidence_of_probes(step: NextStep, check: DomainCheck) -> str:
    """Return what the probes show about a domain where the model loses score."""
    if step.step == Step.LOOK:
        names = ", ".join(step.rows[:_N_DOUBTED]) + ", ..." * (len(step.rows) > _N_DOUBTED)
        return "most of its wrong answers are every probe's answers, too" + (f": rows {names}" if names else "")
    explained = next((each for each in check.explained if each.domain == step.domain), None)
    if step.step == Step.HARDER and explained is not None:
        return f"probes trained there lose {whole_points(explained.difficulty)}, too"
    gains = [
        (probe.name, gain)
        for probe in check.probes
        if (gain := probe.reference_td.get(step.domain)) is not None and gain.low is not None and gain.low > 0
    ]
    if gains:
        name, gain = max(gains, key=lambda each: each[1].value or 0.0)
        return f"a cheap model that was trained there ({name}) scores {plain_score(gain)} points more"
    if explained is not None and explained.verdict != "cannot tell":
        return f"{whole_points(explained.rest)} of it not explained by difficulty for probes"
    if explained is not None:
        return f"probes cannot tell whether any model would lose it ({explained_reason(explained)})"
    return "no probe was trained there, so whether any model would lose it is not known"


def _loss_words(found: Estimate, check: DomainCheck) -> str:
    if check.mean_drop is not None:
        return _signed(found, check)
    against = "against the rest"
    if found.value is not None and found.value < 0:
        return f"loses {_size(found)} points {against}"
    return f"gains {plain_score(found)} points {against}"


def _drop_words(drop: Estimate, home: str | None) -> str:
    if drop.low is None or drop.high is None:
        return sentence("scores", "loss", drop, f"away from '{home}'")
    if drop.low > 0:
        return f"Loses {plain_score(drop)} points on average away from '{home}'"
    if drop.high < 0:
        return f"Scores higher away from '{home}', by {_size(drop)} points"
    return f"No loss away from '{home}' is shown: {plain_score(drop)} points on average"


def _size(estimate: Estimate) -> str:
    flipped = Estimate(
        value=None if estimate.value is None else -estimate.value,
        low=None if estimate.high is None else -estimate.high,
        high=None if estimate.low is None else -estimate.low,
    )
    return plain_score(flipped)


def _domain_with_score(check: DomainCheck, which: str) -> str:
    """Write the domain with the lowest or highest score; ``""`` with a single domain."""
    if check.spread is None:
        return ""
    name = getattr(check.spread, which)
    return f"{name} ({plain_score(next(each.score for each in check.domains if each.domain == name))})"


def spread_line(check: DomainCheck) -> str:
    """Describe the spread between domains; ``""`` with fewer than two."""
    spread = check.spread
    if spread is None:
        return ""
    line = f"Between lowest and highest lie {plain_points(spread.range)} points"
    if spread.by_chance is None or spread.beyond_chance is None:
        return f"{line}."
    return (
        f"{line}. The standard deviation over domains is {plain_points(spread.observed)}; test texts alone would give "
        f"{plain_points(spread.by_chance)}, so the domains themselves differ by about "
        f"{plain_points(spread.beyond_chance)}. The lowest of several noisy scores looks worse than it is."
    )


def floor_lines(check: DomainCheck) -> Iterator[str]:
    """List the domains on which the model is not shown to be above the no-skill level."""
    low = [each.domain for each in check.domains if each.at_floor and not each.has_few_texts]
    if check.home in low:
        yield f"The model is not shown to be above chance at home ('{check.home}'): its drops say nothing."
    elif low:
        yield f"Not shown to be above what needs no skill: {', '.join(low)}."


def difference_lines(check: DomainCheck) -> Iterator[str | list[str]]:
    """List the significant differences between domains, and the detectable difference.

    Yields: sentences, and the list of significant differences.
    """
    tested = [each for each in check.domains if each.p is not None]
    if not tested:
        yield "No difference between domains could be tested."
        return
    shown = sorted((each for each in tested if (each.p or 0.0) < LEVEL), key=lambda each: each.p or 0.0)
    what = f"lost against home ('{check.home}')" if check.mean_drop is not None else "score less the others' mean"
    family = f"({what}; 5% for all together, by Holm's correction; each interval is of its domain alone)"
    if shown:
        yield f"{len(shown)} of {counted(len(tested), 'difference')} between domains hold up {family}:"
        yield [
            f"{each.domain}: {_signed(each.difference, check)} (p {p_words(each.p)})"
            for each in shown
            if each.difference is not None
        ]
    else:
        yield f"No difference between domains holds up {family}."
    smallest = [each.detectable for each in tested if each.detectable is not None]
    if smallest:
        low, high = plain_points(min(smallest)), plain_points(max(smallest))
        reach = low if low == high else f"{low} to {high}"
        yield f"Smaller true differences than {reach} points are missed in more than one study of five."


def _signed(estimate: Estimate, check: DomainCheck) -> str:
    if check.mean_drop is not None:
        lost = estimate.value is None or estimate.value >= 0
        return f"loses {plain_score(estimate)} points" if lost else f"gains {_size(estimate)} points"
    bounds = f"[{plain_points(estimate.low)}, {plain_points(estimate.high)}]"
    return f"{plain_points(estimate.value, signed=True)} {bounds} points"


def found_lines(check: DomainCheck) -> Iterator[str | list[str]]:
    """List the findings, the main one first.

    For periods without a source domain, and for slices of a file with a single domain, steps and differences are
    omitted.

    Yields: sentences, and lists that belong to the sentence before them.
    """
    is_compared = check.over_time is None or check.mean_drop is not None
    is_compared = is_compared and not _is_whole_file(check)
    yield from slice_lines(check.slices)
    yield from time_lines(check.over_time)
    yield from verdict_lines(check) if is_compared else [headline(check)]
    yield from floor_lines(check)
    yield from difference_lines(check) if is_compared else ()


def explained_line(domain: ExplainedDomain) -> str:
    """Return a verdict on a drop in a sentence."""
    rest = f"{whole_points(domain.rest)} not explained by difficulty for these probes"
    lost = f"of {whole_points(domain.drop)} lost, "
    if domain.verdict == "cannot tell":
        figures = f" ({lost}{rest})" if domain.rest.value is not None else ""
        return f"{domain.domain}: cannot tell: {explained_reason(domain)}{figures}."
    if domain.verdict == "harder":
        return f"{domain.domain}: harder: {lost}the probes lose {whole_points(domain.difficulty)} too; {rest}."
    return f"{domain.domain}: {_LONG[domain.verdict]}: {lost}{rest}."


_LONG = {"shifted": "shifted", "both": "harder and shifted", "harder": "harder"}


def explained_reason(domain: ExplainedDomain) -> str:
    """Return why there is no verdict; ``""`` if there is one. If two verdicts disagree, both are named."""
    if domain.as_is in _LONG and domain.at_home_shares is not None and domain.reason is not None:
        why = f" ({domain.at_home_shares_reason})" if domain.at_home_shares_reason else ""
        other = _LONG.get(domain.at_home_shares, domain.at_home_shares)
        return f"{_LONG[domain.as_is]} as it is, but with home's class shares {other}{why}"
    return domain.reason or ""


def whole_points(estimate: Estimate) -> str:
    """Format whole points with the unit before the interval: ``9 points [4, 14]``."""
    value = plain_points(estimate.value, 0)
    unit = "point" if value in ("1", "-1") else "points"
    if estimate.low is None or estimate.high is None:
        return f"{value} {unit}"
    return f"{value} {unit} [{plain_points(estimate.low, 0)}, {plain_points(estimate.high, 0)}]"


def left_out_lines(check: DomainCheck) -> Iterator[str]:
    """List what was excluded, and irregularities in the rows."""
    for domain, n in check.few_texts.items():
        why = f"{counted(n, 'test text')}, fewer than {check.min_texts} (--min-texts)"
        yield f"{domain}: {why}: listed, and left out of means, tests and pictures"
    leaks = check.leaks
    if leaks is not None:
        yield _leak_line(leaks)
    for domain, why in check.without_probe.items():
        yield f"{domain}: no probe: {why}"
    yield from check.notes


def _leak_line(leaks: Leaks) -> str:
    exact, near = sum(leaks.exact.values()), sum(leaks.near.values())
    if not exact + near:
        return f"no test text stands in the {leaks.n_train:,} training texts, not even nearly"
    names = dict.fromkeys([*leaks.exact, *leaks.near])
    where = ", ".join(f"{name} {leaks.exact.get(name, 0) + leaks.near.get(name, 0):,}" for name in names)
    return (
        f"{counted(exact + near, 'test text')} left out because the {leaks.n_train:,} training texts hold "
        f"them: {exact:,} word for word, {near:,} nearly ({where})"
    )


def check_lines(check: DomainCheck, forecasts: Forecasts | None = None) -> Iterator[RenderableType]:
    """List the findings, the main one first, then forecasts of the domains without labels."""
    for line in found_lines(check):
        yield from (
            [line]
            if isinstance(line, str)
            else [f"    {item}" if isinstance(item, Command) else f"  {item}" for item in line]
        )
    if check.slices is not None and check.slices.slices:
        yield slice_table(check.slices)
    yield from map(explained_line, check.explained)
    yield score_table(check)
    if check.probes:
        yield probe_table(check)
    yield from filter(None, (spread_line(check), opening_line(check), *left_out_lines(check)))
    if forecasts is not None:
        yield "\nDomains without labels"
        yield from unlabelled_lines(forecasts)
        yield from unlabelled_tables(forecasts)
        yield forecasts.concept_shift


def score_table(check: DomainCheck) -> PlainTable:
    """Build the table with one row per domain: score, no-skill level, difference, and remarks."""
    difference = "drop from home" if check.mean_drop is not None else "against the rest"
    meanings = {
        "no skill": "labels at random, or the most frequent one for every text: the higher of the two",
        "drop from home": f"score at home {MINUS} score here; the interval is of this domain alone",
        "against the rest": f"score here {MINUS} mean of the other domains; the interval is of this domain alone",
        "p": "that there is no difference, corrected over the domains (Holm)",
        "detectable": "smallest true difference that this test finds in four studies of five",
    }
    head = ("domain", "texts", metric_name(check.metric), "no skill", difference, "p", "detectable", "")
    rows = []
    for each in check.domains:
        floor, remarks = each.floor, ["home"] if each.domain == check.home else []
        if each.has_few_texts:
            remarks.append("too few texts: left out")
        elif each.score.no_interval:
            remarks.append(f"no interval: {each.score.no_interval}")
        remarks += ["at chance"] if each.at_floor else []
        remarks += ["holds up"] if each.p is not None and each.p < LEVEL else []
        remarks += [f"{share(each.unparsed)} without a usable answer"] if each.unparsed else []
        cells = [
            plain_points(max(floor.chance, floor.majority)) if floor else "",
            plain_score(each.difference) if each.difference else "",
            p_words(each.p) if each.p is not None else "",
            plain_points(each.detectable) if each.detectable is not None else "",
        ]
        rows.append([each.domain, f"{each.n:,}", plain_score(each.score), *cells, ", ".join(remarks)])
    return PlainTable("Score by domain, in points", head, rows, texts=("",), meanings=meanings)


def probe_table(check: DomainCheck) -> PlainTable:
    """Build the table of the probes' in-domain scores, and of their lead over this model."""
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
    title = f"Probes, trained on {n_train:,} texts of the domain, drawn anew for each training; means, in points"
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


_EXPLAINED = (
    "A domain on which the model loses score may be harder, for any model, or shifted away from what this model "
    "learned. Probes are cheap models that were trained on each domain, all on equally many texts, and tested on that "
    f"same domain: what they lose from home to a domain is difficulty. Rest = drop {MINUS} difficulty, a difference in "
    "differences; the intervals of both are also over other train texts of the probes, while the model is meant as it "
    "is. A verdict must hold in points, in log odds and in logarithms of score less chance, with each probe by itself, "
    "and when the classes have home's shares; where one of the two is shown, it must also be shown to be the larger "
    "part. It is about difficulty for these probes: a domain may be hard in ways that they do not see."
)
_PROBES = (
    "Scores of the probes where they were trained (TT). Reference TD: that less this model's score, the price of not "
    "having been trained there as far as cheap models show it; below 0 the model does better than they do at home."
)
_INTERVALS = "In brackets: 95% intervals over other test texts, for this trained model."


@dataclass(frozen=True)
class CheckShown:
    """The content of the page.

    Attributes:
        check: the findings.
        data: display name of the data.
        folder: the dataset.
        task: the task's scores, for depth; domains named as in ``check``.
        examples: misclassified texts, by domain.
        warnings: caveats about the model, shown first.
        forecasts: forecasts of the domains without labels; None if all have some.
    """

    check: DomainCheck
    data: str
    folder: DatasetFolder
    task: TaskScores
    examples: dict[str, Sequence[WrongExample]] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    forecasts: Forecasts | None = None


def check_html(shown: CheckShown) -> Markup:
    """Build the report as one self-contained HTML page."""
    check, title = shown.check, f"{shown.check.model} on {shown.data}"
    first, *rest = found_lines(check)
    body = render(
        "check_report.html",
        title=title,
        notices=notices([shown.folder]),
        shown=shown,
        first=first,
        lines=[line if isinstance(line, str) else list(_items(line)) for line in rest],
        opening=opening_line(check),
        sections=list(_sections(shown)),
        source=check.home or ELSEWHERE,
        left_out=list(left_out_lines(check)),
    )
    return report_file(title, [body], "shiftbench check")


def _items(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """List the items of a list, each with its command, or ``""``."""
    following = [*lines[1:], ""]
    for line, after in zip(lines, following, strict=True):
        if not isinstance(line, Command):
            yield line, after if isinstance(after, Command) else ""


def _sections(shown: CheckShown) -> Iterator[Section]:
    check = shown.check
    if check.slices is not None:
        yield slice_section(check.slices)
    if check.over_time is not None:
        yield time_section(check.over_time)
    known = [each for each in check.domains if not each.has_few_texts and each.score.value is not None]
    if known:
        title, about = f"Score by domain ({metric_name(check.metric)})", f"{_INTERVALS} {spread_line(check)}"
        yield Section(title, about, figures=[scores_by_domain(known, check.home)], tables=[score_table(check)])
    if shown.forecasts is not None:
        yield Section(
            "Domains without labels: forecasts of accuracy",
            shown.forecasts.concept_shift,
            lines=list(unlabelled_lines(shown.forecasts)),
            figures=unlabelled_pictures(shown.forecasts),
            tables=unlabelled_tables(shown.forecasts),
        )
    if check.explained:
        yield Section("Harder or shifted", _EXPLAINED, lines=list(map(explained_line, check.explained)))
    if check.probes:
        yield Section("Probes", _PROBES, tables=[probe_table(check)])
    few = set(check.few_texts)
    task = shown.task.model_copy(update={"shifts": tuple(each for each in shown.task.shifts if each.target not in few)})
    if has_depth(task):
        slope = task.summary.depth_slope
        words = "slope on depth, per standard deviation (above 0: better near the source)"
        yield Section(
            "By distance from the training texts",
            "Micro F1, each text weighted by how far it lies from the training texts, as fewer source-like texts "
            f"remain.{f' In points: {words}: {drop_text(slope)}.' if slope else ''}",
            figures=[depth_curves(task)],
        )
    if any(each.confidence for each in check.domains):
        about = f"What the model's confidences are worth on each domain. {_INTERVALS}"
        yield Section("Confidence by domain", about, tables=[confidence_table(check)])
