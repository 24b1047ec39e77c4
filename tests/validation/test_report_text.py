"""The report of bad input: one line a problem, with place, finding and cure."""

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.validation.report import InvalidInput, Problem, did_you_mean


def test_a_problem_is_one_line_of_what_is_known(wording: SnapshotAssertion) -> None:
    assert [
        str(Problem("unknown label", "p.csv", "'neutrl'", "did you mean 'neutral'?", column="prediction", row=3)),
        str(Problem("it is empty", "p.csv")),
        str(Problem("bad", "p.csv", cure="write it again")),
        str(Problem("bad", "p.csv", row=1)),
        str(Problem("unknown key", "card", "'a\nb\u202e'", key="a\nb\ud800")),
    ] == wording


def test_an_error_carries_all_its_problems_one_a_line() -> None:
    problems = [Problem("one", "a"), Problem("two", "b")]
    error = InvalidInput(problem for problem in problems)
    assert error.problems == problems
    assert str(error).splitlines() == ["a: one", "b: two"]
    assert InvalidInput(problems[0]).problems == problems[:1]


@pytest.mark.parametrize(
    ("word", "nearest"),
    [("Entailment", "entailment"), ("entailement", "entailment"), (" neutral ", "neutral"), ("CONTRADICT", None)],
)
def test_the_nearest_word_is_suggested_whatever_its_case(word: str, nearest: str | None) -> None:
    labels = ["entailment", "neutral", "contradiction"]
    assert f"'{nearest or 'contradiction'}'" in did_you_mean(word, labels)


def test_without_a_near_word_the_choices_are_listed_but_not_hundreds_of_them() -> None:
    assert did_you_mean("7", ["up", "down"]).endswith("'up', 'down'")
    listed = did_you_mean("7", [f"domain-{letter}" for letter in "abcdefghijklmnop"])
    assert listed.endswith("'domain-l' (4 more)")
    assert "domain-m" not in listed


def test_words_that_only_look_alike_are_told_apart() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    for found, meant, characters, form in (
        (decomposed, composed, "U+0065 U+0301 instead of U+00E9", "NFC"),
        (composed, decomposed, "U+00E9 instead of U+0065 U+0301", "NFD"),
    ):
        words = did_you_mean(found, ["tea", meant])
        assert f"'{meant}'" in words
        assert characters in words
        assert words.endswith(form)
