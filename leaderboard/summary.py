"""From the long table of scores to the nested shape: drops, scenarios, task summaries, what is missing."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from builders.folder import DatasetFolder
from builders.manifest import TaskManifest
from leaderboard.metrics.depth import LAMBDAS
from leaderboard.metrics.robustness import (
    in_domain_difference,
    scenario,
    scenario_shares,
    source_drop,
    summarise,
    target_drop,
)
from leaderboard.scores import METRIC_VERSION, Estimate, InDomain, Missing, Scores, Shift, Summary, TaskScores
from validation.vocabulary import NO_SOURCE, source_parts

Cell = tuple[str, str]
Means = dict[str, dict[Cell, float]]


def summarise_scores(table: pl.DataFrame, folder: DatasetFolder, subset: str = "all") -> Scores:
    """Nest a long table of scores (see ``leaderboard.scoring.SCORE_COLUMNS``); runs are averaged over seeds."""
    tasks: list[TaskScores] = []
    missing: list[Missing] = []
    for name, info in folder.manifest.tasks.items():
        rows = table.filter(task=name)
        if rows.is_empty():
            missing.append(Missing(task=name, source=None, target=None, what="no predictions for this task"))
            continue
        domains = tuple(domain for domain, facts in info.domains.items() if "test" in facts.splits)
        scored = _Task(name, info, domains, rows)
        tasks.append(scored.scores())
        missing += scored.missing(has_depth=folder.has_depth)
    return Scores(
        benchmark=folder.manifest.benchmark,
        data=folder.content_hash,
        partial_data=folder.manifest.partial,
        synthetic_data=folder.manifest.synthetic,
        subset=subset,
        metric_version=METRIC_VERSION,
        tasks=tuple(tasks),
        missing=tuple(missing),
    )


class _Task:
    """One task's rows of the long table, with means over runs at hand by metric and (source, target)."""

    def __init__(self, name: str, info: TaskManifest, domains: tuple[str, ...], rows: pl.DataFrame) -> None:
        self.name, self.info, self.domains = name, info, domains
        self.means: Means = {}
        self.sizes: dict[Cell, tuple[int, int]] = {}
        means = rows.group_by("metric", "source", "target", maintain_order=True).agg(
            pl.col("value").mean(), pl.col("n").first(), runs=pl.len()
        )
        for metric, source, target, value, n, runs in means.iter_rows():
            self.means.setdefault(metric, {})[source, target] = value
            if metric == info.metric:
                self.sizes[source, target] = (n, runs)
        self.sources = sorted({source for source, _ in self.sizes})

    def score(self, source: str, target: str, metric: str | None = None) -> float:
        """Give a mean over runs; NaN where there are no predictions."""
        return self.means.get(metric or self.info.metric, {}).get((source, target), float("nan"))

    def scores(self) -> TaskScores:
        shifts = [self._shift(source, target) for source, target in self._shift_cells()]
        return TaskScores(
            task=self.name,
            metric=self.info.metric,
            domains=self.domains,
            summary=self._summary(shifts),
            in_domain=tuple(self._in_domain(domain) for domain in self.domains if (domain, domain) in self.sizes),
            shifts=tuple(shifts),
        )

    def missing(self, *, has_depth: bool) -> Iterator[Missing]:
        """Name what a complete grid would have beside what is here."""
        if any(source in self.domains for source in self.sources):
            for domain in self.domains:
                if domain not in self.sources and "train" in self.info.domains[domain].splits:
                    yield Missing(
                        task=self.name, source=domain, target=None, what="no predictions of a model trained on it"
                    )
        for source in self.sources:
            for target in self.domains:
                if (source, target) not in self.sizes:
                    yield Missing(task=self.name, source=source, target=target, what="no predictions")
        if not has_depth:
            yield Missing(task=self.name, source=None, target=None, what="the dataset folder has no depth tables")
            return
        for source, target in self._shift_cells():
            if source != NO_SOURCE and (source, target) not in self.means.get("depth_f1@0", {}):
                what = "depth weights are all 0: no test text lies further out than the deepest source text"
                yield Missing(task=self.name, source=source, target=target, what=what)

    def _shift_cells(self) -> list[Cell]:
        return [(source, target) for source, target in sorted(self.sizes) if target not in source_parts(source)]

    def _in_domain(self, domain: str) -> InDomain:
        n, runs = self.sizes[domain, domain]
        return InDomain(
            domain=domain,
            n=n,
            runs=runs,
            score=_estimate(self.score(domain, domain)),
            accuracy=self.score(domain, domain, "accuracy"),
            unparsed=self.score(domain, domain, "unparsed"),
        )

    def _source_in_domain(self, source: str) -> float:
        """SS; of a joined source the mean over its parts' tests, of a zero-shot model unknown."""
        parts = source_parts(source)
        return float(np.mean([self.score(source, part) for part in parts])) if parts else float("nan")

    def _shift(self, source: str, target: str) -> Shift:
        n, runs = self.sizes[source, target]
        st, ss, tt = self.score(source, target), self._source_in_domain(source), self.score(target, target)
        sd, td = float(source_drop(st, ss)), float(target_drop(st, tt))
        depth_score = self._by_lambda(source, target, f"depth_{self.info.metric}")
        tt_depth = self._by_lambda(source, target, f"tt_depth_{self.info.metric}")
        return Shift(
            source=source,
            target=target,
            n=n,
            runs=runs,
            st=_estimate(st),
            ss=_estimate(ss),
            tt=_estimate(tt),
            sd=_estimate(sd),
            td=_estimate(td),
            idd=_estimate(float(in_domain_difference(ss, tt))),
            scenario=scenario([sd], [td])[0],
            accuracy=self.score(source, target, "accuracy"),
            unparsed=self.score(source, target, "unparsed"),
            depth_f1=_estimates(self._by_lambda(source, target, "depth_f1")),
            depth_score=_estimates(depth_score),
            depth_sd=_estimates({key: ss - value for key, value in depth_score.items()}),
            depth_td=_estimates({key: tt_depth.get(key, float("nan")) - value for key, value in depth_score.items()}),
            effective_n=self._by_lambda(source, target, "effective_n"),
        )

    def _by_lambda(self, source: str, target: str, metric: str) -> dict[str, float]:
        values = {str(lambda_): self.score(source, target, f"{metric}@{lambda_}") for lambda_ in LAMBDAS}
        return {key: value for key, value in values.items() if not np.isnan(value)}

    def _summary(self, shifts: Sequence[Shift]) -> Summary:
        single = [shift for shift in shifts if shift.source in self.domains]
        zero_shot = [shift for shift in shifts if shift.source == NO_SOURCE]
        if single or not shifts or any(source in self.domains for source in self.sources):
            basis, chosen = "single-source", single
        elif zero_shot:
            basis, chosen = "zero-shot", zero_shot
        else:
            basis, chosen = "joined", list(shifts)
        figures = _single_source(self) if basis == "single-source" else _of_shifts(chosen)
        return Summary(
            basis=basis,
            n_shifts=len(chosen),
            scenario_shares={
                name: _known(share) for name, share in scenario_shares([shift.scenario for shift in chosen]).items()
            },
            depth_f1=_mean_by_lambda([shift.depth_f1 for shift in chosen]),
            depth_score=_mean_by_lambda([shift.depth_score for shift in chosen]),
            unparsed=float(np.mean([self.score(*cell, "unparsed") for cell in self.sizes])),
            **figures,
        )


