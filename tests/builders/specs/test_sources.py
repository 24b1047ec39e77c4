"""What a person typed about sources: a closed list, of which all is used, and of which a build measures nothing."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import urlsplit

import pytest
from syrupy.assertion import SnapshotAssertion

import shiftbench.builders.specs
from shiftbench.builders.building.build import BENCHMARKS
from shiftbench.builders.building.spec_file import SpecSource
from shiftbench.builders.folder.citations import DEPTH_F1, GENBENCH, PAPERS, read_citations
from shiftbench.builders.specs.sources import Download, SourceSpec, find_source, parse_sources, read_sources
from shiftbench.builders.specs.spec import FileFacts, upstream
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
harm = "none"
personal_data = "Names of customers."
"""


def keys(content: Any) -> Iterator[str]:
    """Return all keys of nested tables."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield key
            yield from keys(value)


def needed() -> dict[str, SourceSpec]:
    """Return the source of each file and folder that whole builds read, by place."""
    found: dict[str, SourceSpec] = {}
    for _, tasks in BENCHMARKS.values():
        for domain in (domain for task in tasks for domain in task.domains):
            for file in (file for files in domain.files.values() for file in files if not file.partial):
                folder = file.path.rpartition("/")[0]
                found.update(dict.fromkeys([file.path, *(f"{folder}/{name}" for name in file.beside)], file.source))
    return found


def forms(place: str) -> set[str]:
    """Return where a file may lie: at its place, gzipped, or in a zip of its name or stem."""
    return {place, f"{place}.gz", f"{place}.zip", str(PurePath(place).with_suffix(".zip"))}


def brought(source: SourceSpec) -> set[str]:
    """Return the places that a source's downloads fill."""
    return {place for download in source.downloads for place in download.places}


def downloads() -> list[tuple[str, Download]]:
    """Return all downloads, each with its source's slug."""
    return [(source.slug, download) for source in read_sources().values() for download in source.downloads]


def test_a_table_is_a_source_by_its_slug() -> None:
    sources = parse_sources(SOUND, "sources.toml")
    (source,) = sources.values()
    assert sources == {"tickets_1.0": source}
    assert (source.slug, source.revision, source.open_licence) == ("tickets_1.0", "1.0", True)
    assert source.cite == ("doe-2020-tickets", "roe-2021-more")


WRONG = (
    ("licence =", "license ="),
    ("licence =", "license ="),
    ('harm = "none"', 'harm = ""'),
    ('harm = "none"', ""),
    ('personal_data = "Names of customers."', ""),
    ("= true", '= "yes"'),
    ('"1.0"', "1.0"),
    ("put tickets", " put tickets"),
    ("put tickets", "put\\ntickets"),
    ('["doe-2020-tickets", "roe-2021-more"]', "[]"),
    ('"roe-2021-more"', '""'),
    ('title = "', 'slug = "a"\ntitle = "'),
    ('["tickets_1.0"]', 'version = 2\n["tickets_1.0"]'),
    ("= true", "= yes"),
)


def test_a_wrong_entry_is_refused_by_its_name(wording: SnapshotAssertion) -> None:
    said = {}
    for written, instead in WRONG:
        with pytest.raises(InvalidInput) as refused:
            parse_sources(SOUND.replace(written, instead), "sources.toml")
        said[instead or f"no {written}"] = str(refused.value)
    assert said == wording


def test_an_unknown_source_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InvalidInput, match="'squad_v3'"):
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


def test_every_file_is_brought_or_its_instructions_say_how_a_person_gets_it() -> None:
    by_hand = [source for place, source in needed().items() if not forms(place) & brought(source)]
    assert {source.slug for source in by_hand} >= {"adv_civil", "conll2003", "das", "implicit_hate", "toxigen"}
    for source in by_hand:
        assert "https://" in source.instructions
        assert f"RAW/{source.slug}/" in source.instructions


def test_nothing_is_downloaded_that_no_spec_reads() -> None:
    read = set().union(*map(forms, needed()))
    assert [place for source in read_sources().values() for place in brought(source) - read] == []


def test_downloads_of_one_file_agree_with_each_other_and_with_what_was_measured() -> None:
    measured = upstream().files
    checksums: dict[str, str] = {}
    sizes: dict[str, int] = {}
    addresses = Counter(url for _, download in downloads() for url in download.urls)
    assert {url: times for url, times in addresses.items() if times > 1} == {}
    for _, download in downloads():
        if download.place is None or download.rows_as is not None:
            continue
        if download.size is not None:
            assert sizes.setdefault(download.place, download.size) == download.size
        if download.sha256 is not None:
            assert checksums.setdefault(download.place, download.sha256) == download.sha256
            assert measured.get(download.place, FileFacts()).sha256 in (None, download.sha256)
    assert len(checksums) > 30


def test_addresses_are_whole_and_those_of_github_are_of_a_commit() -> None:
    for slug, download in downloads():
        for url in download.urls:
            if url.startswith("hub:"):
                assert re.fullmatch(r"hub:[\w.-]+/[\w.-]+(@[0-9a-f]{40})?(/[\w.*-]+)+", url), slug
                continue
            scheme, host, path, _, fragment = urlsplit(url)
            assert (scheme, fragment, url.strip()) == ("https", "", url), slug
            assert re.fullmatch(r"[\w-]+(\.[\w-]+)+", host), slug
            assert len(path) > 1, slug
            if host in ("raw.githubusercontent.com", "codeload.github.com"):
                assert re.search(r"/[0-9a-f]{40}(/|$)", path), slug


def test_what_is_asked_of_a_reader_is_said_where_texts_may_not_be_passed_on() -> None:
    for source in read_sources().values():
        assert source.open_licence or source.terms or not source.downloads, source.slug
        assert source.licence_url is None or source.licence_url.startswith("https://"), source.slug
        assert source.spdx is None or (source.open_licence and source.licence_url), source.slug
    toxic = {
        source.slug
        for task in BENCHMARKS["boss"][1]
        if task.name.startswith("td")
        for domain in task.domains
        for source in domain.sources
    }
    assert "toxigen" in toxic
    assert [slug for slug in toxic if find_source(slug).harm == "none"] == []


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
