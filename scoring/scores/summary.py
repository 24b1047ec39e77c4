"""Nested scores of a task: drops, scenarios, intervals, summaries and gaps.

A benchmark may have one training domain per task: the BOSS paper trains on one data set, in distribution (ID), and
tests on it and on three others, out of distribution (OOD). A shift's source is then the ID domain, ST an OOD score and
SS the ID score; models trained on an OOD domain serve only as TT and are not in any average. A task of candidate data
sets has only OOD test sets: the ID test set belongs to the task that they are candidates for.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import Manifest, TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.depth import LAMBDAS, DepthSlope, mean_slope
from shiftbench.metrics.drop_comparison import scenario_chi_square
from shiftbench.metrics.new_domain import next_domain
from shiftbench.metrics.precision import MIN_GROUPS
from shiftbench.metrics.robustness import scenario, scenario_shares, summarise
from shiftbench.scoring.scores.figures import (
    DROP,
    SCORE,
    UNKNOWN,
    Figure,
    Reason,
    detectable_drops,
    difference,
    estimate,
    estimates,
    largest_limits,
    mean,
    none_if_nan,
    total_intervals,
)
from shiftbench.scoring.scores.outcomes import LENIENT, PRIOR_FIXED
from shiftbench.scoring.scores.shape import (
    METRIC_VERSION,
    OUTSIDE_BASES,
    Estimate,
    Flips,
    FourTypes,
    IdOod,
    InDomain,
    Missing,
    NextDomain,
    PriorFixed,
    Scores,
    Shift,
    Summary,
    TaskScores,
    Total,
)
from shiftbench.scoring.scores.values import Cell, TaskValues, averaged_seeds, n_train
from shiftbench.validation.vocabulary import NO_SOURCE, OUTSIDE_SOURCES, SOURCE_JOINER, source_parts


class Drops(NamedTuple):
    """One shift's figures by name; depth-weighted ones as ``<figure>@<lambda>``."""

    source: str
    target: str
    figures: dict[str, Figure]
    depth: dict[str, Figure]
    scenario: str
    resolved: bool


def available_figures(drops: Sequence[Drops], name: str) -> list[Figure]:
    """List the figure ``name`` of each shift that has it."""
    return [shift.figures[name] for shift in drops if shift.figures[name].is_known]


def tail_figures(chosen: Sequence[Drops], values: TaskValues, *, whole: bool) -> dict[str, Any]:
    """Compute the parts of a summary that need all shifts at once.

    Args:
        chosen: the shifts that are summarised.
        values: the task's scores.
        whole: whether each target has all its shifts, so that targets can be compared.

    Returns: the fields of ``Summary``.
    """
    return {
        "next_domain": _next_domain(chosen) if whole else None,
        "depth_slope": slope_estimate([(drops.source, drops.target) for drops in chosen], values),
    }


def slope_estimate(cells: Sequence[Cell], values: TaskValues) -> Estimate | None:
    """Average the depth slopes of shifts, over runs and shifts.

    Args:
        cells: the shifts; those without a slope are skipped.
        values: the task's scores.

    Returns: the mean slope, with its 95% interval over test texts; None if no shift has one.
    """
    by_target: dict[str, list[tuple[DepthSlope, Sequence[int]]]] = {}
    for source, target in cells:
        slope = values.depth_slopes.get((source, target))
        if slope is not None:
            by_target.setdefault(target, []).append((slope, values.averaged_runs(source, target)))
    if not by_target:
        return None
    mean, low, high = mean_slope(list(by_target.values()), min_groups=MIN_GROUPS)
    reason = Reason.FEW_GROUPS if np.isnan(low) else None
    return Estimate(value=mean, low=none_if_nan(low), high=none_if_nan(high), no_interval=reason)


def _next_domain(chosen: Sequence[Drops]) -> NextDomain | None:
    targets = sorted({drops.target for drops in chosen})
    if len(targets) < 2:
        return None
    st, drop = (
        [[drops.figures[name].value for drops in chosen if drops.target == target] for target in targets]
        for name in ("st", "sd")
    )
    return NextDomain(n_domains=len(targets), st=_expected(st, SCORE), drop=_expected(drop, DROP))