_ESTIMATED = tuple(name for name, field in Summary.model_fields.items() if field.annotation is Estimate)
_PLAIN = ["spearman_st_ss", "spearman_st_tt", "r2_idd_sd", "r2_idd_td"]


def _single_source(task: _Task) -> dict[str, Any]:
    matrix = [[task.score(source, target) for target in task.domains] for source in task.domains]
    summary = summarise(matrix)
    return {
        "complete": summary.complete,
        **{name: _estimate(getattr(summary, name)) for name in _ESTIMATED},
        **{name: _known(getattr(summary, name)) for name in _PLAIN},
    }


def _of_shifts(shifts: Sequence[Shift]) -> dict[str, Any]:
    """Summarise shifts that form no square grid: only what needs no grid is defined."""
    figures: dict[str, Any] = dict.fromkeys(_ESTIMATED, Estimate(value=None)) | dict.fromkeys(_PLAIN)
    st = [shift.st.value for shift in shifts if shift.st.value is not None]
    figures |= {
        "mean_st": _estimate(float(np.mean(st))),
        "highest_st": _estimate(max(st)),
        "lowest_st": _estimate(min(st)),
    }
    for drop in ("sd", "td"):
        known = [value for shift in shifts if (value := getattr(shift, drop).value) is not None]
        if known:
            figures |= {f"mean_{drop}": _estimate(float(np.mean(known))), f"worst_{drop}": _estimate(max(known))}
    return {"complete": False, **figures}


def _mean_by_lambda(figures: Sequence[Mapping[str, Estimate]]) -> dict[str, Estimate]:
    values: dict[str, list[float]] = {}
    for by_lambda in figures:
        for key, estimate in by_lambda.items():
            if estimate.value is not None:
                values.setdefault(key, []).append(estimate.value)
    return {key: _estimate(float(np.mean(found))) for key, found in values.items()}


def _estimates(values: Mapping[str, float]) -> dict[str, Estimate]:
    return {key: _estimate(value) for key, value in values.items()}


def _estimate(value: float | np.ndarray) -> Estimate:
    return Estimate(value=_known(value))


def _known(value: float | np.ndarray) -> float | None:
    return None if np.isnan(value) else float(value)
