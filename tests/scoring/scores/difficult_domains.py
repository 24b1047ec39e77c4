"""Simulated domains that are harder, or shifted, or neither: gold labels and what a model and its probes predict.

A text has a difficulty that all models share, and each model its own luck with it. A model gets a text right when its
ability is above difficulty and luck together; abilities are set so that its true accuracy on the texts of a class is
what is asked for. A probe is trained several times on draws from the same train texts, so its true accuracy on a domain
is off by the luck of these texts, and each training by that of its draw, as large. Labels may be wrong, which takes
from each model the share of what it has above chance.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
MODELS = ("model", "probe 1", "probe 2")
N_TRAININGS = 5
SHARED = 0.5
"""Proportion of the variance of a text's difficulty that is common to models."""


@dataclass(frozen=True)
class World:
    """A source domain and another domain.

    Attributes:
        home, lost: true accuracies at home, and what is lost of them on the other domain, by model, on all classes.
        by_class: what a class adds to the accuracy on its texts, class 0 first.
        shares: share of class 0 at home and on the other domain.
        wrong_labels: share of the other domain's labels that are wrong.
        luck: standard deviation of a probe's true accuracy over train texts.
        n: test texts of each domain.
    """

    home: tuple[float, ...] = (0.85, 0.78, 0.81)
    lost: tuple[float, ...] = (0.0, 0.0, 0.0)
    by_class: tuple[float, float] = (0.0, 0.0)
    shares: tuple[float, float] = (0.5, 0.5)
    wrong_labels: float = 0.0
    luck: float = 0.007
    n: int = 500


HARDER = World(lost=(0.10, 0.10, 0.10))
SHIFTED = World(lost=(0.10, 0.0, 0.0))
BOTH = World(lost=(0.20, 0.10, 0.10))
STRONGER = World(home=(0.95, 0.75, 0.80))
FEWER_EASY = World(home=(0.87, 0.86, 0.855), by_class=(0.12, -0.12), shares=(0.9, 0.5))
"""Class 1 is equally hard for all models in both domains, but more frequent out of domain: accuracy falls."""
RARE_CLASS = World(shares=(0.5, 0.9))
"""Class 1 is rare out of domain, which lowers its precision: macro-F1 falls."""


def with_luck(world: World, luck: float) -> World:
    """Return a world in which the probes' training texts have this random effect."""
    return replace(world, luck=luck)


@dataclass(frozen=True)
class Texts:
    """Test texts of one domain: gold labels, shape (n,), and what each model predicted, shape (n_runs, n)."""

    gold: Codes
    predicted: dict[str, Codes]


def draw(world: World, rng: np.random.Generator) -> tuple[Texts, Texts]:
    """Simulate the test texts of the source and of the other domain."""
    nothing = (0.0,) * len(MODELS)
    return (
        _draw_domain(world, nothing, world.shares[0], 0.0, rng),
        _draw_domain(world, world.lost, world.shares[1], world.wrong_labels, rng),
    )


def _draw_domain(
    world: World, lost: tuple[float, ...], share: float, wrong_labels: float, rng: np.random.Generator
) -> Texts:
    true = (rng.random(world.n) >= share).astype(np.int64)
    shared = rng.standard_normal(world.n) * np.sqrt(SHARED)
    predicted = {}
    for name, at_home, less in zip(MODELS, world.home, lost, strict=True):
        n_runs = 1 if name == "model" else N_TRAININGS
        luck = np.zeros(1) if name == "model" else world.luck * (rng.standard_normal() + rng.standard_normal(n_runs))
        accuracy = at_home - less + np.array(world.by_class)[true] + luck[:, None]
        own = rng.standard_normal(world.n) * np.sqrt(1 - SHARED)
        right = shared + own < ndtri(np.clip(accuracy, 0.01, 0.99))
        predicted[name] = np.where(right, true, 1 - true)
    gold = np.where(rng.random(world.n) < wrong_labels, 1 - true, true)
    return Texts(gold, predicted)
