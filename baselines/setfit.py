"""SetFit (Tunstall et al. 2022, 'Efficient Few-Shot Learning Without Prompts', sec. 3): few texts a label.

A sentence encoder is fine-tuned on pairs of train texts so that the cosine of two texts is 1 where they share a label
and 0 where they do not; then scikit-learn's LogisticRegression is trained on the vectors of the same texts. Settings
are the paper's (R = 20, one epoch, batches of 16 pairs, learning rate 2e-5 after 10% warm-up), and pairs are chosen as
the authors' code does: each text pairs with itself, too, and both kinds are gone through in turn until there are R of
each kind a text. Leaves out: the differentiable head, distillation, any tuning.

    shiftbench train setfit nli --data build/dr --out setfit.parquet --shots 8
"""

from typing import Annotated, Any

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray

from shiftbench.baselines.program import RunOptions, make_card, open_work_folder, run_alone, train_runs, with_options
from shiftbench.baselines.runs import FittedClassifier, Run, Trained, require_two_labels
from shiftbench.baselines.sbert_lr import EncoderName
from shiftbench.baselines.training.models import determinism, model_version, seeded
from shiftbench.baselines.training.options import Deterministic
from shiftbench.baselines.training.outputs import write_trained
from shiftbench.builders.encoder import DEFAULT_ENCODER, MAX_WINDOW, encoder_texts, offline_weights
from shiftbench.validation.command_line import require

_LIBRARIES = ("sentence-transformers", "scikit-learn", "torch", "transformers", "accelerate")
_PREDICTION_ROWS = 64

Shots = Annotated[int, typer.Option("--shots", metavar="N", help="Train texts of each label; 0 takes all.", min=0)]
ROUNDS, EPOCHS, LEARNING_RATE, BATCH_SIZE = 20, 1.0, 2e-5, 16
"""The paper's settings: R, passes over the pairs, AdamW's highest learning rate, pairs an optimizer step."""


