"""Robustness methods: what a method can change in training, its hyperparameters, and valid combinations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from shiftbench.baselines.own_code import METHODS_GROUP, is_own, load_own, own_files
from shiftbench.baselines.robust.synonyms import SynonymSource
from shiftbench.validation.command_line import option
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray
    from transformers import TrainerCallback

    from shiftbench.baselines.robust.losses import ReadLogits
    from shiftbench.baselines.training.options import TrainingOptions
    from shiftbench.baselines.training.trainer import Loss, Objective, Step, Trajectory

METHODS: Mapping[str, str] = {
    "eda": "eda:Eda",
    "freelb": "freelb:FreeLb",
    "focal": "softened:Focal",
    "smoothing": "softened:Smoothing",
    "ensemble": "bias:Ensemble",
    "group-dro": "group_dro:WorstDomain",
    "coral": "coral:Coral",
    "irm": "irm:InvariantRisk",
    "dann": "dann:DomainAdversarial",
    "lisa": "lisa:Lisa",
    "dfr": "dfr:Dfr",
}
"""Built-in methods: file and class by value of ``--method``. First BOSS's (sec. 4.1), then those for several domains.
Methods are applied in this order, user-defined ones last."""


@dataclass(frozen=True)
class MethodOptions:
    """The robustness methods of a training run, as typed."""

    method: list[str] | None = option(
        None,
        f"Train with this robustness method; repeat for several: {', '.join(METHODS)}, or your own FILE.py:CLASS.",
        metavar="NAME",
    )
    synonyms: SynonymSource = option(SynonymSource.WORDNET, "Source of EDA's synonyms.")


@dataclass
class MethodTraining:
    """The data and functions of one training run that its methods can use.

    Attributes:
        rows: training rows, which a method may change before training. The features of each row include ``row``, its
            index, and, for methods ``of_domains``, ``domain``, the index of its domain in alphabetical order.
        inputs: the text columns of the rows; EDA changes the last one.
        n_classes: number of labels of the task.
        seed: seed of the run.
        embeddings: returns the pretrained model's input embeddings, shape (vocabulary, d), as a tensor.
        tokenizer: the model's tokenizer.
        synonyms: source of EDA's synonyms.
        outside: for tagging, the code of the tag for words outside spans.
        read: returns the labels' logits from a model's output; None: its ``logits``.
        reads_labels: whether the model's decoder reads the labels (teacher forcing).
        validation: validation rows of the source; None if it has none.
        features: computes the input of a model's last layer for rows, shape (n, d).
        score: scores a model on the validation rows, higher is better; None without validation rows.
        logits: computes a model's logits for rows, shape (n, C).
        memory: data that a method passes between its hooks.
    """

    rows: "pl.DataFrame"
    inputs: Sequence[str]
    n_classes: int
    seed: int
    embeddings: Callable[[], Any]
    tokenizer: Any
    synonyms: SynonymSource = SynonymSource.WORDNET
    outside: int = 0
    read: "ReadLogits | None" = None
    reads_labels: bool = False
    validation: "pl.DataFrame | None" = None
    features: "Callable[[Any, pl.DataFrame], NDArray[np.float32]] | None" = None
    score: Callable[[Any], float] | None = None
    logits: "Callable[[Any, pl.DataFrame], NDArray[np.float64]] | None" = None
    memory: dict[str, Any] = field(default_factory=dict)

    @property
    def n_domains(self) -> int:
        """Return the number of domains in the training rows."""
        return self.rows["domain"].n_unique() if "domain" in self.rows.columns else 1

    def read_logits(self, output: Any) -> Any:
        """Return the labels' logits of a model's output, shape (B, C)."""
        return (self.read or (lambda each: each.logits))(output)


@dataclass(frozen=True)
class TrainingMethod:
    """Base class of methods; fields of a subclass are its hyperparameters, set by ``--set NAME.FIELD=VALUE``.

    A method inherits from this class and overrides the hooks that it changes; the rest stays as in plain training.
    Built-in and user-defined methods work in the same way (``docs/methods/your-own-method.md``).

    Attributes:
        of_domains: whether its loss compares domains: each batch then has equally many rows of each, with
            ``batch["domain"]``.
        of_validation: whether it uses the source's validation rows.
        reads_targets: whether it uses unlabelled texts of the targets; recorded in the card.
        of_words: whether it also works for taggers and models that generate text.
        models: the models that it supports.
    """

    of_domains: ClassVar[bool] = False
    of_validation: ClassVar[bool] = False
    reads_targets: ClassVar[bool] = False
    of_words: ClassVar[bool] = False
    models: ClassVar[Literal["all", "encoders and encoder-decoders", "encoders"]] = "all"

    def check(self, options: "TrainingOptions", synonyms: SynonymSource) -> None:
        """Raise InvalidInput, before any work, if a required option is missing."""

    def prepare(self, training: MethodTraining) -> None:
        """Change ``training.rows``, or precompute data for the loss; called once per run, before any training."""

    def loss(self, training: MethodTraining, model: Any) -> "Loss | None":
        """Build the loss: a function of model and batch; a torch module is trained and saved with the model."""
        return None

    def cross_entropy(self) -> Mapping[str, float]:
        """Return arguments of ``losses.cross_entropy``, for a method that only modifies the usual loss."""
        return {}

    def step(self) -> "Step | None":
        """Build the training step of a batch, such as ``trainer.plain_step``."""
        return None

    def begin(self, training: MethodTraining, model: Any) -> None:
        """Change the model before training."""

    def callbacks(self, training: MethodTraining, model: Any, folder: "Path | None") -> "Sequence[TrainerCallback]":
        """Build training callbacks; ``folder`` is the checkpoint folder."""
        return ()

    def finish(self, training: MethodTraining, trajectory: "Trajectory") -> Mapping[str, Any]:
        """Change the trained model; return facts about the change for the record."""
        return {}

    def adjust(
        self, training: MethodTraining, model: Any, logits: "NDArray[np.float64]", rows: "pl.DataFrame"
    ) -> "NDArray[np.float64]":
        """Change the logits, shape (n, C), of the trained model's predictions; the rows have no labels."""
        return logits


