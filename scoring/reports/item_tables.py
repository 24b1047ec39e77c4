"""Models compared on the same items: sentences and tables, and their rows as CSV.

Scores between 0 and 1 are shown in points, all others unchanged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from shiftbench.metrics.precision import MIN_GROUPS
from shiftbench.metrics.ranking import MIN_UNITS
from shiftbench.scoring.comparing.item_scores import ItemComparison, ModelDifference
from shiftbench.scoring.comparing.runs import RunReport, Spreads, survival_words
from shiftbench.scoring.comparing.shape import LEVEL, p_text
from shiftbench.scoring.reports.frame.sentences import sentence, sentences
from shiftbench.scoring.reports.numbers import MISSING, plain_points
from shiftbench.scoring.reports.plain_tables import PlainTable, starred
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.csv_export import Cell, guarded_csv

_CSV_HEADER = (
    "kind", "domain", "a", "b", "value", "low", "high", "p", "p_corrected", "detectable", "rank_low", "rank_high",
)  # fmt: skip


@dataclass(frozen=True)
class ItemReport:
    """A comparison with the texts for its report.

    Attributes:
        comparison: the results.
        task: the benchmark's name.
        metric: the score's name.
        by: the field that defines domains; None without domains.
        cluster: the field that defines clusters; None if each item is its own cluster.
        notes: further remarks on the data, a sentence each, without a full stop.
        runs: variance due to prompts and seeds, if a model has several logs.
    """

    comparison: ItemComparison
    task: str
    metric: str
    by: str | None = None
    cluster: str | None = None
    notes: Sequence[str] = ()
    runs: RunReport | None = None

    @property
    def title(self) -> str:
        """The report's title."""
        return f"{self.task}: {', '.join(model.name for model in self.comparison.models)}"

    @property
    def unit(self) -> str:
        """The score's name and unit."""
        return f"{self.metric} in points" if self.comparison.is_bounded else self.metric


def item_lines(report: ItemReport) -> Iterator[RenderableType]:
    """List the verdict, the tables, then explanations."""
    yield Text(f"{verdict(report)}.", style="bold")
    yield from tables(report)
    yield from (f"{line}." for line in lines(report))


def items_csv(report: ItemReport) -> str:
    """Format the results as CSV, one row per model and per difference, on all items and by domain.

    Args:
        report: the comparison.

    Returns: CSV text; scores as in the logs, unrounded.
    """
    comparison = report.comparison
    rows: list[list[Cell]] = []
    for model in comparison.models:
        for domain, each in {"": model.score, **model.domains}.items():
            ranks = [model.best_rank, model.worst_rank] if not domain else [None, None]
            rows.append(["score", domain, model.name, "", each.value, each.low, each.high, None, None, None, *ranks])
    for pair in comparison.differences:
        each = pair.difference
        tested = [pair.p, pair.p_corrected, pair.detectable, None, None]
        rows.append(["difference", pair.domain or "", pair.a, pair.b, each.value, each.low, each.high, *tested])
    return guarded_csv(_CSV_HEADER, rows)


def verdict(report: ItemReport) -> str:
    """Write which models differ significantly on all items."""
    pairs, leader = report.comparison.overall, report.comparison.models[0].name
    size = _number(pairs[0].difference.value, report, signed=True)
    tied = [each.b for each in pairs if each.a == leader and not each.is_significant]
    return sentence("items", "verdict", report, sum(each.is_significant for each in pairs), size, tied)


def tables(report: ItemReport) -> list[PlainTable]:
    """Build the tables: models and pairs; with domains also scores by domain and pairs by domain."""
    comparison = report.comparison
    made = [_models(report), _pairs(report, comparison.overall)]
    if comparison.domains:
        made += [_by_domain(report), _pairs(report, comparison.by_domain, by_domain=True)]
    if report.runs is not None:
        made += [_spreads(report, report.runs), _other_prompt(report, report.runs)]
    return made


