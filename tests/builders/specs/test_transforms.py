"""Named steps: which rows and columns leave, and which stay as they were."""

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.specs.transforms import (
    VOTES,
    clean_tweets,
    drop_conflicting_rows,
    drop_repeated_inputs,
    drop_repeated_rows,
    drop_shared_groups,
    first_answer,
    group_by,
    group_by_text,
    keep_answered,
    keep_filled,
    keep_in,
    keep_labelled,
    keep_tagged,
    keep_tokens,
    keep_words_between,
    keep_words_found,
    label_by_threshold,
    label_from,
    line_breaks_back,
    one_space,
    remove,
    remove_links,
    rename,
    select,
    text_digest,
)
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.schemas import ANSWERS
from tests.refusals import refusal

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


def test_keep_in_keeps_these_values_in_order_and_says_which() -> None:
    step = keep_in("genre", ("letters",))
    assert step.name == "keep_genre_letters"
    assert step.apply(ROWS)["text"].to_list() == ["b", "a", "b"]
    many = keep_in("text", ("a", "c"), "keep_some")
    assert many.name == "keep_some"
    assert many.apply(ROWS)["text"].to_list() == ["a", "c"]
    missing = ROWS.with_columns(genre=pl.Series([None, "letters", None, "talks"]))
    assert step.apply(missing)["text"].to_list() == ["a"]


def test_keep_labelled_drops_what_is_no_label() -> None:
    assert keep_labelled(("no", "yes"), ("-", "")).apply(ROWS)["label"].to_list() == ["yes", "no"]


def test_an_unknown_label_is_refused_by_row(wording: SnapshotAssertion) -> None:
    assert [
        refusal(InvalidInput, keep_labelled(("no", "yes")).apply, ROWS),
        refusal(InvalidInput, keep_labelled(("yes",)).apply, ROWS),
        refusal(InvalidInput, label_from("label", {"yes": "1", "no": "0"}, ("-",)).apply, ROWS),
    ] == wording


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


def test_rows_leave_when_their_group_is_in_the_other_split() -> None:
    train = pl.DataFrame({"text": ["1", "2", "3", "4"], "group": ["b", "a", "b", "c"]})
    test = pl.DataFrame({"text": ["5", "6"], "group": ["b", "b"]})
    assert drop_shared_groups(train, test).rows() == [("2", "a"), ("4", "c")]
    assert drop_shared_groups(train, test.clear()).equals(train)


def test_only_rows_that_repeat_in_every_column_leave() -> None:
    frame = pl.DataFrame({"text": ["b", "a", "b", "b"], "label": ["x", "x", "x", "y"]})
    assert drop_repeated_rows(frame).rows() == [("b", "x"), ("a", "x"), ("b", "y")]


def test_texts_that_look_like_missing_ones_are_filled() -> None:
    frame = pl.DataFrame({"text": ["n/a", "null", "None", "0", "", "  ", " \n", None]})
    assert keep_filled("text").apply(frame)["text"].to_list() == ["n/a", "null", "None", "0"]


def test_labels_come_from_values_and_other_values_leave() -> None:
    frame = pl.DataFrame({"overall": ["5.0", "3.0", "1", None]})
    step = label_from("overall", {"5.0": "good", "1": "bad"}, ("3.0",))
    assert step.name == "label_from_overall"
    assert step.apply(frame).rows() == [("5.0", "good"), ("1", "bad")]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("see http://a.example/x?y=1 for more", "see for more"),
        ("www.shop.example", ""),
        ("HTTPS://A.EXAMPLE/B.\nThen home", "Then home"),
        ("no  link,\n two spaces stay", "no  link,\n two spaces stay"),
        ("the https protocol and www", "the https protocol and www"),
    ],
)
def test_links_leave_texts(text: str, clean: str) -> None:
    assert remove_links("text").apply(pl.DataFrame({"text": [text]}))["text"].item() == clean


def test_texts_of_some_words_stay() -> None:
    frame = pl.DataFrame({"target_text": ["one", "one two", "it's one-two", "a b c d"]})
    step = keep_words_between("target_text", 2, 3)
    assert step.name == "keep_2_to_3_words"
    assert step.apply(frame)["target_text"].to_list() == ["one two", "it's one-two"]


def test_targets_whose_words_are_in_the_source_stay() -> None:
    frame = pl.DataFrame(
        {
            "target_text": ["Red fox, red hen!", "red fox hen owl", "red fox dog owl"],
            "source_text": ["A RED hen met a fox.", "a red hen met a fox", "a red hen met a fox"],
        }
    )
    step = keep_words_found("target_text", "source_text", 0.75)
    assert step.name == "keep_75%_of_words_found"
    assert step.apply(frame)["target_text"].to_list() == ["Red fox, red hen!", "red fox hen owl"]


