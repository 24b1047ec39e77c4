"""BOSS's ensemble (learned-mixin): the main model is trained on top of a bag-of-words model, and predicts alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import skip_init

from shiftbench.baselines.robust.losses import ReadLogits, cross_entropy, inputs_of, logits_of
from shiftbench.baselines.robust.method import MethodTraining, TrainingMethod, strength
from shiftbench.baselines.training.trainer import Batch
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem

WORDS = 5_000
TREES = 100
FOLDS = 5
ENTROPY_WEIGHT = 0.03


@dataclass(frozen=True)
class Ensemble(TrainingMethod):
    """Learned-mixin with a bag-of-words model, cross-fitted by group; only the main model predicts."""

    models = "encoders and encoder-decoders"
    entropy_weight: float = strength(ENTROPY_WEIGHT, "0.03 (BOSS)", draws=(1e-3, 1))

    def prepare(self, training: MethodTraining) -> None:
        """Fit the bias model."""
        rows, n_classes = training.rows, training.n_classes
        training.memory["log_bias"] = cross_fitted_bias(rows, training.inputs, n_classes, training.seed)

    def loss(self, training: MethodTraining, model: Any) -> "LearnedMixin":
        """Build the loss, with the layer that weights the bias model."""
        log_bias, width = training.memory["log_bias"], model.config.hidden_size
        return LearnedMixin(log_bias, width, training.seed, training.read_logits, self.entropy_weight)


def cross_fitted_bias(rows: pl.DataFrame, inputs: Sequence[str], n_classes: int, seed: int) -> NDArray[np.float32]:
    """Compute the bias model's log-probabilities for each training row, from its bag of words.

    The bias model is a random forest of 100 trees on the TF-IDF weights of the 5,000 most frequent words, over both
    texts of a pair. It is cross-fitted in five folds of groups: a row's probabilities come from the fit without its
    group, because in-sample predictions of a forest are overconfident and would leave the main model nothing to learn.
    Each class gets one vote in addition to those of the trees, so that no probability is 0.

    Args:
        rows: training rows with ``group``, ``label`` (codes) and the inputs; augmented copies have the group of their
            originals.
    Returns: log-probabilities, shape (n, C), finite.
    Raises: InvalidInput if all rows are of one group, or contain no word.
    Source: BOSS paper, sec. 4.1; Clark et al. 2019, sec. 3.2.4. The code of BOSS fits and predicts on the same rows.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.model_selection import GroupKFold

    n_groups = rows["group"].n_unique()
    if n_groups < 2:
        what = "the bias model requires two groups of rows: it is fitted on one and applied to the other"
        found, cure = f"{len(rows):,} train rows of one group", "choose more train rows"
        raise InvalidInput(Problem(what, "--method ensemble", found, cure))
    texts = rows.select(pl.concat_str(inputs, separator="\n")).to_series().to_numpy()
    labels, groups = rows["label"].to_numpy(), rows["group"].to_numpy()
    votes = np.ones((len(rows), n_classes))
    folds = list(GroupKFold(min(FOLDS, n_groups), shuffle=True, random_state=seed).split(texts, None, groups))
    for fitted, left_out in progress(folds, desc="bias model", unit="fold", leave=False):
        vectorizer = TfidfVectorizer(max_features=WORDS)
        try:
            features = vectorizer.fit_transform(texts[fitted])
        except ValueError as error:  # scikit-learn raises no more specific error for an empty vocabulary
            what, cure = "the train texts contain no words for the bias model", "omit --method ensemble"
            raise InvalidInput(Problem(what, "--method ensemble", f"{len(fitted):,} rows", cure)) from error
        forest = RandomForestClassifier(TREES, random_state=seed, n_jobs=-1).fit(features, labels[fitted])
        probabilities = forest.predict_proba(vectorizer.transform(texts[left_out]))
        votes[np.ix_(left_out, forest.classes_)] += TREES * probabilities
    return np.asarray(np.log(votes / votes.sum(axis=1, keepdims=True)), dtype=np.float32)


class LearnedMixin(nn.Module):
    """The loss of a main model together with a bias model, weighted by a learned function g of the text.

    ``CE(log_softmax(logits) + g log p_bias) + 0.03 H(softmax(g log p_bias))`` with ``g = softplus(linear(pooled))``;
    the entropy term keeps g from collapsing to 0. ``pooled`` is the mean of the decoder's last hidden states for an
    encoder-decoder, as in BOSS's code; for an encoder, for which BOSS has no ensemble, it is the last hidden state of
    the first token. This layer is used only in training, and its weights are trained with the model's; the main model
    predicts without it.

    Args:
        log_bias: the bias model's log-probabilities of all training rows, shape (n, C).
    Source: Clark et al. 2019, sec. 3.2.4; BOSS paper, sec. 4.1.
    """

    log_bias: Tensor

    def __init__(
        self,
        log_bias: NDArray[np.float32],
        width: int,
        seed: int,
        read: ReadLogits = logits_of,
        entropy_weight: float = ENTROPY_WEIGHT,
    ) -> None:
        super().__init__()
        self._read, self._entropy_weight = read, entropy_weight
        self.register_buffer("log_bias", torch.from_numpy(log_bias), persistent=False)
        # A linear layer's own initialisation would use the global random state.
        self.weight = skip_init(nn.Linear, width, 1)  # type: ignore[no-untyped-call]
        generator = torch.Generator().manual_seed(seed)
        nn.init.normal_(self.weight.weight, std=0.02, generator=generator)
        nn.init.zeros_(self.weight.bias)

    def forward(self, model: Any, batch: Batch) -> Tensor:
        """Compute the mean loss of a batch; its ``row`` contains the training row indices."""
        output = model(**inputs_of(batch), output_hidden_states=True)
        decoded = output.get("decoder_hidden_states")
        pooled = decoded[-1].mean(dim=1) if decoded else output.hidden_states[-1][:, 0]  # (B, d)
        g = functional.softplus(self.weight(pooled.float()))  # (B, 1)
        return mixin_loss(self._read(output), g * self.log_bias[batch["row"]], batch["labels"], self._entropy_weight)


def mixin_loss(logits: Tensor, weighted_bias: Tensor, labels: Tensor, entropy_weight: float = ENTROPY_WEIGHT) -> Tensor:
    """Compute the learned-mixin loss from logits and weighted bias ``g log p_bias``, both of shape (B, C)."""
    p = torch.softmax(weighted_bias, dim=-1)
    entropy = -(p * torch.log_softmax(weighted_bias, dim=-1)).sum(dim=-1).mean()
    return cross_entropy(torch.log_softmax(logits.float(), dim=-1) + weighted_bias, labels) + entropy_weight * entropy
