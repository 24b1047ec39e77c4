"""Scores of a benchmark that has one training domain a task: in-distribution (ID), and out of distribution (OOD).

The BOSS paper trains on one data set and tests on it and on three others. A shift's source is then the ID domain,
ST an OOD score and SS the ID score; models trained on an OOD domain serve as TT and are averaged with nothing. Tasks
of candidate data sets hold OOD tests alone: the ID model's own test is in the task that they are candidates for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shiftbench.builders.folder.manifest import Manifest
from shiftbench.scoring.scores.estimate import Estimate, Interval, Total
from shiftbench.scoring.scores.intervals import (
    Drops,
    Figure,
    TotalBounds,
    available_figures,
    detectable_drops,
    difference,
    estimates,
    mean,
    none_if_nan,
    total_bounds,
)
from shiftbench.scoring.scores.replicates import Cell, Floats, TaskValues
from shiftbench.scoring.scores.shape import OUTSIDE_BASES, FourTypes, IdOod
from shiftbench.validation.vocabulary import NO_SOURCE, OUTSIDE_SOURCES, SOURCE_JOINER, source_parts

ID_OOD = "id-ood"
"""The basis of a summary over the shifts from the ID domain."""
FOUR_TYPES = "span_f1_four_types"
"""The secondary metric that is shown beside the eight types' span F1."""

Score = Callable[[str, str, str | None], Floats]
"""Source, target and metric (None: the primary one) -> the score and its replicates; NaN without predictions."""
ScoreFigure = Callable[[str, str], Figure]
"""Source and target -> the primary score with its interval."""


