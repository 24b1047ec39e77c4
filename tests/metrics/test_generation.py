import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from syrupy.assertion import SnapshotAssertion

from shiftbench.metrics import generation
from shiftbench.metrics.generation import bert_score, rouge_l
from tests.refusals import refusal

WORDS = st.lists(st.sampled_from(["a", "B", "cat", "cat's", "12", "é", "İx", "!"]), max_size=14).map(" ".join)
TEXT = st.one_of(WORDS, st.text(max_size=12))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), max_size=6))
def test_rouge_l_is_identical_to_the_rouge_score_package(pairs):
    ours = rouge_l([c for c, _ in pairs], [r for _, r in pairs])
    scorer = RougeScorer(["rougeL"], use_stemmer=False)
    theirs = [scorer.score(reference, candidate)["rougeL"] for candidate, reference in pairs]
    assert ours.precision.tolist() == [score.precision for score in theirs]
    assert ours.recall.tolist() == [score.recall for score in theirs]
    assert ours.f1.tolist() == [score.fmeasure for score in theirs]


def test_rouge_l_of_texts_longer_than_a_machine_word():
    rng = np.random.default_rng(0)
    candidate, reference = (" ".join(map(str, rng.integers(0, 20, 200))) for _ in range(2))
    theirs = RougeScorer(["rougeL"]).score(reference, candidate)["rougeL"]
    assert rouge_l([candidate], [reference]).f1[0] == theirs.fmeasure


def test_rouge_l_perfect_empty_and_malformed():
    assert rouge_l(["One two"], ["one, TWO!"]).f1.tolist() == [1.0]
    assert rouge_l(["", "x", "…"], ["x", "", "…"]).f1.tolist() == [0.0, 0.0, 0.0]
    assert rouge_l([], []).f1.shape == (0,)
    with pytest.raises(ValueError, match="2 references"):
        rouge_l(["a"], ["a", "b"])


def plain_bert_score(candidate, reference):
    """Compute BERTScore of one pair, token by token."""

    def cosine(x, y):
        return float(np.dot(x, y) / np.sqrt(np.dot(x, x) * np.dot(y, y)))

    precision = np.mean([max(cosine(x, y) for y in reference) for x in candidate])
    recall = np.mean([max(cosine(x, y) for x in candidate) for y in reference])
    return precision, recall


def ragged(rng, lengths, d=5, dtype=np.float64):
    return rng.normal(size=(int(np.sum(lengths)), d)).astype(dtype), np.concatenate([[0], np.cumsum(lengths)])


@pytest.mark.parametrize("block", [1, 200, 2**22])
def test_bert_score_agrees_with_a_plain_loop_whatever_the_block(block, monkeypatch):
    monkeypatch.setattr(generation, "_BLOCK_CELLS", block)
    rng = np.random.default_rng(1)
    candidates, candidate_offsets = ragged(rng, rng.integers(1, 9, 12))
    references, reference_offsets = ragged(rng, rng.integers(1, 9, 7))
    pairs = np.stack([rng.integers(0, 12, 40), rng.integers(0, 7, 40)], axis=1)
    scores = bert_score(candidates, candidate_offsets, references, reference_offsets, pairs)
    for row, (c, r) in enumerate(pairs):
        precision, recall = plain_bert_score(
            candidates[candidate_offsets[c] : candidate_offsets[c + 1]],
            references[reference_offsets[r] : reference_offsets[r + 1]],
        )
        assert scores.precision[row] == pytest.approx(precision, abs=1e-12)
        assert scores.recall[row] == pytest.approx(recall, abs=1e-12)
        if min(precision, recall) > 0:
            assert scores.f1[row] == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-12)
        else:
            assert scores.f1[row] == 0.0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 10**6))
def test_bert_score_of_a_text_with_itself_is_one_and_sides_exchange(lengths, seed):
    tokens, offsets = ragged(np.random.default_rng(seed), lengths)
    itself = bert_score(tokens, offsets, 3.0 * tokens, offsets)
    np.testing.assert_allclose(itself.f1, 1.0, atol=1e-12)
    other, _ = ragged(np.random.default_rng(seed + 1), lengths)
    there, back = bert_score(tokens, offsets, other, offsets), bert_score(other, offsets, tokens, offsets)
    np.testing.assert_allclose(there.precision, back.recall, atol=1e-12)
    np.testing.assert_allclose(there.f1, back.f1, atol=1e-12)


def test_bert_score_in_single_precision():
    rng = np.random.default_rng(2)
    tokens, offsets = ragged(rng, [3, 4, 5], dtype=np.float32)
    other, _ = ragged(rng, [3, 4, 5], dtype=np.float32)
    single = bert_score(tokens, offsets, other, offsets)
    double = bert_score(tokens.astype(float), offsets, other.astype(float), offsets)
    np.testing.assert_allclose(single.f1, double.f1, atol=1e-6)
    assert single.f1.dtype == np.float64


def test_bert_score_of_empty_and_unlike_texts():
    empty = bert_score([[1.0, 0.0]], [0, 0, 1], [[1.0, 0.0], [1.0, 0.0]], [0, 1, 2])
    assert empty.f1.tolist() == [0.0, 1.0]
    opposite = bert_score([[1.0, 0.0]], [0, 1], [[-1.0, 0.0]], [0, 1])
    assert (opposite.precision[0], opposite.recall[0], opposite.f1[0]) == (-1.0, -1.0, 0.0)
    assert bert_score(np.zeros((0, 3)), [0], np.zeros((0, 3)), [0]).f1.shape == (0,)
    assert bert_score(np.zeros((0, 3)), [0, 0], [[1.0, 0, 0]], [0, 1]).f1.tolist() == [0.0]


def test_malformed_token_embeddings_are_refused(wording: SnapshotAssertion) -> None:
    said = {}
    for case, arguments in {
        "no tokens": ([[1.0]], [0, 1], [[1.0]], [0, 0, 1], [[0, 0]]),
        "a zero vector": ([[0.0]], [0, 1], [[1.0]], [0, 1]),
        "a missing number": ([[1.0]], [0, 1], [[np.nan]], [0, 1]),
        "other encoders": ([[1.0]], [0, 1], [[1.0, 0.0]], [0, 1]),
        "offsets": ([[1.0]], [1], [[1.0]], [0, 1]),
        "no matrix": ([1.0], [0, 1], [[1.0]], [0, 1]),
        "pairs": ([[1.0]], [0, 1], [[1.0]], [0, 0, 1]),
        "indices": ([[1.0]], [0, 1], [[1.0]], [0, 1], [[0, 1]]),
        "shape of pairs": ([[1.0]], [0, 1], [[1.0]], [0, 1], [0, 0]),
    }.items():
        said[case] = refusal(ValueError, bert_score, *arguments)
    assert said == wording