def _expected(by_target: Sequence[Sequence[float]], bounds: tuple[float, float]) -> Estimate:
    """Predict the value for one more target from the means by target; unknown if any of them is unknown."""
    means = np.array([np.mean(values) for values in by_target])
    if np.isnan(means).any():
        return Estimate(value=None)
    mean, low, high = next_domain(means, bounds=bounds)
    return Estimate(value=mean, low=low, high=high)


def worst_drops(drops: Sequence[Drops]) -> dict[str, Estimate]:
    """Return the worst SD and TD of some shifts, by name; a drop that no shift has is omitted."""
    worst_by_name = {}
    for name in ("sd", "td"):
        chosen = available_figures(drops, name)
        if chosen:
            worst_by_name[f"worst_{name}"] = worst(chosen)
    return worst_by_name


def worst(drops: Sequence[Figure]) -> Estimate:
    """Return the largest of several drops, with a (simultaneous, hence wide) interval for the largest true one."""
    value = max(drop.value for drop in drops)
    if not all(drop.has_interval for drop in drops):
        return Estimate(value=value, no_interval=next((drop.no_interval for drop in drops if drop.no_interval), None))
    low, high = largest_limits(drops)
    return Estimate(value=value, low=low, high=high)


def mean_by_lambda(shifts: Sequence[Drops], group: str) -> dict[str, Estimate]:
    """Return the mean over shifts of a depth-weighted figure, by lambda."""
    means: dict[str, Figure] = {}
    for key in map(str, LAMBDAS):
        figures = [drops.depth[f"{group}@{key}"] for drops in shifts if f"{group}@{key}" in drops.depth]
        if figures:
            means[key] = mean(figures)
    return estimates(means)


ID_OOD = "id-ood"
"""The basis of a summary over the shifts from the ID domain."""
FOUR_TYPES = "span_f1_four_types"
"""The secondary metric that is shown next to the span F1 over eight types."""


@dataclass(frozen=True)
class IdModel:
    """The model of a task and prediction file whose ID and OOD scores are reported.

    Attributes:
        id_domain: the domain that models of the task are trained on.
        source: what the file's model was trained on (see ``scores.IdOod``); None without such a model.
        candidates: whether the ID domain is in another task.
    """

    id_domain: str
    source: str | None
    candidates: bool

    @property
    def basis(self) -> str:
        """Return ``Summary.basis`` for shifts of this model."""
        if self.source in OUTSIDE_BASES:
            return OUTSIDE_BASES[self.source]
        return ID_OOD if self.source in (self.id_domain, None) else "joined"

    def targets(self, values: TaskValues) -> list[str]:
        """List the domains that are OOD for the model, with or without predictions."""
        own = {self.id_domain, *source_parts(self.source or NO_SOURCE)}
        return [domain for domain in values.domains if domain not in own]

    def shift_cells(self, values: TaskValues) -> list[Cell]:
        """List the shifts from the model's source to OOD domains that have predictions."""
        cells = [(self.source or "", target) for target in self.targets(values)]
        return [cell for cell in cells if cell in values.rows]

    def cells(self, values: TaskValues) -> list[Cell]:
        """List the cells: the ID domain, then the shifts."""
        home = (self.source or "", self.id_domain)
        return [*([home] if home in values.rows else []), *self.shift_cells(values)]

    def complete(self, values: TaskValues) -> bool:
        """Return whether every score is present (the ID score is not needed for candidates)."""
        wanted = {domain for domain in values.domains if domain != self.id_domain}
        wanted |= set() if self.candidates else {self.id_domain}
        covered = {target for _, target in self.cells(values)}
        return covered == wanted and len(covered) + self.candidates > 1

    def scores(self, values: TaskValues) -> IdOod | None:
        """Return the ID and OOD scores, the mean OOD score and the drop; None for candidates or without a model."""
        if self.source is None or self.candidates:
            return None
        source, home, metric = self.source, self.id_domain, values.info.metric
        targets = [target for _, target in self.shift_cells(values)]
        known_id = (source, home) in values.rows
        figures = {f"ood.{target}": values.figure(metric, (source, target)) for target in targets}
        if known_id:
            figures["id"] = values.figure(metric, (source, home))
        if targets:
            figures["mean_ood"] = mean([figures[f"ood.{target}"] for target in targets])
        if known_id and targets and targets == self.targets(values) and source not in OUTSIDE_SOURCES:
            figures["drop"] = difference(figures["id"], figures["mean_ood"])
        by_name = estimates(figures)
        nothing = Estimate(value=None)
        return IdOod(
            id_domain=home,
            source=source,
            complete=self.complete(values),
            id=by_name.get("id", nothing),
            ood={target: by_name[f"ood.{target}"] for target in targets},
            mean_ood=by_name.get("mean_ood", nothing),
            drop=by_name.get("drop", nothing),
            total=total_intervals(figures),
            detectable=detectable_drops({"drop": figures["drop"]}) if "drop" in figures else {},
            four_types=_four_types(source, home, targets, values) if FOUR_TYPES in values.scores else None,
        )

    def candidates_total(self, drops: Sequence[Drops]) -> Total:
        """Return the interval of candidates' mean score that includes training variance, from their shifts."""
        known_scores = available_figures(drops, "st")
        if self.source is None or not self.candidates or not known_scores:
            return {}
        return total_intervals({"mean_st": mean(known_scores)})