@dataclass(frozen=True)
class IdModel:
    """The model of a task and prediction file whose ID and OOD scores are reported.

    Attributes:
        id_domain: the domain that models of the task are trained on.
        source: what the file's model was trained on: see ``scores.IdOod``; None without any such model.
        candidates: whether the ID domain is in another task.
    """

    id_domain: str
    source: str | None
    candidates: bool

    @property
    def basis(self) -> str:
        """Describe the shifts of the summary."""
        if self.source in OUTSIDE_BASES:
            return OUTSIDE_BASES[self.source]
        return ID_OOD if self.source in (self.id_domain, None) else "joined"

    def targets(self, values: TaskValues) -> list[str]:
        """List the domains that are OOD for the model, with or without predictions."""
        own = {self.id_domain, *source_parts(self.source or NO_SOURCE)}
        return [domain for domain in values.domains if domain not in own]

    def shift_cells(self, values: TaskValues) -> list[Cell]:
        """List the shifts from the model's source to OOD domains that there are predictions of."""
        cells = [(self.source or "", target) for target in self.targets(values)]
        return [cell for cell in cells if cell in values.rows]

    def cells(self, values: TaskValues) -> list[Cell]:
        """List the cells: the ID domain, then the shifts."""
        home = (self.source or "", self.id_domain)
        return [*([home] if home in values.rows else []), *self.shift_cells(values)]

    def complete(self, values: TaskValues) -> bool:
        """Return whether no score is missing: on the ID domain (but of candidates), and on every other domain."""
        wanted = {domain for domain in values.domains if domain != self.id_domain}
        wanted |= set() if self.candidates else {self.id_domain}
        covered = {target for _, target in self.cells(values)}
        return covered == wanted and len(covered) + self.candidates > 1

    def scores(self, values: TaskValues, figure: ScoreFigure, score: Score) -> IdOod | None:
        """Return the ID score, the OOD ones, their mean and the drop to it; None for candidates or without a model."""
        if self.source is None or self.candidates:
            return None
        source, home = self.source, self.id_domain
        targets = [target for _, target in self.shift_cells(values)]
        known_id = (source, home) in values.rows
        figures = {f"ood.{target}": figure(source, target) for target in targets}
        if known_id:
            figures["id"] = figure(source, home)
        if targets:
            figures["mean_ood"] = mean([figures[f"ood.{target}"] for target in targets])
        if known_id and targets and targets == self.targets(values) and source not in OUTSIDE_SOURCES:
            figures["drop"] = difference(figures["id"], figures["mean_ood"])
        by_name = estimates(figures)
        totals = self._total(values, targets, figures) if known_id else {}
        nothing = Estimate(value=None)
        return IdOod(
            id_domain=home,
            source=source,
            complete=self.complete(values),
            id=by_name.get("id", nothing),
            ood={target: by_name[f"ood.{target}"] for target in targets},
            mean_ood=by_name.get("mean_ood", nothing),
            drop=by_name.get("drop", nothing),
            total=_by_shape_name(totals),
            detectable=detectable_drops({"drop": figures["drop"]}, totals) if "drop" in figures else {},
            four_types=_four_types(source, home, targets, score) if FOUR_TYPES in values.scores else None,
        )

    def candidates_total(self, values: TaskValues, drops: Sequence[Drops]) -> Total:
        """Find the interval over training runs too of candidates' mean score, from their shifts."""
        targets = [target for _, target in self.shift_cells(values)]
        known_scores = available_figures(drops, "st")
        if self.source is None or not self.candidates or not known_scores:
            return {}

        def statistic(matrix: Floats) -> Floats:
            return np.asarray(matrix.mean(axis=-1))

        bounds = total_bounds(values, [self.source], targets, statistic, [mean(known_scores)])
        return _by_shape_name({"mean_st": bounds[0]}) if bounds else {}

    def _total(self, values: TaskValues, ood: Sequence[str], figures: Mapping[str, Figure]) -> dict[str, TotalBounds]:
        """Find the intervals over training runs too, of the figures present."""
        keys = [key for key in ("id", *(f"ood.{target}" for target in ood), "mean_ood", "drop") if key in figures]

        def statistic(matrix: Floats) -> Floats:
            own, away = matrix[..., 0, :1], matrix[..., 0, 1:]
            centre = away.mean(axis=-1, keepdims=True)
            every = np.concatenate([own, away, centre, own - centre], axis=-1)
            return every[..., : len(keys)]  # the drop is last, and may be missing

        assert self.source is not None
        targets, of_keys = [self.id_domain, *ood], [figures[key] for key in keys]
        bounds = total_bounds(values, [self.source], targets, statistic, of_keys) if ood else None
        return dict(zip(keys, bounds, strict=True)) if bounds else {}


def _by_shape_name(bounds: Mapping[str, TotalBounds]) -> Total:
    return {key: Interval(low=each.low, high=each.high) for key, each in bounds.items() if not np.isnan(each.low)}


def id_model(values: TaskValues, manifest: Manifest) -> IdModel | None:
    """Choose the model of a task with an ID domain, or of candidates for such a task; None of any other task.

    It is the one of the ID domain; else the zero-shot one; else one trained elsewhere; else the first joined source
    with the ID domain in it.
    """
    main = manifest.tasks.get(values.info.candidates_for or "")
    home = values.info.id_domain or (main.id_domain if main else None)
    if home is None:
        return None
    joined = [source for source in values.sources if SOURCE_JOINER in source and home in source_parts(source)]
    choices = [source for source in (home, *OUTSIDE_SOURCES) if source in values.sources] + joined
    return IdModel(home, choices[0] if choices else None, candidates=values.info.id_domain is None)


def _four_types(source: str, home: str, targets: Sequence[str], score: Score) -> FourTypes:
    away = {target: none_if_nan(score(source, target, FOUR_TYPES)[0]) for target in targets}
    values = [value for value in away.values() if value is not None]
    mean_ood = float(np.mean(values)) if values and len(values) == len(away) else None
    return FourTypes(id=none_if_nan(score(source, home, FOUR_TYPES)[0]), ood=away, mean_ood=mean_ood)
