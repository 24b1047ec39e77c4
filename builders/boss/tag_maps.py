"""Entity types of each data set, mapped to the benchmark's eight (BOSS paper, appendix C.2.4)."""

from collections.abc import Mapping

TYPES = ("location", "person", "organization", "miscellaneous", "building", "art", "product", "event")


def _by_upstream(**ours: str) -> Mapping[str, str]:
    """Invert a mapping from our type to upstream's types (space-separated)."""
    return dict(sorted((upstream, name) for name, types in ours.items() for upstream in types.split()))


FEW_NERD = {"other" if name == "miscellaneous" else name: name for name in TYPES}
"""Few-NERD's coarse types."""

CONLL = _by_upstream(person="PER", organization="ORG", location="LOC", miscellaneous="MISC")
"""The four types of CoNLL-2003."""

E_NER = CONLL
"""The four-class file of E-NER has CoNLL-2003's types."""

WNUT = _by_upstream(
    art="creative-work",
    location="location",
    organization="corporation group",
    person="person",
    product="product",
)
"""The types of WNUT 2017."""

CROSSNER = _by_upstream(
    art="book literarygenre musicgenre poem song",
    event="conference election event",
    location="country location",
    miscellaneous="algorithm astronomicalobject award chemicalcompound chemicalelement discipline enzyme "
    "field metrics misc programlang protein task theory",
    organization="band organisation politicalparty university",
    person="musicalartist person politician researcher scientist writer",
    product="academicjournal album magazine musicalinstrument product",
)
"""The types of all five domains of CrossNER."""
