"""One model's scores by domain in sentences, for a report and a terminal (signs are plain, pages put real ones), and as
what ``shiftbench check`` prints: the main finding, a row a domain, verdicts, what was left out.
"""

from collections.abc import Iterator

from rich.console import RenderableType

from shiftbench.scoring.forecasting.shape import Forecasts
from shiftbench.scoring.reports.forecast_words import unlabelled_lines
from shiftbench.scoring.reports.numbers import metric_name, plain_points, plain_score
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.domain_shape import DomainCheck, DomainScore, ExplainedDomain, Leaks
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.validation.report import counted

LEVEL = 0.05
ONE_MODEL = (
    "One model was scored, so there is no score by source: what models trained on each of these domains would reach is "
    "not known."
)


def opening_line(check: DomainCheck) -> str:
    """Return what one model alone cannot show, and where it comes from."""
    if check.home is not None:
        return f"{ONE_MODEL} Home is '{check.home}', the domain that it was trained on."
    return f"{ONE_MODEL} No home domain was named (--trained-on), so drops do not apply."


def headline(check: DomainCheck) -> str:
    """Return the main finding in a sentence."""
    if check.mean is None:
        return f"No domain has {check.min_texts} test texts, so there is no mean (--min-texts sets how many it takes)."
    worst, best = (_domain_with_score(check, each) for each in ("lowest", "highest"))
    n = len(check.domains) - len(check.few_texts)
    at = f"mean {metric_name(check.metric)} {plain_score(check.mean)} over {counted(n, 'domain')}"
    drop = check.mean_drop
    if drop is not None and drop.value is not None:
        tail = f"; lowest: {worst}" if worst else ""
        if drop.low is not None and drop.low > 0:
            return f"Loses {plain_score(drop)} points on average away from '{check.home}'{tail}; {at}."
        if drop.high is not None and drop.high < 0:
            return f"Scores higher away from '{check.home}', by {_size(drop)} points{tail}; {at}."
        return f"No loss away from '{check.home}' is shown: {plain_score(drop)} points on average{tail}; {at}."
    if check.spread is None:
        return f"Scores {at}."
    return f"Scores lowest on {worst}, highest on {best}; {at}."


def _size(estimate: Estimate) -> str:
    flipped = Estimate(
        value=None if estimate.value is None else -estimate.value,
        low=None if estimate.high is None else -estimate.high,
        high=None if estimate.low is None else -estimate.low,
    )
    return plain_score(flipped)


def _domain_with_score(check: DomainCheck, which: str) -> str:
    """Write the domain of the lowest or highest score; empty where there are not several."""
    if check.spread is None:
        return ""
    name = getattr(check.spread, which)
    return f"{name} ({plain_score(next(each.score for each in check.domains if each.domain == name))})"


def spread_line(check: DomainCheck) -> str:
    """Return how far domains lie apart; empty with fewer than two."""
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


def holds_up(domain: DomainScore) -> bool:
    """Return whether a domain's difference holds up at 5% for all domains together."""
    return domain.p is not None and domain.p < LEVEL


def floor_lines(check: DomainCheck) -> Iterator[str]:
    """List the domains on which the model is not shown to be above what needs no skill."""
    low = [each.domain for each in check.domains if each.at_floor and not each.has_few_texts]
    if check.home in low:
        yield f"The model is not shown to be above chance at home ('{check.home}'): its drops say nothing."
    elif low:
        yield f"Not shown to be above what needs no skill: {', '.join(low)}."


def difference_lines(check: DomainCheck) -> Iterator[str | list[str]]:
    """List which differences between domains hold up, and what the test could have found.

    Yields: sentences, and the list of those that hold up.
    """
    tested = [each for each in check.domains if each.p is not None]
    if not tested:
        yield "No difference between domains could be tested."
        return
    shown = sorted((each for each in tested if holds_up(each)), key=lambda each: each.p or 0.0)
    what = f"lost against home ('{check.home}')" if check.mean_drop is not None else "score less the others' mean"
    family = f"({what}; 5% for all together, by Holm's correction)"
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
        return f"loses {plain_score(estimate)} points"
    bounds = f"[{plain_points(estimate.low)}, {plain_points(estimate.high)}]"
    return f"{plain_points(estimate.value, signed=True)} {bounds} points"