def id_model(values: TaskValues, manifest: Manifest) -> IdModel | None:
    """Choose the model of a task with an ID domain, or of candidates for such a task; None for any other task.

    In order of preference: trained on the ID domain, zero-shot, trained elsewhere, the first joined source that
    includes the ID domain.
    """
    main = manifest.tasks.get(values.info.candidates_for or "")
    home = values.info.id_domain or (main.id_domain if main else None)
    if home is None:
        return None
    joined = [source for source in values.sources if SOURCE_JOINER in source and home in source_parts(source)]
    choices = [source for source in (home, *OUTSIDE_SOURCES) if source in values.sources] + joined
    return IdModel(home, choices[0] if choices else None, candidates=values.info.id_domain is None)


def _four_types(source: str, home: str, targets: Sequence[str], values: TaskValues) -> FourTypes:
    away = {target: none_if_nan(values.mean(FOUR_TYPES, (source, target))) for target in targets}
    known = [value for value in away.values() if value is not None]
    mean_ood = float(np.mean(known)) if known and len(known) == len(away) else None
    return FourTypes(id=none_if_nan(values.mean(FOUR_TYPES, (source, home))), ood=away, mean_ood=mean_ood)


FIGURES = ("st", "ss", "tt", "sd", "td", "idd")
"""Figures of a shift."""
MEANS = ("mean_ss", "mean_st", "average_drop", "mean_sd", "mean_td")
"""Figures of a task that are means over its domains or shifts."""
_IN_SUMMARY = {"mean_ss": "id", "mean_st": "mean_ood", "average_drop": "drop"}
"""Figures of a summary, and their names among the ID and OOD scores."""
PAIRING = "pairing"
"""The basis of a summary over the one shift of a pairing."""


