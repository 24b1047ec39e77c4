"""Tiny randomly initialised models, one layer each, and batches of them."""

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, T5Config, T5ForConditionalGeneration


@pytest.fixture
def bert() -> BertForSequenceClassification:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=50,
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            num_labels=3,
            initializer_range=0.2,
        )
        return BertForSequenceClassification(config).eval()


@pytest.fixture
def t5() -> T5ForConditionalGeneration:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = T5Config(vocab_size=50, d_model=32, d_kv=16, d_ff=32, num_layers=1, num_heads=2, dropout_rate=0.0)
        return T5ForConditionalGeneration(config)


@pytest.fixture
def batch() -> dict[str, torch.Tensor]:
    """Two examples of five and three tokens."""
    return {
        "input_ids": torch.tensor([[4, 5, 6, 7, 8], [9, 10, 11, 0, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]),
        "labels": torch.tensor([2, 0]),
    }
