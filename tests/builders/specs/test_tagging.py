"""Tags into BIO over our types: where entities begin in each scheme, and what is refused."""

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.boss import tag_maps
from shiftbench.builders.specs.tagging import Scheme, bio_tags
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

TYPES = {"ART": "art", "ORG": "organization", "group": "organization", "corporation": "organization"}
COARSE = {"art": "art", "organization": "organization", "other": "miscellaneous"}


def rewritten(tags: list[str], scheme: Scheme, types: dict[str, str] | None = None) -> list[str]:
    frame = pl.DataFrame({"tokens": [["w"] * len(tags)], "tags": [tags], "id": ["x"]})
    step = bio_tags(types or (COARSE if scheme == "io" else TYPES), scheme)
    after = step.apply(frame)
    assert after.drop("tags").equals(frame.drop("tags"))
    assert step.name == f"bio_tags_from_{scheme}"
    return after["tags"].to_list()[0]


@pytest.mark.parametrize(
    ("scheme", "tags", "expected"),
    [
        ("io", "art-film art-film O art-film", "B-art I-art O B-art"),
        # Neighbours of another fine type are another entity, of one fine type they run together.
        ("io", "art-film art-music other-law other-award", "B-art B-art B-miscellaneous B-miscellaneous"),
        ("bio", "B-group I-group B-group O B-ART", "B-organization I-organization B-organization O B-art"),
        # Two types that become one type stay two entities.
        ("bio", "B-group B-corporation I-corporation", "B-organization B-organization I-organization"),
        ("iob1", "I-ART I-ART O I-ART", "B-art I-art O B-art"),
        ("iob1", "I-ORG I-ORG B-ORG I-ORG", "B-organization I-organization B-organization I-organization"),
        ("iob1", "I-group I-corporation I-ART B-ORG", "B-organization B-organization B-art B-organization"),
    ],
)
def test_an_entity_begins_where_the_scheme_says(scheme: Scheme, tags: str, expected: str) -> None:
    assert rewritten(tags.split(), scheme) == expected.split()


def test_sentences_are_apart_from_each_other_and_may_be_none() -> None:
    frame = pl.DataFrame({"tags": [["I-ART"], ["I-ART"], []]}, schema={"tags": pl.List(pl.String)})
    step = bio_tags(TYPES, "iob1")
    assert step.apply(frame)["tags"].to_list() == [["B-art"], ["B-art"], []]
    assert step.apply(frame.clear()).schema == frame.schema


UNKNOWN: tuple[tuple[Scheme, str], ...] = (
    ("bio", "O B-art"),
    ("iob1", "ART"),
    ("io", "music-song"),
    ("bio", "B-ART I-ORG"),
    ("bio", "O I-ORG"),
)


def test_an_unknown_tag_is_refused_by_name(wording: SnapshotAssertion) -> None:
    said = {f"{scheme}: {tags}": refusal(InvalidInput, rewritten, tags.split(), scheme) for scheme, tags in UNKNOWN}
    said["two types"] = refusal(InvalidInput, rewritten, ["O", "B-art", "B-song", "I-ART"], "bio")
    assert said == wording


def test_all_maps_lead_to_the_eight_types() -> None:
    maps = (tag_maps.FEW_NERD, tag_maps.CONLL, tag_maps.E_NER, tag_maps.WNUT, tag_maps.CROSSNER)
    assert all(set(types.values()) <= set(tag_maps.TYPES) for types in maps)
    assert set(tag_maps.FEW_NERD.values()) == set(tag_maps.TYPES)
    assert [len(types) for types in maps] == [8, 4, 4, 6, 39]
