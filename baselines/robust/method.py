"""Robustness methods by name: which can be combined, and what each of them changes in a training."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray

from shiftbench.baselines.robust.synonyms import SynonymSource
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TOKENS

if TYPE_CHECKING:
    from shiftbench.baselines.robust.losses import ReadLogits
    from shiftbench.baselines.training.trainer import Objective


class Method(StrEnum):
    """A robustness method: those of the BOSS paper, sec. 4.1, then those of research on several domains."""

    EDA = "eda"
    FREELB = "freelb"
    FOCAL = "focal"
    SMOOTHING = "smoothing"
    ENSEMBLE = "ensemble"
    GROUP_DRO = "group-dro"
    CORAL = "coral"
    IRM = "irm"
    DANN = "dann"
    LISA = "lisa"
    DFR = "dfr"
    WISE_FT = "wise-ft"
    SOUP = "soup"
    SWAD = "swad"
    TEMPERATURE = "temperature"


OF_DOMAINS = frozenset({Method.GROUP_DRO, Method.CORAL, Method.IRM, Method.DANN, Method.LISA})
"""Methods whose loss tells the domains of the train rows apart."""
OF_FEATURES = frozenset({Method.CORAL, Method.DANN, Method.LISA, Method.DFR, Method.WISE_FT})
"""Methods that need an encoder, and most of them what its last layer reads."""
OF_VALIDATION = frozenset({Method.DFR, Method.SOUP, Method.SWAD, Method.TEMPERATURE})
"""Methods that use the source's validation rows."""
_OWN_LOSS = OF_DOMAINS | {Method.ENSEMBLE}
_APART = (
    {Method.SOUP, Method.WISE_FT},
    {Method.SOUP, Method.SWAD},
    {Method.SWAD, Method.WISE_FT},
)


class WordMethod(StrEnum):
    """Those of the methods that taggers and models which write texts can be trained with."""

    EDA = "eda"
    FREELB = "freelb"
    FOCAL = "focal"
    SMOOTHING = "smoothing"


Synonyms = Annotated[SynonymSource, typer.Option("--synonyms", help="Where EDA's synonyms come from.")]
WordMethods = Annotated[
    list[WordMethod] | None,
    typer.Option("--method", help="Train with this robustness method; repeat for several."),
]

FOCAL_GAMMA = 2.0
SMOOTHING_EPSILON = 0.1


@dataclass(frozen=True)
class Robustness:
    """The robustness methods of a training; without any it is plain fine-tuning.

    EDA adds rows, FreeLB takes the steps, and one of focal loss, label smoothing, both, the ensemble or a loss of
    domains is the loss; others come after training. Any of each kind go together.

    Attributes:
        methods: the methods.
        synonyms: where EDA's synonyms come from.
    """

    methods: frozenset[Method] = frozenset()
    synonyms: SynonymSource = SynonymSource.WORDNET

    @classmethod
    def of(
        cls, methods: Sequence[Method | WordMethod] | None, synonyms: SynonymSource = SynonymSource.WORDNET
    ) -> "Robustness":
        """Build the combination of methods typed as ``--method``.

        Raises: InvalidInput when two of them do not go together, or EDA's synonyms are not on the machine.
        """
        chosen = frozenset(Method(method) for method in methods or ())
        own = sorted(chosen & _OWN_LOSS)
        if len(own) > 1 or (own and own != [Method.ENSEMBLE] and chosen & {Method.FOCAL, Method.SMOOTHING}):
            found = " with ".join(f"'{each}'" for each in [*own, *sorted(chosen & {Method.FOCAL, Method.SMOOTHING})])
            raise InvalidInput(Problem("each of these replaces the loss", "--method", found, "leave all but one out"))
        for pair in _APART:
            if pair <= chosen:
                found, what = " with ".join(f"'{each}'" for each in sorted(pair)), "these methods contradict each other"
                raise InvalidInput(Problem(what, "--method", found, "leave one of them out"))
        for other in sorted(chosen & {Method.FOCAL, Method.SMOOTHING}):
            if Method.ENSEMBLE in chosen:
                what = f"the ensemble adds a bias model to the loss; '{other}' would change that model's share alone"
                cure = f"leave one of them out; '{Method.EDA}' and '{Method.FREELB}' go with either"
                raise InvalidInput(Problem(what, "--method", f"'{Method.ENSEMBLE}' with '{other}'", cure))
        if Method.EDA in chosen and synonyms is SynonymSource.WORDNET:
            from shiftbench.baselines.robust.synonyms import wordnet

            wordnet()
        return cls(chosen, synonyms)

    @property
    def settings(self) -> dict[str, Any]:
        """Return the methods as settings that predictions depend on; nothing if there are none."""
        return {"methods": sorted(self.methods), "synonyms": self.synonyms} if self.methods else {}

    def objective(self, read: "ReadLogits | None" = None, *, reads_labels: bool = False) -> "Objective":
        """Build what training minimises and how it goes through a batch.

        Args:
            read: gives the labels' logits of a model's output; default its ``logits``.
            reads_labels: whether the model's decoder reads the labels, as one that writes texts does.
        """
        from functools import partial

        from shiftbench.baselines.robust.freelb import freelb_step
        from shiftbench.baselines.robust.losses import cross_entropy, logits_of, loss_of
        from shiftbench.baselines.training.trainer import Objective, plain_step

        gamma = FOCAL_GAMMA if Method.FOCAL in self.methods else 0.0
        epsilon = SMOOTHING_EPSILON if Method.SMOOTHING in self.methods else 0.0
        step = freelb_step if Method.FREELB in self.methods else plain_step
        logits_loss = partial(cross_entropy, gamma=gamma, epsilon=epsilon)
        return Objective(loss_of(logits_loss, read or logits_of, reads_labels=reads_labels), step)

    def prepare(
        self,
        rows: pl.DataFrame,
        inputs: Sequence[str],
        n_classes: int,
        seed: int,
        embeddings: Callable[[], Any],
        tokenizer: Any,
    ) -> "PreparedTraining":
        """Prepare the training of a classifier: add EDA's rows, fit the ensemble's bias model.

        Args:
            rows: train rows.
            inputs: their text columns.
            n_classes: number of labels of the task.
            seed: decides the rows added, and the bias model.
            embeddings: gives the pretrained model's input embeddings, shape (vocabulary, d), as a tensor.
            tokenizer: the model's.
        """
        rows = self.add_copies(rows, inputs, seed, embeddings, tokenizer)
        log_bias = None
        if Method.ENSEMBLE in self.methods:
            from shiftbench.baselines.robust.bias import cross_fitted_bias

            log_bias = cross_fitted_bias(rows, inputs, n_classes, seed)
        return PreparedTraining(rows, self, log_bias, seed)

    def add_copies(
        self,
        rows: pl.DataFrame,
        inputs: Sequence[str],
        seed: int,
        embeddings: Callable[[], Any],
        tokenizer: Any,
        outside: int = 0,
    ) -> pl.DataFrame:
        """Add EDA's noisy copies to train rows, if EDA is among the methods.

        Args:
            rows: train rows.
            inputs: their text columns, of which the last one is changed; ``tokens`` with their tags.
            seed: decides the copies.
            embeddings: gives the pretrained model's input embeddings, shape (vocabulary, d), as a tensor.
            tokenizer: the model's.
            outside: of tagged words, the code of the tag that is part of no span.
        """
        if Method.EDA not in self.methods:
            return rows
        from shiftbench.baselines.robust.eda import add_noisy_copies, add_noisy_tagged_copies, words_of
        from shiftbench.baselines.robust.synonyms import nearest_pieces, wordnet

        column = inputs[-1]
        if self.synonyms is SynonymSource.WORDNET:
            synonyms = wordnet()
        else:
            texts = rows[column].explode() if column == TOKENS else rows[column]
            synonyms = nearest_pieces(words_of(texts.drop_nulls()), tokenizer, embeddings())
        generator = np.random.default_rng([seed, _EDA_STREAM])
        if column == TOKENS:
            return add_noisy_tagged_copies(rows, outside, generator, synonyms)
        return add_noisy_copies(rows, inputs, generator, synonyms)


