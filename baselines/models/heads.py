"""The initial head for fine-tuning: the checkpoint's head if its label names match the task's, otherwise a new one.

The head's outputs are reordered by label name. Without this, a checkpoint with the same labels in another order would
start with permuted outputs, and its predictions would be wrong without training.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from shiftbench.baselines.models.labels import resolve_label
from shiftbench.validation.report import InvalidInput, Problem

CLASSIFIER = ("ForSequenceClassification", "AutoModelForSequenceClassification")
TAGGER = ("ForTokenClassification", "AutoModelForTokenClassification")


@dataclass(frozen=True)
class Head:
    """How a checkpoint's head is used for a task.

    Attributes:
        auto_class: class of transformers that loads the model.
        labels: the task's labels.
        names: the labels of the checkpoint's head; None if it has no head of this kind.
        order: the output of the checkpoint's head for each label; None if a new head is needed.
    """

    auto_class: str
    labels: tuple[str, ...]
    names: tuple[str, ...] | None
    order: tuple[int, ...] | None

    @classmethod
    def of(cls, config: Any, kind: tuple[str, str], labels: Sequence[str]) -> "Head":
        """Decide from a checkpoint's configuration how its head, ``CLASSIFIER`` or ``TAGGER``, is used."""
        architecture, auto_class = kind
        if not any(name.endswith(architecture) for name in getattr(config, "architectures", None) or ()):
            return cls(auto_class, tuple(labels), None, None)
        names = tuple(str(config.id2label[place]) for place in sorted(config.id2label))
        return cls(auto_class, tuple(labels), names, output_order(names, labels))

    @property
    def note(self) -> str | None:
        """Return a note to the user on the use of the checkpoint's head; None if it has no head."""
        if self.names is None:
            return None
        if self.order is not None:
            return f"the checkpoint's head is reused, with labels matched by name: {', '.join(self.labels)}"
        return (
            f"the labels of the checkpoint's head ({', '.join(self.names[:20])}) differ from the task's "
            f"({', '.join(self.labels[:20])}): a randomly initialised head is trained"
        )

    def load(self, name: str, seed: int) -> Any:
        """Load the checkpoint with a head for the task's labels, in their order.

        Raises: InvalidInput if it cannot be loaded, or its outputs cannot be reordered.
        """
        from shiftbench.baselines.training.models import load_model, new_model

        id2label = dict(enumerate(self.labels))
        label2id = {label: code for code, label in id2label.items()}
        if self.names is None:
            return load_model(
                self.auto_class, name, seed, num_labels=len(id2label), id2label=id2label, label2id=label2id
            )
        model = load_model(self.auto_class, name, seed)
        config = deepcopy(model.config)
        config.id2label, config.label2id, config.problem_type = id2label, label2id, None
        if self.order is not None:
            permute_outputs(model, self.order, name)
            model.config = config
            return model
        new = new_model(self.auto_class, config, seed)
        setattr(new, model.base_model_prefix, getattr(model, model.base_model_prefix))
        return new


def output_order(names: Sequence[str], labels: Sequence[str]) -> tuple[int, ...] | None:
    """Return each label's output index, matched by name; None unless labels and outputs match one to one.

    >>> output_order(["No", "Yes"], ["yes", "no"]), output_order(["LABEL_0", "LABEL_1"], ["yes", "no"])
    ((1, 0), None)
    """
    matched = [resolve_label(name, labels) for name in names]
    if None in matched or len(names) != len(labels) or len(set(matched)) < len(labels):
        return None
    return tuple(matched.index(label) for label in labels)


def permute_outputs(model: Any, order: Sequence[int], name: str) -> None:
    """Reorder the outputs of a model's last layer.

    Args:
        model: a classifier or tagger of transformers; changed in place.
        order: old index of each new output.
    Raises: InvalidInput if the model's outputs do not follow the reordered layer; it cannot be trained then.
    """
    import torch

    inside = f"{model.base_model_prefix}."
    layers = [
        layer
        for place, layer in model.named_modules()
        if isinstance(layer, torch.nn.Linear) and layer.out_features == len(order) and not place.startswith(inside)
    ]
    places = list(order)
    example = torch.arange(1, 9)[None, :] % model.config.vocab_size  # any tokens: only the order of logits is compared
    was_training = model.training
    model.eval()
    with torch.no_grad():
        before = model(input_ids=example).logits
        for parameter in layers[-1].parameters() if layers else ():
            parameter.copy_(parameter[places].clone())
        after = model(input_ids=example).logits
    model.train(was_training)
    if not torch.allclose(after, before[..., places], atol=1e-5):
        what, cure = "the labels of this model's head cannot be reordered to match the task", "use only its encoder"
        raise InvalidInput(Problem(what, "--model", f"'{name}'", cure))
