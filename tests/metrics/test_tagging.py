import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import classification_report, f1_score
from seqeval.scheme import IOB2

from shiftbench.metrics.tagging import RARER_TO_MISCELLANEOUS, span_counts, span_f1, spans, tag_scheme

BIO = ["O", "B-X", "I-X", "B-Y", "I-Y"]
POLARITY = ["O", "T-POS", "T-NEG", "T-NEU"]


def sequences(n_tags):
    """Draw pairs (gold, predicted) of equally long tag sequences."""
    pair = st.tuples(st.integers(0, n_tags - 1), st.integers(0, n_tags - 1))
    return st.lists(st.lists(pair, min_size=1, max_size=9), min_size=1, max_size=6)


def flatten(pairs):
    gold = np.array([g for sequence in pairs for g, _ in sequence], dtype=np.int64)
    predicted = np.array([p for sequence in pairs for _, p in sequence], dtype=np.int64)
    return gold, predicted, np.cumsum([0] + [len(sequence) for sequence in pairs])


def names(pairs, tags, which):
    return [[tags[pair[which]] for pair in sequence] for sequence in pairs]


def assert_agrees_with_seqeval(pairs, *, strict):
    scheme = tag_scheme(BIO, "bio", strict=strict)
    gold, predicted, offsets = flatten(pairs)
    totals = span_counts(gold, predicted, offsets, scheme, per_type=True).sum(axis=0)
    options = {"mode": "strict", "scheme": IOB2} if strict else {}
    y_true, y_pred = names(pairs, BIO, 0), names(pairs, BIO, 1)
    micro = span_f1(totals.sum(axis=0))
    if totals.sum() == 0:
        assert np.isnan(micro)  # seqeval says 0 here
        return
    assert micro == pytest.approx(f1_score(y_true, y_pred, zero_division=0, **options), abs=1e-12)
    report = classification_report(y_true, y_pred, output_dict=True, zero_division=0, **options)
    for name, ours in zip(scheme.types, span_f1(totals), strict=True):
        if np.isnan(ours):
            assert name not in report
        else:
            assert ours == pytest.approx(report[name]["f1-score"], abs=1e-12)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=150, deadline=None)
@given(sequences(len(BIO)))
def test_strict_rule_agrees_with_seqeval(pairs):
    assert_agrees_with_seqeval(pairs, strict=True)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=150, deadline=None)
@given(sequences(len(BIO)))
def test_lenient_rule_agrees_with_seqeval(pairs):
    assert_agrees_with_seqeval(pairs, strict=False)


def test_strict_and_lenient_rules_differ_on_an_orphan():
    gold, predicted, offsets = [1, 0, 3, 4], [1, 0, 4, 4], [0, 4]
    strict = span_f1(span_counts(gold, predicted, offsets, tag_scheme(BIO, "bio")).sum(axis=0))
    lenient = span_f1(span_counts(gold, predicted, offsets, tag_scheme(BIO, "bio", strict=False)).sum(axis=0))
    assert round(float(strict), 2) == 0.67
    assert lenient == 1.0


def test_inside_of_another_type_ends_the_span():
    found = spans([1, 4, 2], [0, 3], tag_scheme(BIO, "bio"))
    assert (found.start.tolist(), found.end.tolist()) == ([0], [1])


def test_a_span_never_crosses_sequences():
    found = spans([1, 2, 2], [0, 2, 3], tag_scheme(BIO, "bio"))
    assert (found.start.tolist(), found.end.tolist()) == ([0], [2])
    runs = spans([1, 1, 1], [0, 2, 2, 3], tag_scheme(POLARITY, "polarity"))
    assert runs.sequence.tolist() == [0, 2]


def runs_by_hand(sequence):
    """Find maximal runs of one non-zero code, token by token."""
    found, start = [], 0
    for position in range(1, len(sequence) + 1):
        if position == len(sequence) or sequence[position] != sequence[start]:
            if sequence[start] != 0:
                found.append((start, position, sequence[start]))
            start = position
    return set(found)


@pytest.mark.parametrize(("tags", "notation"), [(POLARITY, "polarity"), (["O", "I-A", "I-B", "I-C"], "io")])
@settings(max_examples=80, deadline=None)
@given(pairs=sequences(4))
def test_runs_of_one_type_are_spans(tags, notation, pairs):
    gold, predicted, offsets = flatten(pairs)
    counts = span_counts(gold, predicted, offsets, tag_scheme(tags, notation))
    for sequence, row in zip(pairs, counts, strict=True):
        true = runs_by_hand([g for g, _ in sequence])
        claimed = runs_by_hand([p for _, p in sequence])
        assert row.tolist() == [len(true & claimed), len(true), len(claimed)]


