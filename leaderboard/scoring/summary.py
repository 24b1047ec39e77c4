"""From a task's scores to the nested shape: drops, scenarios, intervals, task summaries, what is missing."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from builders.folder.reader import DatasetFolder
from leaderboard.metrics.bootstrap import split_half_worst
from leaderboard.metrics.depth import LAMBDAS
from leaderboard.metrics.robustness import (
    in_domain_difference,
    reference_target_drop,
    scenario,
    scenario_shares,
    source_drop,
    summarise,
    target_drop,
)
from leaderboard.metrics.significance import scenario_chi_square, source_permutation_test
from leaderboard.scoring.gaps import gaps, kept_seeds
from leaderboard.scoring.id_ood import IdModel, id_figures, id_model
from leaderboard.scoring.intervals import (
    DROP,
    FIGURES,
    MEANS,
    Figure,
    bounds_of,
    estimates,
    known,
    scenario_certainty,
    total_intervals,
)
from leaderboard.scoring.outcomes import PRIOR_FIXED
from leaderboard.scoring.partial_grid import ESTIMATED, PLAIN, Drops, alike, mean_by_lambda, of_shifts, worst_drops
from leaderboard.scoring.replicates import Cell, Floats, TaskValues
from leaderboard.scoring.shape import (
    METRIC_VERSION,
    Estimate,
    Flips,
    InDomain,
    Interval,
    Missing,
    PriorFixed,
    Scores,
    Shift,
    Summary,
    TaskScores,
)
from validation.vocabulary import NO_SOURCE, source_parts

PAIRING = "pairing"
"""The basis of a summary over the one shift of a pairing."""
_PERMUTATIONS = 3
_UNKNOWN = np.array([np.nan])


def summarise_values(
    found: Mapping[str, TaskValues],
    folder: DatasetFolder,
    subset: str = "all",
    reference: Mapping[str, TaskValues] | None = None,
    token_encoder: str | None = None,
) -> Scores:
    """Nest the scores of all tasks that there are predictions for; runs are averaged over seeds.

    Args:
        found: scores by task.
        folder: the dataset.
        subset: the subset that they are on.
        reference: scores of a pinned reference, whose TT stands in where ``found`` has none (``reference_td`` only).
        token_encoder: what BERTScore's tokens were embedded with.
    """
    tasks: list[TaskScores] = []
    missing: list[Missing] = []
    for name in folder.manifest.tasks:
        if name not in found:
            if not folder.task(name).candidates_for:  # which are a further test, asked of nobody
                missing.append(Missing(task=name, source=None, target=None, what="no predictions for this task"))
            continue
        task = _Task(found[name], (reference or {}).get(name), id_model(found[name], folder.manifest))
        tasks.append(task.scores())
        missing += gaps(found[name], has_depth=folder.has_depth)
    return Scores(
        benchmark=folder.manifest.benchmark,
        data=folder.content_hash,
        partial_data=folder.manifest.partial,
        synthetic_data=folder.manifest.synthetic,
        subset=subset,
        metric_version=METRIC_VERSION,
        depth_encoder=depth_encoder_name(folder),
        token_encoder=token_encoder,
        tasks=tuple(tasks),
        missing=tuple(missing),
    )


def depth_encoder_name(folder: DatasetFolder) -> str | None:
    """Name the encoder that a folder's depths were computed with, as ``Scores.depth_encoder`` does.

    Args:
        folder: the dataset.
    Returns: ``name@revision``; None for a folder without depths.
    """
    facts = folder.manifest.encoder
    return f"{facts.id}@{facts.revision}" if facts else None


class _Task:
    """One task's scores, averaged over runs: arrays of shape (1 + n_draws,)."""

    def __init__(self, values: TaskValues, reference: TaskValues | None, id_model: IdModel | None) -> None:
        self.reference, self.id_model = reference, id_model
        self.values, self.name, self.info, self.domains = values, values.name, values.info, values.domains
        self.kept = kept_seeds(values)
        self.means = {
            metric: {
                cell: scores[self._kept_runs(cell[1] if metric.startswith("tt_") else cell[0], cell[1])].mean(axis=0)
                for cell, scores in by_cell.items()
            }
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
        self.total = total_intervals(values)
        self.id_ood = id_model.scores(values, self.score) if id_model else None

    def _kept_runs(self, source: str, target: str) -> list[int]:
        seeds = self.values.seeds[source, target]
        return [run for run, seed in enumerate(seeds) if seed in self.kept[source]]

    def score(self, source: str, target: str, metric: str | None = None) -> Floats:
        """Give the mean over runs, first on the test set itself, then on replicates; NaN without predictions."""
        found: Mapping[Cell, Floats] = self.means.get(metric or self.info.metric, {})
        return found.get((source, target), _UNKNOWN)

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
        estimate = estimates({"score": Figure(self.score(*cell), self.values.effective_groups[domain])})["score"]
        return InDomain(
            domain=domain,
            n=self.values.rows[cell],
            runs=len(self._kept_runs(*cell)),
            score=estimate,
            total=self._total_of(domain, domain, {"ss": "score"}),
            secondary=self._secondary(cell),
            unparsed=float(self.score(*cell, "unparsed")[0]),
        )

    def _secondary(self, cell: Cell) -> dict[str, float | None]:
        return {metric: known(self.score(*cell, metric)[0]) for metric in self.secondary}

    def _drops(self, source: str, target: str) -> Drops:
        """SS is, of a joined source, the mean over its parts' tests; of a zero-shot model unknown."""
        parts = source_parts(source)
        st, tt = self.score(source, target), self.score(target, target)
        ss = np.mean(alike(*(self.score(source, part) for part in parts)), axis=0) if parts else _UNKNOWN
        st, ss, tt = alike(st, ss, tt)
        here = self.values.effective_groups[target]
        both = min(
            [here, *(self.values.effective_groups[part] for part in parts if part in self.values.effective_groups)]
        )
        sd, td = source_drop(st, ss), target_drop(st, tt)
        figures = {
            "st": Figure(st, here),
            "ss": Figure(ss, both),
            "tt": Figure(tt, here),
            "sd": Figure(sd, both, DROP),
            "td": Figure(td, here, DROP),
            "idd": Figure(in_domain_difference(ss, tt), both, DROP),
        }
        resolved, support = scenario_certainty(figures["sd"], figures["td"])
        depth = self._depth((source, target), figures["ss"])
        return Drops(source, target, figures, depth, scenario(sd[:1], td[:1])[0], resolved, support)

    def _shift(self, drops: Drops) -> Shift:
        cell = (drops.source, drops.target)
        found = estimates(drops.figures | drops.depth)
        plain: dict[str, Any] = {name: found[name] for name in FIGURES}
        by_lambda: dict[str, Any] = {
            group: {key: found[f"{group}@{key}"] for key in map(str, LAMBDAS) if f"{group}@{key}" in found}
            for group in ("depth_f1", "depth_score", "depth_sd", "depth_td")
        }
        return Shift(
            source=drops.source,
            target=drops.target,
            n=self.values.rows[cell],
            runs=len(self._kept_runs(*cell)),
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
            churn_in_domain=known(ledger.churn_in_domain),
            churn_cross_domain=known(ledger.churn_cross_domain),
        )

    def _prior_fixed(self, cell: Cell) -> PriorFixed | None:
        metric = PRIOR_FIXED + self.info.metric
        if metric not in self.means:
            return None
        source, target = cell
        parts = source_parts(source)
        st, tt = float(self.score(source, target, metric)[0]), float(self.score(target, target, metric)[0])
        ss = float(np.mean([self.score(source, part, metric)[0] for part in parts])) if parts else float("nan")
        return PriorFixed(st=known(st), ss=known(ss), tt=known(tt), sd=known(ss - st), td=known(tt - st))

    def _reference_td(self, drops: Drops) -> Estimate | None:
        home = (drops.target, drops.target)
        if self.reference is None or home in self.values.rows or home not in self.reference.rows:
            return None
        scores = self.reference.scores.get(self.info.metric, {})
        if home not in scores:
            return None
        tt = scores[home].mean(axis=0)
        st = drops.figures["st"]
        figure = Figure(reference_target_drop(st.values, tt), st.effective_groups, DROP)
        return estimates({"reference_td": figure})["reference_td"]

    def _depth(self, cell: Cell, ss: Figure) -> dict[str, Figure]:
        found: dict[str, Figure] = {}
        for key, n_groups in self.values.depth_groups.get(cell, {}).items():
            found[f"depth_f1@{key}"] = Figure(self.score(*cell, f"depth_f1@{key}"), n_groups)
            if self.info.metric not in self.means:
                continue
            st = self.score(*cell, f"depth_{self.info.metric}@{key}")
            tt = self.score(*cell, f"tt_depth_{self.info.metric}@{key}")
            st, tt, source_in_domain = alike(st, tt, ss.values)
            found[f"depth_score@{key}"] = Figure(st, n_groups)
            found[f"depth_sd@{key}"] = Figure(source_in_domain - st, min(n_groups, ss.effective_groups), DROP)
            found[f"depth_td@{key}"] = Figure(tt - st, n_groups, DROP)
        return found

    def _summary(self) -> Summary:
        basis, chosen = self._basis()
        total = self._total_of(None, None, {name: name for name in MEANS}) if basis == "single-source" else {}
        cells = list(self.values.rows)
        if basis == "single-source":
            figures = self._of_grid(chosen) | self._split_halves(chosen)
        elif self.id_model:
            figures, total = id_figures(chosen, self.id_ood, complete=self.id_model.complete(self.values))
            figures |= self._split_halves(chosen)
            total |= self.id_model.candidates_total(self.values)
            cells = self.id_model.cells(self.values) or cells
        else:
            figures = of_shifts(chosen) | {"complete": basis == PAIRING}
        names = [drops.scenario for drops in chosen]
        shares = scenario_shares(names)
        return Summary(
            basis=basis,
            n_shifts=len(chosen),
            scenario_shares={name: known(np.asarray(share)) for name, share in shares.items()},
            total=total,
            scenario_chi_square_p=known(scenario_chi_square(names).p_value),
            resolved_share=_share([drops.resolved for drops in chosen if drops.scenario != "Unknown"]),
            depth_f1=mean_by_lambda(chosen, "depth_f1"),
            depth_score=mean_by_lambda(chosen, "depth_score"),
            unparsed=float(np.mean([self.score(*cell, "unparsed")[0] for cell in cells])),
            **figures,
        )

    def _basis(self) -> tuple[str, list[Drops]]:
        """Choose the shifts that are summarised, and name them."""
        single = [drops for drops in self.drops if drops.source in self.domains]
        zero_shot = [drops for drops in self.drops if drops.source == NO_SOURCE]
        if self.id_model:
            cells = self.id_model.shift_cells(self.values)
            return self.id_model.basis, [drops for drops in self.drops if (drops.source, drops.target) in cells]
        paired = [drops for drops in self.drops if drops.source == self.info.joined_source]
        if paired:
            return PAIRING, paired
        if single or not self.drops or any(source in self.domains for source in self.sources):
            return "single-source", single
        return ("zero-shot", zero_shot) if zero_shot else ("joined", self.drops)

    def _of_grid(self, drops: Sequence[Drops]) -> dict[str, Any]:
        """Summarise the matrix of single sources."""
        cells = [self.score(source, target) for source in self.domains for target in self.domains]
        matrix = np.moveaxis(np.stack(alike(*cells)), 0, -1).reshape(-1, len(self.domains), len(self.domains))
        if len(self.domains) == 1:  # of a partial build: a grid of which all else is unknown
            matrix = np.pad(matrix, ((0, 0), (0, 1), (0, 1)), constant_values=np.nan)
        # A replicate on which a known score is undefined leaves out the interval, not the shift.
        defined = np.array_equal(np.isnan(matrix).any(axis=0), np.isnan(matrix[0]))
        point, replicated = summarise(matrix[0]), summarise(matrix if defined else matrix[:1])
        n_groups = min(self.values.effective_groups.values(), default=1.0)
        means = {name: Figure(getattr(replicated, name), n_groups, bounds_of(name)) for name in MEANS}
        found = estimates(means)
        return {
            "complete": point.complete,
            **{name: Estimate(value=known(getattr(point, name))) for name in ESTIMATED},
            "sd_std": Estimate(value=known(point.sd_sample_std)),
            "td_std": Estimate(value=known(point.td_sample_std)),
            "source_permutation_p": self._permutation_p(matrix[0]),
            **found,
            **worst_drops(drops),
            **{name: known(getattr(point, name)) for name in PLAIN},
        }

    def _permutation_p(self, matrix: Floats) -> float | None:
        if np.isnan(matrix).any():
            return None
        rng = np.random.default_rng([_PERMUTATIONS, *self.name.encode()])
        return float(source_permutation_test(matrix, rng).p_value)

    def _split_halves(self, chosen: Sequence[Drops]) -> dict[str, float | None]:
        """Worst drops selected on one half of the groups and estimated on the other."""
        empty = np.full((1, 2), np.nan)
        halves = {cell: scores[self._kept_runs(*cell)].mean(axis=0) for cell, scores in self.values.halves.items()}
        shifts = [(drops.source, drops.target) for drops in chosen]
        found: dict[str, float | None] = {"worst_sd_split_half": None, "worst_td_split_half": None}
        homes = {"worst_sd_split_half": [source for source, _ in shifts]}
        homes["worst_td_split_half"] = [target for _, target in shifts]
        for name, at_home in homes.items():
            pairs = [
                (halves.get((home, home), empty), halves.get(cell, empty))
                for home, cell in zip(at_home, shifts, strict=True)
            ]
            drops = [own - cross for own, cross in pairs if not np.isnan(own - cross).any()]
            if drops:
                found[name] = known(split_half_worst(np.stack(drops, axis=-1)))
        return found

    def _total_of(self, source: str | None, target: str | None, names: Mapping[str, str]) -> dict[str, Interval]:
        """Give total intervals of a cell (None: of the task), figures renamed."""
        found = {name: self.total.get((source, target, figure)) for figure, name in names.items()}
        return {
            name: Interval(low=bounds[0], high=bounds[1])
            for name, bounds in found.items()
            if bounds is not None and not np.isnan(bounds).any()
        }


def _share(marks: Sequence[bool]) -> float | None:
    return float(np.mean(marks)) if marks else None