def summarise_values(
    task_values: Mapping[str, TaskValues],
    folder: DatasetFolder,
    subset: str = "all",
    reference: Mapping[str, TaskValues] | None = None,
    token_encoder: str | None = None,
) -> Scores:
    """Build the nested scores of all tasks with predictions; runs are averaged over seeds.

    Args:
        task_values: scores by task.
        folder: the dataset.
        subset: the subset that they are on.
        reference: scores of a reference model, for a TT that ``task_values`` lacks (``reference_td`` only).
        token_encoder: name of the encoder of BERTScore's tokens.
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
        settings=folder.version.settings,
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
    """Build the nested scores of one task, without reference model (see ``summarise_values``).

    Args:
        values: the task's scores.
        manifest: the dataset's manifest, which states the ID domain; None for a task without one.
    """
    return _TaskAverages(values, None, id_model(values, manifest) if manifest else None).scores()


def depth_encoder_name(folder: DatasetFolder) -> str | None:
    """Return the name of the encoder behind a folder's depths, for ``Scores.depth_encoder``.

    Args:
        folder: the dataset.

    Returns: ``name@revision``; None for a folder without depths.
    """
    facts = folder.manifest.encoder
    return f"{facts.id}@{facts.revision}" if facts else None


class _TaskAverages:
    """One task's scores, averaged over runs."""

    def __init__(self, values: TaskValues, reference: TaskValues | None, id_model: IdModel | None) -> None:
        self.values, self.reference, self.id_model = values, reference, id_model
        self.name, self.info, self.domains = values.name, values.info, values.domains
        small = small_domains(values.info, values.domains)
        self.counted = tuple(domain for domain in values.domains if domain not in small)
        """The domains that means cover: all, except small domains of user datasets."""
        self.secondary = [
            metric
            for metric in values.scores
            if metric not in (self.info.metric, "unparsed") and "@" not in metric and not metric.startswith(PRIOR_FIXED)
        ]
        self.drops = [self._drops(*cell) for cell in values.shift_cells]
        self.of_grid = self._grid_means()
        self.id_ood = id_model.scores(values) if id_model else None

    def figure(self, source: str, target: str, metric: str | None = None) -> Figure:
        """Return a score averaged over runs with its interval; unknown without predictions."""
        return self.values.figure(metric or self.info.metric, (source, target))

    def score(self, source: str, target: str, metric: str | None = None) -> float:
        """Return the mean over runs; NaN without predictions."""
        return self.values.mean(metric or self.info.metric, (source, target))

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
            runs=len(self.values.averaged_runs(*cell)),
            score=estimate(self.figure(*cell)),
            total=total_intervals({"score": self.figure(*cell)}),
            secondary=self._secondary(cell),
            unparsed=self.score(*cell, "unparsed"),
        )

    def _secondary(self, cell: Cell) -> dict[str, float | None]:
        secondary = {metric: none_if_nan(self.score(*cell, metric)) for metric in self.secondary}
        # Lenient scores are stored only for cells where they differ from strict ones.
        if LENIENT in secondary and cell not in self.values.scores[LENIENT]:
            secondary[LENIENT] = none_if_nan(self.score(*cell))
        return secondary

    def _drops(self, source: str, target: str) -> Drops:
        """Compute a shift's drops. SS is averaged over the source's domains, and unknown without any."""
        parts = source_parts(source)
        st, tt = self.figure(source, target), self.figure(target, target)
        ss = mean([self.figure(source, part) for part in parts]) if parts else UNKNOWN
        sd, td = difference(ss, st), difference(tt, st)
        figures = {"st": st, "ss": ss, "tt": tt, "sd": sd, "td": td, "idd": difference(ss, tt)}
        named = scenario([sd.value], [td.value])[0]
        return Drops(source, target, figures, self._depth((source, target), ss), named, _is_resolved(sd, td))

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
            runs=len(self.values.averaged_runs(*cell)),
            total=total_intervals({name: drops.figures[name] for name in FIGURES}),
            scenario=drops.scenario,
            resolved=drops.resolved,
            secondary=self._secondary(cell),
            unparsed=self.score(*cell, "unparsed"),
            flips=self._flips(cell),
            prior_fixed=self._prior_fixed(cell),
            reference_td=self._reference_td(drops),
            effective_n=self.values.effective_n.get(cell, {}),
            detectable=detectable_drops({name: drops.figures[name] for name in ("sd", "td")}, len(self.drops)),
            depth_slope=slope_estimate([cell], self.values),
            **plain,
            **by_lambda,
        )

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
        if metric not in self.values.scores:
            return None
        source, target = cell
        parts = source_parts(source)
        st, tt = self.score(source, target, metric), self.score(target, target, metric)
        ss = float(np.mean([self.score(source, part, metric) for part in parts])) if parts else float("nan")
        return PriorFixed(
            st=none_if_nan(st), ss=none_if_nan(ss), tt=none_if_nan(tt), sd=none_if_nan(ss - st), td=none_if_nan(tt - st)
        )

    def _reference_td(self, drops: Drops) -> Estimate | None:
        home = (drops.target, drops.target)
        if self.reference is None or home in self.values.rows:
            return None
        at_home = self.reference.figure(self.info.metric, home)
        return estimate(difference(at_home, drops.figures["st"])) if at_home.is_known else None

    def _depth(self, cell: Cell, ss: Figure) -> dict[str, Figure]:
        figures: dict[str, Figure] = {}
        for key in self.values.effective_n.get(cell, {}):
            figures[f"depth_f1@{key}"] = self.figure(*cell, f"depth_f1@{key}")
            if self.info.metric not in self.values.scores:
                continue
            st = self.figure(*cell, f"depth_{self.info.metric}@{key}")
            tt = self.figure(*cell, f"tt_depth_{self.info.metric}@{key}")
            figures[f"depth_score@{key}"] = st
            figures[f"depth_sd@{key}"] = difference(ss, st)
            figures[f"depth_td@{key}"] = difference(tt, st)
        return figures

    def _grid_means(self) -> dict[str, Figure]:
        """Average the known scores and drops of single sources, over the domains with enough texts."""
        own = [self.figure(domain, domain) for domain in self.counted]
        own = [figure for figure in own if figure.is_known]
        single = [drops for drops in self.drops if {drops.source, drops.target} <= set(self.counted)]
        averaged = {"mean_ss": own} | {f"mean_{name}": available_figures(single, name) for name in ("st", "sd", "td")}
        means = {name: mean(figures) for name, figures in averaged.items() if figures}
        if len(own) == len(self.counted) and len(averaged["mean_st"]) == len(own) * (len(own) - 1) > 0:
            # In a complete grid the three are equal.
            drop = difference(means["mean_ss"], means["mean_st"])
            means |= dict.fromkeys(("average_drop", "mean_sd", "mean_td"), drop)
        return means

    def _summary(self) -> Summary:
        basis, chosen = self._basis()
        total: Total = {}
        cells = list(self.values.rows)
        if basis == "single-source":
            figures, total = self._summarise_grid(chosen), total_intervals(self.of_grid)
        elif self.id_model:
            figures, total = id_figures(chosen, self.id_ood, complete=self.id_model.complete(self.values))
            total |= self.id_model.candidates_total(chosen)
            cells = self.id_model.cells(self.values) or cells
        else:
            figures = summarise_shifts(chosen) | {"complete": basis == PAIRING}
        figures |= tail_figures(chosen, self.values, whole=basis != "single-source" or figures["complete"])
        names = [drops.scenario for drops in chosen]
        shares = scenario_shares(names)
        resolved = [drops.resolved for drops in chosen if drops.scenario != "Unknown"]
        return Summary(
            basis=basis,
            n_shifts=len(chosen),
            scenario_shares={name: none_if_nan(np.asarray(share)) for name, share in shares.items()},
            total=total,
            scenario_chi_square_p=none_if_nan(scenario_chi_square(names).p_value),
            resolved_share=float(np.mean(resolved)) if resolved else None,
            depth_f1=mean_by_lambda(chosen, "depth_f1"),
            depth_score=mean_by_lambda(chosen, "depth_score"),
            unparsed=float(np.mean([self.score(*cell, "unparsed") for cell in cells])),
            **figures,
        )

    def _basis(self) -> tuple[str, list[Drops]]:
        """Choose the shifts that are summarised, and return the basis and the shifts."""
        small = set(self.domains) - set(self.counted)
        meant = [drops for drops in self.drops if not small & {*source_parts(drops.source), drops.target}]
        single = [drops for drops in meant if drops.source in self.domains]
        if self.id_model:
            cells = self.id_model.shift_cells(self.values)
            return self.id_model.basis, [drops for drops in self.drops if (drops.source, drops.target) in cells]
        paired = [drops for drops in self.drops if drops.source == self.info.joined_source]
        if paired:
            return PAIRING, paired
        if single or not self.drops or any(source in self.domains for source in self.values.sources):
            return "single-source", single
        for source, basis in OUTSIDE_BASES.items():
            if outside := [drops for drops in meant if drops.source == source]:
                return basis, outside
        return "joined", meant

    def _summarise_grid(self, drops: Sequence[Drops]) -> dict[str, Any]:
        """Summarise the source-by-target matrix of single sources."""
        matrix = np.array([[self.score(source, target) for target in self.counted] for source in self.counted])
        if len(self.counted) < 2:  # a partial build, or small domains: a grid without any shift
            matrix = np.full((2, 2), np.nan)
            for domain in self.counted:
                matrix[0, 0] = self.score(domain, domain)
        point = summarise(matrix)
        drops_of_grid = {name: self.of_grid[name] for name in MEANS[2:] if name in self.of_grid}
        return {
            "complete": point.complete,
            **{name: Estimate(value=none_if_nan(getattr(point, name))) for name in INTERVAL_FIELDS},
            **estimates(self.of_grid),
            "detectable": detectable_drops(drops_of_grid),
            **worst_drops(drops),
            **{name: none_if_nan(getattr(point, name)) for name in POINT_FIELDS},
        }


