"""The file of ``publish --cite``: keys of the Citation File Format, every problem at once, and its BibTeX."""

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.citations import parse_citations
from shiftbench.builders.folder.publication import Publication, read_publication
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

HOME = Path(__file__).parents[3]
WHOLE = """\
cff-version: 1.2.0
message: If you use these tickets, please cite them.
title: "Tickets & replies: 10%_of {all}"
authors:
  - {family-names: Doe, given-names: Jané, orcid: "https://orcid.org/0000-0002-1825-0097"}
  - {name: Data Ltd}
date-released: 2026-11-23
url: https://example.org/tickets
doi: 10.5281/zenodo.123456
license: cc-by-4.0
license-url: https://creativecommons.org/licenses/by/4.0/
contact:
  - {name: Takedowns, email: data@example.org}
"""


def read(text: str, tmp_path: Path) -> Publication:
    path = tmp_path / "cite.yaml"
    path.write_text(text, encoding="utf-8")
    return read_publication(path)


def problems(text: str, tmp_path: Path) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        read(text, tmp_path)
    return [str(problem).removeprefix(f"{tmp_path / 'cite.yaml'}, ") for problem in refused.value.problems]


def test_a_citation_file_is_read(tmp_path: Path) -> None:
    found = read(WHOLE, tmp_path)
    assert found.license == "CC-BY-4.0"
    assert found.address == "data@example.org"
    assert len(found.authors) == 2
    assert Publication.model_validate_json(found.model_dump_json()) == found


def test_a_cff_file_and_the_pages_example_are_such_files(tmp_path: Path) -> None:
    assert read_publication(HOME / "CITATION.cff").title
    examples = re.findall(r"```yaml\n(.*?)```", (HOME / "docs/data/publish.md").read_text(encoding="utf-8"), re.DOTALL)
    (example,) = (each for each in examples if "date-released" in each)
    assert read(example, tmp_path).license == "CC-BY-4.0"


def test_its_bibtex_is_one_entry_that_latex_can_read(tmp_path: Path, wording: SnapshotAssertion) -> None:
    found = read(WHOLE, tmp_path)
    assert found.bibtex == wording
    assert list(parse_citations(found.bibtex, "card")) == ["doe-2026-tickets"]


def test_refusals(tmp_path: Path, wording: SnapshotAssertion) -> None:
    text = "titel: x\nauthors: [{familyname: Doe}]\ndate_released: 2026-11-23\nlicense: CC-BY-9\ncontact: me\nurl: ftp://x\n"
    said: dict[str, object] = {"eight at once": problems(text, tmp_path)}
    rest = "title: x\nauthors: [{name: x}]\ndate-released: 2026-11-23\n"
    for line in (
        "date-released: 2026-13-01",
        "date-released: 2026",
        "authors: []",
        "authors: [{affiliation: Ltd}]",
        "doi: https://doi.org/10.1/x",
        "contact: [{email: nobody}]",
    ):
        key = line.partition(":")[0]
        kept = "".join(f"{each}\n" for each in rest.splitlines() if not each.startswith(f"{key}:"))
        (said[line],) = problems(f"{kept}{line}\n", tmp_path)
    said["no file"] = refusal(InvalidInput, read_publication, tmp_path / "none.yaml")
    assert said == wording
