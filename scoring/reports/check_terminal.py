"""What ``shiftbench check`` prints: the main finding, a row a domain, verdicts, what was left out."""

from collections.abc import Iterator

from rich.console import RenderableType

from shiftbench.scoring.forecasting.shape import Forecasts
from shiftbench.scoring.reports.check_words import (
    difference_lines,
    explained_line,
    floor_lines,
    headline,
    holds_up,
    left_out_lines,
    opening_line,
    p_words,
    spread_line,
)
from shiftbench.scoring.reports.forecast_words import unlabelled_lines
from shiftbench.scoring.reports.numbers import metric_name, plain_points, plain_score
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.domain_shape import DomainCheck, DomainScore


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
