"""DAPT: before it is fine-tuned an encoder reads the targets' train texts, without labels (Gururangan et al. 2020)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from shiftbench.baselines.robust.losses import IGNORED, cross_entropy, inputs_of
from shiftbench.baselines.training.options import Hyperparameters
from shiftbench.baselines.training.trainer import Batch, Objective, train
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.report import InvalidInput, Problem

if TYPE_CHECKING:
    from shiftbench.baselines.training.batches import Features, Padding
    from shiftbench.baselines.training.models import Device

SETTINGS = Hyperparameters(epochs=3, batch_size=16, learning_rate=5e-5)
MASKED, BY_MASK, BY_ANY = 0.15, 0.8, 0.1
"""Share of the pieces to be guessed; of these, shares that a mask or any piece stands for. The rest stay."""


def adapt_body(
    name: str,
    rows: "Sequence[Features]",
    tokenizer: Any,
    padding: "Padding",
    seed: int,
    device: "Device",
    scratch: Path | None,
) -> dict[str, Tensor]:
    """Train a pretrained encoder to guess masked pieces of texts.

    Args:
        name: Hub id or path of the model; where it has no head that guesses pieces, a new one is trained along.
        rows: features of the texts, without labels.
        tokenizer: the model's.
        padding: makes tensors of them.
        seed: decides batches, masks and dropout.
        device: where to train.
        scratch: folder where checkpoints and, at the end, the weights lie; None keeps none.
    Returns: the weights of the model's body, by name.
    Raises: InvalidInput when the tokenizer has no mask.
    Source: Gururangan et al. 2020, sec. 3; masks as in Devlin et al. 2019, app. A.1. Three epochs here, at 5e-5.
    """
    from shiftbench.baselines.training.models import load_model

    file = None if scratch is None else scratch / "adapted.pt"
    if file is not None and file.is_file():
        return dict(torch.load(file, map_location="cpu", weights_only=True))
    if tokenizer.mask_token_id is None:
        what, cure = "the model's tokenizer has no mask token", "leave out --method dapt"
        raise InvalidInput(Problem(what, "--method dapt", f"'{name}'", cure))
    special = set(tokenizer.all_special_ids)
    texts = [{**row, "labels": [IGNORED if piece in special else piece for piece in row["input_ids"]]} for row in rows]
    model = load_model("AutoModelForMaskedLM", name, seed)

    def loss(model: Any, batch: Batch) -> Tensor:
        ids, labels = mask_pieces(batch["input_ids"], batch["labels"], tokenizer.mask_token_id, len(tokenizer))
        return cross_entropy(model(**inputs_of(batch) | {"input_ids": ids}).logits, labels)

    checkpoints = None if scratch is None else scratch / "dapt"
    train(model, texts, padding, SETTINGS, seed=seed, device=device, scratch=checkpoints, objective=Objective(loss))
    body = {key: value.detach().cpu().clone() for key, value in model.base_model.state_dict().items()}
    if file is not None:
        with replace_file(file) as new:
            torch.save(body, new)
    return body


def mask_pieces(ids: Tensor, labels: Tensor, mask: int, n_pieces: int) -> tuple[Tensor, Tensor]:
    """Draw the pieces that are to be guessed, and what stands in their place.

    Draws are torch's own, which dropout draws from and checkpoints keep.

    Args:
        ids: pieces, shape (B, T).
        labels: the same pieces, ``IGNORED`` where none is ever guessed.
        mask: the piece that stands for a guess.
        n_pieces: size of the vocabulary.
    Returns: pieces with 80% of the drawn ones masked and 10% any other; and labels, ``IGNORED`` but for the drawn ones.
    """
    chosen = (torch.rand(ids.shape, device=ids.device) < MASKED) & (labels != IGNORED)
    draw = torch.rand(ids.shape, device=ids.device)
    any_piece = torch.randint(n_pieces, ids.shape, device=ids.device)
    shown = torch.where(chosen & (draw < BY_MASK), mask, ids)
    shown = torch.where(chosen & (draw >= BY_MASK) & (draw < BY_MASK + BY_ANY), any_piece, shown)
    return shown, labels.masked_fill(~chosen, IGNORED)
