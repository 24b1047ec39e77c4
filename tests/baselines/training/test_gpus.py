"""What a GPU is used for: weights that multiply, and their share of its peak."""

from pathlib import Path

import pytest
from transformers import BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel

from shiftbench.baselines.training.gpus import (
    PEAK_FLOPS,
    describe_utilisation,
    matrix_parameters,
    training_flops,
    utilisation,
)
from shiftbench.baselines.training.models import load_model


def test_weights_that_multiply_are_counted_and_tables_are_not(tiny_bert: Path) -> None:
    """Of a layer of width d and inner width i 4 d d + 2 d i; then the pooler's d d, and 2 labels."""
    model = load_model("AutoModelForSequenceClassification", str(tiny_bert), 0, num_labels=2)
    assert matrix_parameters(model) == 4 * 32 * 32 + 2 * 32 * 32 + 32 * 32 + 2 * 32
    gpt = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=8, n_embd=16, n_layer=2, n_head=2))
    assert matrix_parameters(gpt) == 2 * 12 * 16 * 16 + 50 * 16  # and what scores the next token


def test_what_profilers_count_is_what_is_estimated() -> None:
    """PyTorch's own counter of operations, on one forward and backward pass; attention's products are 3% here."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    config = BertConfig(
        vocab_size=100, hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512, num_labels=3
    )
    model = BertForSequenceClassification(config)
    ids = torch.randint(0, 100, (4, 24))
    counter = FlopCounterMode(display=False)
    with counter:
        model(input_ids=ids, labels=torch.zeros(4, dtype=torch.long)).loss.backward()
    heads = 128 * 128 + 3 * 128  # one token a text goes through them
    estimated = training_flops(matrix_parameters(model) - heads, ids.numel()) + training_flops(heads, len(ids))
    assert counter.get_total_flops() == pytest.approx(estimated, rel=0.05)


def test_utilisation_is_said_where_the_peak_is_known(tiny_bert: Path) -> None:
    model = load_model("AutoModelForSequenceClassification", str(tiny_bert), 0, num_labels=2)
    weights = matrix_parameters(model)
    assert utilisation(weights, 1e9, "NVIDIA A100-SXM4-80GB") == pytest.approx(6 * weights * 1e9 / PEAK_FLOPS["A100"])
    said = describe_utilisation(model, 1e9, "NVIDIA A100-SXM4-80GB")
    assert "1,000,000,000 tokens/s x 6 x 0.0M weights = 43.4 TFLOPS" in said
    assert "model-FLOPs utilisation 13.9% of 312 TFLOPS (NVIDIA A100-SXM4-80GB)" in said
    assert describe_utilisation(model, 1e9, "A1000").endswith("the peak of A1000 is not listed")
