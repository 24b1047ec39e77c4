"""Small changes to a text that leave its meaning to a reader: typos in words, and a sentence that distracts.

Pure functions: a text in, candidate texts out. A word is what stands between spaces; only words of four letters and
more get typos, inside, so that the first and last letter stay. Punctuation around a word stays too, and user names,
tags, links and anything with a digit in it are left alone.
"""

import re
from collections.abc import Collection, Iterable, Iterator

LEAST_LETTERS = 4

_WORD = re.compile(r"\S+")
_KNOWN = re.compile(r"[^\W_]+")
_NO_WORD = ("@", "#", "&")
_PLACES = ("beginning", "end")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_LOOK_ALIKE = {"a": "4", "b": "8", "e": "3", "g": "9", "i": "1", "l": "1", "o": "0", "s": "5", "t": "7", "z": "2"}

SENTENCES = (
    "The bus was late again this morning.",
    "It rained for most of the afternoon.",
    "The library opens at nine on weekdays.",
    "My cup of tea went cold on the table.",
    "There is a small park behind the station.",
    "The recipe asks for two spoons of flour.",
    "I read this on the train to work.",
    "The window of the kitchen faces north.",
    "A new bakery opened at the corner last week.",
    "The ferry leaves from the second pier.",
    "We painted the fence in early spring.",
    "The clock in the hall runs five minutes slow.",
    "Tomorrow the museum is closed for cleaning.",
    "The garden has three apple trees.",
    "My neighbour collects old maps.",
    "The printer on the second floor is out of paper.",
    "It takes ten minutes to walk to the lake.",
    "The lecture was moved to a larger room.",
    "A blue bicycle stood by the door.",
    "The soup needs a little more salt.",
)
"""Sentences that judge nobody and nothing, invented for this program."""


def split_words(text: str) -> list[str]:
    """Split a text at its white space.

    >>> split_words("Well, that's  fine!")
    ['Well,', "that's", 'fine!']
    """
    return _WORD.findall(text)


def attackable_words(text: str) -> list[int]:
    """Return the positions in ``split_words(text)`` of the words that may get a typo.

    >>> attackable_words("Well, some @people say '4ever' is long")
    [0, 1, 6]
    """
    return [number for number, word in enumerate(split_words(text)) if _letters(word)]


def vocabulary(texts: Iterable[str]) -> frozenset[str]:
    """Collect all words of texts in lower case; a typo must not make one of them, as it could change the meaning."""
    return frozenset(word for text in texts for word in _KNOWN.findall(text.lower()))


def list_typos(word: str, known: Collection[str]) -> list[str]:
    """List every misspelling of a word by one typo that is not itself a known word.

    Args:
        word: as it stands in the text, with the punctuation around it.
        known: words in lower case that must not come out.
    Returns: each distinct one once, by kind and place; none for a word that may get no typo.

    >>> list_typos("tea-time", set()), list_typos("Gold!", {"god"})[:4]
    ([], ['Glod!', 'Gld!', 'Goold!', 'Golld!'])
    """
    letters = _letters(word)
    if not letters:
        return []
    start = word.index(letters)
    typos = dict.fromkeys(typo for typo in _typos(letters) if typo != letters and typo.lower() not in known)
    return [word[:start] + typo + word[start + len(letters) :] for typo in typos]


def replace_word(text: str, number: int, word: str) -> str:
    """Replace one word of a text; all other characters stay.

    >>> replace_word("one  two three", 1, "tow")
    'one  tow three'
    """
    start, end = _span(text, number)
    return text[:start] + word + text[end:]


def leave_out(text: str, number: int) -> str:
    """Remove a word from a text, with the spaces after it.

    >>> leave_out("one  two three", 0), leave_out("one  two three", 2)
    ('two three', 'one  two ')
    """
    start, end = _span(text, number)
    return text[:start] + text[end:].lstrip()


def distractions(text: str) -> list[tuple[str, str]]:
    """Add each of ``SENTENCES`` before or after a text, except those that the text already contains.

    Returns: pairs of the new text and a description, such as "at the end: The soup needs a little more salt."
    """
    return [
        (f"{sentence} {text}" if place == "beginning" else f"{text} {sentence}", f"at the {place}: {sentence}")
        for sentence in SENTENCES
        if sentence not in text
        for place in _PLACES
    ]


def _letters(word: str) -> str:
    """Return a word without the punctuation around it; empty if the word may get no typo."""
    if any(mark in word for mark in _NO_WORD):
        return ""
    inside = re.sub(r"^[\W_]+|[\W_]+$", "", word)
    return inside if len(inside) >= LEAST_LETTERS and inside.isalpha() else ""


def _typos(letters: str) -> Iterator[str]:
    inner = range(1, len(letters) - 1)
    for place in inner[:-1]:
        yield letters[:place] + letters[place + 1] + letters[place] + letters[place + 2 :]
    for place in inner:
        yield letters[:place] + letters[place + 1 :]
    for place in inner:
        yield letters[:place] + letters[place] + letters[place:]
    for place in inner:
        for key in _neighbours(letters[place]):
            yield letters[:place] + key + letters[place + 1 :]
    for place in inner:
        if digit := _LOOK_ALIKE.get(letters[place].lower()):
            yield letters[:place] + digit + letters[place + 1 :]


def _neighbours(letter: str) -> str:
    """Return the keys beside a letter in its row of a QWERTY keyboard, in the letter's case."""
    for row in _ROWS:
        place = row.find(letter.lower())
        if place >= 0:
            keys = row[max(place - 1, 0) : place] + row[place + 1 : place + 2]
            return keys.upper() if letter.isupper() else keys
    return ""


def _span(text: str, number: int) -> tuple[int, int]:
    return [match.span() for match in _WORD.finditer(text)][number]
