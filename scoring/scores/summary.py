"""The nested shape of a task's scores: drops, scenarios, intervals, task summaries, what is missing."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.depth import LAMBDAS
from shiftbench.metrics.resolution import UNRESOLVED, resolved_scenario
from shiftbench.metrics.robustness import (
    scenario,
    scenario_shares,
    summarise,
)
from shiftbench.metrics.significance import scenario_chi_square
from shiftbench.scoring.scores.beyond_means import beyond_means, slope_estimate, split_half_drops
from shiftbench.scoring.scores.estimate import Estimate, Interval
from shiftbench.scoring.scores.gaps import gaps, small_domains
from shiftbench.scoring.scores.home_advantage import task_home_advantage
from shiftbench.scoring.scores.id_ood import IdModel, id_figures, id_model
from shiftbench.scoring.scores.intervals import (
    DROP,
    FIGURES,
    MEANS,
    UNKNOWN,
    Figure,
    Key,
    bounds_of,
    detectable_drops,
    difference,
    estimate,
    estimates,
    mean,
    none_if_nan,
    support_of_scenarios,
    total_intervals,
)
from shiftbench.scoring.scores.outcomes import LENIENT, PRIOR_FIXED
from shiftbench.scoring.scores.partial_grid import (
    ESTIMATED,
    PLAIN,
    Drops,
    known_figures,
    mean_by_lambda,
    of_shifts,
    worst_drops,
)
from shiftbench.scoring.scores.precision import Precision
from shiftbench.scoring.scores.replicates import Cell, Floats, TaskValues
from shiftbench.scoring.scores.shape import (
    METRIC_VERSION,
    OUTSIDE_BASES,
    DetectableDrop,
    Flips,
    InDomain,
    Missing,
    PriorFixed,
    Scores,
    Shift,
    Summary,
    TaskScores,
)
from shiftbench.validation.vocabulary import source_parts

PAIRING = "pairing"
"""The basis of a summary over the one shift of a pairing."""
_UNKNOWN = np.array([np.nan])


def summarise_values(
    task_values: Mapping[str, TaskValues],
    folder: DatasetFolder,
    subset: str = "all",
    reference: Mapping[str, TaskValues] | None = None,
    token_encoder: str | None = None,
) -> Scores:
    """Build the nested scores of all tasks that there are predictions for; runs are averaged over seeds.

    Args:
        task_values: scores by task.
        folder: the dataset.
        subset: the subset that they are on.
        reference: scores of a pinned reference, for a TT that ``task_values`` lacks (``reference_td`` only).
        token_encoder: what BERTScore's tokens were embedded with.
    """
    tasks: list[TaskScores] = []
    missing: list[Missing] = []
    for name in folder.manifest.tasks:
        if name not in task_values:
            if not folder.task(name).candidates_for:  # candidates are an optional test, so no gap is reported
                missing.append(Missing(task=name, source=None, target=None, what="no predictions for this task"))
            continue
        task = _TaskAverages(
            task_values[name], (reference or {}).get(name), id_model(task_values[name], folder.manifest)
        )
        tasks.append(task.scores())
        missing += gaps(task_values[name], has_depth=folder.has_depth)
    return Scores(
        benchmark=folder.manifest.benchmark,
        data=folder.content_hash,
        partial_data=folder.manifest.partial,
        unverified_data=folder.manifest.unverified,
        synthetic_data=folder.manifest.synthetic,
        subset=subset,
        metric_version=METRIC_VERSION,
        depth_encoder=depth_encoder_name(folder),
        token_encoder=token_encoder,
        tasks=tuple(tasks),
        missing=tuple(missing),
    )


def task_scores(values: TaskValues, manifest: Manifest | None = None) -> TaskScores:
    """Build the nested scores of a task (see ``summarise_values``); a folder without manifest has no ID domain."""
    return _TaskAverages(values, None, id_model(values, manifest) if manifest else None).scores()


def depth_encoder_name(folder: DatasetFolder) -> str | None:
    """Return the name of the encoder behind a folder's depths, as ``Scores.depth_encoder`` has it.

    Args:
        folder: the dataset.
    Returns: ``name@revision``; None for a folder without depths.
    """
    facts = folder.manifest.encoder
    return f"{facts.id}@{facts.revision}" if facts else None


class _TaskAverages:
    """One task's scores, averaged over runs: arrays of shape (1 + n_draws,)."""

    def __init__(self, values: TaskValues, reference: TaskValues | None, id_model: IdModel | None) -> None:
        self.id_model = id_model
        self.reference = Precision(reference) if reference else None
        self.values, self.name, self.info, self.domains = values, values.name, values.info, values.domains
        small = small_domains(values.info, values.domains)
        self.counted = tuple(domain for domain in values.domains if domain not in small)
        """The domains that means are over: all but the small ones of own data."""
        self.precision = Precision(values)
        self.means = {
            metric: {cell: self.precision.mean(metric, cell) for cell in by_cell}
            for metric, by_cell in values.scores.items()
        }
        self.secondary = [
            metric
            for metric in self.means
            if metric not in (self.info.metric, "unparsed") and "@" not in metric and not metric.startswith(PRIOR_FIXED)
        ]
        self.sources = values.sources
        self.shift_cells = values.shift_cells
        self.drops = [self._drops(*cell) for cell in self.shift_cells]
        self.of_grid = self._grid_means()
        self.total = total_intervals(values, self.counted, self._figures_by_key())
        self.drops = [drops._replace(resolved=self._is_resolved(drops)) for drops in self.drops]
        self.id_ood = id_model.scores(values, self.figure, self.score) if id_model else None

    def _figures_by_key(self) -> dict[Key, Figure]:
        figures: dict[Key, Figure] = {
            (domain, domain, "ss"): self.figure(domain, domain)
            for domain in self.domains
            if (domain, domain) in self.values.rows
        }
        for drops in self.drops:
            figures |= {(drops.source, drops.target, name): figure for name, figure in drops.figures.items()}
        return figures | {(None, None, name): figure for name, figure in self.of_grid.items()}

    def figure(self, source: str, target: str, metric: str | None = None) -> Figure:
        """Return a score averaged over runs with its interval; unknown without predictions."""
        name = metric or self.info.metric
        known_cell = (source, target) in self.values.scores.get(name, {})
        return self.precision.figure(name, (source, target)) if known_cell else UNKNOWN

    def score(self, source: str, target: str, metric: str | None = None) -> Floats:
        """Return the mean over runs, first on the test set itself, then on replicates; NaN without predictions."""
        scores: Mapping[Cell, Floats] = self.means.get(metric or self.info.metric, {})
        return scores.get((source, target), _UNKNOWN)

    def scores(self) -> TaskScores:
        return TaskScores(
            task=self.name,
            metric=self.info.metric,
            domains=self.domains,
            summary=self._summary(),
            id_ood=self.id_ood,
            in_domain=tuple(self._in_domain(domain) for domain in self.domains if (domain, domain) in self.values.rows),
            shifts=tuple(self._shift(drops) for drops in self.drops),
        )

    def _in_domain(self, domain: str) -> InDomain:
        cell = (domain, domain)
        return InDomain(
            domain=domain,
            n=self.values.rows[cell],
            runs=len(self.precision.averaged_runs(*cell)),
            score=estimate(self.figure(*cell)),
            total=self._total_of(domain, domain, {"ss": "score"}),
            secondary=self._secondary(cell),
            unparsed=float(self.score(*cell, "unparsed")[0]),
        )

    def _secondary(self, cell: Cell) -> dict[str, float | None]:
        secondary = {metric: none_if_nan(self.score(*cell, metric)[0]) for metric in self.secondary}
        # Strict and lenient reading agree in all other cells.
        if LENIENT in secondary and cell not in self.means[LENIENT]:
            secondary[LENIENT] = none_if_nan(self.score(*cell)[0])
        return secondary

    def _drops(self, source: str, target: str) -> Drops:
        """Compute a shift's drops. SS of a joined source is the mean over its parts' tests; None without sources."""
        parts = source_parts(source)
        st, tt = self.figure(source, target), self.figure(target, target)
        ss = mean([self.figure(source, part) for part in parts]) if parts else UNKNOWN
        sd, td = difference(ss, st), difference(tt, st)
        figures = {"st": st, "ss": ss, "tt": tt, "sd": sd, "td": td, "idd": difference(ss, tt)}
        named = scenario(sd.values[:1], td.values[:1])[0]
        support = support_of_scenarios(sd, td)
        return Drops(source, target, figures, self._depth((source, target), ss), named, False, support)

    def _is_resolved(self, drops: Drops) -> bool:
        """Return whether neither drop's interval contains 0, nor the one over training runs where that was measured."""
        ends = []
        for name in ("sd", "td"):
            own = drops.figures[name]
            unknown = (np.nan if own.low is None else own.low, np.nan if own.high is None else own.high)
            total = self.total.get((drops.source, drops.target, name))
            ends.append(unknown if total is None else (total.low, total.high))
        return str(resolved_scenario(*ends)) != UNRESOLVED

    def _shift(self, drops: Drops) -> Shift:
        cell = (drops.source, drops.target)
        figures = estimates(drops.figures | drops.depth)
        plain: dict[str, Any] = {name: figures[name] for name in FIGURES}
        by_lambda: dict[str, Any] = {
            group: {key: figures[f"{group}@{key}"] for key in map(str, LAMBDAS) if f"{group}@{key}" in figures}
            for group in ("depth_f1", "depth_score", "depth_sd", "depth_td")
        }
        return Shift(
            source=drops.source,
            target=drops.target,
            n=self.values.rows[cell],
            runs=len(self.precision.averaged_runs(*cell)),
            total=self._total_of(*cell, {name: name for name in FIGURES}),
            scenario=drops.scenario,
            resolved=drops.resolved,
            scenario_support=drops.support,
            secondary=self._secondary(cell),
            unparsed=float(self.score(*cell, "unparsed")[0]),
            flips=self._flips(cell),
            prior_fixed=self._prior_fixed(cell),
            reference_td=self._reference_td(drops),
            effective_n=self.values.effective_n.get(cell, {}),
            detectable=self._detectable(drops),
            depth_slope=slope_estimate([cell], self.precision),
            **plain,
            **by_lambda,
        )

    def _detectable(self, drops: Drops) -> dict[str, DetectableDrop]:
        pair = {name: drops.figures[name] for name in ("sd", "td")}
        totals = {name: self.total.get((drops.source, drops.target, name)) for name in pair}
        return detectable_drops(pair, totals, n_tests=len(self.drops))

    def _flips(self, cell: Cell) -> Flips | None:
        ledger = self.values.flips.get(cell)
        if ledger is None:
            return None
        return Flips(
            loss=float(ledger.transfer_loss),
            gain=float(ledger.transfer_gain),
            churn_in_domain=none_if_nan(ledger.churn_in_domain),
            churn_cross_domain=none_if_nan(ledger.churn_cross_domain),
        )

    def _prior_fixed(self, cell: Cell) -> PriorFixed | None:
        metric = PRIOR_FIXED + self.info.metric
        if metric not in self.means:
            return None
        source, target = cell
        parts = source_parts(source)
        st, tt = float(self.score(source, target, metric)[0]), float(self.score(target, target, metric)[0])
        ss = float(np.mean([self.score(source, part, metric)[0] for part in parts])) if parts else float("nan")
        return PriorFixed(
            st=none_if_nan(st), ss=none_if_nan(ss), tt=none_if_nan(tt), sd=none_if_nan(ss - st), td=none_if_nan(tt - st)
        )

    def _reference_td(self, drops: Drops) -> Estimate | None:
        home = (drops.target, drops.target)
        if self.reference is None or home in self.values.rows:
            return None
        if home not in self.reference.values.scores.get(self.info.metric, {}):
            return None
        return estimate(difference(self.reference.figure(self.info.metric, home), drops.figures["st"]))

    def _depth(self, cell: Cell, ss: Figure) -> dict[str, Figure]:
        figures: dict[str, Figure] = {}
        for key in self.values.depth_groups.get(cell, {}):
            figures[f"depth_f1@{key}"] = self.figure(*cell, f"depth_f1@{key}")
            if self.info.metric not in self.means:
                continue
            st = self.figure(*cell, f"depth_{self.info.metric}@{key}")
            tt = self.figure(*cell, f"tt_depth_{self.info.metric}@{key}")
            figures[f"depth_score@{key}"] = st
            figures[f"depth_sd@{key}"] = difference(ss, st)
            figures[f"depth_td@{key}"] = difference(tt, st)
        return figures

    def _grid_means(self) -> dict[str, Figure]:
        """Average the scores and drops of single sources over the domains that count, as far as they are known."""
        scored = self.means.get(self.info.metric, {})
        own = [self.figure(domain, domain) for domain in self.counted if (domain, domain) in scored]
        single = [drops for drops in self.drops if {drops.source, drops.target} <= set(self.counted)]
        averaged = {"mean_ss": own} | {f"mean_{name}": known_figures(single, name) for name in ("st", "sd", "td")}
        means = {name: mean(figures, bounds_of(name)) for name, figures in averaged.items() if figures}
        if len(own) == len(self.counted) and len(averaged["mean_st"]) == len(own) * (len(own) - 1) > 0:
            # In a complete grid the three are one figure.
            drop = difference(means["mean_ss"], means["mean_st"])
            means |= dict.fromkeys(("average_drop", "mean_sd", "mean_td"), drop)
        return means

    def _summary(self) -> Summary:
        basis, chosen = self._basis()
        total = self._total_of(None, None, {name: name for name in MEANS}) if basis == "single-source" else {}
        cells = list(self.values.rows)
        if basis == "single-source":
            figures = self._summarise_grid(chosen) | split_half_drops(chosen, self.precision)
        elif self.id_model:
            figures, total = id_figures(chosen, self.id_ood, complete=self.id_model.complete(self.values))
            figures |= split_half_drops(chosen, self.precision)
            total |= self.id_model.candidates_total(self.values, chosen)
            cells = self.id_model.cells(self.values) or cells
        else:
            figures = of_shifts(chosen) | {"complete": basis == PAIRING}
        figures |= beyond_means(
            self.name, chosen, self.precision, whole=basis != "single-source" or figures["complete"]
        )
        names = [drops.scenario for drops in chosen]
        shares = scenario_shares(names)
        return Summary(
            basis=basis,
            n_shifts=len(chosen),
            scenario_shares={name: none_if_nan(np.asarray(share)) for name, share in shares.items()},
            total=total,
            scenario_chi_square_p=none_if_nan(scenario_chi_square(names).p_value),
            resolved_share=_share([drops.resolved for drops in chosen if drops.scenario != "Unknown"]),
            depth_f1=mean_by_lambda(chosen, "depth_f1"),
            depth_score=mean_by_lambda(chosen, "depth_score"),
            unparsed=float(np.mean([self.score(*cell, "unparsed")[0] for cell in cells])),
            **figures,
        )

    def _basis(self) -> tuple[str, list[Drops]]:
        """Choose the shifts that are summarised, and name them."""
        small = set(self.domains) - set(self.counted)
        meant = [drops for drops in self.drops if not small & {*source_parts(drops.source), drops.target}]
        single = [drops for drops in meant if drops.source in self.domains]
        if self.id_model:
            cells = self.id_model.shift_cells(self.values)
            return self.id_model.basis, [drops for drops in self.drops if (drops.source, drops.target) in cells]
        paired = [drops for drops in self.drops if drops.source == self.info.joined_source]
        if paired:
            return PAIRING, paired
        if single or not self.drops or any(source in self.domains for source in self.sources):
            return "single-source", single
        for source, basis in OUTSIDE_BASES.items():
            if outside := [drops for drops in meant if drops.source == source]:
                return basis, outside
        return "joined", meant

    def _summarise_grid(self, drops: Sequence[Drops]) -> dict[str, Any]:
        """Summarise the matrix of single sources."""
        matrix = np.array([[self.score(source, target)[0] for target in self.counted] for source in self.counted])
        if len(self.counted) < 2:  # a partial build, or small domains: a grid without any shift
            matrix = np.full((2, 2), np.nan)
            for domain in self.counted:
                matrix[0, 0] = self.score(domain, domain)[0]
        point = summarise(matrix)
        means = {name: figure for name, figure in self.of_grid.items() if bounds_of(name) == DROP}
        return {
            "complete": point.complete,
            **{name: Estimate(value=none_if_nan(getattr(point, name))) for name in ESTIMATED},
            "home_advantage": task_home_advantage(self.values, self.counted, self.figure),
            **estimates(self.of_grid),
            "detectable": detectable_drops(means, {name: self.total.get((None, None, name)) for name in means}),
            **worst_drops(drops),
            **{name: none_if_nan(getattr(point, name)) for name in PLAIN},
        }

    def _total_of(self, source: str | None, target: str | None, names: Mapping[str, str]) -> dict[str, Interval]:
        """Return total intervals of a cell (None: of the task), under the names of the shape."""
        bounds_by_name = {name: self.total.get((source, target, figure)) for figure, name in names.items()}
        return {
            name: Interval(low=bounds.low, high=bounds.high)
            for name, bounds in bounds_by_name.items()
            if bounds is not None and not np.isnan(bounds.low)
        }


def _share(marks: Sequence[bool]) -> float | None:
    return float(np.mean(marks)) if marks else None
