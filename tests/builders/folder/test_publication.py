"""The file of ``publish --cite``: keys of the Citation File Format, every problem at once, and its BibTeX."""

import re
from pathlib import Path

import pytest

from shiftbench.builders.folder.citations import parse_citations
from shiftbench.builders.folder.publication import Publication, read_publication
from shiftbench.validation.report import InvalidInput
from tests import wording

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
    assert [author.called for author in found.authors] == ["Jané Doe", "Data Ltd"]
    assert Publication.model_validate_json(found.model_dump_json()) == found


def test_a_cff_file_and_the_pages_example_are_such_files(tmp_path: Path) -> None:
    assert read_publication(HOME / "CITATION.cff").title
    examples = re.findall(r"```yaml\n(.*?)```", (HOME / "docs/data/publish.md").read_text(encoding="utf-8"), re.DOTALL)
    (example,) = (each for each in examples if "date-released" in each)
    assert read(example, tmp_path).license == "CC-BY-4.0"


def test_its_bibtex_is_one_entry_that_latex_can_read(tmp_path: Path) -> None:
    found = read(WHOLE, tmp_path)
    assert found.bibtex == (
        "@misc{doe-2026-tickets,\n"
        "  title = {{Tickets \\& replies: 10\\%\\_of all}},\n"
        "  author = {Doe, Jané and {Data Ltd}},\n"
        "  year = {2026},\n"
        "  doi = {10.5281/zenodo.123456},\n"
        "  url = {https://example.org/tickets}\n"
        "}"
    )
    assert list(parse_citations(found.bibtex, "card")) == ["doe-2026-tickets"]


def test_every_problem_is_named_at_once_with_near_keys(tmp_path: Path) -> None:
    text = "titel: x\nauthors: [{familyname: Doe}]\ndate_released: 2026-11-23\nlicense: CC-BY-9\ncontact: me\nurl: ftp://x\n"
    assert problems(text, tmp_path) == [
        f"key 'title': {wording.REQUIRED_KEY_MISSING}; add 'title: Support tickets'",
        "key 'authors.1.familyname': unknown key; found 'familyname'; did you mean 'family-names'?",
        f"key 'date-released': {wording.REQUIRED_KEY_MISSING}; add 'date-released: 2026-11-23'",
        f"key 'url': {wording.HAS_WRONG_FORMAT}; found 'ftp://x'; write 'url: https://...'",
        "key 'license': this is not an SPDX identifier; found 'CC-BY-9'; write 'license: CC-BY-4.0'",
        "key 'contact': Input should be a valid list; found 'me'; "
        "write 'contact: [{name: Data team, email: data@example.org}]'",
        "key 'titel': unknown key; found 'titel'; did you mean 'title'?",
        "key 'date_released': unknown key; found 'date_released'; did you mean 'date-released'?",
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("date-released: 2026-13-01", "key 'date-released': month must be in 1..12"),
        ("date-released: 2026", "key 'date-released': Input should be a valid string"),
        ("authors: []", "key 'authors': there is no author"),
        ("authors: [{affiliation: Ltd}]", "key 'authors.1': give 'family-names' and 'given-names' of a person"),
        (
            "doi: https://doi.org/10.1/x",
            f"key 'doi': {wording.HAS_WRONG_FORMAT}; found 'https://doi.org/10.1/x'; write 'doi: 10.",
        ),
        ("contact: [{email: nobody}]", f"key 'contact.1.email': {wording.HAS_WRONG_FORMAT}; found 'nobody'"),
    ],
)
def test_a_wrong_value_is_refused(line: str, problem: str, tmp_path: Path) -> None:
    key = line.partition(":")[0]
    rest = "title: x\nauthors: [{name: x}]\ndate-released: 2026-11-23\n"
    kept = "".join(f"{each}\n" for each in rest.splitlines() if not each.startswith(f"{key}:"))
    (found,) = problems(f"{kept}{line}\n", tmp_path)
    assert found.startswith(problem)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=f"{wording.NO_SUCH_FILE}; give a YAML file with title, authors"):
        read_publication(tmp_path / "none.yaml")
