"""TD of each shift split in two: the cost of the target's class shares, and the rest (``metrics.label_shift``)."""

from collections.abc import Mapping
from functools import cache

import numpy as np

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.label_shift import adjust_to_prior, fit_temperature, label_shift_parts
from shiftbench.scoring.scores.confidence_shape import LabelShift
from shiftbench.scoring.scores.confidences import TargetConfidence
from shiftbench.scoring.scores.intervals import DROP, SCORE, broadcast_replicates, estimates, percentile_figure
from shiftbench.scoring.scores.replicates import Floats, TaskValues
from shiftbench.validation.vocabulary import source_parts


class Parts:
    """The parts of one shift's TD, with their replicates."""

    def __init__(self, st: Floats, adjusted: Floats, tt: Floats, n_groups: float, temperature: float) -> None:
        shift, rest = label_shift_parts(*broadcast_replicates(st, adjusted, tt))
        self.adjusted, self.temperature = percentile_figure(adjusted, n_groups, SCORE), temperature
        self.label_shift, self.rest = percentile_figure(shift, n_groups, DROP), percentile_figure(rest, n_groups, DROP)

    def estimated(self) -> LabelShift:
        """Estimate the intervals."""
        figures = {"adjusted": self.adjusted, "label_shift": self.label_shift, "rest": self.rest}
        return LabelShift(**estimates(figures), temperature=self.temperature)


class LabelShifts:
    """The split of TD of a task's shifts, where probabilities of all labels are known."""

    def __init__(
        self,
        values: TaskValues,
        targets: Mapping[str, TargetConfidence],
        seeds: Mapping[str, set[int]],
        folder: DatasetFolder,
    ) -> None:
        self._values, self._targets, self._seeds, self._folder = values, targets, seeds, folder
        self._counts = cache(self._train_counts)
        self._temperature = cache(self._fit_temperature)

    def parts(self, source: str, target: str) -> Parts | None:
        """Split a shift's TD.

        Returns: None without probabilities, without train rows of the source, or where a class of the target was never
            trained on.
        """
        here, before = self._targets[target], self._train_prior(source, target)
        if here.probabilities is None or before is None:
            return None
        n_classes = len(before)
        after = np.bincount(here.labels, minlength=n_classes) / here.labels.size
        if np.any((before == 0) & (after > 0)):
            return None
        runs = here.runs_of(source, self._seeds[source])
        temperatures = [self._temperature(*here.runs[run]) for run in runs]
        adjusted = []
        for run, temperature in zip(runs, temperatures, strict=True):
            chosen = adjust_to_prior(here.probabilities[run], before, after, temperature).argmax(axis=-1)
            # Unusable outputs stay unusable.
            adjusted.append(np.where(here.predicted[run] == n_classes, n_classes, chosen))
        at_home = here.runs_of(target, self._seeds.get(target, ()))
        return Parts(
            here.scores[:, runs].mean(axis=1),
            here.scores_of(np.stack(adjusted)).mean(axis=1),
            here.scores[:, at_home].mean(axis=1) if at_home else np.array([np.nan]),
            self._values.effective_groups[target],
            float(np.mean(temperatures)),
        )

    def _train_prior(self, source: str, target: str) -> Floats | None:
        """Count the source's train labels as the target scores them, as shares."""
        parts = source_parts(source)
        domains = self._values.info.domains
        if not parts or any(part not in domains or "train" not in domains[part].splits for part in parts):
            return None
        counts = np.sum([self._counts(part) for part in parts], axis=0)
        folds = self._targets[target].folds[:-1]
        scored_as = np.bincount(folds, weights=counts, minlength=counts.size)
        return np.asarray(scored_as / scored_as.sum())

    def _train_counts(self, domain: str) -> Floats:
        labels = self._folder.split(self._values.name, domain, "train")["label"].to_numpy()
        return np.bincount(labels, minlength=len(self._values.info.labels)).astype(np.float64)

    def _fit_temperature(self, source: str, seed: int) -> float:
        """Fit the temperature of a run on its predictions at home; 1 where there are none."""
        tables, labels = [], []
        for part in source_parts(source):
            home = self._targets.get(part)
            if home is not None and home.probabilities is not None and (source, seed) in home.runs:
                tables.append(home.probabilities[home.runs.index((source, seed))])
                labels.append(home.labels)
        return fit_temperature(np.concatenate(tables), np.concatenate(labels)) if tables else 1.0
