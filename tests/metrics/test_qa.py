import re
import string
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from shiftbench.metrics.qa import normalise_answers, qa_scores
from tests.refusals import refusal


def plain_normalise(text):
    """Normalise by SQuAD's rules, one text at a time."""
    kept = "".join(character for character in text.lower() if character not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def plain_f1(prediction, gold, version):
    predicted_words, gold_words = plain_normalise(prediction).split(), plain_normalise(gold).split()
    if version == 2 and (not predicted_words or not gold_words):
        return float(predicted_words == gold_words)
    common = sum((Counter(predicted_words) & Counter(gold_words)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(predicted_words), common / len(gold_words)
    return 2 * precision * recall / (precision + recall)


def plain_scores(prediction, golds, version):
    if version == 2:
        golds = [gold for gold in golds if plain_normalise(gold)] or [""]
    exact = max(float(plain_normalise(prediction) == plain_normalise(gold)) for gold in golds)
    return exact, max(plain_f1(prediction, gold, version) for gold in golds)


WORD = st.sampled_from(
    [
        "a",
        "the",
        "An",
        "red",
        "Red,",
        "car",
        "U.S.",
        "—",
        "a–b",
        "\n",
        "\t",
        "ΣΑΣ",
        "ΣΑΣ\n",
        "İ",
        "thé",
        "_the_",
        "\x1c",
        "",
    ]
)
TEXT = st.one_of(st.lists(WORD, max_size=5).map(" ".join), st.text(max_size=8))
QUESTIONS = st.lists(st.tuples(TEXT, st.lists(TEXT, max_size=3)), max_size=8)


@settings(max_examples=300, deadline=None)
@given(QUESTIONS)
@example([("the", ["a"]), ("", ["the"]), ("x", ["the"]), ("", [])])
def test_version_2_agrees_with_a_plain_script(questions):
    scores = qa_scores([p for p, _ in questions], [a for _, a in questions])
    expected = np.array([plain_scores(p, a, 2) for p, a in questions]).reshape(-1, 2)
    np.testing.assert_array_equal(scores.exact, expected[:, 0])
    np.testing.assert_allclose(scores.f1, expected[:, 1], rtol=0, atol=1e-12)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=3)), max_size=8))
@example([("the", ["a"])])
def test_version_1_agrees_with_a_plain_script(questions):
    scores = qa_scores([p for p, _ in questions], [a for _, a in questions], version=1)
    expected = np.array([plain_scores(p, a, 1) for p, a in questions]).reshape(-1, 2)
    np.testing.assert_array_equal(scores.exact, expected[:, 0])
    np.testing.assert_allclose(scores.f1, expected[:, 1], rtol=0, atol=1e-12)


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXT, max_size=8))
def test_normalising_many_equals_normalising_each(texts):
    assert normalise_answers(texts) == [plain_normalise(text) for text in texts]


def test_no_answer_under_version_2():
    scores = qa_scores(["", "x", "", "x", "the"], [[], [], ["x"], ["x"], []])
    assert scores.exact.tolist() == scores.f1.tolist() == [1, 0, 0, 1, 1]
    assert scores.has_answer.tolist() == [False, False, True, True, False]
    assert scores.abstains.tolist() == [True, False, True, False, True]


def test_versions_differ_where_nothing_is_left_of_either_text():
    assert qa_scores(["the"], [["a"]], version=1).f1.tolist() == [0.0]
    assert qa_scores(["the"], [["a"]], version=2).f1.tolist() == [1.0]


def test_best_answer_is_taken_for_each_score_and_repeats_count():
    scores = qa_scores(["red red car"], [["red car", "red red red car"]])
    assert scores.exact[0] == 0
    assert scores.f1[0] == pytest.approx(2 * 3 / 7)


def test_unusable_output_is_wrong_on_every_question():
    scores = qa_scores([None, None], [[], ["x"]])
    assert scores.exact.tolist() == scores.f1.tolist() == [0, 0]
    assert not scores.abstains.any()


def test_no_questions():
    assert qa_scores([], []).f1.shape == (0,)


def test_malformed_input_is_refused(wording: SnapshotAssertion) -> None:
    said = {
        "malformed input is refused 1": refusal(ValueError, qa_scores, ["a", "b"], [["a"]]),
        "malformed input is refused 2": refusal(ValueError, qa_scores, ["a", "b"], [["a"], []], version=1),
        "malformed input is refused 3": refusal(ValueError, qa_scores, ["a"], [["a"]], version=3),
        "malformed input is refused 4": refusal(TypeError, qa_scores, ["red"], ["red"]),
    }
    assert said == wording
