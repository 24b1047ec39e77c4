"""The forms of text-to-text tasks: what is written, what is cut, and which tokens stand for labels."""

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from transformers import ByT5Tokenizer

from shiftbench.baselines.training.text_to_text import (
    NO_ANSWER,
    class_logits,
    decoder_tokens,
    encode_form,
    input_form,
    label_form,
    label_tokens,
    predicted_texts,
    target_texts,
)
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.baselines.training.tiny_tokenizers import bert_tokenizer, t5_tokenizer
from tests.refusals import refusal

NLI = ("entailment", "neutral", "contradiction")


@pytest.mark.parametrize(
    ("inputs", "form"),
    [
        (("source_text",), "{source_text}"),
        (("source_text", "answer"), "{source_text} answer: {answer}"),
        (("title", "context", "question"), "question: {question} context: {context} answer:"),
    ],
)
def test_inputs_take_the_form_of_their_columns(inputs: tuple[str, ...], form: str) -> None:
    assert input_form(inputs) == form


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [
        (("text",), ("negative", "positive", "neutral")),
        (("text",), ("toxic", "benign")),
        (("premise", "hypothesis"), NLI),
        (("premise", "hypothesis"), ("same", "other")),
        (("text",), ("sports", "weather")),
    ],
)
def test_classification_asks_for_the_sentinel_last(inputs: tuple[str, ...], labels: tuple[str, ...]) -> None:
    form = label_form(inputs, labels)
    assert form.endswith(" <extra_id_0>")
    assert all(f"{{{name}}}" in form for name in inputs)


def test_what_is_too_long_loses_the_end_of_its_longest_field_alone() -> None:
    tokenizer = t5_tokenizer()
    rows = pl.DataFrame({"source_text": ["abc " * 60, "ab"], "answer": ["xyz", "c"]})
    cut, whole = encode_form(input_form(("source_text", "answer")), rows, tokenizer, 40)
    assert tokenizer.decode(cut, skip_special_tokens=True).endswith("abc answer: xyz") or 35 < len(cut) <= 40
    assert tokenizer.decode(whole, skip_special_tokens=True) == "ab answer: c"
    assert cut[-1] == tokenizer.eos_token_id


def test_the_sentinel_is_never_cut_even_where_all_fields_are_long() -> None:
    tokenizer = t5_tokenizer()
    rows = pl.DataFrame({"premise": ["abc {x} " * 90], "hypothesis": ["xyz " * 80]})
    (tokens,) = encode_form(label_form(("premise", "hypothesis"), NLI), rows, tokenizer, 100)
    assert 80 < len(tokens) <= 100
    assert tokenizer.convert_ids_to_tokens(tokens)[-2:] == ["<extra_id_0>", "</s>"]


def test_texts_with_braces_stay_as_they_are() -> None:
    tokenizer = ByT5Tokenizer()
    (tokens,) = encode_form("{source_text}", pl.DataFrame({"source_text": ["a {b} {source_text}"]}), tokenizer, 64)
    assert tokenizer.decode(tokens, skip_special_tokens=True) == "a {b} {source_text}"


def test_no_rows_are_no_inputs() -> None:
    assert encode_form("{source_text}", pl.DataFrame({"source_text": []}), t5_tokenizer(), 64) == []


def test_a_question_without_an_answer_is_so_both_ways() -> None:
    rows = pl.DataFrame({"answers": [{"text": ["red", "a red"]}, {"text": []}]})
    targets = target_texts(rows, TaskKind.EXTRACTIVE_QA)
    assert targets == ["red", NO_ANSWER]
    assert predicted_texts([*targets, " no answer"], TaskKind.EXTRACTIVE_QA) == ["red", "", ""]
    assert predicted_texts([" No answer "], TaskKind.GENERATION) == ["No answer"]
    assert target_texts(pl.DataFrame({"target_text": ["why?"]}), TaskKind.GENERATION) == ["why?"]


def test_labels_are_told_apart_by_the_first_tokens_of_the_papers_words(wording: SnapshotAssertion) -> None:
    tokenizer = t5_tokenizer(("Yes", "Maybe", "No", "benign", "toxic"))
    names = tokenizer.convert_ids_to_tokens
    assert names(label_tokens(NLI, tokenizer)) == ["▁Yes", "▁Maybe", "▁No"]
    assert names(label_tokens(("toxic", "benign"), tokenizer)) == ["▁toxic", "▁benign"]
    assert refusal(InvalidInput, label_tokens, ("negative", "positive", "neutral"), ByT5Tokenizer()) == wording


def test_the_decoder_begins_with_padding_and_the_sentinel(wording: SnapshotAssertion) -> None:
    tokenizer = t5_tokenizer()
    tokens = decoder_tokens(0, tokenizer)
    assert tokenizer.convert_ids_to_tokens(tokens) == ["<pad>", "<extra_id_0>"]
    assert refusal(InvalidInput, decoder_tokens, 0, bert_tokenizer()) == wording


def test_class_scores_are_those_after_the_sentinel() -> None:
    logits = np.arange(2 * 2 * 5).reshape(2, 2, 5)
    assert class_logits(logits, [4, 1]).tolist() == [[9, 6], [19, 16]]
