"""Scores of a benchmark that has one training domain a task: in-distribution (ID), and out of distribution (OOD).

The BOSS paper trains on one data set and tests on it and on three others. A shift's source is then the ID domain,
ST an OOD score and SS the ID score; models trained on an OOD domain serve as TT and are averaged with nothing. Tasks
of candidate data sets hold OOD tests alone: the ID model's own test is in the task that they are candidates for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftbench.builders.folder.manifest import Manifest
from shiftbench.scoring.scores.estimate import Estimate, Total
from shiftbench.scoring.scores.figures import (
    detectable_drops,
    difference,
    estimates,
    mean,
    none_if_nan,
    total_intervals,
)
from shiftbench.scoring.scores.shape import OUTSIDE_BASES, FourTypes, IdOod
from shiftbench.scoring.scores.tail_figures import Drops, available_figures
from shiftbench.scoring.scores.values import Cell, TaskValues
from shiftbench.validation.vocabulary import NO_SOURCE, OUTSIDE_SOURCES, SOURCE_JOINER, source_parts

ID_OOD = "id-ood"
"""The basis of a summary over the shifts from the ID domain."""
FOUR_TYPES = "span_f1_four_types"
"""The secondary metric that is shown beside the eight types' span F1."""


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

    def scores(self, values: TaskValues) -> IdOod | None:
        """Return the ID score, the OOD ones, their mean and the drop to it; None for candidates or without a model."""
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
        """Find the interval over training runs too of candidates' mean score, from their shifts."""
        known_scores = available_figures(drops, "st")
        if self.source is None or not self.candidates or not known_scores:
            return {}
        return total_intervals({"mean_st": mean(known_scores)})


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


def _four_types(source: str, home: str, targets: Sequence[str], values: TaskValues) -> FourTypes:
    away = {target: none_if_nan(values.mean(FOUR_TYPES, (source, target))) for target in targets}
    known = [value for value in away.values() if value is not None]
    mean_ood = float(np.mean(known)) if known and len(known) == len(away) else None
    return FourTypes(id=none_if_nan(values.mean(FOUR_TYPES, (source, home))), ood=away, mean_ood=mean_ood)
