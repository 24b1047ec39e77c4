"""SBERT + logistic regression, the baseline of the Depth F1 paper (appendix B.2).

Frozen sentence embeddings (a pair of texts is joined by a newline), and scikit-learn's LogisticRegression with default
settings. Encoders that expect a prompt before each text get theirs (--prompt). With ``--encoder wordllama`` (extra
``wordllama``) the embeddings are static: means of one vector per token. Encoder and classifier are not tuned.

    shiftbench train sbert-lr nli --data build/dr --out sbert.parquet
"""

from typing import Annotated

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray

from shiftbench.baselines.program import RunOptions, make_card, run_alone, train_runs, with_options, write_results
from shiftbench.baselines.runs import FittedClassifier, require_two_labels
from shiftbench.builders.encoder import DEFAULT_ENCODER, Encoder, encoder_texts, find_prompt, require_encoder
from shiftbench.builders.static_encoder import STATIC_ENCODER

EncoderName = Annotated[
    str, typer.Option("--encoder", metavar="NAME", help="Hub id or path of a sentence encoder, or 'wordllama'.")
]
Prompt = Annotated[
    str | None,
    typer.Option(
        "--prompt",
        metavar="NAME_OR_WORDS",
        help="Prefix of each text: the name of a prompt of the encoder, as 'query', or the prefix itself, as "
        "'query: '. Default: the encoder's default prompt, if it has one.",
    ),
]


def classifier(train: pl.DataFrame, encoder: Encoder, inputs: tuple[str, ...], seed: int) -> FittedClassifier:
    """Train a logistic regression on sentence embeddings of rows with ``label``; InvalidInput if all have the same."""
    from sklearn.linear_model import LogisticRegression

    require_two_labels(train)
    model = LogisticRegression(random_state=seed)
    model.fit(encoder.encode(encoder_texts(train, inputs)), train["label"].to_numpy())

    def probabilities(rows: pl.DataFrame) -> NDArray[np.float64]:
        return np.asarray(model.predict_proba(encoder.encode(encoder_texts(rows, inputs))))

    return FittedClassifier(model.classes_, probabilities)


@with_options
def main(runs: RunOptions, encoder: EncoderName = DEFAULT_ENCODER, prompt: Prompt = None) -> None:
    """Train logistic regression on sentence embeddings.

    Example: shiftbench train sbert-lr nli --data build/dr --out sbert.parquet
    """
    require_encoder(encoder)
    folder = runs.open_folder()
    embed, inputs = Encoder(encoder, prompt=find_prompt(encoder, prompt)), folder.task(runs.task).inputs
    results = train_runs(lambda run: classifier(run.train, embed, inputs, run.seed).predict, folder, runs)
    if encoder == STATIC_ENCODER:
        about = {"name": "wordllama + LR", "family": "static embeddings", "licence": "MIT"}
        libraries = ["wordllama"]
    else:
        about = {"name": "SBERT + LR", "family": "sentence-transformers", "licence": "Apache-2.0"}
        libraries = ["sentence-transformers"]
    about |= {"base_model": encoder, "paradigm": "fine-tuned"}
    card = make_card(folder, libraries=["scikit-learn", *libraries, "torch"], tuning_trials=1, **about)
    write_results(results, card, runs.out)


if __name__ == "__main__":
    run_alone(main)
