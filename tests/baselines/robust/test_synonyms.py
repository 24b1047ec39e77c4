from types import SimpleNamespace

import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast

from shiftbench.baselines.robust.synonyms import nearest_pieces, wordnet
from shiftbench.builders.encoder import DEFAULT_ENCODER, offline_weights
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

WORDS = ["quay", "pier", "dock", "spoon", "ladle"]
VECTORS = torch.tensor(
    [[0.0, 0], [9, 0.1], [0, 9], [2, 0], [1, 0.3], [1, 0.6], [0, 3], [0.4, 5]]
)  # of [UNK], ##quay, Pier and WORDS


def word_piece() -> PreTrainedTokenizerFast:
    vocabulary = {word: i for i, word in enumerate(["[UNK]", "##quay", "Pier", *WORDS])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]")


def byte_level() -> PreTrainedTokenizerFast:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ["Ġsea", "Ġsand", "Ġtide", "sea", "ĠSea"]
    tokenizer = Tokenizer(models.WordLevel({piece: i for i, piece in enumerate([*letters, *words])}, unk_token="!"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def test_neighbours_are_whole_words_by_cosine_never_the_word_itself() -> None:
    synonyms = nearest_pieces(["quay", "spoon", "tower"], word_piece(), VECTORS, n=2)
    assert list(synonyms("quay")) == ["pier", "dock"]
    assert list(synonyms("spoon")) == ["ladle", "dock"]
    assert not synonyms("tower")
    assert not synonyms("pier")  # it was not among the words asked for


def test_a_vocabulary_that_marks_word_starts_is_read_too() -> None:
    tokenizer = byte_level()
    vectors = torch.randn(len(tokenizer), 4, generator=torch.Generator().manual_seed(0))
    assert set(nearest_pieces(["sea"], tokenizer, vectors)("sea")) == {"sand", "tide"}


def test_a_vocabulary_without_words_gives_no_synonyms() -> None:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"A": 0}, unk_token="A")))
    assert not nearest_pieces(["sea"], tokenizer, torch.ones(1, 4))("sea")


def test_a_pretrained_models_neighbours_are_near_in_meaning() -> None:
    folder = offline_weights(DEFAULT_ENCODER)
    if folder is None:
        pytest.skip("the offline extra is not installed")
    vectors = AutoModel.from_pretrained(folder).get_input_embeddings().weight
    synonyms = nearest_pieces(["harbor", "cheap"], AutoTokenizer.from_pretrained(folder), vectors)
    assert "harbour" in synonyms("harbor")
    assert "inexpensive" in synonyms("cheap")


def test_wordnet_that_is_not_there_is_refused_with_its_cure(
    monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setattr("nltk.data.path", [])
    assert refusal(InvalidInput, wordnet) == wording


def test_wordnets_lemmas_are_synonyms_in_a_fixed_order(monkeypatch: pytest.MonkeyPatch) -> None:
    synsets = [
        SimpleNamespace(lemma_names=lambda: ["Quay", "wharf"]),
        SimpleNamespace(lemma_names=lambda: ["sea_wall"]),
    ]
    corpus = SimpleNamespace(ensure_loaded=lambda: None, synsets=lambda word: synsets if word == "quay" else [])
    monkeypatch.setattr("nltk.corpus.wordnet", corpus)
    synonyms = wordnet()
    assert synonyms("quay") == ["sea wall", "wharf"]
    assert not synonyms("tower")
