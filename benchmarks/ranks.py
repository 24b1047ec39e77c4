"""Error rates of ``logs ranks``: false separations of equally good models, and power to separate different ones.

Each page is a score table of models by units, sampled with equally good models (for power: with equally spaced true
scores). Units are what a claim generalises over: items, tasks, clusters of items or families of tasks. Paired t tests
with Bonferroni's correction on the same pages serve as the reference.
"""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta
from tqdm import tqdm

from shiftbench.metrics.components import variance_components
from shiftbench.metrics.ranking import rank_units
from shiftbench.scoring.comparing.unit_ranks import ScoreTable, Unit, rank_table
from shiftbench.scoring.reports.numbers import MISSING
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.validation.operating_system import peak_memory
from shiftbench.validation.timing import Timing

Floats = NDArray[np.float64]
MODELS, UNITS = (5, 20, 180), (8, 12, 41, 500)
EQUAL = (
    "normal", "heavy tails", "binary items", "clusters", "missing cells", "families, 20%", "families, 50%", "skewed",
)  # fmt: skip
"""Kinds of pages (score tables) of equally good models. No error rate is guaranteed for the skewed ones, on which half
of the models make rare, large errors."""
IGNORED = ("families of 20% ignored", "families of 50% ignored")
POWER = ("power, normal", "power, heavy tails", "power, binary items")
_SHARES = {kind: 0.2 if "20%" in kind else 0.5 for kind in (*EQUAL, *IGNORED) if "famil" in kind}
"""Share of the variance of a model's score on a task, beyond the task's difficulty, that is due to its family."""
_TASKS_OF_FAMILY = 5
_MANY, _LARGE = 100, 10_000
"""Numbers of models and of cells from which fewer pages are simulated."""


@dataclass(frozen=True)
class Cell:
    """Results of one setting.

    Attributes:
        kind: how the tables are sampled, such as "heavy tails".
        models: number of models per page.
        units: number of units per page.
        pages: number of simulated pages.
        ours: share of pages with a false separation; for power, share of pairs of different models separated.
        bonferroni: the same for paired t tests with Bonferroni's correction.
    """

    kind: str
    models: int
    units: int
    pages: int
    ours: float
    bonferroni: float


def draw_page(kind: str, models: int, units: int, rng: np.random.Generator) -> tuple[Floats, Floats | None]:
    """Simulate a table of equally good models.

    Args:
        kind: one of ``EQUAL`` or ``IGNORED``.
        models: number of rows.
        units: number of columns.
        rng: the generator.
    Returns: scores, NaN where missing, shape (models, units), and the units' weights, None where equal.
    """
    shape, weights = (models, units), None
    table = rng.normal(size=shape)
    if kind == "heavy tails":
        table = rng.standard_t(2.5, size=shape) * np.exp(rng.normal(size=units))
    elif kind == "binary items":
        table = (rng.random(shape) < rng.beta(2, 1, size=units)).astype(np.float64)
    elif kind == "skewed":
        half = models // 2
        table[:half] = np.exp(0.5) - np.exp(table[:half])
    elif kind == "missing cells":
        lacking = rng.random(models) < 0.3
        lacking[0] = False
        table[lacking[:, None] & (rng.random(shape) < 0.2)] = np.nan
    elif kind == "clusters":  # correct and wrong items; a model is better on some clusters
        weights = rng.geometric(0.25, size=units)
        table = rng.binomial(weights, rng.beta(1.5, 1.5, size=shape)) / weights
    elif kind in IGNORED:
        share, families = _SHARES[kind], np.repeat(np.arange(units), _TASKS_OF_FAMILY)
        moved = np.sqrt(share) * table[:, families]
        table = moved + np.sqrt(1 - share) * rng.normal(size=moved.shape)
    elif kind in _SHARES:
        weights = rng.integers(1, 2 * _TASKS_OF_FAMILY, size=units)
        table *= np.sqrt(_SHARES[kind] + (1 - _SHARES[kind]) / weights)
    return table, None if weights is None else weights.astype(np.float64)


