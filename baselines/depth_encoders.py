"""How much Depth F1 depends on the encoder: the pairings of a ``df1`` folder, with depths by two encoders.

Of each pairing: the rank correlation of the two depths of its target texts, how many of the tenth that is least deep
they have in common (a tenth by chance), and Q by each. Then the same predictions, of three simple models, scored with
the weights of each encoder: what differs is the depth alone. Intervals are over resampled target texts (percentile
bootstrap, weights as they are).

    shiftbench build df1 --raw RAW --partial --no-depth --out build/df1
    python -m shiftbench.baselines.depth_encoders --data build/df1
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from shiftbench.baselines import sbert_lr, tfidf_lr
from shiftbench.baselines.program import Data
from shiftbench.builders.encoder import DEFAULT_ENCODER, Encoder, encoder_texts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.static_encoder import STATIC_ENCODER
from shiftbench.metrics.correlation import spearman
from shiftbench.metrics.depth import depth_f1, depth_weights, least_deep, q_statistic, tte_depth
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import source_parts

Floats = NDArray[np.float64]

ALL, SHALLOW = 0, 90
"""The lambdas that are printed: all target texts, and the tenth that is least deep in the source."""
N_DRAWS = 2000


@dataclass(frozen=True)
class Depths:
    """Depths in the source of a pairing's texts, by one encoder.

    Attributes:
        own: of the source's train texts, each left out of its own, shape (n_source,).
        target: of the target's test texts, shape (n_target,).
    """

    own: Floats
    target: Floats

    @classmethod
    def of(cls, encoder: Encoder, train: Sequence[str], test: Sequence[str]) -> "Depths":
        """Encode the texts and compute their depths."""
        source = encoder.encode(train)
        return cls(tte_depth(source), tte_depth(source, encoder.encode(test)))

    def weights(self, lambda_: int) -> Floats:
        """Return the weight of each target text in Depth F1 at lambda, shape (n_target,)."""
        return depth_weights(self.target, self.own) * least_deep(self.target, lambda_)


def shared_tenth(a: Floats, b: Floats) -> float:
    """Return the share of the least deep tenth by one depth that is in the least deep tenth by the other.

    Args:
        a: depths of n texts, shape (n,).
        b: other depths of the same texts, shape (n,).
    Returns: a fraction in [0, 1]; about 0.1 for depths that have nothing to do with each other.
    """
    in_a, in_b = least_deep(a, SHALLOW), least_deep(b, SHALLOW)
    return float((in_a & in_b).sum() / in_a.sum())


def depth_f1_difference(correct: NDArray[np.bool_], a: Floats, b: Floats, seed: int = 0) -> tuple[float, float, float]:
    """Compare Depth F1 of the same predictions under two weightings; resamples without any weight are left out.

    Args:
        correct: whether each target text is right, shape (n,).
        a: weights, shape (n,).
        b: other weights, shape (n,).
        seed: of the resampling.
    Returns: Depth F1 by ``b`` less that by ``a``, and the ends of its 95% interval; fractions in [-1, 1].
    """
    n = len(correct)
    times = np.random.default_rng([seed, n]).multinomial(n, np.full(n, 1 / n), size=N_DRAWS)  # (R, n)
    times = times[(times @ a > 0) & (times @ b > 0)]
    drawn = (times @ (b * correct)) / (times @ b) - (times @ (a * correct)) / (times @ a)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(depth_f1(correct, b) - depth_f1(correct, a)), float(low), float(high)


@dataclass(frozen=True)
class EncoderComparison:
    """A pairing by two encoders, A and B; all figures are fractions.

    Attributes:
        rank: Spearman's correlation of the depths of the target texts.
        shared: as ``shared_tenth`` gives it.
        q: Q by A and by B.
        f1: of each model, micro F1, which is accuracy.
        depth_f1: of each model, Depth F1 at lambda 0 by A and by B, then at lambda 90.
        differences: of each model, ``depth_f1_difference`` at lambda 90.
    """

    rank: float
    shared: float
    q: tuple[float, float]
    f1: Mapping[str, float]
    depth_f1: Mapping[str, tuple[float, ...]]
    differences: Mapping[str, tuple[float, float, float]]


def compare(
    train: pl.DataFrame, test: pl.DataFrame, inputs: tuple[str, ...], encoders: tuple[Encoder, Encoder]
) -> EncoderComparison:
    """Compute the depths of a pairing by both encoders, and score three models under each.

    Args:
        train: the source's train rows, with the inputs and ``label``.
        test: the target's test rows, with the same columns.
        inputs: the input columns.
        encoders: A and B; a logistic regression on the vectors of each is a model, too.
    Returns: the comparison.
    """
    texts = encoder_texts(train, inputs), encoder_texts(test, inputs)
    a, b = both = tuple(Depths.of(encoder, *texts) for encoder in encoders)
    models = {"TF-IDF + LR": tfidf_lr.classifier(train, inputs, 0)}
    for letter, encoder in zip("AB", encoders, strict=True):
        models[f"{letter} + LR"] = sbert_lr.classifier(train, encoder, inputs, 0)
    gold = test["label"].to_numpy()
    correct = {name: model.predict(test)[0] == gold for name, model in models.items()}
    weights = [depths.weights(lambda_) for lambda_ in (ALL, SHALLOW) for depths in both]
    return EncoderComparison(
        rank=float(spearman(a.target, b.target)),
        shared=shared_tenth(a.target, b.target),
        q=(q_statistic(a.own, a.target), q_statistic(b.own, b.target)),
        f1={name: float(right.mean()) for name, right in correct.items()},
        depth_f1={name: tuple(float(depth_f1(right, each)) for each in weights) for name, right in correct.items()},
        differences={name: depth_f1_difference(right, weights[2], weights[3]) for name, right in correct.items()},
    )


def main(
    data: Data,
    encoder: Annotated[
        list[str] | None,
        typer.Option("--encoder", metavar="NAME", help="Two sentence encoders. Default: MiniLM and wordllama."),
    ] = None,
) -> None:
    """Compare the depths by two encoders, and Depth F1 under both, over the pairings of a folder."""
    names = encoder or [DEFAULT_ENCODER, STATIC_ENCODER]
    if len(names) != 2:
        cure = "give --encoder twice, or leave it out"
        raise InvalidInput(Problem("two encoders are compared", "--encoder", f"{len(names)} of them", cure))
    folder = DatasetFolder.open(data)
    pairings = [task for task, info in folder.manifest.tasks.items() if info.joined_source is not None]
    if not pairings:
        cure = "give a folder that 'shiftbench build df1' wrote"
        raise InvalidInput(Problem("the folder has no pairings", str(data), cure=cure))
    encoders = Encoder(names[0]), Encoder(names[1])
    comparisons = {}
    for task in pairings:
        info = folder.task(task)
        train = pl.concat([folder.split(task, part, "train") for part in source_parts(info.joined_source or "")])
        comparisons[task] = compare(train, folder.test(task), info.inputs, encoders)
    Console(width=120).print(f"A: {names[0]}, B: {names[1]}", *_tables(comparisons), sep="\n")


def _tables(comparisons: Mapping[str, EncoderComparison]) -> tuple[Table, Table]:
    depths = Table("pairing", "Spearman", "shared tenth", "Q by A", "Q by B", box=box.SIMPLE_HEAD)
    by = [f"DF1@{lambda_} by {letter}" for lambda_ in (ALL, SHALLOW) for letter in "AB"]
    scores = Table("pairing", "model", "F1", *by, f"DF1@{SHALLOW}, B - A", box=box.SIMPLE_HEAD)
    for task, one in comparisons.items():
        depths.add_row(task, f"{one.rank:.3f}", f"{one.shared:.2f}", *(f"{q:.3f}" for q in one.q))
        for name, f1 in one.f1.items():
            points = [f"{100 * value:.1f}" for value in (f1, *one.depth_f1[name])]
            gain, low, high = (100 * value for value in one.differences[name])
            scores.add_row(task, name, *points, f"{gain:+.1f} [{low:.1f}, {high:.1f}]")
        scores.add_section()
    return depths, scores


if __name__ == "__main__":
    typer.run(main)
