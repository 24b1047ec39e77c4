"""Texts as word pieces: the inputs of a classifier."""

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from shiftbench.baselines.runs import Features
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


def windows(length: int, size: int) -> list[range]:
    """Cover ``range(length)`` with the fewest ranges of ``size``, neighbours overlapping by a third or more.

    Ranges are spread evenly, so that all are full and each position has as much context as possible.

    Returns: the ranges in order; a single range if the text fits, even if it is empty.
    Raises: ValueError if the size is less than 1.

    >>> windows(5, 8), windows(12, 6)
    ([range(0, 5)], [range(0, 6), range(3, 9), range(6, 12)])
    """
    if size < 1:
        raise ValueError(f"the window size must be at least 1, got {size}")
    if length <= size:
        return [range(length)]
    n_steps = math.ceil((length - size) / (size - size // 3))
    starts = [step * (length - size) // n_steps for step in range(n_steps + 1)]
    return [range(start, start + size) for start in starts]
