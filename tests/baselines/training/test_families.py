"""Families of models beside BERT and Llama, with tiny random weights: named adapters, last layers and padding."""

from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    DebertaV2Config,
    DistilBertConfig,
    ModernBertConfig,
    Qwen3Config,
    RobertaConfig,
)

from shiftbench.baselines.robust.last_layer import last_layer, logits_and_features
from shiftbench.baselines.training.models import add_low_rank_updates, set_padding

SIZES = {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
SPECIAL = {"bos_token_id": 1, "cls_token_id": 1, "eos_token_id": 2, "sep_token_id": 2, "pad_token_id": 0}
ENCODERS = {
    "modernbert": (lambda: ModernBertConfig(**SIZES, **SPECIAL, num_labels=3, reference_compile=False), ["Wqkv", "Wo"]),
    "deberta-v2": (lambda: DebertaV2Config(**SIZES, num_labels=3, relative_attention=True), ["query_proj"]),
    "distilbert": (lambda: DistilBertConfig(vocab_size=60, dim=32, n_layers=1, n_heads=2, num_labels=3), ["q_lin"]),
    "roberta": (lambda: RobertaConfig(**SIZES, num_labels=3, pad_token_id=0), ["dense"]),
}  # fmt: skip
BATCH = {
    "input_ids": torch.tensor([[1, 7, 9, 8, 2], [1, 30, 2, 0, 0]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]),
}


def model_of(config: Any) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return AutoModelForSequenceClassification.from_config(config).eval()


@pytest.mark.parametrize(("config", "targets"), ENCODERS.values(), ids=ENCODERS.keys())
def test_an_encoder_takes_updates_where_they_are_named_and_shows_its_features(config: Any, targets: list[str]) -> None:
    model = model_of(config())
    logits, features = logits_and_features(model, BATCH)
    assert features.shape == (2, 32)
    torch.testing.assert_close(last_layer(model)(features), logits)
    adapted = add_low_rank_updates(model, "SEQ_CLS", 2, targets)
    updated = {
        name.split(".lora_A")[0].rpartition(".")[2] for name, _ in adapted.named_parameters() if "lora_A" in name
    }
    assert updated == set(targets)


def test_a_decoder_reads_its_label_at_the_last_token_that_is_no_padding() -> None:
    sizes = SIZES | {"num_key_value_heads": 2, "head_dim": 16}
    model = model_of(Qwen3Config(**sizes, num_labels=3, pad_token_id=None, bos_token_id=1, eos_token_id=2))
    set_padding(model, 0)
    together = model(**BATCH).logits.detach()
    alone = model(input_ids=BATCH["input_ids"][1:, :3], attention_mask=BATCH["attention_mask"][1:, :3]).logits.detach()
    torch.testing.assert_close(together[1:], alone)
    updated = add_low_rank_updates(model, "SEQ_CLS", 2, ["q_proj", "v_proj"])
    trained = {name for name, weight in updated.named_parameters() if weight.requires_grad}
    assert all("lora" in name or "score" in name for name in trained)
