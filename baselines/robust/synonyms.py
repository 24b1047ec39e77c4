"""Sources of synonyms: WordNet, or the nearest neighbours among a model's input embeddings."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from shiftbench.validation.report import InvalidInput, Problem

if TYPE_CHECKING:
    from torch import Tensor

Synonyms = Callable[[str], Sequence[str]]
"""Maps a lower-case word to its synonyms; empty if there are none."""

NEIGHBOURS = 5


class SynonymSource(StrEnum):
    """The source of EDA's synonyms."""

    WORDNET = "wordnet"
    EMBEDDINGS = "embeddings"


def wordnet() -> Synonyms:
    """Load synonyms from WordNet: the lemmas of a word's synsets, sorted; InvalidInput if it is absent."""
    try:
        from nltk.corpus import wordnet as corpus  # type: ignore[import-untyped]

        corpus.ensure_loaded()
    except (ImportError, LookupError) as error:
        cure = "python -m nltk.downloader wordnet, or --synonyms embeddings"
        raise InvalidInput(Problem("WordNet is not installed", "--synonyms", cure=cure)) from error

    @cache
    def synonyms(word: str) -> Sequence[str]:
        lemmas = {
            str(name).replace("_", " ").lower() for synset in corpus.synsets(word) for name in synset.lemma_names()
        }
        return sorted(lemmas - {word})

    return synonyms


def nearest_pieces(words: Iterable[str], tokenizer: Any, vectors: "Tensor", n: int = NEIGHBOURS) -> Synonyms:
    """Use as synonyms the words whose input embeddings are nearest by cosine similarity; needs only the model.

    Only words that are a single piece of the vocabulary have neighbours and can be neighbours. Nearest neighbours
    include antonyms, so a copy's label can be wrong where it would be right with a true synonym.

    Args:
        words: words in lower case; other words get no synonyms.
        vectors: the model's input embeddings, shape (vocabulary, d).
    """
    import torch
    from torch.nn import functional

    vocabulary = _whole_words(tokenizer)
    known = list(vocabulary)
    row = {word: place for place, word in enumerate(known)}
    asked = sorted(row.keys() & set(words))
    nearest: dict[str, Sequence[str]] = {}
    with torch.inference_mode():
        unit = functional.normalize(vectors.detach()[list(vocabulary.values())].float(), dim=-1)
        for start in range(0, len(asked), 1024):
            part = asked[start : start + 1024]
            own = torch.tensor([row[word] for word in part], device=unit.device)
            cosines = (unit[own] @ unit.T).scatter_(1, own.unsqueeze(1), -torch.inf)
            places = cosines.topk(min(n, len(known) - 1), dim=1).indices.tolist()
            nearest |= {word: [known[place] for place in near] for word, near in zip(part, places, strict=True)}
    return lambda word: nearest.get(word, ())


def _whole_words(tokenizer: Any) -> dict[str, int]:
    """Find the lower-case words that are a single piece of a tokenizer, and the pieces' ids.

    Vocabularies mark word starts in different ways, so each piece is decoded and tokenized again; only words that
    give the same piece are kept.
    """
    spelled = {
        identity: tokenizer.convert_tokens_to_string([piece]).strip()
        for piece, identity in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    }
    spelled = {i: word for i, word in spelled.items() if len(word) > 1 and word.isalpha() and word == word.lower()}
    if not spelled:
        return {}
    read = tokenizer([f" {word}" for word in spelled.values()], add_special_tokens=False)["input_ids"]
    return {word: i for (i, word), pieces in zip(spelled.items(), read, strict=True) if pieces == [i]}