def test_adjacent_spans_of_one_polarity_read_as_one_and_polarity_must_match():
    scheme = tag_scheme(POLARITY, "polarity")
    assert span_counts([1, 1, 2], [1, 1, 3], [0, 3], scheme).tolist() == [[1, 2, 2]]


def test_per_type_counts_add_up_to_the_micro_counts():
    rng = np.random.default_rng(0)
    gold, predicted = rng.integers(0, 5, (2, 400))
    offsets = np.arange(0, 401, 8)
    scheme = tag_scheme(BIO, "bio")
    apart = span_counts(gold, predicted, offsets, scheme, per_type=True)
    assert apart.shape == (50, 2, 3)
    np.testing.assert_array_equal(apart.sum(axis=1), span_counts(gold, predicted, offsets, scheme))


def test_merging_renames_spans_without_joining_them():
    tags = ["O", *(f"{p}-{t}" for t in ("person", "miscellaneous", *RARER_TO_MISCELLANEOUS) for p in "BI")]
    full = tag_scheme(tags, "bio")
    folded = tag_scheme(tags, "bio", merge=RARER_TO_MISCELLANEOUS)
    assert folded.types == ("person", "miscellaneous")
    gold = [tags.index(tag) for tag in ("B-art", "B-event", "I-event", "B-person")]
    predicted = [tags.index(tag) for tag in ("B-product", "B-miscellaneous", "I-miscellaneous", "B-art")]
    assert span_counts(gold, predicted, [0, 4], full).tolist() == [[0, 3, 3]]
    assert span_counts(gold, predicted, [0, 4], folded).tolist() == [[2, 3, 3]]
    io = tag_scheme(["O", "I-art", "I-event"], "io", merge={"art": "misc", "event": "misc"})
    assert spans([1, 2, 2], [0, 3], io).start.tolist() == [0, 1]


def test_weighted_sums_go_through_the_same_formula():
    rng = np.random.default_rng(1)
    gold, predicted = rng.integers(0, 5, (2, 300))
    offsets = np.arange(0, 301, 5)
    counts = span_counts(gold, predicted, offsets, tag_scheme(BIO, "bio"))
    weights = rng.integers(0, 4, (7, 60))
    repeated = [span_f1(np.repeat(counts, weights[draw], axis=0).sum(axis=0)) for draw in range(len(weights))]
    np.testing.assert_allclose(span_f1(weights @ counts), repeated, atol=1e-12)


def test_perfect_empty_and_undefined():
    scheme = tag_scheme(BIO, "bio")
    assert span_f1(span_counts([1, 2], [1, 2], [0, 2], scheme)[0]) == 1.0
    assert span_counts([], [], [0], scheme).shape == (0, 3)
    assert span_counts([], [], [0, 0], scheme).tolist() == [[0, 0, 0]]
    assert np.isnan(span_f1([0, 0, 0]))
    assert span_f1([0, 0, 2]) == 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tag_scheme(["O", "T-POS"], "bio"), "'T-POS' does not belong to the bio notation"),
        (lambda: tag_scheme(["O", "B-"], "bio"), "expected O or B-<type> or I-<type>"),
        (lambda: tag_scheme(["O", "O"], "io"), "occurs twice"),
        (lambda: tag_scheme(["O"], "iob"), "unknown notation 'iob'"),
        (lambda: tag_scheme(["O", "I-X"], "io", merge={"Z": "X"}), "no tag has: Z; the types are X"),
        (lambda: span_counts([0, 0], [0], [0, 2], tag_scheme(BIO, "bio")), "is a predicted sequence shorter"),
        (lambda: spans([0, 9], [0, 2], tag_scheme(BIO, "bio")), r"must lie in \[0, 5\), got 0 to 9"),
        (lambda: spans([0.5], [0, 1], tag_scheme(BIO, "bio")), "must be integers"),
        (lambda: spans([0, 1, 2], [2, 1], tag_scheme(BIO, "bio")), "did you pass lengths"),
        (lambda: span_f1([1, 2]), r"\(..., 3\)"),
        (lambda: span_f1([2, 1, 1]), "more correct spans"),
        (lambda: span_f1([0, -1, 1]), "not negative"),
    ],
)
def test_malformed_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