def _is_resolved(sd: Figure, td: Figure) -> bool:
    """Return whether both drops' intervals exclude 0, using intervals with training variance if it was measured.

    The claim about both signs is an intersection-union test, so the level of each interval needs no correction (Berger
    1982).
    """
    if not (sd.has_interval and td.has_interval):
        return False
    ends = [figure.limits(recipes=figure.training is not None) for figure in (sd, td)]
    return all(low > 0 or high < 0 for low, high in ends)


def id_figures(chosen: Sequence[Drops], scores: IdOod | None, *, complete: bool) -> tuple[dict[str, Any], Total]:
    """Summarise the shifts from the ID domain, with total intervals; values that need a square grid are null.

    Args:
        chosen: the shifts from the ID domain.
        scores: the model's ID and OOD scores; None for candidates, and without a model.
        complete: whether no score is missing.
    """
    figures = summarise_shifts(chosen) | {"complete": complete}
    if scores is None:
        return figures, {}
    # A model trained on no domain has no in-domain score, so its score on the ID domain is not an SS.
    ss = Estimate(value=None) if scores.source in OUTSIDE_SOURCES else scores.id
    figures |= {"mean_ss": ss, "mean_st": scores.mean_ood, "average_drop": scores.drop}
    names = dict(_IN_SUMMARY)
    if scores.source == scores.id_domain and scores.drop.value is not None:
        # With a single source, the mean of the drops equals the drop of the means.
        figures["mean_sd"] = scores.drop
        names["mean_sd"] = "drop"
    figures["detectable"] |= {name: scores.detectable[own] for name, own in names.items() if own in scores.detectable}
    return figures, {name: scores.total[own] for name, own in names.items() if own in scores.total}


