"""Random search: settings are sampled, selected on the source's validation rows, and run again on new seeds.

Every model of a search gets the same number of trials, including plain training. Its first trial uses the options of
the grid file. Trials that are not selected are stored and packed like all others, and listed next to the result. WILDS
(Koh et al. 2021) and DomainBed (Gulrajani and Lopez-Paz 2021) do the same; hyperparameters of methods are sampled
from DomainBed's ranges.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from shiftbench.baselines.grid.stored import StoredTrials
from shiftbench.baselines.grid.trial import PREDICTIONS, Trial
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.classification import accuracy, confusion_counts, macro_f1
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind, source_parts

VALIDATION = "predictions.validation.parquet"
ORACLE, SOURCE_VALIDATION = "oracle", "source-validation"
Space = Mapping[str, Sequence[Any] | tuple[float, float]]
"""The search space by setting: a list of values, or the bounds of a log-uniform range."""


def draw_settings(space: Space, whole: Iterable[str], trials: int, seed: int) -> list[dict[str, Any]]:
    """Sample settings; the first set is empty, so that the model's own options are tried, too.

    Each setting has its own random stream, so different models get the same values for the settings they share.

    Args:
        whole: names of the settings that are integers.
    """
    drawn: list[dict[str, Any]] = [{} for _ in range(trials)]
    for name, values in sorted(space.items()):
        rng = np.random.default_rng([seed, *name.encode()])
        for each in drawn[1:]:
            if isinstance(values, tuple):
                low, high = values
                value = float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")
                each[name] = round(value) if name in whole else value
            else:
                each[name] = values[int(rng.integers(len(values)))]
    return drawn


def add_settings(words: Sequence[str], drawn: Mapping[str, Any], own: Iterable[str]) -> tuple[str, ...]:
    """Return options with the sampled settings replacing their values: as an option of the program, else by ``--set``.

    >>> add_settings(("--epochs=1", "--set=clip=1"), {"clip": 0.5, "epochs": 2}, ["epochs", "set"])
    ('--epochs=2', '--set=clip=0.5')
    """
    starts = {name: f"--{name}=" if name in set(own) else f"--set={name}=" for name in drawn}
    kept = [word for word in words if not word.startswith(tuple(starts.values()))]
    return (*kept, *sorted(f"{start}{drawn[name]}" for name, start in starts.items()))


@dataclass(frozen=True)
class SearchedModel:
    """A model whose settings are searched on one task and source.

    Attributes:
        tries: the trials of the search, one per set of settings.
        options: the options of each set, without those that only the search needs.
        seeds: seeds on which the selected set is run.
    """

    tries: tuple[Trial, ...]
    options: tuple[tuple[str, ...], ...]
    seeds: tuple[int, ...]

    def finals(self, chosen: int) -> list[Trial]:
        """Return the trials that run the options of the selected set on new seeds."""
        first = self.tries[0]
        assert first.search is not None
        search = first.search._replace(number=None)
        return [replace(first, options=self.options[chosen], seed=seed, search=search) for seed in self.seeds]


class ChosenSettings(NamedTuple):
    """Result of a search on one task and source: score of each set of settings, and index of the selected one."""

    scores: list[float]
    chosen: int


def choose_settings(searched: SearchedModel, stored: StoredTrials, folder: DatasetFolder) -> ChosenSettings:
    """Select the settings with the highest score; the first in a tie."""
    scores = [_score(trial, stored, folder) for trial in searched.tries]
    return ChosenSettings(scores, int(np.argmax(scores)))


def chosen_trials(
    searches: Sequence[SearchedModel], stored: StoredTrials, folder: DatasetFolder, out: Path
) -> list[Trial]:
    """Select the settings of every search whose trials are all finished, and list the trials next to the results.

    Args:
        searches: searches of a grid.
        out: the folder of results; ``<task>/<model>.search.json`` lists every trial with its score.
    Returns: the trials on new seeds.
    """
    finals: list[Trial] = []
    listed: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for searched in searches:
        first = searched.tries[0]
        if not all(stored.is_done(trial) for trial in searched.tries):
            continue
        found = choose_settings(searched, stored, folder)
        finals += searched.finals(found.chosen)
        assert first.search is not None
        listed.setdefault((first.task, first.model), []).extend(
            {
                "source": trial.source, "search": first.search.name, "rule": first.search.rule, "trial": number + 1,
                "options": list(searched.options[number]), "seed": trial.seed, "score": found.scores[number],
                "chosen": number == found.chosen, "folder": trial.folder.as_posix(),
            }
            for number, trial in enumerate(searched.tries)
        )  # fmt: skip
    for (task, model), tries in listed.items():
        (out / task).mkdir(parents=True, exist_ok=True)
        with replace_file(out / task / f"{model}.search.json") as new:
            new.write_text(json.dumps(tries, indent=1) + "\n", encoding="utf-8")
    return finals


def _score(trial: Trial, stored: StoredTrials, folder: DatasetFolder) -> float:
    """Score a trial by the task's metric: on its source's validation rows, or (oracle) on the targets' test rows."""
    assert trial.search is not None
    info, sources = folder.task(trial.task), source_parts(trial.source)
    if trial.search.rule == SOURCE_VALIDATION:
        frame = stored.predictions(trial, VALIDATION)
        parts = [part for part in sources if "validation" in info.domains[part].splits]
        golds = [pl.concat([folder.split(trial.task, part, "validation") for part in parts])]
    else:
        frame = stored.predictions(trial, PREDICTIONS)
        targets = [name for name, facts in info.domains.items() if "test" in facts.splits and name not in sources]
        golds = [folder.split(trial.task, target, "test") for target in targets]
    codes = {name: code for code, name in enumerate(info.labels)}
    scores = []
    for gold in golds:
        both = gold.select("id", "label").join(frame.select("id", "prediction"), on="id", how="left")
        predicted = both["prediction"].replace_strict(codes, default=None, return_dtype=pl.Int64)
        if predicted.null_count():
            what, cure = "a trial lacks predictions that its search needs", "remove 'target' from the options"
            raise InvalidInput(Problem(what, str(trial), f"{predicted.null_count():,} rows", cure))
        counts = confusion_counts(both["label"].to_numpy(), predicted.to_numpy(), len(info.labels))
        scores.append(float(macro_f1(counts) if info.metric == "macro_f1" else accuracy(counts)))
    return float(np.mean(scores))


def check_task(folder: DatasetFolder, task: str, source: str, rule: str) -> str:
    """Return why a search cannot be scored on a task and source; "" if it can."""
    info, sources = folder.task(task), source_parts(source)
    if info.kind is not TaskKind.CLASSIFICATION:
        return f"'{task}' is a task of kind '{info.kind.value}'; a search requires class labels"
    if rule == SOURCE_VALIDATION and not any("validation" in info.domains[part].splits for part in sources):
        return f"source '{source}' of '{task}' has no validation rows"
    if rule == ORACLE and folder.manifest.withholds_labels:
        return "the folder's test labels are withheld"
    return ""
