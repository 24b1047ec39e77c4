"""Tiny models with heads, saved as transformers loads them. Every word is invented."""

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import processors
from transformers import BertConfig

from tests.baselines.tiny import tokenizer_of

WORDS = ("red", "blue", "green", "white", "cup", "boat", "the", "of")


def save_with_head(folder: Path, architecture: str, **config: Any) -> str:
    """Save a BERT of one layer that reads 32 pieces, with a head of random weights; returns its path."""
    tokenizer = tokenizer_of(WORDS)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=32, initializer_range=1.0, **config,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        getattr(transformers, architecture)(made).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def save_classifier(folder: Path, *names: str) -> str:
    """Save a classifier whose outputs have these names."""
    return save_with_head(folder, "BertForSequenceClassification", id2label=dict(enumerate(names)))
