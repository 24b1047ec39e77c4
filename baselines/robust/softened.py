"""Methods that only modify the usual cross entropy: focal loss and label smoothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from shiftbench.baselines.robust.method import TrainingMethod, strength


@dataclass(frozen=True)
class Focal(TrainingMethod):
    """Focal loss: down-weights well-predicted examples; without class weights."""

    of_words = True
    gamma: float = strength(2.0, "2 (Lin et al. 2017; BOSS)", draws=(0.5, 5))

    def cross_entropy(self) -> Mapping[str, float]:
        """Return the focal weight's exponent."""
        return {"gamma": self.gamma}


@dataclass(frozen=True)
class Smoothing(TrainingMethod):
    """Label smoothing; combined with focal loss, each class's share of the label has its own focal weight."""

    of_words = True
    epsilon: float = strength(0.1, "0.1 (Szegedy et al. 2016; BOSS)", most=1, draws=(0.01, 0.3))

    def cross_entropy(self) -> Mapping[str, float]:
        """Return the share of the label that is spread over all classes."""
        return {"epsilon": self.epsilon}
