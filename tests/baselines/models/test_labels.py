"""Labels by name: what is the same name, what a person must map, and what is refused with the line to type."""

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.models.labels import match_labels, match_tags, parse_label_map, resolve_label
from shiftbench.validation.report import InvalidInput

LABELS = ("entailment", "neutral", "not_entailment")


def refusal(names: list[str], labels: tuple[str, ...] = LABELS, **options: dict[str, str]) -> str:
    with pytest.raises(InvalidInput) as refused:
        match_labels(names, labels, place="model", **options)  # type: ignore[arg-type]
    return str(refused.value)


def test_names_are_matched_whatever_their_order_case_and_separators() -> None:
    assert match_labels(["Not-Entailment", "NEUTRAL", " entailment"], LABELS, place="m").codes == (2, 1, 0)
    assert match_labels(["yes", "YES"], ("YES", "yes"), place="m").codes == (1, 0)
    assert resolve_label("Yes", ("YES", "yes")) is None
    assert resolve_label("-1", ("1", "+1")) is None


def test_labels_that_do_not_match_are_refused_with_the_line_to_type(wording: SnapshotAssertion) -> None:
    messages = {
        "numbers": refusal(["LABEL_0", "LABEL_1", "LABEL_2"]),
        "nearest": refusal(["entailment", "neutrel", "banana"]),
        "a map": refusal(["a", "b"], label_map={"a": "entailmen", "bb": "neutral"}),
        "the same name": refusal(["neutral", "Neutral", "entailment"]),
    }
    assert messages == wording
    assert match_labels(["1", "0"], ("0", "1"), place="m").codes == (1, 0)


def test_outputs_of_one_label_are_added_and_absent_labels_are_noted(wording: SnapshotAssertion) -> None:
    stars = match_labels(
        ["1 star", "2 stars", "other"], ("bad", "good"), place="m",
        label_map={"1 star": "bad", "2 stars": "bad", "other": "__unparsed__"},
    )  # fmt: skip
    frame = stars.frame(np.array([[0.2, 0.3, 0.5], [0.4, 0.3, 0.3]]))
    assert frame["prediction"].to_list() == ["bad", "bad"]
    assert frame["confidence"].to_list() == pytest.approx([0.5, 0.7])
    assert "probabilities" not in frame.columns
    assert stars.notes == wording
    merged = match_labels(["x", "bad"], ("good", "bad"), place="m", label_map={"x": "bad"})
    assert merged.frame(np.array([[0.5, 0.5]]))["probabilities"].to_list() == [[0.0, 1.0]]


def test_a_type_of_entities_is_mapped_with_its_tags() -> None:
    names, tags = ["B-PER", "I-PER", "B-MISC", "O"], ("O", "B-person", "I-person")
    match = match_tags(names, tags, place="m", label_map={"PER": "person", "MISC": "O"})
    assert [tags[code] for code in match.codes] == ["B-person", "I-person", "O", "O"]
    with pytest.raises(InvalidInput, match="3 of 4: 'B-PER'"):
        match_tags(names, tags, place="m")


def test_what_is_no_map_is_told_at_once() -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_label_map(["a", "b=", "c=d", "c=e"])
    assert len(refused.value.problems) == 3
