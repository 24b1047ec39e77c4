"""Citations: entries as they were written, each under a key of its own."""

import pytest

from shiftbench.builders.folder.citations import cite, parse_citations, read_citations
from shiftbench.validation.report import InvalidInput

FIRST = '@misc{doe-2020-tickets,\n  title = {Tickets, {A}nd More},\n  author = {D{\\"o}e, Jane},\n  year = {2020}\n}'
SECOND = "@article{roe-2021-more,\n  title = {More},\n  year = 2021\n}"


def test_entries_are_given_as_they_were_written() -> None:
    parsed = parse_citations(f"% A comment.\n\n{FIRST}\n\n{SECOND}\n", "citations.bib")
    assert parsed == {"doe-2020-tickets": FIRST, "roe-2021-more": SECOND}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{FIRST}\n\n{FIRST}\n", 7),
        (f"{SECOND[:-2]}\n\n{FIRST}\n", 1),
        (f"{FIRST}\n{SECOND[:-2]}", 6),
        (SECOND.replace("year", "title"), 1),
    ],
)
def test_a_damaged_or_repeated_entry_is_refused_by_its_line(text: str, line: int) -> None:
    with pytest.raises(InvalidInput, match=rf"^citations.bib: .* line {line};"):
        parse_citations(text, "citations.bib")


def test_an_unknown_key_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InvalidInput, match=r"'hupkes-2023'.*'hupkes-etal-2023-"):
        cite("hupkes-2023")


def test_all_entries_stand_in_order_with_the_year_of_their_key() -> None:
    citations = read_citations()
    assert list(citations) == sorted(citations)
    for key, entry in citations.items():
        assert entry.startswith("@")
        assert entry.endswith("\n}")
        years = [part for part in key.split("-") if part.isdigit()]
        assert all(f"year = {{{year}}}" in entry for year in years), key
