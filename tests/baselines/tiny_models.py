"""Model folders of other families than those in ``tiny``, small enough to train in seconds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import RobertaConfig, RobertaModel, RobertaTokenizer, T5Config, T5ForConditionalGeneration
from transformers.utils import logging

from shiftbench.baselines.training.models import seeded
from tests.baselines.tiny import save_bert
from tests.baselines.training.tiny_tokenizers import roberta_tokenizer, t5_tokenizer

logging.disable_progress_bar()  # type: ignore[no-untyped-call]


def save_roberta(folder: Path) -> str:
    """Save an encoder whose tokenizer, as its files say, puts no space before a text; returns its path."""
    tokenizer = RobertaTokenizer(vocab=roberta_tokenizer().get_vocab() | {"<mask>": 260}, merges=[])
    config = RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=40, pad_token_id=1,
    )  # fmt: skip
    with seeded(0):
        RobertaModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def save_sentence_encoder(
    folder: Path, words: Sequence[str], reads: int = 32, *, include_prompt: bool = True, **options: Any
) -> str:
    """Save a sentence encoder that reads so many pieces; options are ``SentenceTransformer``'s; returns its path."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    save_bert(folder / "bert", words)
    modules = [Transformer(str(folder / "bert"), max_seq_length=reads), Pooling(32, include_prompt=include_prompt)]
    SentenceTransformer(modules=modules, device="cpu", **options).save(str(folder / "encoder"))
    return str(folder / "encoder")


def save_t5(folder: Path, words: Sequence[str]) -> str:
    """Save an encoder-decoder of random weights, and its tokenizer; returns the path."""
    tokenizer = t5_tokenizer(words)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4, dropout_rate=0.0,
        feed_forward_proj="gated-gelu", relative_attention_num_buckets=8, relative_attention_max_distance=16,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    with seeded(0):
        T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
