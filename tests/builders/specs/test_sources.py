"""What a person typed about sources: a closed list, of which all is used, and of which a build measures nothing."""

import json
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shiftbench.builders.specs
from shiftbench.builders.building.build import BENCHMARKS
from shiftbench.builders.building.spec_file import SpecSource
from shiftbench.builders.folder.citations import DEPTH_F1, GENBENCH, PAPERS, read_citations
from shiftbench.builders.specs.sources import find_source, parse_sources, read_sources
from shiftbench.validation.report import InvalidInput

SPECS = Path(shiftbench.builders.specs.__file__).parent
SOUND = """
["tickets_1.0"]
title = "Tickets 1.0"
url = "https://example.org/tickets"
revision = "1.0"
licence = "MIT"
open_licence = true
cite = ["doe-2020-tickets", "roe-2021-more"]
instructions = "put tickets.csv into RAW/tickets_1.0/"
"""


def keys(content: Any) -> Iterator[str]:
    """Return all keys of nested tables."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield key
            yield from keys(value)


def test_a_table_is_a_source_by_its_slug() -> None:
    sources = parse_sources(SOUND, "sources.toml")
    (source,) = sources.values()
    assert sources == {"tickets_1.0": source}
    assert (source.slug, source.revision, source.open_licence) == ("tickets_1.0", "1.0", True)
    assert source.cite == ("doe-2020-tickets", "roe-2021-more")


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("licence =", "license =", "key 'tickets_1.0.license': unknown key; found 'license'; did you mean 'licence'?"),
        ("licence =", "license =", "key 'tickets_1.0.licence': required key is missing; add 'licence = ...'"),
        ("= true", '= "yes"', "key 'tickets_1.0.open_licence': Input should be a valid boolean; found 'yes'"),
        ('"1.0"', "1.0", "key 'tickets_1.0.revision': Input should be a valid string; found 1.0"),
        ("put tickets", " put tickets", "key 'tickets_1.0.instructions': String should match pattern"),
        ("put tickets", "put\\ntickets", "key 'tickets_1.0.instructions': String should match pattern"),
        ('["doe-2020-tickets", "roe-2021-more"]', "[]", "key 'tickets_1.0.cite': Tuple should have at least 1 item"),
        ('"roe-2021-more"', '""', "key 'tickets_1.0.cite.2': String should match pattern"),
        ('title = "', 'slug = "a"\ntitle = "', "key 'tickets_1.0.slug': unknown key"),
        ('["tickets_1.0"]', 'version = 2\n["tickets_1.0"]', "key 'version': Input should be a valid dictionary"),
        ("= true", "= yes", "sources.toml: the list of sources is not TOML; found Invalid value (at line 7"),
    ],
)
def test_a_wrong_entry_is_refused_by_its_name(written: str, instead: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_sources(SOUND.replace(written, instead), "sources.toml")
    assert message in str(refused.value)


def test_an_unknown_source_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InvalidInput, match="there is no such source; found 'squad_v3'; did you mean 'squad_v"):
        find_source("squad_v3")


def test_every_source_is_read_by_a_domain() -> None:
    read = {
        source.slug
        for _, tasks in BENCHMARKS.values()
        for task in tasks
        for domain in task.domains
        for source in domain.sources
        if not isinstance(source, SpecSource)  # which a spec has beside its tasks
    }
    assert read == set(read_sources())


def test_sources_stand_in_order_and_say_where_their_files_go() -> None:
    sources = read_sources()
    assert list(sources) == sorted(sources)
    # MRQA's data sets share two folders.
    folders = {slug: "mrqa" if slug.startswith("mrqa_") else slug for slug in sources}
    assert [slug for slug, folder in folders.items() if f"RAW/{folder}/" not in sources[slug].instructions] == []


def test_every_citation_is_used_and_there() -> None:
    used = Counter(key for source in read_sources().values() for key in source.cite)
    used.update([*PAPERS.values(), DEPTH_F1, GENBENCH])
    assert set(used) == set(read_citations())
    assert all(source.citation.count("\n@") == len(source.cite) - 1 for source in read_sources().values())


def test_nothing_typed_is_generated_and_nothing_generated_typed() -> None:
    typed = tomllib.loads((SPECS / "sources.toml").read_text(encoding="utf-8"))
    generated = json.loads((SPECS / "upstream.json").read_text(encoding="utf-8"))
    assert {"title", "licence", "instructions"} <= set(keys(typed))
    assert {"files", "rows"} <= set(keys(generated))
    assert not set(keys(typed)) & set(keys(generated))
