"""Each data set's types of entities, and which of the benchmark's eight each becomes (BOSS paper, appendix C.2.4)."""

from collections.abc import Mapping

TYPES = ("location", "person", "organization", "miscellaneous", "building", "art", "product", "event")

FEW_NERD: Mapping[str, str] = {
    "location": "location",
    "person": "person",
    "organization": "organization",
    "other": "miscellaneous",
    "building": "building",
    "art": "art",
    "product": "product",
    "event": "event",
}
"""Few-NERD's coarse types."""

CONLL: Mapping[str, str] = {
    "PER": "person",
    "ORG": "organization",
    "LOC": "location",
    "MISC": "miscellaneous",
}
"""The four types of CoNLL-2003."""

E_NER = CONLL
"""The four-class file of E-NER has CoNLL-2003's types."""

WNUT: Mapping[str, str] = {
    "corporation": "organization",
    "creative-work": "art",
    "group": "organization",
    "location": "location",
    "person": "person",
    "product": "product",
}
"""The types of WNUT 2017."""

CROSSNER: Mapping[str, str] = {
    "academicjournal": "product",
    "album": "product",
    "algorithm": "miscellaneous",
    "astronomicalobject": "miscellaneous",
    "award": "miscellaneous",
    "band": "organization",
    "book": "art",
    "chemicalcompound": "miscellaneous",
    "chemicalelement": "miscellaneous",
    "conference": "event",
    "country": "location",
    "discipline": "miscellaneous",
    "election": "event",
    "enzyme": "miscellaneous",
    "event": "event",
    "field": "miscellaneous",
    "literarygenre": "art",
    "location": "location",
    "magazine": "product",
    "metrics": "miscellaneous",
    "misc": "miscellaneous",
    "musicalartist": "person",
    "musicalinstrument": "product",
    "musicgenre": "art",
    "organisation": "organization",
    "person": "person",
    "poem": "art",
    "politicalparty": "organization",
    "politician": "person",
    "product": "product",
    "programlang": "miscellaneous",
    "protein": "miscellaneous",
    "researcher": "person",
    "scientist": "person",
    "song": "art",
    "task": "miscellaneous",
    "theory": "miscellaneous",
    "university": "organization",
    "writer": "person",
}
"""The types of all five domains of CrossNER."""
