"""EDA: one noisy copy of each training text (Wei and Zou 2019), as in BOSS (sec. 4.1)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shiftbench.baselines.robust.method import MethodTraining, TrainingMethod, strength
from shiftbench.baselines.robust.synonyms import Synonyms, SynonymSource, nearest_pieces, wordnet
from shiftbench.baselines.training.options import TrainingOptions
from shiftbench.validation.vocabulary import TOKENS

SHARE = 0.1
_STREAM = 1
"""Added to the seed of EDA's draws, so that they are independent of other draws of the same seed."""


@dataclass(frozen=True)
class Eda(TrainingMethod):
    """EDA: adds a noisy copy of each training text."""

    of_words = True
    share: float = strength(SHARE, "0.1 (BOSS; Wei and Zou 2019: 0.05 to 0.1)", most=1, draws=(0.05, 0.3))

    def check(self, options: TrainingOptions, synonyms: SynonymSource) -> None:
        """Raise InvalidInput if WordNet is needed but not installed."""
        if synonyms is SynonymSource.WORDNET:
            wordnet()

    def prepare(self, training: MethodTraining) -> None:
        """Add the copies."""
        rows, column = training.rows, training.inputs[-1]
        if training.synonyms is SynonymSource.WORDNET:
            synonyms = wordnet()
        else:
            texts = rows[column].explode() if column == TOKENS else rows[column]
            synonyms = nearest_pieces(words_of(texts.drop_nulls()), training.tokenizer, training.embeddings())
        generator = np.random.default_rng([training.seed, _STREAM])
        if column == TOKENS:
            training.rows = add_noisy_tagged_copies(rows, training.outside, generator, synonyms, self.share)
        else:
            training.rows = add_noisy_copies(rows, training.inputs, generator, synonyms, self.share)


def add_noisy_copies(
    rows: pl.DataFrame, inputs: Sequence[str], generator: np.random.Generator, synonyms: Synonyms, share: float = SHARE
) -> pl.DataFrame:
    """Add a noisy copy of each row: synonym replacement, synonym insertion, word swap, or word deletion.

    Each copy uses one of the four operations, chosen at random. The first three change a tenth of the words (at least
    one); deletion drops each word with probability 0.1, but never all. A text that cannot be changed is copied as is.

    Args:
        inputs: the text columns. In a pair only the last text is changed (in NLI the hypothesis); the first stays. (The
            code of BOSS paired the hypotheses with other premises, which explains its drop in NLI.)
    Returns: all original rows, then their copies in the same order; a copy's id ends in ``/eda``, and all other
        columns, including the group, are its original's.
    """
    column = inputs[-1]
    texts = [noisy_copy(text, generator, synonyms, share) for text in rows[column]]
    copies = rows.with_columns(pl.col("id") + "/eda", pl.Series(column, texts, dtype=pl.String))
    return pl.concat([rows, copies])


def add_noisy_tagged_copies(
    rows: pl.DataFrame, outside: int, generator: np.random.Generator, synonyms: Synonyms, share: float = SHARE
) -> pl.DataFrame:
    """Add a noisy copy of each tagged row, leaving all spans unchanged.

    The operations are those for texts, applied only to words outside spans: these are replaced by synonyms, swapped or
    deleted, and synonyms are inserted between spans, all tagged as outside.

    Args:
        rows: training rows of a tagging task, with ``tokens`` and ``tags`` (codes), one tag per word.
        outside: the code of the tag for words outside spans.
    Returns: all original rows, then their copies in the same order; a copy's id ends in ``/eda``.
    Source: BOSS has no such copies of tagged words; Dai and Adel 2020, sec. 3, also change words and keep the tags.
    """
    copies = []
    for tokens, tags in rows.select("tokens", "tags").iter_rows():
        all_may_go = any(tag != outside or not _Piece.of(token).word for token, tag in zip(tokens, tags, strict=True))
        copy = _noisy_words(tokens, tags, outside, generator, synonyms, share, all_may_go=all_may_go)
        copies.append(copy or (tokens, tags))
    changed = {
        name: pl.Series(name, [copy[place] for copy in copies], dtype=rows.schema[name])
        for place, name in enumerate(("tokens", "tags"))
    }
    return pl.concat([rows, rows.with_columns(pl.col("id") + "/eda", **changed)])