def measure(pages: int, seed: int, resume: Path | None = None) -> list[Cell]:
    """Simulate every setting.

    Args:
        pages: pages per setting. Slow settings get fewer: an eighth with many models, half with large tables; settings
            of power get a tenth of that.
        seed: seed of the simulation.
        resume: file of finished settings, which are reused if the number of pages is the same; new ones are appended.
    """
    found: dict[tuple[Any, ...], Cell] = {}
    if resume is not None and resume.exists():
        for line in resume.read_bytes().splitlines():
            cell = msgspec.json.decode(line, type=Cell)
            key = (cell.kind, cell.models, cell.units)
            if key not in found or found[key].pages <= cell.pages:
                found[key] = cell
    settings = [*product(EQUAL, MODELS, UNITS), *product(IGNORED, (20,), (8, 12)), *product(POWER, MODELS, UNITS)]
    cells = []
    for kind, models, units in tqdm(sorted(settings, key=_cost), desc="settings"):
        share = (8 if models >= _MANY else 2 if models * units >= _LARGE else 1) * (10 if kind in POWER else 1)
        key = (kind, models, units)
        drawn = max(pages // share, 1)
        if key not in found or found[key].pages < drawn:
            found[key] = _simulate(*key, drawn, np.random.default_rng([seed, *kind.encode(), models, units]))
            if resume is not None:
                with resume.open("ab") as file:
                    file.write(msgspec.json.encode(asdict(found[key])) + b"\n")
        cells.append(found[key])
    order = [*EQUAL, *IGNORED, *POWER]
    return sorted(cells, key=lambda cell: (order.index(cell.kind), cell.models, cell.units))


def _cost(setting: tuple[str, int, int]) -> int:
    """Return the approximate relative cost of a setting: models with missing cells are compared pair by pair."""
    kind, models, units = setting
    return models * units * (10 if kind == "missing cells" else 1)


def _simulate(kind: str, models: int, units: int, pages: int, rng: np.random.Generator) -> Cell:
    ours = bonferroni = 0.0
    upper = np.triu_indices(models, 1)
    for _ in range(pages):
        table, weights = draw_page(kind.removeprefix("power, "), models, units, rng)
        if kind in POWER:
            # The ends of the line are always separated; of neighbouring pairs only some are.
            gap = table.std() * np.linspace(0, 12 / np.sqrt(units), models)[:, None]
            if kind == "power, binary items":
                table = np.where(rng.random(table.shape) < np.minimum(gap, 0.9), 1.0, table)
            else:
                table = table + gap
        ranks = rank_units(table, weights)
        by_t = ranks.p * upper[0].size <= 0.05
        if kind in POWER:
            ours += float((ranks.decided & (ranks.difference < 0))[upper].mean())
            bonferroni += float((by_t & (ranks.difference < 0))[upper].mean())
        else:
            ours += bool(ranks.decided.any())
            bonferroni += bool(by_t.any())
    return Cell(kind, models, units, pages, ours / pages, bonferroni / pages)


def rank_lines(cells: list[Cell]) -> Iterator[PlainTable]:
    """Build the two tables: false separations with exact 95% limits, and power."""
    head = ("Pages of equal models", "Models", "Units", "Pages", "Any false separation", "Bonferroni-t")
    equal = [cell for cell in cells if cell.kind not in POWER]
    rows = [
        (
            each.kind,
            str(each.models),
            f"{each.units:,}",
            f"{each.pages:,}",
            _rate(each),
            f"{100 * each.bonferroni:.1f}%",
        )
        for each in equal
    ]
    yield PlainTable("Pages with a false separation of equal models, with exact 95% limits", head, rows, n_names=1)
    rows = [
        (each.kind, str(each.models), f"{each.units:,}", f"{each.pages:,}", f"{100 * each.ours:.1f}%",
         f"{100 * each.bonferroni:.1f}%")
        for each in cells if each.kind in POWER
    ]  # fmt: skip
    head = ("Equally spaced models", "Models", "Units", "Pages", "Pairs separated", "Bonferroni-t")
    yield PlainTable("Power: share of different pairs that are separated, in the right order", head, rows, n_names=1)


def component_lines(draws: int, seed: int) -> Iterator[PlainTable]:
    """Simulate estimates of variance components: coverage of their limits, and median upper limit of the SD.

    Items have variance 1, prompts .09, runs .04, items by prompts .25, and the residual 1.
    """
    rows = []
    for n, k, r in ((200, 3, 1), (200, 5, 1), (200, 12, 1), (200, 5, 3), (50, 5, 3), (200, 1, 5)):
        rng = np.random.default_rng([seed, n, k, r])
        truth = {"items": 1.0, "prompts": 0.09 + 0.04 * (r == 1), "seeds": 0.04, "rest": 1.25 if k > 1 else 1.0}
        held: dict[str, list[bool]] = {name: [] for name in truth}
        width: dict[str, list[float]] = {name: [] for name in truth}
        for _ in range(draws):
            table = rng.normal(size=(n, 1, 1)) + 0.2 * rng.normal(size=(1, k, r)) + rng.normal(size=(n, k, r))
            if k > 1:
                table += 0.3 * rng.normal(size=(1, k, 1)) + 0.5 * rng.normal(size=(n, k, 1))
            found = variance_components(table)
            for name, value in truth.items():
                component = getattr(found, name)
                if component is not None:
                    held[name].append(component.low <= value <= component.high)
                    width[name].append(float(np.sqrt(component.high / value)))
        cells = [
            f"{100 * np.mean(held[name]):.1f}% (to {np.median(width[name]):.2f})" if held[name] else MISSING
            for name in truth
        ]
        rows.append((f"{n} items, {k} prompts, {r} runs of each", *cells))
    title = "Components of variance: 95% limits that cover the truth (median upper limit of the sd, times the true one)"
    yield PlainTable(
        f"{title}, {draws:,} tables each", ("Design", "Items", "Prompts", "Seeds", "Rest"), rows, n_names=1
    )


def plain_bootstrap(scores: Floats, rng: np.random.Generator, n_draws: int = 1000) -> NDArray[np.bool_]:
    """Test all pairs of models as many leaderboards do: percentile bootstrap over units, uncorrected.

    Args:
        scores: shape (n_models, n_units), finite.
        rng: the generator.
        n_draws: number of resamples.
    Returns: whether the 95% interval of a difference excludes 0, shape (n_models, n_models).
    """
    n_units = scores.shape[1]
    counts = rng.multinomial(n_units, np.full(n_units, 1 / n_units), size=n_draws)
    means = scores @ counts.T / n_units
    apart = np.zeros((len(scores), len(scores)), dtype=bool)
    for row in range(1, len(scores)):
        low, high = np.quantile(means[:row] - means[row], (0.025, 0.975), axis=1)
        apart[row, :row] = apart[:row, row] = (low > 0) | (high < 0)
    return apart


def method_lines(table: ScoreTable, seed: int) -> Iterator[PlainTable]:
    """Build a table that compares the plain bootstrap and ``logs ranks`` on one real score table."""
    ranking = rank_table(table)
    place = {name: row for row, name in enumerate(table.models)}
    order = [place[model.name] for model in ranking.models]
    apart = plain_bootstrap(table.scores[order], np.random.default_rng(seed))
    by_it = int(sum(apart[row, row + 1] for row in range(len(order) - 1)))
    rows = [
        ("paired bootstrap, uncorrected", str(int((~apart[0]).sum())), str(by_it)),
        ("logs ranks, uncorrected", MISSING, str(ranking.decided_uncorrected)),
        ("logs ranks, corrected for all pairs", str(len(ranking.tied_first)), str(ranking.decided)),
    ]
    n = f"{len(order)} complete models of {len(table.models)}, {ranking.n_units} {ranking.unit}"
    head = ("Method", "Tied for first", f"Neighbouring pairs separated, of {len(order) - 1}")
    yield PlainTable(f"One board by two methods: {n}", head, rows, n_names=1)


def run_rank_bench(scale: float) -> Iterator[Timing]:
    """Time ``logs ranks``, compared with a plain bootstrap of all pairs (uncorrected, without ranks)."""
    for models, units, limit, binary in ((134, 500, 3.0, True), (180, 41, 10.0, False), (500, 2000, 10.0, False)):
        rng = np.random.default_rng([models, units])
        shape = (max(int(models * scale), 2), max(int(units * scale), 8))
        scores = rng.normal(size=shape) + rng.normal(size=shape[1]) + 0.1 * rng.normal(size=(shape[0], 1))
        scores = (scores > 0).astype(np.float64) if binary else scores
        names, columns = [f"m{n}" for n in range(shape[0])], [f"u{n}" for n in range(shape[1])]
        table = ScoreTable(names, columns, scores, Unit.ITEMS if binary else Unit.TASKS)
        started, used = time.perf_counter(), time.process_time()
        rank_table(table)
        seconds, cpu = time.perf_counter() - started, time.process_time() - used
        peak = peak_memory()
        started = time.perf_counter()
        plain_bootstrap(scores, rng)
        other = time.perf_counter() - started
        yield Timing(
            name=f"{shape[0]} models x {shape[1]} {'binary items' if binary else 'units'}",
            seconds=seconds,
            cpu_seconds=cpu,
            peak_memory=peak,
            yardstick="plain bootstrap over all pairs",
            yardstick_seconds=other,
            speedup=other / seconds,
            wanted=f"under {limit:g} s and 1 GiB",
            met=seconds < limit and (peak or 0) < 2**30 if scale == 1 else None,
        )


def _rate(cell: Cell) -> str:
    found = round(cell.ours * cell.pages)
    low = beta.ppf(0.025, found, cell.pages - found + 1) if found else 0.0
    high = beta.ppf(0.975, found + 1, cell.pages - found) if found < cell.pages else 1.0
    return f"{100 * cell.ours:.1f}% [{100 * low:.1f}, {100 * high:.1f}]"
