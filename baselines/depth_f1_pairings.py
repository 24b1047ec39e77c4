"""The NLI pairings of the Depth F1 paper, done again: SBERT + logistic regression, micro F1 and Depth F1 by lambda.

Each seed samples source and target texts anew, in the sizes of the paper's Table 1 (joined sources are sampled from
their pooled train splits). Beside each row stands what the paper prints for SBERTLR in Table 3. Leaves out: the
sentiment pairings, whose sources are not at hand, and the paper's other three models.

Draws from a folder of ``dr``, whose labels are equal in number, so that each seed is another draw; a folder of ``df1``
holds one draw of every pairing, with labels as upstream has them, which any model and ``shiftbench score`` take.

    python -m shiftbench.baselines.depth_f1_pairings --data build/dr --seed 0 --seed 1 --seed 2
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from shiftbench.baselines.program import Data, Seeds
from shiftbench.baselines.sbert_lr import EncoderName, classifier
from shiftbench.builders.encoder import DEFAULT_ENCODER, Encoder, encoder_texts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.classification import accuracy, confusion_counts
from shiftbench.metrics.depth import LAMBDAS, depth_weights, least_deep, q_statistic, tte_depth

N_TARGET = 1000


@dataclass(frozen=True)
class PaperPairing:
    """A row of the paper's Table 1, with the figures of its Tables 1 and 3."""

    name: str
    sources: tuple[str, ...]
    target: str
    n_source: int
    reported_q: float
    reported_f1: float
    reported_depth_f1: tuple[float | None, ...]
    """By lambda as in ``LAMBDAS``; None where the printed value is impossible (MuS-3 at lambda 0)."""


PAIRINGS = (
    PaperPairing("SiS-3", ("travel",), "government", 2000, 0.34, 0.453, (0.457, 0.449, 0.461, 0.489, 0.495)),
    PaperPairing("SiS-4", ("slate",), "telephone", 2000, 0.42, 0.415, (0.442, 0.447, 0.465, 0.502, 0.549)),
    PaperPairing(
        "MuS-3",
        ("government", "slate", "telephone", "travel"),
        "fiction",
        5000,
        0.48,
        0.383,
        (None, 0.422, 0.406, 0.393, 0.399),
    ),
    PaperPairing(
        "MuS-4",
        ("fiction", "government", "slate", "telephone"),
        "travel",
        5000,
        0.38,
        0.426,
        (0.422, 0.421, 0.424, 0.408, 0.432),
    ),
)


def redo_pairing(
    pairing: PaperPairing, folder: DatasetFolder, encoder: Encoder, seed: int
) -> tuple[float, float, NDArray[np.float64]]:
    """Sample, train and score one pairing; returns Q, micro F1, and Depth F1 by lambda (fractions)."""
    rng = np.random.default_rng([seed, *pairing.name.encode()])
    inputs = folder.task("nli").inputs
    pool = pl.concat([folder.split("nli", source, "train") for source in pairing.sources])
    source = _sample(pool, pairing.n_source, rng)
    target = _sample(folder.split("nli", pairing.target, "test"), N_TARGET, rng)
    predicted, _ = classifier(source, encoder, inputs, seed).predict(target)
    source_vectors, target_vectors = (encoder.encode(encoder_texts(rows, inputs)) for rows in (source, target))
    own, depth = tte_depth(source_vectors), tte_depth(source_vectors, target_vectors)
    kept = np.stack([least_deep(depth, lambda_) for lambda_ in LAMBDAS])
    weights = np.vstack([np.ones(len(depth)), depth_weights(depth, own) * kept])
    gold, n_classes = target["label"].to_numpy(), len(folder.task("nli").labels)
    scores = accuracy([confusion_counts(gold, predicted, n_classes, weights=row) for row in weights])
    return q_statistic(own, depth), float(scores[0]), scores[1:]


def main(data: Data, seed: Seeds = None, encoder: EncoderName = DEFAULT_ENCODER) -> None:
    """Redo the four NLI pairings and print them beside the paper's figures."""
    folder, model = DatasetFolder.open(data), Encoder(encoder)
    table = Table(
        title="micro F1 and Depth F1 (fractions); 'paper' rows as printed in its Table 3", box=box.SIMPLE_HEAD
    )
    for column in ("pairing", "seed", "Q", "F1", *(f"DF1@{lambda_}" for lambda_ in LAMBDAS)):
        table.add_column(column, justify="left" if column == "pairing" else "right", no_wrap=True)
    for pairing in PAIRINGS:
        for each in seed or (0,):
            q, f1, depth_f1 = redo_pairing(pairing, folder, model, each)
            table.add_row(pairing.name, str(each), f"{q:.3f}", f"{f1:.3f}", *(f"{value:.3f}" for value in depth_f1))
        reported = ("n/a" if value is None else f"{value:.3f}" for value in pairing.reported_depth_f1)
        table.add_row(
            pairing.name,
            "paper",
            f"{pairing.reported_q:.2f}",
            f"{pairing.reported_f1:.3f}",
            *reported,
            end_section=True,
        )
    Console(width=100).print(table)


def _sample(rows: pl.DataFrame, n: int, rng: np.random.Generator) -> pl.DataFrame:
    return rows[np.sort(rng.permutation(len(rows))[:n])]


if __name__ == "__main__":
    typer.run(main)
