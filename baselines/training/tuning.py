"""From a run to a trained model: sampling rows, sweeping hyperparameters, saving intermediate states."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench.baselines.runs import Predict, Run, Trained
from shiftbench.baselines.training.options import Hyperparameters, TrainingOptions
from shiftbench.baselines.training.trainer import Trajectory, load_state, save_state, state_name
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.report import InvalidInput, Problem


@dataclass(frozen=True)
class Recipe:
    """How one kind of model is trained for one run.

    Attributes:
        build: returns the pretrained model, ready to train.
        train: trains it with settings, and a folder for checkpoints (None: no checkpoints).
        predictor: turns a trained model into a prediction function.
    """

    build: Callable[[], Any]
    train: Callable[[Any, Hyperparameters, Path | None], Trajectory]
    predictor: Callable[[Any], Predict]


def cut_rows(rows: pl.DataFrame, options: TrainingOptions, seed: int) -> pl.DataFrame:
    """Sample the requested number of training rows, in total or per label (Domain Robustness paper, App. C.4).

    A smaller sample with the same seed is a subset of a larger one.
    """
    n_asked = options.train_size or options.shots
    if n_asked is None:
        return rows
    order = np.random.default_rng([seed, 0]).permutation(len(rows))
    if options.train_size is not None:
        return rows[np.sort(order[:n_asked])]
    if "label" not in rows.columns:
        raise InvalidInput(
            Problem("shots are rows per label, and these rows have no labels", "--shots", cure="give --train-size")
        )
    labels = rows["label"].to_numpy()[order]
    kept = np.concatenate([order[labels == label][:n_asked] for label in np.unique(labels)])
    return rows[np.sort(kept)]


def train_candidates(run: Run, candidates: Sequence[Hyperparameters], recipe: Recipe) -> Trained:
    """Train with each candidate's settings, and return the model with the highest validation score.

    Args:
        run: the run; its scratch folder stores the state of an unfinished sweep.
        candidates: candidate settings; the first wins a tie.
        recipe: how to train.
    """
    if len(candidates) == 1:
        return _with_states(recipe.train(recipe.build(), candidates[0], run.scratch), recipe, run)
    if run.validation is None:
        what, cure = f"source '{run.source}' has no validation rows to choose by", "leave out --sweep"
        raise InvalidInput(Problem(what, "--sweep", cure=cure))
    if run.scratch is None:
        raise ValueError("a sweep needs a scratch folder")
    trials: list[dict[str, Any]] = []
    for number, settings in enumerate(candidates):
        highest = max((each["score"] for each in trials), default=-1.0)
        trials.append(_train_candidate(run.scratch, number, settings, recipe, highest))
    best = max(trials, key=lambda each: float(each["score"]))
    model = recipe.build()
    load_state(model, _weights(run.scratch, best["number"]))
    return Trained(recipe.predictor(model), record={**best["record"], "tuning_trials": len(trials), "sweep": trials})


def _train_candidate(
    scratch: Path, number: int, settings: Hyperparameters, recipe: Recipe, highest: float
) -> dict[str, Any]:
    """Train one candidate unless it is finished; save its weights if it scores higher than all earlier ones."""
    note, folder = scratch / f"candidate-{number}.json", scratch / f"candidate-{number}"
    if note.is_file():
        return dict(parse_json(note.read_text(encoding="utf-8")))
    trajectory = recipe.train(recipe.build(), settings, folder)
    assert trajectory.score is not None
    if trajectory.score > highest:
        save_state(trajectory.model, _weights(scratch, number))
    trial = {"number": number, "score": trajectory.score, "record": dict(trajectory.record)}
    with replace_file(note) as new:
        new.write_text(json.dumps(trial), encoding="utf-8")
    shutil.rmtree(folder)
    if trajectory.score > highest:
        for earlier in range(number):
            _weights(scratch, earlier).unlink(missing_ok=True)
    return trial


def _weights(scratch: Path, number: int) -> Path:
    return scratch / f"candidate-{number}.pt"


def _with_states(trajectory: Trajectory, recipe: Recipe, run: Run) -> Trained:
    """Build the result of a training whose saved states are loaded when they are needed for prediction."""
    model, states = trajectory.model, trajectory.states
    if not states:
        return Trained(recipe.predictor(model), record=trajectory.record)
    assert run.scratch is not None
    last = run.scratch / "last.pt"
    save_state(model, last)

    def at(file: Path) -> Predict:
        def predict(rows: pl.DataFrame) -> Any:
            load_state(model, file)
            return recipe.predictor(model)(rows)

        return predict

    names = {state_name(epochs): at(file) for epochs, file in states.items()}
    return Trained(at(last), names, trajectory.record)