LEFT_OUT = "excluded from the means"
"""Start of the message for a domain that is too small to be included in means."""
NO_DEPTHS = "the dataset folder has no depth tables"


def gaps(values: TaskValues, *, has_depth: bool) -> Iterator[Missing]:
    """List a task's missing predictions and scores."""
    for domain, n in small_domains(values.info, values.domains).items():
        what = f"{LEFT_OUT}: {n} test texts, fewer than {values.info.min_texts}"
        yield Missing(task=values.name, source=None, target=domain, what=what)
    yield from _score_gaps(values)
    if has_depth:
        yield from _depth_gaps(values)
    elif values.info.min_texts is None:  # a user dataset has depths only on request, so their absence is no gap
        yield Missing(task=values.name, source=None, target=None, what=NO_DEPTHS)


def small_domains(info: TaskInfo, domains: Iterable[str]) -> dict[str, int]:
    """Find the domains of a user dataset that have too few test texts to be included in means.

    Args:
        info: the task; ``min_texts`` is the minimum, None for benchmarks, where no domain is excluded.
        domains: the domains to check; those without test texts are skipped.

    Returns: number of test texts, by domain.
    """
    least = info.min_texts or 0
    tests = {name: facts.splits["test"].rows for name, facts in info.domains.items() if "test" in facts.splits}
    return {domain: tests[domain] for domain in domains if tests.get(domain, least) < least}


def _score_gaps(values: TaskValues) -> Iterator[Missing]:
    def gap(what: str, source: str | None = None, target: str | None = None) -> Missing:
        return Missing(task=values.name, source=source, target=target, what=what)

    if values.info.metric not in values.scores:
        yield gap(f"no {values.info.metric}, which needs a token encoder: pip install 'shiftbench[encoder]'")
    one_source = bool(values.info.id_domain or values.info.candidates_for)
    trained = [source for source in values.sources if source not in OUTSIDE_SOURCES]
    if values.info.id_domain and trained and values.info.id_domain not in trained:
        yield gap(f"no predictions of a model trained on the ID domain {values.info.id_domain}")
    if not one_source and any(source in values.domains for source in values.sources):
        for domain in values.domains:
            if domain not in values.sources and n_train(values.info, domain):
                yield gap("no predictions of a model trained on this domain", domain)
    for source in values.sources:
        for target in values.domains:
            if (source, target) not in values.rows and not _provides_tt_only(values, source):
                yield gap("no predictions", source, target)
    if trained:
        yield from map(gap, _home_gaps(values) if one_source else _pairing_gaps(values))
    for source, kept in averaged_seeds(values).items():
        by_target = {target: set(seeds) for (name, target), seeds in values.seeds.items() if name == source}
        for target, seeds in by_target.items():
            for seed in sorted(set.union(*by_target.values()) - seeds):
                left_out = "" if seed in kept else "; its other scores are excluded from the means"
                yield gap(f"no predictions of seed {seed}{left_out}", source, target)