HOOKS = ("prepare", "loss", "cross_entropy", "step", "begin", "callbacks", "finish", "adjust")


def strength(
    default: float,
    paper: str,
    *,
    least: float = 0.0,
    most: float | None = None,
    draws: tuple[float, float] | None = None,
) -> Any:
    """Declare a strength: a hyperparameter of a method, as a field of the method's dataclass.

    Args:
        default: its default value; an integer for counts.
        paper: the paper's value, and the paper.
        least: smallest allowed value.
        most: largest allowed value; None: unlimited.
        draws: range of a search, log-uniform; None: not searched.
    """
    return field(default=default, metadata={"paper": paper, "least": least, "most": most, "draws": draws})


def method_class(name: str) -> type[TrainingMethod]:
    """Load the class of a method by its name in ``--method``.

    Raises: UnknownChoice if there is no such method; InvalidInput if a user-defined class overrides no hook.
    """
    if name in METHODS:
        file, _, own = METHODS[name].partition(":")
        found: type[TrainingMethod] = getattr(import_module(f"shiftbench.baselines.robust.{file}"), own)
        return found
    if not is_own(name, METHODS_GROUP):
        what, cure = "there is no such method", did_you_mean(name, list(METHODS))
        raise UnknownChoice(Problem(what, "--method", f"'{name}'", f"{cure}; for your own method, use FILE.py:CLASS"))
    own_class: type[TrainingMethod] = load_own(name, METHODS_GROUP, "--method", TrainingMethod, HOOKS)
    return own_class


def short_name(name: str) -> str:
    """Return the name of a method for ``--set`` and cards; for a user-defined method, its class.

    >>> short_name("group-dro"), short_name("my_losses.py:Penalty")
    ('group-dro', 'Penalty')
    """
    return name.rpartition(":")[2]


def strengths_of(method: type[TrainingMethod] | TrainingMethod) -> dict[str, "Field[Any]"]:
    """Return the hyperparameters of a method by their names in ``--set``, such as 'step-size'."""
    return {each.name.replace("_", "-"): each for each in fields(method)}