def noisy_copy(text: str, generator: np.random.Generator, synonyms: Synonyms, share: float = SHARE) -> str:
    """Return a noisy copy of a text, with single spaces; only an empty text has an empty copy."""
    parts = text.split()
    copy = _noisy_words(parts, [0] * len(parts), 0, generator, synonyms, share, all_may_go=False)
    return text if copy is None else " ".join(copy[0])


def _noisy_words(
    tokens: Sequence[str],
    tags: Sequence[int],
    outside: int,
    generator: np.random.Generator,
    synonyms: Synonyms,
    share: float,
    *,
    all_may_go: bool,
) -> tuple[list[str], list[int]] | None:
    """Change the words outside spans by one of the operations; None if there are no such words."""
    pieces, codes = [_Piece.of(token) for token in tokens], list(tags)
    places = [place for place, piece in enumerate(pieces) if piece.word and tags[place] == outside]
    if not places:
        return None
    n_changed = max(1, int(share * len(places)))
    operation = generator.integers(4)
    if operation == 0:
        for place, choices in _draw_synonyms(pieces, places, generator, synonyms, n_changed):
            word = _draw_one(choices, generator)
            pieces[place] = replace(pieces[place], word=_in_case_of(pieces[place].word, word))
    elif operation == 1:
        for _, choices in _draw_synonyms(pieces, places, generator, synonyms, n_changed):
            # Inserting before a word outside spans splits no span, and keeps the full stop last.
            before = [place for place, code in enumerate(codes) if code == outside]
            place = before[int(generator.integers(len(before)))]
            pieces.insert(place, _Piece("", _draw_one(choices, generator), ""))
            codes.insert(place, outside)
    elif operation == 2:
        for _ in range(n_changed if len(places) > 1 else 0):
            one, other = (int(place) for place in generator.choice(places, 2, replace=False))
            words = pieces[one].word, pieces[other].word
            pieces[one], pieces[other] = replace(pieces[one], word=words[1]), replace(pieces[other], word=words[0])
    else:
        stays = generator.random(len(places)) >= share
        stays[generator.integers(len(places))] |= not stays.any() and not all_may_go  # do not delete all words
        gone = {place for place, here in zip(places, stays, strict=True) if not here}
        pieces = [piece for place, piece in enumerate(pieces) if place not in gone]
        codes = [code for place, code in enumerate(codes) if place not in gone]
    # A synonym may have several words, all tagged as outside.
    split = [
        (part, code)
        for piece, code in zip(pieces, codes, strict=True)
        for part in ((str(piece).split() or [str(piece)]) if code == outside else [str(piece)])
    ]
    return [part for part, _ in split], [code for _, code in split]


def words_of(texts: Iterable[str]) -> set[str]:
    """Return the distinct words of texts in lower case, for which synonyms may be needed."""
    parts = {part for text in texts for part in text.split()}
    return {_Piece.of(part).word.lower() for part in parts} - {""}


@dataclass(frozen=True)
class _Piece:
    """A part between white space: a word, and the punctuation around it, which stays in place."""

    before: str
    word: str
    after: str

    @classmethod
    def of(cls, part: str) -> "_Piece":
        match = _WORD.search(part)
        return cls(part[: match.start()], match[0], part[match.end() :]) if match else cls(part, "", "")

    def __str__(self) -> str:
        return self.before + self.word + self.after


_WORD = re.compile(r"\w(.*\w)?")

_Pieces = list[_Piece]


def _draw_synonyms(
    pieces: _Pieces, places: list[int], generator: np.random.Generator, synonyms: Synonyms, n: int
) -> list[tuple[int, Sequence[str]]]:
    """Sample the positions of n words, among those that have synonyms and are not stop words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    drawn: list[tuple[int, Sequence[str]]] = []
    for place in generator.permutation(places):
        word = pieces[place].word.lower()
        if word not in ENGLISH_STOP_WORDS and (choices := synonyms(word)):
            drawn.append((int(place), choices))
        if len(drawn) == n:
            break
    return drawn


def _draw_one(choices: Sequence[str], generator: np.random.Generator) -> str:
    return choices[int(generator.integers(len(choices)))]


def _in_case_of(old: str, new: str) -> str:
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new
