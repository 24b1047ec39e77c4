"""From trials to entries: one prediction file and one card for each model on each task."""

import json
import logging
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.baselines.grid.stored import TRAINING, StoredTrials
from shiftbench.baselines.grid.trial import PREDICTIONS, Trial, is_whole
from shiftbench.baselines.program import write_outputs
from shiftbench.validation.cards import Card, card_path, read_card
from shiftbench.validation.report import plural
from shiftbench.validation.vocabulary import NO_SOURCE, PLACEBO

log = logging.getLogger(__name__)
_STEM = Path(PREDICTIONS).stem
_JOINED: dict[str, Callable[[list[Any]], Any]] = {
    "tokens": sum,
    "cost_usd": sum,
    "training_size": max,
    "step": max,
    # A source without validation rows has no model selection.
    "model_selection": lambda rules: max(rules, key=lambda rule: rule != "none"),
}
"""How to merge card fields that may differ between trials, giving the values of one program trained on all sources."""


def by_entry(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Group trials by entry: trials of one model on one task, and on the task's placebo.

    Trials of a search are left out; the trials that run its selected settings are not.
    """
    entries: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        if trial.search is not None and trial.search.number is not None:
            continue
        entries.setdefault((trial.model, trial.task.removesuffix(PLACEBO)), []).append(trial)
    return list(entries.values())


def collect(trials: Sequence[Trial], stored: StoredTrials, out: Path) -> Path | None:
    """Write the prediction file and card of one model on one task, from its finished trials.

    The result equals that of ``shiftbench train`` with all sources and seeds, and the card contains that command,
    and the content hash of the trials' ``dataset`` if they have one. Files that would not change are not rewritten.

    Args:
        trials: trials of the model on the task, in the order of the file.
        stored: access to the trials, each in its own folder or packed.
        out: folder to write ``<task>/<model>.parquet`` into; a task's placebo is written to the same file.
    Returns: the prediction file; None if no trial is finished.
    """
    done = {trial: files for trial in trials if PREDICTIONS in (files := stored.files(trial))}
    entry = out / trials[0].task.removesuffix(PLACEBO) / f"{trials[0].model}.parquet"
    if done and len(done) < len(trials):
        log.info("%s is missing %d of %s", entry, len(trials) - len(done), plural(len(trials), "trial"))
    # Programs also write intermediate states of a training, such as predictions.epoch-1.parquet.
    for name in sorted({name for files in done.values() for name in files}):
        having = [trial for trial, files in done.items() if name in files]
        predictions = pl.concat([stored.predictions(trial, name) for trial in having])
        card = _join_cards([stored.card(trial, name) for trial in having], training_command(having))
        if (here := having[0].dataset) and card.data != here.content:  # same rows, but a folder with other tasks
            card = card.model_copy(update={"data": here.content, "settings": here.settings})
        if search := having[0].search:
            card = card.model_copy(update={"model_selection": search.rule, "tuning_trials": search.trials})
        file = entry.with_name(f"{entry.stem}{name.removeprefix(_STEM)}")
        is_known = is_whole(file) and read_card(card_path(file)) == card
        if not (is_known and pl.read_parquet(file).equals(predictions)):
            write_outputs(predictions, card, file)
    records = [record for trial in done for record in stored.training(trial)]
    if records:
        text = json.dumps(records, indent=1)
        entry.with_name(f"{entry.stem}{TRAINING.removeprefix(_STEM)}").write_text(text, encoding="utf-8")
    return entry if done else None


def training_command(trials: Sequence[Trial]) -> str:
    """Return the commands that train these trials, a line for each task and setting; ``DIR`` is the dataset."""
    lines: dict[tuple[str, str, tuple[str, ...]], list[Trial]] = {}
    for trial in trials:
        lines.setdefault((trial.program, trial.task, trial.options), []).append(trial)
    commands = []
    for (program, task, options), each in lines.items():
        sources = dict.fromkeys(f"--source={trial.source}" for trial in each if trial.source != NO_SOURCE)
        seeds = dict.fromkeys(f"--seed={trial.seed}" for trial in each)
        words = ["shiftbench", "train", program, task, "--data=DIR", "--out=predictions.parquet", *sources, *seeds]
        commands.append(shlex.join([*words, *options]))
    return "\n".join(commands)


def _join_cards(cards: Sequence[Card], command: str) -> Card:
    """Join the cards of several trials; drop fields on which they disagree and that cannot be merged."""
    facts: dict[str, Any] = {}
    for key in Card.model_fields:
        values = [getattr(card, key) for card in cards]
        if key in _JOINED and None not in values:
            facts[key] = _JOINED[key](values)
        elif all(value == values[0] for value in values):
            facts[key] = values[0]
    return Card(**facts | {"command": command})