@dataclass(frozen=True)
class Robustness:
    """The robustness methods of a training run; without any, it is plain fine-tuning.

    EDA adds rows and FreeLB changes the step. The loss is one of: focal loss, label smoothing, both, the ensemble, or a
    loss over domains. Other methods run after training. Methods of different kinds can be combined.

    Attributes:
        methods: the methods by name, in the order in which they change a trained model.
    """

    methods: Mapping[str, TrainingMethod] = field(default_factory=dict)
    synonyms: SynonymSource = SynonymSource.WORDNET

    @classmethod
    def of(
        cls,
        names: Sequence[str] | None,
        synonyms: SynonymSource = SynonymSource.WORDNET,
        training: "TrainingOptions | None" = None,
        *,
        of_words: bool = False,
    ) -> "Robustness":
        """Build the combination of methods from ``--method`` and ``--set``.

        Args:
            of_words: whether it trains taggers or models that generate text.
        Raises: InvalidInput if two methods cannot be combined, one lacks a required option or is for other models, or a
            hyperparameter does not exist.
        """
        from shiftbench.baselines.training.options import TrainingOptions

        training = training or TrainingOptions()
        typed = list(dict.fromkeys(names or ()))
        order = [*(name for name in METHODS if name in typed), *(name for name in typed if name not in METHODS)]
        classes = {name: method_class(name) for name in order}
        _check_combination(classes, of_words=of_words)
        values = _typed_strengths(classes, training.strengths())
        methods = {name: made(**values[name]) for name, made in classes.items()}
        for method in methods.values():
            method.check(training, synonyms)
        return cls(methods, synonyms)

    @property
    def settings(self) -> dict[str, Any]:
        """Return the methods as settings that predictions depend on; empty if there are none."""
        if not self.methods:
            return {}
        strengths = {
            short_name(name): {key: getattr(method, each.name) for key, each in strengths_of(method).items()}
            for name, method in self.methods.items()
        }
        files = self._own_files()
        return {"methods": sorted(strengths), "synonyms": self.synonyms, "strengths": strengths, "files": files}

    @property
    def card_facts(self) -> dict[str, Any]:
        """Return fields of the card: the methods' names, with non-default hyperparameters, and use of target data."""
        names = sorted(_with_strengths(short_name(name), method) for name, method in self.methods.items())
        facts: dict[str, Any] = {"methods": names}
        if self.any("reads_targets"):
            facts["extra_data"] = "texts of the targets, without labels"
        if files := self._own_files():
            facts["run"] = {f"code {name}": f"sha256 {sha256}" for name, sha256 in files.items()}
        return facts

    def _own_files(self) -> dict[str, str]:
        own = [own_files(name, METHODS_GROUP, "--method") for name in self.methods if name not in METHODS]
        return {name: sha256 for files in own for name, sha256 in files.items()}

    def any(self, attribute: str) -> str | None:
        """Return the name of a method for which an attribute is true; None if there is none."""
        return next((name for name in sorted(self.methods) if getattr(self.methods[name], attribute)), None)

    def objective(self, training: MethodTraining, model: Any) -> "Objective":
        """Build the loss and the training step.

        A loss with parameters, such as the ensemble's, is added to the model as ``own_loss``, so that it is trained and
        saved in checkpoints; predictions do not use it.

        Raises: InvalidInput for such a loss with an adapter, whose checkpoints would not include it.
        """
        from functools import partial

        from torch import nn

        from shiftbench.baselines.robust.losses import cross_entropy, logits_of, loss_of
        from shiftbench.baselines.training.trainer import Objective, plain_step

        arguments: dict[str, Any] = {}
        step: Step = plain_step
        loss: Any = None
        for name, method in self.methods.items():
            arguments |= method.cross_entropy()
            step = method.step() or step
            own = method.loss(training, model)
            if isinstance(own, nn.Module):
                if hasattr(model, "peft_config"):
                    what = "adapter checkpoints contain only the adapter, so resumed training would lose the layers of"
                    raise InvalidInput(Problem(f"{what} '{name}'", f"--method {name}, --adapter", cure="omit one"))
                model.own_loss = own
            loss = own or loss
        if loss is None:
            logits_loss = partial(cross_entropy, **arguments)
            loss = loss_of(logits_loss, training.read or logits_of, reads_labels=training.reads_labels)
        return Objective(loss, step)

    def prepare(self, training: MethodTraining) -> MethodTraining:
        """Run ``prepare`` of each method (changes rows, precomputes data for the loss), and return ``training``."""
        training.synonyms = self.synonyms
        for method in self.methods.values():
            method.prepare(training)
        return training

    def finish(self, training: MethodTraining, trajectory: "Trajectory") -> "Trajectory":
        """Apply the methods' changes to a trained model, one after the other."""
        notes: dict[str, Any] = {"strengths": self.settings["strengths"]} if self.methods else {}
        for method in self.methods.values():
            notes |= method.finish(training, trajectory)
        return replace(trajectory, record={**trajectory.record, **notes})


