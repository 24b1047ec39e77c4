"""Texts as word pieces: the inputs of a classifier."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from shiftbench.baselines.training.batches import Features
from shiftbench.baselines.training.options import Adapter, TrainingOptions

_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "longformer", "mpnet")
"""Model types whose positions begin after the padding token's id."""


def usable_token_length(config: Any, options: TrainingOptions, asked: int) -> int:
    """Return the number of word pieces of a text that the model can read.

    Args:
        options: the program's options; a soft prompt takes up some positions.
    Returns: the requested number, capped by the model's positions, rounded down to a multiple of 8 (as are batch
        lengths on a GPU).
    """
    taken = options.adapter_size if options.adapter is Adapter.PROMPT else 0
    positions = getattr(config, "max_position_embeddings", None)
    if positions is None or not getattr(config, "position_biased_input", True):
        return asked  # relative positions have no maximum
    if config.model_type in _OFFSET_POSITIONS:
        taken += (config.pad_token_id or 0) + 1
    return int(min(asked, (positions - taken) // 8 * 8))


def text_features(tokenizer: Any, rows: pl.DataFrame, inputs: Sequence[str], max_length: int) -> list[Features]:
    """Tokenize one text per row, or a pair of texts; the longer text of a pair is truncated first.

    Args:
        max_length: maximum pieces per row, including special tokens.
    Returns: n rows of ``input_ids``, ``attention_mask`` and the tokenizer's other outputs.
    """
    texts = [rows[name].to_list() for name in inputs]
    pieces = tokenizer(*texts, truncation=True, max_length=max_length)
    return [dict(zip(pieces, values, strict=True)) for values in zip(*pieces.values(), strict=True)]
