"""What BOSS's specs say of its tasks is what the paper's tables say."""

import csv
import json
from pathlib import Path

import pytest

from shiftbench.builders import boss

SHARED = Path(__file__).parents[4] / "shared"
TABLES = {"sa": 1, "td": 9, "nli": 12, "ner": 15, "eqa": 18}


@pytest.mark.real
@pytest.mark.parametrize("task", TABLES)
def test_titles_sources_and_sizes_are_those_of_the_papers_tables(task: str) -> None:
    reported = SHARED / "reported"
    if not reported.is_dir():
        pytest.skip("no reported figures at ../shared/reported")
    with (reported / f"boss_table{TABLES[task]}_{task}_candidates.csv").open() as stream:
        rows = {row["dataset"]: row for row in csv.DictReader(stream)}
    found = {
        domain.provenance.title: domain.provenance
        for spec in boss.TASKS
        if task in (spec.name, spec.candidates_for)
        for domain in spec.domains
        if domain.provenance is not None
    }
    assert set(found) == set(rows)
    for title, provenance in found.items():
        sources = rows[title]["source"]
        if title == "SQuAD Shifts":  # its rows from Wikipedia are none of BOSS's
            sources = sources.removeprefix("Wikipedia & ")
        assert " & ".join(provenance.text_sources) == sources
        sizes = {split: int(rows[title][split]) for split in ("train", "test") if rows[title][split]}
        assert provenance.paper_rows == sizes


@pytest.mark.real
def test_roles_are_those_of_table_4() -> None:
    reported = SHARED / "reported"
    if not reported.is_dir():
        pytest.skip("no reported figures at ../shared/reported")
    with (reported / "boss_table4_suite.csv").open() as stream:
        rows = [(row["task"].lower(), row["role"], row["dataset"]) for row in csv.DictReader(stream)]
    found = [
        (spec.name, "ID" if domain.name == spec.id_domain else "OOD", domain.provenance.title)
        for spec in boss.TASKS
        if spec.candidates_for is None
        for domain in spec.domains
        if domain.provenance is not None
    ]
    assert sorted(found) == sorted(rows)


@pytest.mark.real
def test_maps_of_entity_types_are_the_papers() -> None:
    if not (SHARED / "reported").is_dir():
        pytest.skip("no reported figures at ../shared/reported")
    maps = json.loads((SHARED / "reported" / "boss_ner_label_maps.json").read_text())
    assert dict(boss.tag_maps.CROSSNER) == maps["CrossNER"]
    assert dict(boss.tag_maps.WNUT) == maps["WNUT"]
