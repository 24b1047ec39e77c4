from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from shiftbench.baselines.robust.in_context import Layout, find_nearest, label_scores
from shiftbench.baselines.training.batches import Padding
from tests.baselines.tiny import tokenizer_of

WORDS = ["Premise", "Hypothesis", "Label", ":", "true", "not", "sure", *"abcdefgh"]
PAIR = ("premise", "hypothesis")
ROWS = pl.DataFrame({"premise": ["a b", "c", "d"], "hypothesis": ["e", "f g", "h"]})


@pytest.fixture
def tokenizer() -> Any:
    tokenizer = tokenizer_of(WORDS)
    tokenizer.bos_token, tokenizer.eos_token = "[CLS]", "[SEP]"
    return tokenizer


def layout(tokenizer: Any, max_tokens: int = 100) -> Layout:
    return Layout(tokenizer, PAIR, ("true", "not sure"), max_tokens)


def read(tokenizer: Any, ids: list[int]) -> str:
    return " ".join(tokenizer.convert_ids_to_tokens(ids))


def test_neighbours_are_by_cosine_the_nearest_last() -> None:
    angles = np.deg2rad([0, 10, 20, 90], dtype=np.float32)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert find_nearest(vectors[:1], vectors, 2) == [[1, 0]]
    assert find_nearest(vectors[[0, 3]], vectors, 2, [0, None]) == [[2, 1], [2, 3]]
    assert find_nearest(vectors[:1], vectors[:2], 5, [0]) == [[1]]
    assert find_nearest(vectors[:1], vectors[[3, 2, 2]], 2) == [[2, 1]]  # of equals the first is the nearer


def test_a_train_example_is_texts_without_labels_and_a_query_with_one(tokenizer: Any) -> None:
    texts = layout(tokenizer).fields(ROWS)
    example = layout(tokenizer).example(texts[1:], texts[0], 1)
    assert read(tokenizer, example["input_ids"]) == (
        "[CLS] Premise : c Hypothesis : f g Premise : d Hypothesis : h "
        "Premise : a b Hypothesis : e Label : not sure [SEP]"
    )
    assert example["labels"] == example["input_ids"]


def test_a_question_follows_demonstrations_once_with_each_label(tokenizer: Any) -> None:
    ours = layout(tokenizer)
    texts = ours.fields(ROWS)
    questions = ours.questions([ours.demonstration(texts[1], 0)], texts[2])
    shared = "[CLS] Premise : c Hypothesis : f g Label : true Premise : d Hypothesis : h Label :"
    assert [read(tokenizer, each["input_ids"]) for each in questions] == [
        f"{shared} true [SEP]",
        f"{shared} not sure [SEP]",
    ]
    for question, n_label in zip(questions, (2, 3), strict=True):
        assert question["labels"][-n_label:] == question["input_ids"][-n_label:]
        assert set(question["labels"][:-n_label]) == {-100}


def test_what_does_not_fit_goes_farthest_first_and_the_query_keeps_half(tokenizer: Any) -> None:
    texts = layout(tokenizer).fields(ROWS)
    for max_tokens in range(12, 40):
        ours = layout(tokenizer, max_tokens)
        whole = ours.example(texts[1:], texts[0], 1)["input_ids"]
        assert len(whole) <= max_tokens
        words = read(tokenizer, whole)
        assert words.endswith("Label : not sure [SEP]")
        assert ("f g" in words) <= ("Premise : d" in words)
    long = layout(tokenizer, 40).fields(pl.DataFrame({"premise": ["a " * 200], "hypothesis": ["b"]}))[0]
    (ids, _) = (each["input_ids"] for each in layout(tokenizer, 40).questions([texts[1]], long))
    assert len(ids) <= 40
    assert read(tokenizer, ids).count(" a") == 20 - 2


def test_scores_are_the_labels_log_probabilities(tokenizer: Any) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            intermediate_size=32,
            initializer_range=0.5,
        )
        model = LlamaForCausalLM(config).eval()
    ours = layout(tokenizer)
    texts = ours.fields(ROWS)
    questions = [question for text in texts for question in ours.questions([], text)]
    with torch.inference_mode():
        found = label_scores(model, Padding(0)(questions))
        for score, question in zip(found, questions, strict=True):
            log_p = model(torch.tensor([question["input_ids"]])).logits[0].log_softmax(dim=-1)
            own = [(place, token) for place, token in enumerate(question["labels"]) if token != -100]
            assert float(score) == pytest.approx(sum(float(log_p[place - 1, token]) for place, token in own), abs=1e-4)
