"""Answers to windows and back: the span learnt is the span given, whatever the tokenizer and however long."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from shiftbench.baselines.training.qa_windows import MAX_ANSWER, QaWindows, best_span, null_threshold, qa_windows
from shiftbench.metrics.qa import qa_scores
from tests.baselines.training.tiny_tokenizers import bert_tokenizer, roberta_tokenizer, t5_tokenizer

FAMILIES = [bert_tokenizer, roberta_tokenizer, t5_tokenizer]
TOKENIZERS = {make: make() for make in FAMILIES}
NOTHING: dict[str, list[object]] = {"text": [], "answer_start": []}
words = st.lists(st.text("abcxyz", min_size=1, max_size=6), min_size=1, max_size=30)


def logits_for(windows: QaWindows, labels: np.ndarray) -> list[np.ndarray]:  # type: ignore[type-arg]
    """Score the labelled places 5 and all others 0."""
    found = []
    for features, (start, end) in zip(windows.features, labels, strict=True):
        scores = np.zeros((len(features["input_ids"]), 2), dtype=np.float32)
        scores[start, 0] = scores[end, 1] = 5
        found.append(scores)
    return found


@pytest.mark.parametrize("family", FAMILIES)
@given(context=words, place=st.integers(0, 100), length=st.integers(1, 2), max_length=st.integers(64, 90))
def test_the_answer_learnt_is_the_answer_given_back(
    family: Callable[[], PreTrainedTokenizerFast], context: list[str], place: int, length: int, max_length: int
) -> None:
    first = place % len(context)
    answer = "  ".join(context[first : first + length])  # contexts of two spaces show what offsets really are
    start = len("  ".join([*context[:first], ""]))
    windows = qa_windows(["who?"], ["  ".join(context)], TOKENIZERS[family], max_length)
    labels = windows.labels([{"text": [answer, "other"], "answer_start": [start, 0]}])
    assert all(len(features["input_ids"]) <= max_length for features in windows.features)
    assert (labels > 0).any(axis=1).any()
    found = windows.answers(logits_for(windows, labels))
    assert found.apply_threshold(0.0) == [answer]


def test_an_answer_is_learnt_only_where_it_is_whole() -> None:
    windows = qa_windows(["w"], ["abcdefghijklmnop"], TOKENIZERS[bert_tokenizer], 13)
    # [CLS] w [SEP] and nine of sixteen letters [SEP]: from 0, 3 and 7.
    assert [(part.start, part.stop) for part in windows.parts] == [(0, 9), (3, 12), (7, 16)]
    labels = windows.labels([{"text": ["hij"], "answer_start": [7]}])
    assert labels.tolist() == [[0, 0], [3 + 7 - 3, 3 + 9 - 3], [3, 5]]


def test_no_answer_is_the_first_piece_of_every_window() -> None:
    windows = qa_windows(["who?"], ["ab cd " * 20], TOKENIZERS[bert_tokenizer], 40)
    labels = windows.labels([NOTHING])
    assert len(labels) > 1
    assert not labels.any()
    assert windows.answers(logits_for(windows, labels)).apply_threshold(0.0) == [""]
    assert windows.answers(logits_for(windows, labels)).apply_threshold(np.inf) == ["a"]


def test_one_window_that_answers_is_enough() -> None:
    """No answer scores as in the window that believes least in it: the others hold no answer indeed."""
    windows = qa_windows(["w"], ["abcdefghijklmnop"], TOKENIZERS[bert_tokenizer], 13)
    labels = windows.labels([{"text": ["p"], "answer_start": [15]}])
    found = windows.answers(logits_for(windows, labels))
    assert labels.tolist() == [[0, 0], [0, 0], [11, 11]]
    assert found.preference.tolist() == [-10]


def test_a_long_question_loses_its_end_and_leaves_room() -> None:
    windows = qa_windows(["q" * 90], ["ab"], TOKENIZERS[bert_tokenizer], 64)
    (features,) = windows.features
    assert len(features["input_ids"]) == 1 + 64 // 4 + 1 + 2 + 1
    assert features["token_type_ids"] == [0] * 18 + [1] * 3


def test_an_empty_context_has_no_answer_and_no_question_is_no_window() -> None:
    windows = qa_windows(["who?", "who?"], ["", " "], TOKENIZERS[bert_tokenizer], 64)
    found = windows.answers([np.zeros((len(features["input_ids"]), 2)) for features in windows.features])
    assert found.apply_threshold(np.inf) == ["", ""]
    assert windows.labels([NOTHING, NOTHING]).tolist() == [[0, 0], [0, 0]]
    assert qa_windows([], [], TOKENIZERS[bert_tokenizer], 64).features == []


@given(st.integers(1, 50), st.integers(0, 2**32 - 1))
def test_the_best_span_is_the_best_of_all(n_pieces: int, seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(n_pieces, 2))
    every = [
        (scores[start, 0] + scores[end, 1], start, end)
        for start in range(n_pieces)
        for end in range(start, min(n_pieces, start + MAX_ANSWER))
    ]
    assert best_span(scores) == pytest.approx(max(every))


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_no_threshold_scores_better_than_the_one_chosen(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    preference = rng.integers(-3, 4, size=n).astype(float)  # with ties
    answered, abstained = rng.random(n), rng.integers(2, size=n).astype(float)

    def score(threshold: float) -> float:
        return float(np.where(preference > threshold, abstained, answered).mean())

    chosen = null_threshold(preference, answered, abstained)
    assert score(chosen) == pytest.approx(max(score(t) for t in [-np.inf, *preference, np.inf]))


def test_a_threshold_is_tuned_with_the_metric_of_the_task() -> None:
    texts, gold = ["red car", "blue", "x"], [["red car"], [], []]
    scores = [qa_scores(answers, gold).f1 for answers in (texts, ["", "", ""])]
    preference = np.array([1.0, 1.5, 4.0])
    assert null_threshold(preference, *scores) == 1.0
    assert null_threshold(np.zeros(0), np.zeros(0), np.zeros(0)) == 0.0
