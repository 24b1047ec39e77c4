"""Texts as word pieces: what a classifier reads of each row."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from shiftbench.baselines.training.batches import Features
from shiftbench.baselines.training.options import Adapter, TrainingOptions

_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "longformer", "mpnet")
"""Model types whose positions begin after the padding token's id."""


def usable_token_length(config: Any, options: TrainingOptions, asked: int) -> int:
    """Compute how many word pieces of a text the model can read.

    Args:
        config: the model's configuration.
        options: the program's options; a trained prompt takes some places.
        asked: how many are asked for.
    Returns: those asked for, or what the model has positions for: a multiple of 8, as are the lengths of batches on a
        GPU.
    """
    taken = options.adapter_size if options.adapter is Adapter.PROMPT else 0
    positions = getattr(config, "max_position_embeddings", None)
    if positions is None or not getattr(config, "position_biased_input", True):
        return asked  # relative positions know no end
    if config.model_type in _OFFSET_POSITIONS:
        taken += (config.pad_token_id or 0) + 1
    return int(min(asked, (positions - taken) // 8 * 8))


def text_features(tokenizer: Any, rows: pl.DataFrame, inputs: Sequence[str], max_length: int) -> list[Features]:
    """Cut one text a row, or a pair of texts, into word pieces; a pair loses pieces of its longer text first.

    Args:
        tokenizer: a fast tokenizer.
        rows: n rows.
        inputs: one or two text columns.
        max_length: most pieces of a row, with the tokenizer's own marks.
    Returns: n rows of ``input_ids``, ``attention_mask`` and what else the tokenizer gives.
    """
    texts = [rows[name].to_list() for name in inputs]
    pieces = tokenizer(*texts, truncation=True, max_length=max_length)
    return [dict(zip(pieces, values, strict=True)) for values in zip(*pieces.values(), strict=True)]
