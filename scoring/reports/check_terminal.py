"""What ``shiftbench check`` prints: the main finding, a row a domain, verdicts, what was left out."""

from typing import TYPE_CHECKING

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
from shiftbench.scoring.reports.terminal import print_table
from shiftbench.scoring.scores.domain_shape import DomainCheck, DomainScore

if TYPE_CHECKING:
    from rich.console import Console


def print_check(check: DomainCheck, console: "Console", forecasts: Forecasts | None = None) -> None:
    """Print what was found, the main finding first; then forecasts of the domains without labels."""
    for line in (headline(check), *floor_lines(check), *difference_lines(check)):
        for each in [line] if isinstance(line, str) else [f"  {item}" for item in line]:
            console.print(each, highlight=False, markup=False)
    for domain in check.explained:
        console.print(explained_line(domain), highlight=False, markup=False)
    has_home = check.mean_drop is not None
    heads = ["domain", "texts", f"{metric_name(check.metric)}", "no skill"]
    heads += ["drop from home" if has_home else "against the rest", "p (Holm)", ""]
    rows = [_row(each, check) for each in check.domains]
    print_table(console, "Score by domain, in points", tuple(heads), rows)
    if check.probes:
        names = [f"{probe.name}, trained here" for probe in check.probes]
        title = f"Probes, each trained on {check.probes[0].n_train:,} texts of the domain"
        print_table(console, title, ("domain", *names), [_probe_row(each, check) for each in check.domains])
    for line in (spread_line(check), opening_line(check), *left_out_lines(check)):
        if line:
            console.print(line, highlight=False, markup=False)
    if forecasts is not None:
        console.print("\nDomains without labels", highlight=False, markup=False)
        for line in unlabelled_lines(forecasts):
            console.print(line, highlight=False, markup=False)


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
