"""How much Depth F1 depends on the encoder: the pairings of a ``df1`` folder, with depths by two encoders.

Of each pairing: the rank correlation of the two depths of its target texts, how many of the tenth that is least deep
they have in common (a tenth by chance), and Q by each. Then the same predictions, of three simple models, scored with
the weights of each encoder: what differs is the depth alone. Intervals are over resampled target texts (percentile
bootstrap, weights as they are).

    shiftbench build df1 --raw RAW --partial --no-depth --out build/df1
    python -m baselines.depth_encoders --data build/df1
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from baselines import sbert_lr, tfidf_lr
from baselines.program import Data
from builders.encoder import DEFAULT_ENCODER, Encoder, encoder_texts
from builders.folder.reader import DatasetFolder
from builders.static_encoder import STATIC_ENCODER
from leaderboard.metrics.correlation import spearman
from leaderboard.metrics.depth import depth_f1, depth_weights, least_deep, q_statistic, tte_depth
from validation.report import InvalidInput, Problem
from validation.vocabulary import source_parts

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
        """Embed the texts and compute their depths."""
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


def difference(correct: NDArray[np.bool_], a: Floats, b: Floats, seed: int = 0) -> tuple[float, float, float]:
    """Compare Depth F1 of the same predictions under two weightings.

    Args:
        correct: whether each target text is right, shape (n,).
        a: weights, shape (n,).
        b: other weights, shape (n,).
        seed: of the resampling.
    Returns: Depth F1 by ``b`` less that by ``a``, and the ends of its 95% interval; fractions in [-1, 1].
    """
    n = len(correct)
    times = np.random.default_rng([seed, n]).multinomial(n, np.full(n, 1 / n), size=N_DRAWS)  # (R, n)
    drawn = (times @ (b * correct)) / (times @ b) - (times @ (a * correct)) / (times @ a)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(depth_f1(correct, b) - depth_f1(correct, a)), float(low), float(high)


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
    folder, encoders = DatasetFolder.open(data), [Encoder(name) for name in names]
    depths = Table("pairing", "Spearman", "shared tenth", "Q by A", "Q by B", box=box.SIMPLE_HEAD)
    by = [f"DF1@{lambda_} by {letter}" for lambda_ in (ALL, SHALLOW) for letter in "AB"]
    scores = Table("pairing", "model", "F1", *by, f"DF1@{SHALLOW}, B - A", box=box.SIMPLE_HEAD)
    pairings = [task for task, info in folder.manifest.tasks.items() if info.joined_source is not None]
    if not pairings:
        cure = "give a folder that 'shiftbench build df1' wrote"
        raise InvalidInput(Problem("the folder has no pairings", str(data), cure=cure))
    for task in pairings:
        _add_rows(depths, scores, folder, task, encoders)
    console = Console(width=120)
    console.print(f"A: {names[0]}, B: {names[1]}", depths, scores, sep="\n")


def _add_rows(depths: Table, scores: Table, folder: DatasetFolder, task: str, encoders: Sequence[Encoder]) -> None:
    """Add the rows of one pairing to both tables."""
    info, test = folder.task(task), folder.test(task)
    train = pl.concat([folder.split(task, part, "train") for part in source_parts(info.joined_source or "")])
    texts = encoder_texts(train, info.inputs), encoder_texts(test, info.inputs)
    a, b = (Depths.of(encoder, *texts) for encoder in encoders)
    rank, shared = float(spearman(a.target, b.target)), shared_tenth(a.target, b.target)
    depths.add_row(task, f"{rank:.3f}", f"{shared:.2f}", *(f"{q_statistic(by.own, by.target):.3f}" for by in (a, b)))
    models = {"TF-IDF + LR": tfidf_lr.classifier(train, info.inputs, 0)}
    models |= {
        f"{letter} + LR": sbert_lr.classifier(train, encoder, info.inputs, 0)
        for letter, encoder in zip("AB", encoders, strict=True)
    }
    for name, model in models.items():
        correct = model.predict(test)[0] == test["label"].to_numpy()
        values = [float(depth_f1(correct, by.weights(lambda_))) for lambda_ in (ALL, SHALLOW) for by in (a, b)]
        found, low, high = difference(correct, a.weights(SHALLOW), b.weights(SHALLOW))
        ends = f"{100 * found:+.1f} [{100 * low:.1f}, {100 * high:.1f}]"
        scores.add_row(task, name, *(f"{100 * value:.1f}" for value in (correct.mean(), *values)), ends)
    scores.add_section()


if __name__ == "__main__":
    typer.run(main)
