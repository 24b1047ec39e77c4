"""EDA: one noisy copy of each train text (Wei and Zou 2019), as BOSS uses it (sec. 4.1)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from baselines.robust.synonyms import Synonyms

SHARE = 0.1


def augmented(
    rows: pl.DataFrame, inputs: Sequence[str], generator: np.random.Generator, synonyms: Synonyms
) -> pl.DataFrame:
    """Add a noisy copy of each row: synonyms put in place of words or beside them, words swapped, or words left out.

    Each copy is by one of the four operations, drawn at random; the first three touch a tenth of the words (at least
    one), the last leaves out each word with probability 0.1, but never all. A text of which nothing can be changed is
    copied as it is.

    Args:
        rows: train rows of a classification task.
        inputs: its text columns. Of a pair the last text alone is changed (in NLI the hypothesis), beside its own
            first one. (The code of BOSS put other premises beside the hypotheses, which explains its drop in NLI.)
        generator: draws operations, words and places.
        synonyms: gives synonyms of a word.
    Returns: all rows as they are, then their copies in the same order; a copy's id ends in ``/eda``, and all else is
        its original's, the group, too.
    """
    column = inputs[-1]
    texts = [noisy(text, generator, synonyms) for text in rows[column]]
    copies = rows.with_columns(pl.col("id") + "/eda", pl.Series(column, texts, dtype=pl.String))
    return pl.concat([rows, copies])


def noisy(text: str, generator: np.random.Generator, synonyms: Synonyms) -> str:
    """Give a noisy copy of a text; white space becomes single spaces. Never empty where the text is not."""
    pieces = [_Piece.of(part) for part in text.split()]
    places = [place for place, piece in enumerate(pieces) if piece.word]
    if not places:
        return text
    operation = generator.integers(4)
    if operation == 0:
        pieces = _replaced(pieces, places, generator, synonyms)
    elif operation == 1:
        pieces = _inserted(pieces, places, generator, synonyms)
    elif operation == 2:
        pieces = _swapped(pieces, places, generator)
    else:
        pieces = _deleted(pieces, places, generator)
    return " ".join(map(str, pieces))


def words_of(texts: Iterable[str]) -> set[str]:
    """Give the distinct words of texts in lower case, for which synonyms may be asked."""
    parts = {part for text in texts for part in text.split()}
    return {_Piece.of(part).word.lower() for part in parts} - {""}


@dataclass(frozen=True)
class _Piece:
    """What stands between white space: a word, and the punctuation around it, which stays where it is."""

    before: str
    word: str
    after: str

    @classmethod
    def of(cls, part: str) -> "_Piece":
        found = _WORD.search(part)
        return cls(part[: found.start()], found[0], part[found.end() :]) if found else cls(part, "", "")

    def __str__(self) -> str:
        return self.before + self.word + self.after


_WORD = re.compile(r"\w(.*\w)?")

_Pieces = list[_Piece]


def _replaced(pieces: _Pieces, places: list[int], generator: np.random.Generator, synonyms: Synonyms) -> _Pieces:
    new = list(pieces)
    for place, choices in _with_synonyms(pieces, places, generator, synonyms):
        word = _one_of(choices, generator)
        new[place] = replace(pieces[place], word=_in_case_of(pieces[place].word, word))
    return new


def _inserted(pieces: _Pieces, places: list[int], generator: np.random.Generator, synonyms: Synonyms) -> _Pieces:
    new = list(pieces)
    for _, choices in _with_synonyms(pieces, places, generator, synonyms):
        place = int(generator.integers(len(new)))
        new.insert(place, _Piece("", _one_of(choices, generator), ""))  # before a piece: the full stop stays last
    return new


def _with_synonyms(
    pieces: _Pieces, places: list[int], generator: np.random.Generator, synonyms: Synonyms
) -> list[tuple[int, Sequence[str]]]:
    """Draw the places of a tenth of the words among those that have synonyms, stop words left out."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    drawn: list[tuple[int, Sequence[str]]] = []
    for place in generator.permutation(places):
        word = pieces[place].word.lower()
        if word not in ENGLISH_STOP_WORDS and (choices := synonyms(word)):
            drawn.append((int(place), choices))
        if len(drawn) == _n(places):
            break
    return drawn


def _one_of(choices: Sequence[str], generator: np.random.Generator) -> str:
    return choices[int(generator.integers(len(choices)))]


def _swapped(pieces: _Pieces, places: list[int], generator: np.random.Generator) -> _Pieces:
    new = list(pieces)
    for _ in range(_n(places) if len(places) > 1 else 0):
        one, other = generator.choice(places, 2, replace=False)
        new[one], new[other] = replace(new[one], word=new[other].word), replace(new[other], word=new[one].word)
    return new


def _deleted(pieces: _Pieces, places: list[int], generator: np.random.Generator) -> _Pieces:
    stays = generator.random(len(places)) >= SHARE
    stays[generator.integers(len(places))] |= not stays.any()
    gone = {place for place, here in zip(places, stays, strict=True) if not here}
    return [piece for place, piece in enumerate(pieces) if place not in gone]


def _n(places: list[int]) -> int:
    return max(1, int(SHARE * len(places)))


def _in_case_of(old: str, new: str) -> str:
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new