def _provides_tt_only(values: TaskValues, source: str) -> bool:
    """Return whether models of a source only provide TT: they are trained on a domain other than the ID domain."""
    info = values.info
    return source in values.domains and bool(info.id_domain or info.candidates_for) and source != info.id_domain


def _pairing_gaps(values: TaskValues) -> Iterator[str]:
    """List the gaps of a pairing, each once; none for other tasks."""
    whole = values.info.joined_source
    if whole is None:
        return
    if whole not in values.sources:
        yield f"no predictions of a model trained on the complete source {whole}"
    yield "no SS and no TT, so no drops: the pairing has no test rows of its source and no train rows of its target"


def _home_gaps(values: TaskValues) -> Iterator[str]:
    """List the in-domain scores that are missing for drops of single sources, each once."""
    home = values.info.id_domain
    if home is None:
        elsewhere = sorted({part for source in values.sources for part in _from_elsewhere(values, source)})
        if elsewhere:
            yield f"no SS and no depths: {', '.join(elsewhere)} is in the task {values.info.candidates_for}"
        return
    away = [domain for domain in values.domains if domain != home and (domain, domain) not in values.rows]
    if away:
        untrained = [domain for domain in away if not n_train(values.info, domain)]
        why = f" ({', '.join(untrained)}: no train split)" if untrained else ""
        yield f"no TT, so no TD, on {', '.join(away)}: no predictions of a model trained there{why}"


def _from_elsewhere(values: TaskValues, source: str) -> list[str]:
    return [part for part in source_parts(source) if part not in values.info.domains]


def _depth_gaps(values: TaskValues) -> Iterator[Missing]:
    for source in sorted(source for source, deepest in values.pool_deepest.items() if deepest is None):
        what = (
            "the deepest text of this joined source is the mean of its parts' deepest ones, because the folder's "
            "depth tables lack the overall maximum (folders of builder version 0.1.0, and parts of a pairing's source)"
        )
        yield Missing(task=values.name, source=source, target=None, what=what)
    for source, target in values.shift_cells:
        if _from_elsewhere(values, source):
            continue  # already listed as a missing SS
        if source not in OUTSIDE_SOURCES and (source, target) not in values.effective_n:
            few = [part for part in source_parts(source) if n_train(values.info, part) < 2]
            what = (
                f"no depths: {few[0]} has fewer than two train texts"
                if few
                else "depth weights are all 0: no test text is less deep than the deepest source text"
            )
            yield Missing(task=values.name, source=source, target=target, what=what)


POINT_FIELDS = ("spearman_st_ss", "spearman_st_tt", "r2_idd_sd", "r2_idd_td")
"""Fields of a summary that are plain numbers."""
INTERVAL_FIELDS = tuple(name for name, field in Summary.model_fields.items() if field.annotation is Estimate)
"""Fields of a summary that may have an interval."""


def summarise_shifts(drops: Sequence[Drops]) -> dict[str, Any]:
    """Summarise shifts that do not form a square grid; fields that need a grid are null."""
    figures: dict[str, Any] = dict.fromkeys(INTERVAL_FIELDS, Estimate(value=None)) | dict.fromkeys(POINT_FIELDS)
    st = [shift.figures["st"].value for shift in drops]
    means = {}
    for name in ("st", "sd", "td"):
        known = available_figures(drops, name)
        if known:
            means[f"mean_{name}"] = mean(known)
    if st:
        figures |= {"highest_st": Estimate(value=max(st)), "lowest_st": Estimate(value=min(st))}
    figures["detectable"] = detectable_drops({name: each for name, each in means.items() if name != "mean_st"})
    return {"complete": False, **figures, **estimates(means), **worst_drops(drops)}


def encoder_name(encoder: Encoder | None) -> str | None:
    """Return an encoder's name, for ``Scores.token_encoder``.

    Args:
        encoder: the encoder; None if there is none.

    Returns: ``name@revision``; None without an encoder.
    """
    return f"{encoder.name}@{encoder.revision}" if encoder else None
