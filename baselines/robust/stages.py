"""What methods do to a classifier before and after its training: a fitted layer, an average of weights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from transformers import TrainerCallback

from shiftbench.baselines.robust.method import Method
from shiftbench.baselines.training.trainer import Trajectory
from shiftbench.validation.report import InvalidInput, Problem

_DFR_STREAM = 2
"""Added to the seed of DFR's draws, so that they are independent of other draws of the same seed."""


@dataclass
class MethodStages:
    """Begins and finishes a classifier's training as its methods ask for.

    Attributes:
        methods: the methods.
        rows: train rows with ``label``.
        validation: validation rows of the source, None where no method needs them.
        n_classes: number of labels of the task.
        seed: seed of the run.
        features: reads what a model's last layer reads of rows, shape (n, d).
        score: of a model on the validation rows; None where there are none.
        loss: of a model on the validation rows.
    """

    methods: frozenset[Method]
    rows: pl.DataFrame
    validation: pl.DataFrame | None
    n_classes: int
    seed: int
    features: Callable[[Any, pl.DataFrame], NDArray[np.float32]]
    score: Callable[[Any], float] | None
    loss: Callable[[Any], float]

    def begin(self, model: Any) -> Any:
        """Build what training starts from: the fitted last layer that WiSE-FT needs."""
        if Method.WISE_FT in self.methods:
            from shiftbench.baselines.robust.averages import copy_state
            from shiftbench.baselines.robust.last_layer import fit_layer, set_last_layer

            labels = self.rows["label"].to_numpy()
            known = np.unique(labels)
            weights, biases = fit_layer(self.features(model, self.rows), np.searchsorted(known, labels), len(known))
            # A label without a train row gets a bias at which it is never predicted.
            all_weights, all_biases = np.zeros((self.n_classes, weights.shape[1])), np.full(self.n_classes, -20.0)
            all_weights[known], all_biases[known] = weights, biases
            set_last_layer(model, all_weights, all_biases)
            self._probe = copy_state(model)
        return model

    def callbacks(self, model: Any, folder: Path | None) -> Sequence[TrainerCallback]:
        """Build SWAD's callback, which gathers mean weights, and DANN's, which sets how far the training is."""
        callbacks: list[TrainerCallback] = []
        if Method.DANN in self.methods:
            from shiftbench.baselines.robust.dann import Progress

            callbacks.append(Progress(model.own_loss))
        if Method.SWAD not in self.methods:
            return callbacks
        from shiftbench.baselines.robust.swad import Stretches

        if hasattr(model, "peft_config") or folder is None:
            what = "checkpoints of an adapter hold nothing else, so a stopped training would lose SWAD's means"
            raise InvalidInput(Problem(what, "--method swad, --adapter", cure="leave one of them out"))
        folder.mkdir(parents=True, exist_ok=True)
        self._stretches = Stretches(model, folder, self.loss)
        return [*callbacks, self._stretches]

    def finish(self, trajectory: Trajectory) -> Trajectory:
        """Average weights, then fit the last layer anew, as far as the methods ask for it."""
        model = trajectory.model
        notes: dict[str, Any] = {}
        if Method.SOUP in self.methods:
            notes |= self._mix_soup(trajectory)
        if Method.SWAD in self.methods:
            mean, *notes["swad"] = self._stretches.mean()
            del model.stretch_mean
            model.load_state_dict(mean, strict=False)
        if Method.WISE_FT in self.methods:
            from shiftbench.baselines.robust.averages import copy_state, wise_ft

            finetuned = {name: value for name, value in copy_state(model).items() if name in self._probe}
            model.load_state_dict(wise_ft(self._probe, finetuned), strict=False)
        if Method.DFR in self.methods:
            from shiftbench.baselines.robust.dfr import fit_balanced_layer
            from shiftbench.baselines.robust.last_layer import set_last_layer

            assert self.validation is not None
            domains = self.validation["domain"].rank("dense").to_numpy().astype(np.int64) - 1
            labels = self.validation["label"].to_numpy().astype(np.int64)
            generator = np.random.default_rng([self.seed, _DFR_STREAM])
            features = self.features(model, self.validation)
            set_last_layer(model, *fit_balanced_layer(features, labels, domains, self.n_classes, generator))
        return replace(trajectory, record={**trajectory.record, **notes})

    def _mix_soup(self, trajectory: Trajectory) -> Mapping[str, Any]:
        """Load the greedy soup of the kept states into the model."""
        import torch

        from shiftbench.baselines.robust.averages import State, greedy_soup
        from shiftbench.baselines.training.trainer import state_name

        model, score = trajectory.model, self.score
        assert score is not None
        names = sorted(trajectory.states)
        files = [trajectory.states[name] for name in names]
        states = [torch.load(file, map_location="cpu", weights_only=True) for file in files]

        def score_of(state: State) -> float:
            model.load_state_dict(state, strict=False)
            return float(score(model))

        mean, kept = greedy_soup(states, score_of)
        model.load_state_dict(mean, strict=False)
        return {"soup": [state_name(names[place]) for place in sorted(kept)]}