def p_words(p: float | None) -> str:
    """Format a corrected p value.

    >>> p_words(0.0123), p_words(1e-9), p_words(None)
    ('0.012', 'below 0.001', 'n/a')
    """
    return "n/a" if p is None else "below 0.001" if p < 0.001 else f"{p:.3f}"


def explained_line(domain: ExplainedDomain) -> str:
    """Return a verdict in a sentence."""
    rest = f"{whole_points(domain.rest)} not explained by difficulty for these probes"
    lost = f"of {whole_points(domain.drop)} lost, "
    if domain.verdict == "cannot tell":
        figures = f" ({lost}{rest})" if domain.rest.value is not None else ""
        return f"{domain.domain}: cannot tell: {domain.reason}{figures}."
    if domain.verdict == "harder":
        return f"{domain.domain}: harder: {lost}the probes lose {whole_points(domain.difficulty)} too; {rest}."
    return f"{domain.domain}: {_LONG[domain.verdict]}: {lost}{rest}."


_LONG = {"shifted": "shifted", "both": "harder and shifted"}


def whole_points(estimate: Estimate) -> str:
    """Format whole points with the unit before the interval: ``9 points [4, 14]``."""
    value = plain_points(estimate.value, 0)
    unit = "point" if value in ("1", "-1") else "points"
    if estimate.low is None or estimate.high is None:
        return f"{value} {unit}"
    return f"{value} {unit} [{plain_points(estimate.low, 0)}, {plain_points(estimate.high, 0)}]"


def left_out_lines(check: DomainCheck) -> Iterator[str]:
    """List what was left out, and what is odd about the rows."""
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
    """List what was found, the main finding first; then forecasts of the domains without labels."""
    for line in (headline(check), *floor_lines(check), *difference_lines(check)):
        yield from [line] if isinstance(line, str) else [f"  {item}" for item in line]
    yield from map(explained_line, check.explained)
    has_home = check.mean_drop is not None
    heads = ["domain", "texts", f"{metric_name(check.metric)}", "no skill"]
    heads += ["drop from home" if has_home else "against the rest", "p (Holm)", ""]
    rows = [_row(each, check) for each in check.domains]
    yield PlainTable("Score by domain, in points", tuple(heads), rows)
    if check.probes:
        names = [f"{probe.name}, trained here" for probe in check.probes]
        title = f"Probes, each trained on {check.probes[0].n_train:,} texts of the domain"
        yield PlainTable(title, ("domain", *names), [_probe_row(each, check) for each in check.domains])
    yield from filter(None, (spread_line(check), opening_line(check), *left_out_lines(check)))
    if forecasts is not None:
        yield "\nDomains without labels"
        yield from unlabelled_lines(forecasts)


def _row(domain: DomainScore, check: DomainCheck) -> list[str]:
    floor = domain.floor
    marks = ["home"] if domain.domain == check.home else []
    marks += ["too few texts"] if domain.has_few_texts else []
    marks += ["at chance"] if domain.at_floor else []
    marks += ["holds up"] if holds_up(domain) else []
    return [
        domain.domain,
        f"{domain.n:,}",
        plain_score(domain.score),
        plain_points(max(floor.chance, floor.majority)) if floor else "",
        plain_score(domain.difference) if domain.difference else "",
        p_words(domain.p) if domain.p is not None else "",
        ", ".join(marks),
    ]


def _probe_row(domain: DomainScore, check: DomainCheck) -> list[str]:
    scores = [probe.scores.get(domain.domain) for probe in check.probes]
    return [domain.domain, *(plain_score(score) if score else "" for score in scores)]
