"""Small tokenizers of the families that models come with, made on the spot: words given are pieces, else characters."""

from collections.abc import Sequence
from string import ascii_lowercase

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

CHARACTERS = ascii_lowercase + "0123456789.,?:-'"


def bert_tokenizer(words: Sequence[str] = ()) -> PreTrainedTokenizerFast:
    """Build a BERT tokenizer: pieces in a word begin with ``##``, control characters vanish, types mark texts."""
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    pieces = [*marks, *CHARACTERS, *(f"##{c}" for c in CHARACTERS), *words]
    vocabulary = {piece: code for code, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip


def roberta_tokenizer() -> PreTrainedTokenizerFast:
    """Build a RoBERTa tokenizer of bytes: the space before a word marks its start, two marks part a pair."""
    marks = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [*marks, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    vocabulary = {piece: code for code, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges=[], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", cls_token="<s>", sep_token="</s>",
        bos_token="<s>", eos_token="</s>",
    )  # fmt: skip


def t5_tokenizer(words: Sequence[str] = ()) -> PreTrainedTokenizerFast:
    """Build a T5 tokenizer: pieces hold the space before a word; no first mark; T5's sentinel."""
    marks = ["<pad>", "</s>", "<unk>", "<extra_id_0>"]
    scores = dict.fromkeys(marks, 0.0) | dict.fromkeys(("▁", *(f"▁{c}" for c in CHARACTERS)), -10.0)
    scores |= dict.fromkeys(CHARACTERS, -9.0) | dict.fromkeys((f"▁{word}" for word in words), -1.0)
    tokenizer = Tokenizer(models.Unigram(list(scores.items()), unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        extra_special_tokens=["<extra_id_0>"],
    )  # fmt: skip
