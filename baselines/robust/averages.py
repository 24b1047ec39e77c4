"""Weight averaging: WiSE-FT (Wortsman et al. 2022a) and greedy soups (Wortsman et al. 2022b)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from shiftbench.baselines.robust.last_layer import fit_layer, set_last_layer
from shiftbench.baselines.robust.method import MethodTraining, TrainingMethod, strength
from shiftbench.baselines.robust.synonyms import SynonymSource
from shiftbench.baselines.training.options import TrainingOptions
from shiftbench.baselines.training.trainer import Trajectory, state_name
from shiftbench.validation.report import InvalidInput, Problem

State = Mapping[str, Tensor]
"""A model's weights by name."""

WISE_SHARE = 0.5


@dataclass(frozen=True)
class WiseFt(TrainingMethod):
    """WiSE-FT: interpolates between a linear probe and the model fine-tuned from it."""

    models = "encoders"
    share: float = strength(WISE_SHARE, "0.5 (Wortsman et al. 2022a)", most=1)

    def begin(self, training: MethodTraining, model: Any) -> None:
        """Fit the last layer on frozen features, as the start of training."""
        assert training.features is not None
        labels = training.rows["label"].to_numpy()
        known = np.unique(labels)
        weights, biases = fit_layer(training.features(model, training.rows), np.searchsorted(known, labels), len(known))
        # A label without a training row gets a bias at which it is never predicted.
        all_weights = np.zeros((training.n_classes, weights.shape[1]))
        all_biases = np.full(training.n_classes, -20.0)
        all_weights[known], all_biases[known] = weights, biases
        set_last_layer(model, all_weights, all_biases)
        training.memory["probe"] = copy_state(model)

    def finish(self, training: MethodTraining, trajectory: Trajectory) -> Mapping[str, Any]:
        """Load the interpolation of probe and trained model into the model."""
        probe = training.memory["probe"]
        finetuned = {name: value for name, value in copy_state(trajectory.model).items() if name in probe}
        trajectory.model.load_state_dict(wise_ft(probe, finetuned, self.share), strict=False)
        return {}


@dataclass(frozen=True)
class Soup(TrainingMethod):
    """Greedy soup: the mean of those saved states that improve the source's validation score."""

    of_validation = True
    apart = frozenset({"wise-ft", "swad"})

    def check(self, options: TrainingOptions, synonyms: SynonymSource) -> None:
        """Raise InvalidInput if fewer than two states are saved."""
        if len(set(options.keep_state or ())) < 2:
            cure = "give --keep-state at least twice, as 1 and 2"
            raise InvalidInput(Problem("a soup averages kept states: it needs two or more", "--method soup", cure=cure))

    def finish(self, training: MethodTraining, trajectory: Trajectory) -> Mapping[str, Any]:
        """Load the soup of the saved states into the model."""
        model, score = trajectory.model, training.score
        assert score is not None
        names = sorted(trajectory.states)
        states = [torch.load(trajectory.states[name], map_location="cpu", weights_only=True) for name in names]

        def score_of(state: State) -> float:
            model.load_state_dict(state, strict=False)
            return float(score(model))

        mean, kept = greedy_soup(states, score_of)
        model.load_state_dict(mean, strict=False)
        return {"soup": [state_name(names[place]) for place in sorted(kept)]}


def copy_state(model: Any) -> dict[str, Tensor]:
    """Copy a model's floating-point weights to the CPU."""
    state = model.state_dict()
    return {name: value.detach().cpu().clone() for name, value in state.items() if value.is_floating_point()}


def mean_state(states: Sequence[State], shares: Sequence[float]) -> dict[str, Tensor]:
    """Compute the weighted mean of states; the shares sum to 1."""
    names = states[0].keys()
    pairs = list(zip(shares, states, strict=True))
    return {name: torch.stack([share * state[name] for share, state in pairs]).sum(dim=0) for name in names}


def wise_ft(probe: State, finetuned: State, share: float = WISE_SHARE) -> dict[str, Tensor]:
    """Interpolate between a linear probe and the model that was fine-tuned from it.

    ``(1 - a) probe + a finetuned``. With a randomly initialised head instead of the probe's, one end of the
    interpolation would not be a trained model; therefore the last layer is first fitted on frozen features (LP-FT,
    Kumar et al. 2022).

    Args:
        probe: weights at the start of fine-tuning.
        finetuned: weights at its end.
        share: a, the share of the fine-tuned model.
    Source: Wortsman et al. 2022a, eq. 1.
    """
    return mean_state([probe, finetuned], [1 - share, share])


def greedy_soup(states: Sequence[State], score: Callable[[State], float]) -> tuple[dict[str, Tensor], list[int]]:
    """Average states greedily: in decreasing order of score, a state is added if the score of the mean does not drop.

    Args:
        states: states of one training, or of several trainings from the same initial weights.
        score: scores a state on validation rows of the source; higher is better.
    Returns: the mean of the selected states, and their indices.
    Source: Wortsman et al. 2022b, recipe 1.
    """
    scores = [score(state) for state in states]
    order = sorted(range(len(states)), key=lambda place: -scores[place])
    kept, best = [order[0]], scores[order[0]]
    for place in order[1:]:
        tried = [*kept, place]
        mean_score = score(mean_state([states[each] for each in tried], [1 / len(tried)] * len(tried)))
        if mean_score >= best:
            kept, best = tried, mean_score
    return mean_state([states[each] for each in kept], [1 / len(kept)] * len(kept)), kept
