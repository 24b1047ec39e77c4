"""BOSS's robustness methods by name: what goes together, and what of a training each of them changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from baselines.robust.synonyms import SynonymSource
from validation.report import InvalidInput, Problem

if TYPE_CHECKING:
    from baselines.robust.losses import ReadLogits
    from baselines.training.trainer import Objective


class Method(StrEnum):
    """A robustness method of the BOSS paper, sec. 4.1."""

    EDA = "eda"
    FREELB = "freelb"
    FOCAL = "focal"
    SMOOTHING = "smoothing"
    ENSEMBLE = "ensemble"


FOCAL_GAMMA = 2.0
SMOOTHING_EPSILON = 0.1


@dataclass(frozen=True)
class Robustness:
    """The robustness methods of a training; without any it is plain fine-tuning.

    EDA adds rows, FreeLB takes the steps, and one of focal loss, label smoothing, both or the ensemble is the loss: any
    of each kind go together.

    Attributes:
        methods: the methods.
        synonyms: where EDA's synonyms come from.
    """

    methods: frozenset[Method] = frozenset()
    synonyms: SynonymSource = SynonymSource.WORDNET

    @classmethod
    def of(cls, methods: Sequence[Method] | None, synonyms: SynonymSource = SynonymSource.WORDNET) -> "Robustness":
        """Put methods together, as they come from ``--method``.

        Raises: InvalidInput when two of them do not go together, or EDA's synonyms are not on the machine.
        """
        chosen = frozenset(methods or ())
        for other in sorted(chosen & {Method.FOCAL, Method.SMOOTHING}):
            if Method.ENSEMBLE in chosen:
                what = (
                    "the ensemble's loss is of the main and the bias model together, so that "
                    f"'{other}' would shape the bias model's share and not the predictions, which are the main model's"
                )
                cure = f"leave one of them out; '{Method.EDA}' and '{Method.FREELB}' go with either"
                raise InvalidInput(Problem(what, "--method", f"'{Method.ENSEMBLE}' with '{other}'", cure))
        if Method.EDA in chosen and synonyms is SynonymSource.WORDNET:
            from baselines.robust.synonyms import wordnet

            wordnet()
        return cls(chosen, synonyms)

    def objective(self, read: "ReadLogits | None" = None) -> "Objective":
        """Give what training minimises and how it goes through a batch.

        Args:
            read: gives the labels' logits of a model's output; default its ``logits``.
        """
        from functools import partial

        from baselines.robust.freelb import freelb_step
        from baselines.robust.losses import cross_entropy, logits_of, loss_of
        from baselines.training.trainer import Objective, plain_step

        gamma = FOCAL_GAMMA if Method.FOCAL in self.methods else 0.0
        epsilon = SMOOTHING_EPSILON if Method.SMOOTHING in self.methods else 0.0
        step = freelb_step if Method.FREELB in self.methods else plain_step
        logits_loss = partial(cross_entropy, gamma=gamma, epsilon=epsilon)
        return Objective(loss_of(logits_loss, read or logits_of), step)

    def prepared(
        self,
        rows: pl.DataFrame,
        inputs: Sequence[str],
        n_classes: int,
        seed: int,
        embeddings: Callable[[], Any],
        tokenizer: Any,
    ) -> "Prepared":
        """Do what comes before the training of a classifier: add EDA's rows, fit the ensemble's bias model.

        Args:
            rows: train rows.
            inputs: their text columns.
            n_classes: number of labels of the task.
            seed: decides the rows added, and the bias model.
            embeddings: gives the pretrained model's input embeddings, shape (vocabulary, d), as a tensor.
            tokenizer: the model's.
        """
        if Method.EDA in self.methods:
            rows = self._augmented(rows, inputs, seed, embeddings, tokenizer)
        log_bias = None
        if Method.ENSEMBLE in self.methods:
            from baselines.robust.bias import cross_fitted_bias

            log_bias = cross_fitted_bias(rows, inputs, n_classes, seed)
        return Prepared(rows, self, log_bias, seed)

    def _augmented(
        self, rows: pl.DataFrame, inputs: Sequence[str], seed: int, embeddings: Callable[[], Any], tokenizer: Any
    ) -> pl.DataFrame:
        from baselines.robust.eda import augmented, words_of
        from baselines.robust.synonyms import nearest_pieces, wordnet

        if self.synonyms is SynonymSource.WORDNET:
            synonyms = wordnet()
        else:
            synonyms = nearest_pieces(words_of(rows[inputs[-1]]), tokenizer, embeddings())
        return augmented(rows, inputs, np.random.default_rng([seed, _EDA_STREAM]), synonyms)


_EDA_STREAM = 1
"""Sets EDA's draws apart from others of the same seed."""


@dataclass(frozen=True)
class Prepared:
    """What a training with robustness methods needs.

    Attributes:
        rows: the rows to train on. The features of each also hold ``row``, its place among them.
        robustness: the methods.
        log_bias: log-probabilities by the ensemble's bias model, shape (n, C), where it takes part.
        seed: seed of the run.
    """

    rows: pl.DataFrame
    robustness: Robustness
    log_bias: NDArray[np.float32] | None
    seed: int

    def objective(self, model: Any, read: "ReadLogits | None" = None) -> "Objective":
        """Give what the training of a model minimises, and how it goes through a batch.

        The ensemble puts its layer into the model as ``learned_mixin``, to be trained and kept in checkpoints with the
        rest; the model's predictions do not go through it.

        Raises: InvalidInput for the ensemble and an adapter, whose checkpoints would lose that layer.
        """
        objective = self.robustness.objective(read)
        if self.log_bias is None:
            return objective
        if hasattr(model, "peft_config"):
            what = "an adapter's checkpoints hold it alone, so a stopped training would lose the ensemble's layer"
            raise InvalidInput(Problem(what, "--method ensemble, --adapter", cure="leave one of them out"))
        from baselines.robust.bias import LearnedMixin
        from baselines.robust.losses import logits_of

        model.learned_mixin = LearnedMixin(self.log_bias, model.config.hidden_size, self.seed, read or logits_of)
        return replace(objective, loss=model.learned_mixin)
