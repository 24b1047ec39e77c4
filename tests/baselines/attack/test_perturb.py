"""What typos and sentences leave as it was, on invented texts."""

from hypothesis import given
from hypothesis import strategies as st

from shiftbench.baselines.attack.perturb import (
    LEAST_LETTERS,
    SENTENCES,
    attackable_words,
    distractions,
    leave_out,
    list_typos,
    replace_word,
    split_words,
    vocabulary,
)

LETTERS = st.text("abcdefghijklmnopqrstuvwxyzABCXYZäßéж", min_size=LEAST_LETTERS, max_size=12)
TEXTS = st.lists(st.text("abcdeop ,.!'@#0\n\t\u00a0é", max_size=12), max_size=12).map(" ".join)


@given(LETTERS, st.sampled_from(["", "(", '"', "..."]), st.sampled_from(["", "!", "),", "'"]))
def test_a_typo_keeps_both_ends_of_the_word_and_the_punctuation_around_it(core: str, before: str, after: str) -> None:
    word = before + core + after
    found = list_typos(word, frozenset())
    assert len(set(found)) == len(found)
    for typo in found:
        assert typo != word
        inside = typo.removeprefix(before).removesuffix(after)
        assert (inside[0], inside[-1]) == (core[0], core[-1])
        assert before + inside + after == typo
        assert abs(len(inside) - len(core)) <= 1
        assert len(split_words(typo)) == 1


@given(LETTERS)
def test_a_typo_is_one_slip(word: str) -> None:
    for typo in list_typos(word, frozenset()):
        if len(typo) == len(word):
            places = [place for place in range(len(word)) if typo[place] != word[place]]
            swapped = len(places) == 2 and places[1] == places[0] + 1
            assert len(places) == 1 or (swapped and sorted(typo) == sorted(word))
        else:
            longer, shorter = sorted((typo, word), key=len, reverse=True)
            assert any(longer[:place] + longer[place + 1 :] == shorter for place in range(len(longer)))


@given(LETTERS, st.data())
def test_a_typo_is_no_known_word(word: str, data: st.DataObject) -> None:
    every = list_typos(word, frozenset())
    known = frozenset(typo.lower() for typo in data.draw(st.sets(st.sampled_from(every)))) if every else frozenset()
    assert list_typos(word, known) == [typo for typo in every if typo.lower() not in known]


def test_each_kind_of_typo() -> None:
    found = list_typos("Lotus", frozenset())
    assert {"Ltous", "Ltus", "Lottus", "Lptus", "L0tus"} <= set(found)
    assert list_typos("Lotus", frozenset()) == found
    assert "Lotsu" not in found  # the last letter stays
    assert "Ltus" not in list_typos("Lotus", vocabulary(["a LTUS b"]))


def test_what_is_left_alone() -> None:
    for word in ("the", "@someone", "#lotus", "&amp;", "https://lotus.example", "b4nana", "it's-fine", "!!!!", "don't"):
        assert list_typos(word, frozenset()) == []
    assert attackable_words("the lotus @someone (flower) b4nana") == [1, 3]


@given(TEXTS, st.integers(0, 20))
def test_only_the_word_is_replaced(text: str, number: int) -> None:
    parts = split_words(text)
    if number < len(parts):
        new = replace_word(text, number, "WORD")
        assert split_words(new) == [*parts[:number], "WORD", *parts[number + 1 :]]
        assert replace_word(new, number, parts[number]) == text
        assert split_words(leave_out(text, number)) == parts[:number] + parts[number + 1 :]


@given(TEXTS)
def test_a_sentence_leaves_the_text_as_it_is(text: str) -> None:
    found = distractions(text)
    assert len(found) == 2 * len(SENTENCES)
    for new, description in found:
        sentence = description.split(": ", 1)[1]
        assert new in (f"{sentence} {text}", f"{text} {sentence}")


def test_a_sentence_is_not_put_twice() -> None:
    assert not any(SENTENCES[0] in description for _, description in distractions(f"So. {SENTENCES[0]}"))
    assert len(set(SENTENCES)) == len(SENTENCES) == 20