def draw_shots(labels: NDArray[np.int64], shots: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the same number of texts of each label.

    Args:
        labels: codes, shape (n,).
        shots: texts of each label; 0 takes all.
        rng: draws them.
    Returns: positions in ascending order, shape (at most shots x labels,); a label with fewer texts gives all.
    """
    if not shots:
        return np.arange(len(labels))
    drawn = [rng.permutation(np.flatnonzero(labels == label))[:shots] for label in np.unique(labels)]
    return np.sort(np.concatenate(drawn))


def contrast_pairs(
    labels: NDArray[np.int64], rounds: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose the pairs to train the encoder on, by turns one of a label and one of two labels.

    Args:
        labels: codes of the chosen texts, shape (n,), of two labels at least.
        rounds: pairs of either kind for each text.
        rng: orders all pairs; either kind is gone through in that order, again where there are too few.
    Returns: positions of both texts, shape (m, 2), and 1 where they share a label, shape (m,); m is 2 * rounds * n.
    """
    every = np.stack(np.triu_indices(len(labels)), axis=1)
    every = every[rng.permutation(len(every))]
    alike = labels[every[:, 0]] == labels[every[:, 1]]
    wanted = rounds * len(labels)
    by_kind = [np.resize(every[kind], (wanted, 2)) for kind in (alike, ~alike)]
    return np.stack(by_kind, axis=1).reshape(-1, 2), np.tile([1, 0], wanted)


def fit_setfit(run: Run, encoder: str, inputs: tuple[str, ...], shots: int) -> Trained:
    """Train an encoder on pairs of a run's texts, and a logistic regression on its vectors.

    Args:
        run: its train rows and seed.
        encoder: Hub id or path of a sentence encoder.
        inputs: the input columns.
        shots: train texts of each label, all of a label that has fewer; 0 takes all of every label.
    Returns: a classifier, with what was trained on.
    Raises: InvalidInput when the rows have one label only.
    """
    from sentence_transformers import SentenceTransformer
    from sklearn.linear_model import LogisticRegression

    require_two_labels(run.train)
    rng = np.random.default_rng([run.seed, 0])
    labels = run.train["label"].to_numpy()
    places = draw_shots(labels, shots, rng)
    train, labels = run.train[places], labels[places]
    texts = encoder_texts(train, inputs)
    with seeded(run.seed):
        model = SentenceTransformer(str(offline_weights(encoder) or encoder))
        model.max_seq_length = min(model.max_seq_length or MAX_WINDOW, MAX_WINDOW)
        n_pairs = _tune(model, texts, *contrast_pairs(labels, ROUNDS, rng), run.seed)
    head = LogisticRegression(random_state=run.seed).fit(_vectors(model, texts), labels)

    def probabilities(rows: pl.DataFrame) -> NDArray[np.float64]:
        return np.asarray(head.predict_proba(_vectors(model, encoder_texts(rows, inputs))))

    record = {
        "train_rows": len(train),
        "pairs": n_pairs,
        "parameters": sum(part.numel() for part in model.parameters()),
    }
    return Trained(FittedClassifier(head.classes_, probabilities).predict, record=record)


def _tune(
    model: Any,
    texts: list[str],
    pairs: NDArray[np.int64],
    is_same_label: NDArray[np.int64],
    seed: int,
) -> int:
    """Train the encoder in place; returns the number of pairs."""
    from tempfile import TemporaryDirectory

    import torch
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss

    rows = Dataset.from_dict(
        {
            "first": [texts[place] for place in pairs[:, 0]],
            "second": [texts[place] for place in pairs[:, 1]],
            "label": is_same_label.astype(float).tolist(),
        }
    )
    with TemporaryDirectory(prefix="shiftbench-setfit-") as place:
        how = SentenceTransformerTrainingArguments(
            place,
            num_train_epochs=EPOCHS,
            per_device_train_batch_size=BATCH_SIZE,
            learning_rate=LEARNING_RATE,
            warmup_steps=0.1,
            seed=seed,
            use_cpu=not torch.cuda.is_available(),
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
        )
        SentenceTransformerTrainer(model, how, train_dataset=rows, loss=CosineSimilarityLoss(model)).train()
    return len(pairs)


def _vectors(model: Any, texts: list[str]) -> NDArray[np.float64]:
    """Return the encoder's vectors of texts, shape (n, d)."""
    if not texts:
        return np.zeros((0, model.get_embedding_dimension()))
    return np.asarray(model.encode(texts, batch_size=_PREDICTION_ROWS), dtype=np.float64)


@with_options
def main(
    runs: RunOptions,
    encoder: EncoderName = DEFAULT_ENCODER,
    shots: Shots = 8,
    deterministic: Deterministic = False,
) -> None:
    """Fine-tune a sentence encoder on a few texts (SetFit).

    It learns from pairs of a few texts a label; logistic regression is then trained on its vectors.

    Example: shiftbench train setfit nli --data build/dr --out setfit.parquet --shots 8
    """
    require("sentence_transformers", "encoder")
    require("accelerate", "train")
    folder = runs.open_folder()
    inputs = folder.task(runs.task).inputs
    work = open_work_folder(
        runs.out,
        "setfit",
        folder,
        _LIBRARIES,
        **runs.settings(),
        model=[encoder, model_version(str(offline_weights(encoder) or encoder))],
        shots=shots,
        deterministic=deterministic,
    )
    with determinism(asked=deterministic):
        results = train_runs(lambda run: fit_setfit(run, encoder, inputs, shots), folder, runs, work=work)
    card = make_card(
        folder,
        libraries=_LIBRARIES,
        name=f"SetFit, {shots} texts a label" if shots else "SetFit",
        base_model=encoder,
        family="sentence-transformers",
        parameters=results.records[0]["parameters"],
        paradigm="fine-tuned",
        training_size=results.records[0]["train_rows"] if shots else None,
        tuning_trials=1,
    )
    write_trained(results, card, runs.out, work)


if __name__ == "__main__":
    run_alone(main)
