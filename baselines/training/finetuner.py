"""Base class of fine-tuning programs for all kinds of task: maps a run to a trained model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shiftbench.baselines.robust.method import MethodTraining, Robustness
from shiftbench.baselines.runs import Features, Predict, Run, Trained
from shiftbench.baselines.training.options import RECIPES, SWEEPS, Adapter, Hyperparameters, TrainingOptions
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.validation.report import InvalidInput, Problem

if TYPE_CHECKING:
    from shiftbench.baselines.training.trainer import Objective, Trajectory

Score = Callable[[Any], float]
"""Maps a model to its score on validation rows; higher is better."""


class Finetuner(ABC):
    """Trains models of one task. Subclasses define the model, its features, its score, and its predictions.

    Attributes:
        copied_columns: the text columns given to the methods; EDA changes the last one in its copies.
        reads_labels: whether the model's decoder reads the labels (teacher forcing).
        replaces_loss: whether ``Robustness`` builds the loss even without methods, instead of the model's own loss.

    Args:
        recipes: hyperparameters by the value of ``--recipe``.
        sweeps: candidate settings by the value of ``--sweep``.
        tokenizer: settings of the tokenizer that override those in its files.
    """

    reads_labels = False
    replaces_loss = False

    def __init__(
        self,
        info: TaskInfo,
        options: TrainingOptions,
        robustness: Robustness | None = None,
        recipes: Mapping[str, Hyperparameters] = RECIPES,
        sweeps: Mapping[str, tuple[Mapping[str, Any], ...]] = SWEEPS,
        **tokenizer: Any,
    ) -> None:
        from shiftbench.baselines.training.batches import Padding
        from shiftbench.baselines.training.models import Device, load_config, load_tokenizer, padding_token

        options.check()
        self.info, self.options, self.robustness = info, options, robustness or Robustness()
        self.copied_columns = info.inputs
        self._candidates = options.candidates(recipes, sweeps)
        self._device = Device.best(options.precision)
        self.config, self.tokenizer = load_config(options.model), load_tokenizer(options.model, **tokenizer)
        self._pad = padding_token(self.tokenizer, options.model)
        self._padding = Padding(self._pad, multiple=8 if self._device.name == "cuda" else 1)

    @abstractmethod
    def build(self, seed: int) -> Any:
        """Build the model, ready to train; missing weights are initialised from the seed."""

    @abstractmethod
    def labelled_features(self, rows: pl.DataFrame, max_length: int) -> list[Features]:
        """Build the features of training rows, with labels."""

    @abstractmethod
    def scorer(self, run: Run, validation: pl.DataFrame) -> Score:
        """Return a function that scores a model on a run's validation rows, for selecting epoch and hyperparameters."""

    @abstractmethod
    def predictor(self, run: Run, model: Any) -> Predict:
        """Return a function that predicts with a run's trained model."""

    def fit(self, run: Run) -> Trained:
        """Train on a run's rows, with the best of the candidate settings."""
        from shiftbench.baselines.training.tuning import cut_rows

        rows = cut_rows(run.train, self.options, run.seed)
        trained = self.train_on_rows(run, rows)
        return replace(trained, record={**trained.record, "train_rows": len(rows)})

    def train_on_rows(self, run: Run, rows: pl.DataFrame) -> Trained:
        """Train on rows as changed by the robustness methods, which also choose the objective."""
        methods = self.robustness
        if not methods.methods and not self.replaces_loss:
            return self.train_candidates(run, rows)
        self._training = training = methods.prepare(self.method_training(run, rows))
        return self.train_candidates(run, training.rows, lambda model: methods.objective(training, model), training)

    def method_training(self, run: Run, rows: pl.DataFrame) -> MethodTraining:
        """Collect the data and functions that the methods can use in a training run."""
        return MethodTraining(
            rows, self.copied_columns, len(self.info.labels), run.seed, self.embeddings, self.tokenizer,
            reads_labels=self.reads_labels, validation=run.validation,
        )  # fmt: skip

    def train_candidates(
        self,
        run: Run,
        rows: pl.DataFrame,
        objective: "Callable[[Any], Objective] | None" = None,
        training: MethodTraining | None = None,
    ) -> Trained:
        """Train on the given rows with the best of the candidate settings; by default with the model's own loss."""
        from shiftbench.baselines.training.trainer import train
        from shiftbench.baselines.training.tuning import train_candidates

        held_out = run.validation if self.options.select else None
        score = None if held_out is None else self.scorer(run, held_out)
        methods: Any = self.robustness.methods.values()

        def build() -> Any:
            model = self._build_with_padding(run.seed)
            for method in methods:
                method.begin(training, model)
            return model

        def train_new(settings: Hyperparameters, folder: Path | None) -> "Trajectory":
            model = build()
            features = self.labelled_features(rows, self._token_length(settings.max_length))
            trajectory = train(
                model, features, self._padding, settings, seed=run.seed, device=self._device, scratch=folder,
                validate=score, objective=objective(model) if objective else None, keep=self.options.keep_state or (),
                callbacks=[each for method in methods for each in method.callbacks(training, model, folder)],
            )  # fmt: skip
            return self.robustness.finish(training, trajectory) if training else trajectory

        return train_candidates(
            run, self._candidates, build, train_new, lambda model: self._predictor_of_saved(run, model)
        )

    def _predictor_of_saved(self, run: Run, model: Any) -> Predict:
        """Return a function that predicts with a trained model; save the model first if requested."""
        if self.options.save_model is not None:
            place = self.options.save_model / f"{run.source}-{run.seed}"
            model.save_pretrained(place)
            self.tokenizer.save_pretrained(place)
        return self.predictor(run, model)

    def check_places(self) -> None:
        """Raise InvalidInput if the positions of a text's labels would be shifted (soft prompt), or are unknown."""
        if self.options.adapter is Adapter.PROMPT:
            what, cure = "a soft prompt would shift the positions of the labels", "use --adapter lora, or omit it"
            raise InvalidInput(Problem(what, "--adapter", "prompt", cure))
        if not self.tokenizer.is_fast:
            what, found = "the tokenizer does not return character offsets of its tokens", type(self.tokenizer).__name__
            raise InvalidInput(Problem(what, "--model", found, "use a model with a fast tokenizer"))

    def embeddings(self) -> Any:
        """Load the pretrained model's input embeddings."""
        from shiftbench.baselines.training.models import load_model

        return load_model("AutoModel", self.options.model, 0).get_input_embeddings().weight.detach()

    @property
    def eval_length(self) -> int:
        """Return the maximum word pieces per text in prediction."""
        return self._token_length(self._candidates[0].eval_max_length)

    def read(
        self,
        model: Any,
        rows: Sequence[Features],
        read: Callable[[Any, Mapping[str, Any]], Sequence[Any]],
        description: str,
    ) -> list[Any]:
        """Run a model on features; arguments as for ``predict_rows``."""
        from shiftbench.baselines.training.prediction import predict_rows

        return predict_rows(model, rows, self._padding, self._device, read, description)

    def _build_with_padding(self, seed: int) -> Any:
        """Build the model and set its padding token; the seed also initialises an adapter's weights."""
        from shiftbench.baselines.training.models import seeded, set_padding

        with seeded(seed):
            model = self.build(seed)
        set_padding(model, self._pad)
        return model

    def _token_length(self, asked: int) -> int:
        from shiftbench.baselines.training.pieces import usable_token_length

        return usable_token_length(self.config, self.options, asked)
