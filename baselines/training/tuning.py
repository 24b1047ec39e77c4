"""From a run to a trained model: sampling rows, sweeping hyperparameters, saving intermediate states."""

import json
import shutil
from collections.abc import Callable, Sequence
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

Build = Callable[[], Any]
"""Returns the pretrained model, ready to train."""

Train = Callable[[Hyperparameters, Path | None], Trajectory]
"""Trains a new model with settings, and a folder for checkpoints (None: no checkpoints)."""


def cut_rows(rows: pl.DataFrame, options: TrainingOptions, seed: int) -> pl.DataFrame:
    """Sample the requested number of training rows, in total or per label (Domain Robustness paper, App. C.4).

    A smaller sample with the same seed is a subset of a larger one.
    """
    n_asked = options.train_size or options.shots
    if n_asked is None:
        return rows
    order = np.random.default_rng([seed, 0]).permutation(len(rows))  # the streams 1 and 2 are EDA's and DFR's
    if options.train_size is not None:
        return rows[np.sort(order[:n_asked])]
    if "label" not in rows.columns:
        raise InvalidInput(Problem("shots are per label, but these rows have none", "--shots", cure="use --train-size"))
    labels = rows["label"].to_numpy()[order]
    kept = np.concatenate([order[labels == label][:n_asked] for label in np.unique(labels)])
    return rows[np.sort(kept)]


def train_candidates(
    run: Run, candidates: Sequence[Hyperparameters], build: Build, train: Train, predictor: Callable[[Any], Predict]
) -> Trained:
    """Train with each candidate's settings, and return the model with the highest validation score.

    Candidates that are finished are not trained again; only the weights of the best one so far are stored.

    Args:
        run: the run; its scratch folder stores the state of an unfinished sweep.
        candidates: candidate settings; the first wins a tie.
    """
    if len(candidates) == 1:
        return _with_states(train(candidates[0], run.scratch), predictor, run)
    if run.validation is None:
        what, cure = f"source '{run.source}' has no validation rows for model selection", "omit --sweep"
        raise InvalidInput(Problem(what, "--sweep", cure=cure))
    if run.scratch is None:
        raise ValueError("a sweep requires a scratch folder")
    weights = [run.scratch / f"candidate-{number}.pt" for number in range(len(candidates))]
    trials: list[dict[str, Any]] = []
    for number, settings in enumerate(candidates):
        note, folder = weights[number].with_suffix(".json"), weights[number].with_suffix("")
        if not note.is_file():
            trajectory = train(settings, folder)
            assert trajectory.score is not None
            is_best = trajectory.score > max((each["score"] for each in trials), default=-1.0)
            if is_best:
                save_state(trajectory.model, weights[number])
            with replace_file(note) as new:
                trial = {"number": number, "score": trajectory.score, "record": dict(trajectory.record)}
                new.write_text(json.dumps(trial), encoding="utf-8")
            shutil.rmtree(folder)
            for earlier in weights[:number] if is_best else ():
                earlier.unlink(missing_ok=True)
        trials.append(parse_json(note.read_text(encoding="utf-8")))
    best = max(trials, key=lambda each: float(each["score"]))
    model = build()
    load_state(model, weights[best["number"]])
    return Trained(predictor(model), record={**best["record"], "tuning_trials": len(trials), "sweep": trials})


def _with_states(trajectory: Trajectory, predictor: Callable[[Any], Predict], run: Run) -> Trained:
    """Build the result of a training whose saved states are loaded when they are needed for prediction."""
    model, states = trajectory.model, trajectory.states
    if not states:
        return Trained(predictor(model), record=trajectory.record)
    assert run.scratch is not None
    last = run.scratch / "last.pt"
    save_state(model, last)

    def at(file: Path) -> Predict:
        def predict(rows: pl.DataFrame) -> Any:
            load_state(model, file)
            return predictor(model)(rows)

        return predict

    names = {state_name(epochs): at(file) for epochs, file in states.items()}
    return Trained(at(last), names, trajectory.record)