def _with_strengths(name: str, method: TrainingMethod) -> str:
    named = [(key, each.default, getattr(method, each.name)) for key, each in strengths_of(method).items()]
    changed = ", ".join(f"{key} {value:g}" for key, default, value in named if value != default)
    return f"{name} ({changed})" if changed else name


def _check_combination(classes: Mapping[str, type[TrainingMethod]], *, of_words: bool) -> None:
    """Raise InvalidInput if methods cannot be combined, or if one requires a classifier and ``of_words`` is true."""
    shared = [name for name in classes if sum(short_name(name) == short_name(other) for other in classes) > 1]
    if shared:
        found, cure = " and ".join(f"'{name}'" for name in shared), "rename one of the classes"
        raise InvalidInput(Problem("two methods have the same name", "--method", found, cure))
    for name, method in classes.items():
        if of_words and not method.of_words:
            what, cure = "this method requires a classifier", "omit it, or use 'finetune-classifier'"
            raise InvalidInput(Problem(what, "--method", f"'{name}'", cure))
    losses = sorted(name for name, method in classes.items() if method.loss is not TrainingMethod.loss)
    softened = sorted(name for name, each in classes.items() if each.cross_entropy is not TrainingMethod.cross_entropy)
    if losses and (len(losses) > 1 or softened):
        found = " with ".join(f"'{each}'" for each in [*losses, *softened])
        raise InvalidInput(Problem("each of these replaces the loss", "--method", found, "use only one of them"))


def _typed_strengths(
    classes: Mapping[str, type[TrainingMethod]], typed: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    values: dict[str, dict[str, Any]] = {name: {} for name in classes}
    by_short = {short_name(name): name for name in classes}
    known = [f"{short}.{key}" for short, name in by_short.items() for key in strengths_of(classes[name])]
    for key, value in typed.items():
        short, _, own = key.rpartition(".")
        each = strengths_of(classes[by_short[short]]).get(own) if short in by_short else None
        if each is None:
            cure = did_you_mean(key, known) if known else "add --method"
            raise UnknownChoice(Problem("no chosen method has this hyperparameter", "--set", f"'{key}'", cure))
        values[by_short[short]][each.name] = parse_strength(each, key, value)
    return values


def parse_strength(each: "Field[Any]", key: str, value: str) -> float:
    """Parse the value of a method's hyperparameter; InvalidInput if it is not a number, or out of range."""
    counts = isinstance(each.default, int)
    try:
        number: float = int(value) if counts else float(value)
    except ValueError:
        cure = "use an integer" if counts else "use a number"
        raise InvalidInput(Problem("this value must be a number", f"--set {key}", f"'{value}'", cure)) from None
    least, most = each.metadata.get("least"), each.metadata.get("most")
    if (least is not None and not number >= least) or (most is not None and not number <= most):
        cure = f"use at least {least:g}" + ("" if most is None else f" and at most {most:g}")
        raise InvalidInput(Problem("this hyperparameter is out of range", f"--set {key}", f"'{value}'", cure))
    return number