def test_groups_come_from_a_column_and_unknown_ones_are_their_own() -> None:
    frame = pl.DataFrame({"author": ["ann", "ann", "[deleted]", "[deleted]"], "text": ["1", "2", "3", "4"]})
    groups = group_by("author", unknown="[deleted]", text="text").apply(frame)["group"].to_list()
    assert groups[0] == groups[1]
    assert len(set(groups)) == 3
    assert len(set(group_by("author").apply(frame)["group"])) == 2


def test_groups_of_tokens() -> None:
    frame = pl.DataFrame({"tokens": [["a", "b"], ["a b"], ["a", "b"]]})
    groups = group_by_text("tokens").apply(frame)["group"].to_list()
    assert groups[0] == groups[2] != groups[1]


def test_answers() -> None:
    answers = [{"text": ["x", "y"], "answer_start": [3, 5]}, {"text": [], "answer_start": []}]
    frame = pl.DataFrame({"answers": pl.Series(answers, dtype=ANSWERS)})
    assert len(keep_answered().apply(frame)) == 1
    assert first_answer().apply(frame)["answer"].to_list() == ["x", None]


def test_sentences_that_cannot_be_tagged_and_empty_ones_leave() -> None:
    frame = pl.DataFrame({"tokens": [["a"], ["b"], []], "refused": [None, "terms overlap", None]})
    assert keep_tagged().apply(frame).columns == ["tokens"]
    assert keep_tokens().apply(keep_tagged().apply(frame))["tokens"].to_list() == [["a"]]


def test_conflicting_labels_leave_and_of_repeats_the_one_that_says_most_stays() -> None:
    frame = pl.DataFrame({"text": ["a", "a", "b", "b"], "label": ["x", "y", "x", "x"], "group": ["1", "2", "3", "44"]})
    assert drop_conflicting_rows(frame, ("text",))["group"].to_list() == ["3", "44"]
    for order in (frame, frame.reverse()):
        assert sorted(drop_repeated_inputs(order, ("text",))["group"]) == ["1", "44"]


def test_line_breaks_come_back() -> None:
    frame = pl.DataFrame({"text": ["a\\nb\\n\\nc", "\\t", "plain"]})
    assert line_breaks_back("text").apply(frame)["text"].to_list() == ["a\nb\n\nc", "\\t", "plain"]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("@USER #MAGA I dislike all of it #KAG", "MAGA I dislike all of it KAG"),
        ("a #topic# here", "a here"),
        ("Issue #3 and price # 4", "Issue 3 and price 4"),
        ("so [what he said was vile] ok [tag]", "so [what he said was vile] ok"),
        ("see https://x.example/a?b and www.y.example\tnow", "see and now"),
        (
            "thumbs \U0001f44d\U0001f3fd flag \U0001f1fa\U0001f1f8 key 1\ufe0f\u20e3 heart \u2764\ufe0f",
            "thumbs flag key 1 heart",
        ),
        ("e-mail me@home", "e-mail me"),
    ],
)
def test_tweets_lose_what_is_no_word_and_nothing_else(text: str, clean: str) -> None:
    frame = pl.DataFrame({"text": [text]})
    assert clean_tweets("text").apply(frame)["text"].to_list() == [clean]


def test_one_space_leaves_line_breaks() -> None:
    frame = pl.DataFrame({"a": ["x\ty  z\n\n w"], "b": ["  "]})
    assert one_space("a", "b").apply(frame).row(0) == ("x y z\n\n w", " ")


def test_a_number_at_the_threshold_has_the_second_label() -> None:
    frame = pl.DataFrame({"toxicity": ["0.5", "0.49", None, "NaN", "none", "1"]})
    labelled = label_by_threshold("toxicity", 0.5, ("benign", "toxic")).apply(frame)
    assert labelled.rows() == [("0.5", "toxic"), ("0.49", "benign"), ("1", "toxic")]


def test_marks_are_taken_out_and_columns_chosen() -> None:
    frame = pl.DataFrame({"text": ["<re>A<er> b"], "other": ["x"]})
    assert remove("text", "<re>|<er>").apply(frame)["text"].to_list() == ["A b"]
    assert select("other").apply(frame).columns == ["other"]


def test_a_copy_that_lacks_the_votes_of_another_is_a_repeat() -> None:
    frame = pl.DataFrame({"text": ["a", "a", "b"], "label": ["x", "x", "y"], VOTES: [["x", "y"], None, ["y"]]})
    assert drop_repeated_rows(frame).rows() == [("a", "x", ["x", "y"]), ("b", "y", ["y"])]
