"""Words to pieces and back: one place a word, whatever the tokenizer and however long the sentence."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from shiftbench.baselines.training.batches import IGNORED
from shiftbench.baselines.training.word_pieces import word_pieces
from tests.baselines.training.tiny_tokenizers import bert_tokenizer, roberta_tokenizer, t5_tokenizer

FAMILIES = [bert_tokenizer, roberta_tokenizer, t5_tokenizer]
TOKENIZERS = {make: make() for make in FAMILIES}
sentences = st.lists(st.lists(st.text("abcxyz", min_size=1, max_size=9), max_size=30), max_size=4)


@pytest.mark.parametrize("family", FAMILIES)
@given(given_=sentences, max_length=st.integers(8, 40))
def test_every_word_has_one_place_and_gets_its_own_tag_back(
    family: Callable[[], PreTrainedTokenizerFast], given_: list[list[str]], max_length: int
) -> None:
    pieces = word_pieces(given_, TOKENIZERS[family], max_length)
    tags = [list(range(1, len(words) + 1)) for words in given_]  # a tag of its own for each word
    labels = pieces.labels(tags)
    assert all(len(window["input_ids"]) <= max_length for window in pieces.features)
    assert [len(window["input_ids"]) for window in pieces.features] == [len(part) for part in labels]
    assert sorted(label for part in labels for label in part if label != IGNORED) == sorted(
        tag for part in tags for tag in part
    )
    predicted = [np.where(np.array(part) == IGNORED, 0, part) for part in labels]
    assert [found.tolist() for found in pieces.tags(predicted, outside=0)] == tags


def test_only_the_first_piece_of_a_word_is_labelled() -> None:
    pieces = word_pieces([["abc", "x", "de"]], TOKENIZERS[bert_tokenizer], 20)
    assert pieces.labels([[5, 6, 7]]) == [[IGNORED, 5, IGNORED, IGNORED, 6, 7, IGNORED, IGNORED]]
    assert set(pieces.features[0]) == {"input_ids", "token_type_ids", "attention_mask"}


def test_a_word_cut_by_a_window_is_tagged_at_its_first_piece_only() -> None:
    pieces = word_pieces([["abcde", "vwxyz", "q"]], TOKENIZERS[bert_tokenizer], 8)
    # Room for six pieces: windows begin at places 0, 2 (within the first word) and 5 of eleven.
    assert [[tag for tag in part if tag != IGNORED] for part in pieces.labels([[1, 2, 3]])] == [[1], [2], [3]]
    assert pieces.words[1].tolist() == [-1, -1, -1, -1, 1, -1, -1, -1]


def test_a_word_is_tagged_where_most_of_its_context_shows() -> None:
    letters = list("abcdefghijkl")
    pieces = word_pieces([letters], TOKENIZERS[bert_tokenizer], 8)
    own = [places[places >= 0].tolist() for places in pieces.words]
    # Windows of six letters begin at 0, 3 and 6; the sentence's own ends are no loss of context.
    assert own == [[0, 1, 2, 3, 4], [5, 6, 7], [8, 9, 10, 11]]


@pytest.mark.parametrize("gone", ["\x07", "\u200b"])
def test_words_of_which_nothing_is_left_are_outside(gone: str) -> None:
    pieces = word_pieces([["ab", gone, "c"], [gone], []], TOKENIZERS[bert_tokenizer], 20)
    codes = [np.full(len(window["input_ids"]), 4) for window in pieces.features]
    assert [found.tolist() for found in pieces.tags(codes, outside=9)] == [[4, 9, 4], [9], []]


def test_no_sentence_gives_no_window() -> None:
    assert word_pieces([], TOKENIZERS[bert_tokenizer], 20).features == []
