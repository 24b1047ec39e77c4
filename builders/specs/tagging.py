"""Convert entity tags from upstream's scheme and types to BIO with our types."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import polars as pl

from shiftbench.builders.specs.spec import Transform
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

Scheme = Literal["io", "bio", "iob1"]

OUTSIDE = "O"
_UNKNOWN = "unknown tag"
_OTHER_FILE = "; or is this another file of the same project, with different types?"

_Begins = Callable[[str, str], bool]
"""(previous tag, tag) -> whether an entity begins at the tag; ``OUTSIDE`` precedes a sentence."""


def bio_tags(types: Mapping[str, str], scheme: Scheme) -> Transform:
    """Rewrite the column ``tags`` as O, B-x and I-x.

    - ``io``: tags are types, such as Few-NERD's ``location-GPE``, with the coarse part used as the type. An entity
    begins where the tag changes, so adjacent entities of one fine type are merged.
    - ``bio``: every entity begins with ``B-``.
    - ``iob1`` (CoNLL-2003, E-NER): ``I-`` also begins an entity unless the previous tag has the same type; ``B-``
    begins one directly after another of the same type.

    Upstream's types determine where an entity begins, so adjacent entities stay separate if their types are merged.

    Args:
        types: our type by upstream's type.
        scheme: how upstream marks beginnings: ``io``, ``bio`` or ``iob1``.
    Returns: a step that changes ``tags`` (a list of text) and keeps all rows.
    Raises (when applied): InvalidInput with the row of an unknown tag, or of an orphan ``I-`` in ``bio``.
    """

    def apply(frame: pl.DataFrame) -> pl.DataFrame:
        rewritten = []
        for row, tags in enumerate(frame["tags"].to_list(), start=1):
            try:
                rewritten.append(list(_rewrite_tags(tags, types, scheme)))
            except ValueError as error:
                what, found, cure = error.args
                unknown = {_type(tag, scheme) for tag in frame["tags"].explode()} - {"", *types, _type(OUTSIDE, scheme)}
                if what == _UNKNOWN and len(unknown) > 1:
                    found += f"; all unknown types in these rows: {', '.join(sorted(unknown))}"
                raise InvalidInput(Problem(what, "the rows read", found, cure, column="tags", row=row)) from error
        return frame.with_columns(pl.Series("tags", rewritten, dtype=pl.List(pl.String)))

    return Transform(f"bio_tags_from_{scheme}", apply)


def _rewrite_tags(tags: Sequence[str], types: Mapping[str, str], scheme: Scheme) -> Iterator[str]:
    begins = _BEGINS[scheme]
    before = OUTSIDE
    for tag in tags:
        if tag == OUTSIDE:
            yield OUTSIDE
        else:
            _check(tag, types, scheme)
            yield ("B-" if begins(before, tag) else "I-") + types[_type(tag, scheme)]
        before = tag


def _begins_in_io(before: str, tag: str) -> bool:
    return before != tag


def _begins_in_iob1(before: str, tag: str) -> bool:
    return tag.startswith("B-") or before[2:] != tag[2:]


def _begins_in_bio(before: str, tag: str) -> bool:
    begins = tag.startswith("B-")
    if not begins and before[2:] != tag[2:]:
        what = "a tag continues an entity that was not started"
        cure = "is this file in the scheme iob1, where I- may begin one?"
        raise ValueError(what, f"'{tag}' after '{before}'", cure)
    return begins


_BEGINS: Mapping[Scheme, _Begins] = {"io": _begins_in_io, "bio": _begins_in_bio, "iob1": _begins_in_iob1}


def _type(tag: str, scheme: Scheme) -> str:
    """Return upstream's type of a tag, a key of ``types``.

    >>> _type("art-film", "io"), _type("B-creative-work", "bio")
    ('art', 'creative-work')
    """
    return tag.partition("-")[0] if scheme == "io" else tag[2:]


def _check(tag: str, types: Mapping[str, str], scheme: Scheme) -> None:
    if tag == OUTSIDE or (_type(tag, scheme) in types and (scheme == "io" or tag[:2] in {"B-", "I-"})):
        return
    prefixes = ("",) if scheme == "io" else ("B-", "I-")
    known = [OUTSIDE, *(prefix + kind for kind in types for prefix in prefixes)]
    raise ValueError(_UNKNOWN, f"'{tag}'", did_you_mean(tag, known) + _OTHER_FILE)
