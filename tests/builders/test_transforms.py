"""Named steps: which rows and columns leave, and which stay as they were."""

import polars as pl

from builders import transforms
from builders.transforms import group_by_text, keep_labelled, keep_value, rename, repeated_rows_leave, text_digest

ROWS = pl.DataFrame(
    {
        "genre": ["letters", "letters", "talks", "letters"],
        "text": ["b", "a", "c", "b"],
        "label": ["yes", "-", "no", ""],
    }
)


def test_rename_takes_only_the_columns_it_names() -> None:
    step = rename({"text": "premise", "label": "label"})
    assert step.name == "rename"
    assert step.apply(ROWS).to_dict(as_series=False) == {
        "premise": ["b", "a", "c", "b"],
        "label": ["yes", "-", "no", ""],
    }


def test_keep_value_keeps_one_value_in_order_and_drops_the_column() -> None:
    step = keep_value("genre", "letters")
    assert step.name == "keep_genre_letters"
    assert step.apply(ROWS).rows() == [("b", "yes"), ("a", "-"), ("b", "")]


def test_keep_labelled_drops_what_is_no_label() -> None:
    assert keep_labelled(("no", "yes")).apply(ROWS)["label"].to_list() == ["yes", "no"]


def test_groups_are_the_same_for_equal_texts_only() -> None:
    step = group_by_text("text")
    assert step.name == "group_by_text"
    groups = step.apply(ROWS)["group"].to_list()
    assert groups[0] == groups[3]
    assert len(set(groups)) == 3
    assert all(len(group) == 12 for group in groups)


def test_a_digest_depends_on_the_text_alone() -> None:
    texts = pl.Series(["", "a", "null"])
    assert text_digest(texts).to_list() == text_digest(texts.reverse()).reverse().to_list()
    assert text_digest(pl.Series(["a"])).to_list() == ["ca978112ca1b"]  # sha256 of "a"
    assert text_digest(pl.Series([], dtype=pl.String)).to_list() == []


def test_train_rows_leave_when_their_group_is_in_test() -> None:
    train = pl.DataFrame({"text": ["1", "2", "3", "4"], "group": ["b", "a", "b", "c"]})
    test = pl.DataFrame({"text": ["5", "6"], "group": ["b", "b"]})
    assert transforms.test_groups_leave_train(train, test).rows() == [("2", "a"), ("4", "c")]
    assert transforms.test_groups_leave_train(train, test.clear()).equals(train)


def test_only_rows_that_repeat_in_every_column_leave() -> None:
    frame = pl.DataFrame({"text": ["b", "a", "b", "b"], "label": ["x", "x", "x", "y"]})
    assert repeated_rows_leave(frame).rows() == [("b", "x"), ("a", "x"), ("b", "y")]