_EDA_STREAM = 1
"""Added to the seed of EDA's draws, so that they are independent of other draws of the same seed."""


@dataclass(frozen=True)
class PreparedTraining:
    """What a training with robustness methods needs.

    Attributes:
        rows: the rows to train on. The features of each also hold ``row``, its place among them, and, for losses of
            domains, ``domain``, its place in the alphabet of the domains.
        robustness: the methods.
        log_bias: log-probabilities by the ensemble's bias model, shape (n, C), where it takes part.
        seed: seed of the run.
    """

    rows: pl.DataFrame
    robustness: Robustness
    log_bias: NDArray[np.float32] | None
    seed: int

    def objective(self, model: Any, read: "ReadLogits | None" = None) -> "Objective":
        """Build what the training of a model minimises, and how it goes through a batch.

        A loss that learns, as the ensemble's layer, is put into the model as ``own_loss``, to be trained and kept in
        checkpoints with the rest; the model's predictions do not go through it.

        Raises: InvalidInput for such a loss and an adapter, whose checkpoints would lose it.
        """
        objective = self.robustness.objective(read)
        own = next(iter(self.robustness.methods & _OWN_LOSS), None)
        if own is None:
            return objective
        if own is Method.CORAL:
            from shiftbench.baselines.robust.coral import coral_loss

            return replace(objective, loss=coral_loss)
        if own is Method.LISA:
            from shiftbench.baselines.robust.lisa import lisa_loss

            return replace(objective, loss=lisa_loss)
        if hasattr(model, "peft_config"):
            what = f"checkpoints of an adapter hold nothing else, so a stopped training would lose what '{own}' learns"
            raise InvalidInput(Problem(what, f"--method {own}, --adapter", cure="leave one of them out"))
        model.own_loss = self._loss_with_state(own, model, read)
        return replace(objective, loss=model.own_loss)

    def _loss_with_state(self, method: Method, model: Any, read: "ReadLogits | None") -> Any:
        """Build a loss that learns beside the model, so that its state belongs into checkpoints."""
        from shiftbench.baselines.robust.losses import logits_of

        read, n_domains = read or logits_of, self.rows["domain"].n_unique() if "domain" in self.rows.columns else 1
        if method is Method.GROUP_DRO:
            from shiftbench.baselines.robust.group_dro import GroupDro

            return GroupDro(n_domains, read)
        if method is Method.IRM:
            from shiftbench.baselines.robust.irm import Irm

            return Irm(read)
        if method is Method.DANN:
            from shiftbench.baselines.robust.dann import Dann
            from shiftbench.baselines.robust.last_layer import last_layer

            return Dann(last_layer(model).in_features, n_domains, self.seed)
        from shiftbench.baselines.robust.bias import LearnedMixin

        assert self.log_bias is not None
        return LearnedMixin(self.log_bias, model.config.hidden_size, self.seed, read)
