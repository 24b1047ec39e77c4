"""Tiny randomly initialised models over the words of some texts, saved as transformers loads them."""

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from shiftbench.builders.folder.reader import DatasetFolder

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def words_in(folder: DatasetFolder, task: str) -> list[str]:
    """List the words and punctuation of a task's inputs, in all splits."""
    info, split = folder.task(task), pre_tokenizers.Whitespace()
    texts = [
        text
        for domain, facts in info.domains.items()
        for name in facts.splits
        for column in info.inputs
        for text in folder.split(task, domain, name)[column]
    ]
    return sorted({word for text in texts for word, _ in split.pre_tokenize_str(text)})


def tokenizer_of(words: Iterable[str]) -> PreTrainedTokenizerFast:
    vocabulary = {word: place for place, word in enumerate(dict.fromkeys([*MARKS, *words]))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


def save_bert(path: Path, words: Iterable[str], positions: int = 64) -> Path:
    """Write an encoder of one layer."""
    tokenizer = tokenizer_of(words)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=positions,
        initializer_range=0.2,
    )
    return _saved(path, tokenizer, lambda: BertModel(config))


def save_llama(path: Path, words: Iterable[str]) -> Path:
    """Write a causal language model of one layer, whose end of text is ``[SEP]``."""
    tokenizer = tokenizer_of(words)
    tokenizer.eos_token = "[SEP]"
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=32,
        max_position_embeddings=512,
        initializer_range=0.2,
        pad_token_id=0,
        eos_token_id=3,
    )
    return _saved(path, tokenizer, lambda: LlamaForCausalLM(config))


def _saved(path: Path, tokenizer: PreTrainedTokenizerFast, build) -> Path:  # type: ignore[no-untyped-def]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        build().save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path