def lines(report: ItemReport) -> list[str]:
    """Write explanations of the tables, a sentence each without a full stop."""
    survives = survival_words(report.runs, [model.name for model in report.comparison.models]) if report.runs else ""
    return [*sentences("items", "explanations", report, survives, MIN_GROUPS, MIN_UNITS), *report.notes]


def _models(report: ItemReport) -> PlainTable:
    rows = []
    for model in report.comparison.models:
        has_ranks = model.best_rank is not None
        ranks = f"{model.rank} [{model.best_rank}, {model.worst_rank}]" if has_ranks else MISSING
        rows.append((model.name, _score(model.score, report), ranks))
    return PlainTable(f"{report.task}: {report.unit}", ("Model", "Score", "Rank"), rows)


def _pairs(report: ItemReport, pairs: Sequence[ModelDifference], *, by_domain: bool = False) -> PlainTable:
    rows = [
        (
            *([_name(each.domain)] if by_domain else []),
            each.a,
            each.b,
            starred(_score(each.difference, report, signed=True), each.is_significant),
            p_text(each.p_corrected),
            _number(each.detectable, report),
        )
        for each in pairs
    ]
    names = ("Domain", "A", "B") if by_domain else ("A", "B")
    where = "by domain" if by_domain else "on all items"
    title = f"A minus B {where}, {report.unit}; * = p < {LEVEL:g}, corrected"
    return PlainTable(title, (*names, "Difference", "p", "Detectable"), rows, n_names=len(names))


def _by_domain(report: ItemReport) -> PlainTable:
    comparison = report.comparison
    rows = [
        (
            _name(size.domain),
            f"{size.n_items:,}",
            *(_score(model.domains[size.domain], report) for model in comparison.models),
        )
        for size in comparison.domains
    ]
    head = ("Domain", "Items", *(model.name for model in comparison.models))
    return PlainTable(f"By {report.by}, {report.unit}; differences between rows are not drops", head, rows)


def _spreads(report: ItemReport, runs: RunReport) -> PlainTable:
    """Build the table of variance components of the score of one answer."""
    rows = [
        (model.name, f"{model.n_prompts} / {model.n_runs}", *_spread_cells(report, model.spreads))
        for model in runs.models
    ]
    rows += [(f"{pair.a} minus {pair.b}", str(pair.n_prompts), *_spread_cells(report, pair.spreads))
             for pair in runs.pairs if pair.spreads is not None]  # fmt: skip
    head = ("Model", "Prompts / runs", "Items", "Prompts", "Seeds", "Rest")
    title = f"Variance components of one answer, as standard deviations, {report.unit}, 95% intervals"
    return PlainTable(title, head, rows)


def _spread_cells(report: ItemReport, spreads: Spreads | None) -> tuple[str, ...]:
    if spreads is None:
        return ("n/a",) * 4
    each = (spreads.items, spreads.prompts, spreads.seeds, spreads.rest)
    return tuple("n/a" if one is None else _score(one, report) for one in each)


def _other_prompt(report: ItemReport, runs: RunReport) -> PlainTable:
    """Build the table of pairwise differences predicted for a new prompt."""
    rows = []
    for pair in runs.pairs:
        reach = "n/a" if pair.low is None else f"{_number(pair.low, report)} to {_number(pair.high, report)}"
        rows.append((pair.a, pair.b, str(pair.n_prompts), "same" if pair.crossed else "own", reach, pair.survives))
    head = ("A", "B", "Prompts", "Sent", "A minus B with another prompt", "Order is stable")
    return PlainTable(f"Another prompt of the same kind, on these items, {report.unit}", head, rows, n_names=2)


def _name(domain: str | None) -> str:
    return domain or "(empty)"


def _number(value: float | None, report: ItemReport, *, signed: bool = False) -> str:
    if report.comparison.is_bounded or value is None:
        return plain_points(value, signed=signed)
    return f"{value:{'+' if signed else ''}.4g}"


def _score(each: Estimate, report: ItemReport, *, signed: bool = False) -> str:
    value = _number(each.value, report, signed=signed)
    if each.low is None or each.high is None:
        return value
    return f"{value} [{_number(each.low, report)}, {_number(each.high, report)}]"
