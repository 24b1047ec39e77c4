"""Publisher's metadata of a dataset (title, authors, date, licence, contact), read from the file of ``--cite``.

The file has the keys of the Citation File Format (CITATION.cff, version 1.2), which GitHub and Zenodo also read. Unused
keys of that format are allowed; any other key is rejected.
"""

from datetime import date
from pathlib import Path
from typing import Annotated, Any

import pydantic

from shiftbench.validation.cards import Text, Url
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.yaml_text import MAX_BYTES, parse_mapping

_OTHER_KEYS = (
    *("abstract", "cff-version", "commit", "identifiers", "keywords", "message", "preferred-citation", "references"),
    *("repository", "repository-artifact", "repository-code", "type", "version"),
)
"""Keys of the format that are not used here."""
_Email = Annotated[Text, pydantic.StringConstraints(pattern=r"^[^@\s<>]+@[^@\s<>]+\.[^@\s<>]+$")]


def _check_date(text: str) -> str:
    date.fromisoformat(text)
    return text


def _check_spdx(text: str) -> str:
    from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

    try:
        return str(canonicalize_license_expression(text))
    except InvalidLicenseExpression as error:
        raise ValueError("this is not an SPDX identifier") from error


Spdx = Annotated[Text, pydantic.AfterValidator(_check_spdx)]
"""An SPDX identifier of a licence, or an expression of several."""


class _Keys(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, validate_by_name=True, alias_generator=lambda name: name.replace("_", "-")
    )


class Party(_Keys):
    """A person (``family-names`` and ``given-names``) or an organisation (``name``)."""

    family_names: Text | None = None
    given_names: Text | None = None
    name: Text | None = None
    affiliation: Text | None = None
    orcid: Url | None = None
    email: _Email | None = None
    website: Url | None = None

    @pydantic.model_validator(mode="after")
    def _has_a_name(self) -> "Party":
        if self.called == "" and self.address is None:
            raise ValueError("give 'family-names' and 'given-names' of a person, or 'name' of an organisation")
        return self

    @property
    def called(self) -> str:
        """Return the display name; ``""`` if there is only an e-mail address or website."""
        return self.name or " ".join(filter(None, (self.given_names, self.family_names)))

    @property
    def address(self) -> str | None:
        """Return the e-mail address, otherwise the website, otherwise None."""
        return self.email or self.website


def _check_authors(authors: tuple[Party, ...]) -> tuple[Party, ...]:
    if not authors:
        raise ValueError("there is no author")
    return authors


class Publication(_Keys):
    """A publisher's metadata of a dataset.

    Attributes:
        title: title of the dataset.
        authors: its authors.
        date_released: date of publication, such as ``2026-11-23``.
        url: its web page; by default its repository on the Hub.
        doi: its DOI, without URL prefix.
        license: SPDX identifier of the licence of user data; third-party sources have their own.
        license_url: URL of the licence text.
        contact: contacts, for example for takedown requests.
    """

    title: Text
    authors: Annotated[tuple[Party, ...], pydantic.AfterValidator(_check_authors)]
    date_released: Annotated[Text, pydantic.AfterValidator(_check_date)]
    url: Url | None = None
    doi: Annotated[Text, pydantic.StringConstraints(pattern=r"^10\.\d{4,9}/\S+$")] | None = None
    license: Spdx | None = None
    license_url: Url | None = None
    contact: tuple[Party, ...] = ()

    @property
    def address(self) -> str | None:
        """Return the first contact address; None if no contact has one."""
        return next((party.address for party in self.contact if party.address), None)

    @property
    def bibtex(self) -> str:
        """Return the BibTeX entry of the dataset."""
        from bibtexparser.entrypoint import write_string
        from bibtexparser.library import Library
        from bibtexparser.model import Entry, Field

        first = self.authors[0]
        words = [first.family_names or first.called or "anonymous", self.year, self.title.split()[0]]
        key = "-".join("".join(filter(str.isalnum, word)).lower() for word in words)
        fields = {
            "title": f"{{{_latex(self.title)}}}",
            "author": " and ".join(map(_bibtex_name, self.authors)),
            "year": self.year,
            "doi": self.doi,
            "url": self.url,
        }
        entry = Entry("misc", key, [Field(name, value) for name, value in fields.items() if value])
        return write_string(Library([entry])).strip().replace("\t", "  ")

    @property
    def year(self) -> str:
        """Return the year of publication."""
        return self.date_released[:4]


def read_publication(path: Path) -> Publication:
    """Read a file of ``--cite``.

    Args:
        path: YAML with keys of the Citation File Format, at most 64 KiB of UTF-8.
    Raises: InvalidInput listing every wrong, missing or unknown key, or if there is no such file.
    """
    if not path.is_file():
        cure = "give a YAML file with title, authors, date-released; a CITATION.cff is one"
        raise InvalidInput(Problem("there is no such file", str(path), cure=cure))
    with path.open("rb") as file:
        text = file.read(MAX_BYTES + 1).decode(errors="replace")
    content = parse_mapping(text, "citation file", str(path))
    known = {key: value for key, value in content.items() if key not in _OTHER_KEYS}
    try:
        return Publication.model_validate(known, by_name=False)
    except pydantic.ValidationError as error:
        details = error.errors(include_context=False, include_url=False)
        raise InvalidInput(_problem(detail, str(path)) for detail in details) from error


def _problem(detail: Any, file: str) -> Problem:
    *parents, last = detail["loc"]
    key = ".".join(str(part + 1) if isinstance(part, int) else part for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        model, others = (Party, ()) if parents else (Publication, _OTHER_KEYS)
        keys = [str(field.alias) for field in model.model_fields.values()]
        return Problem("unknown key", file, f"'{last}'", did_you_mean(last, [*keys, *others]), key=key)
    if detail["type"] == "missing":
        return Problem("required key is missing", file, cure=f"add '{last}: {_EXAMPLES[last]}'", key=key)
    cure = f"write '{last}: {_EXAMPLES[last]}'" if last in _EXAMPLES else ""
    said = detail["msg"].removeprefix("Value error, ").replace("tuple", "list")
    if detail["type"] == "string_pattern_mismatch":
        said = "this has the wrong format"
    return Problem(said, file, repr(detail["input"])[:100], cure, key=key)


_EXAMPLES = {
    "title": "Support tickets",
    "authors": "[{family-names: Doe, given-names: Jane}]",
    "date-released": "2026-11-23",
    "url": "https://...",
    "doi": "10.5281/zenodo.123456",
    "license": "CC-BY-4.0",
    "license-url": "https://...",
    "email": "data@example.org",
    "contact": "[{name: Data team, email: data@example.org}]",
}


def _bibtex_name(party: Party) -> str:
    if party.family_names and party.given_names:
        return f"{_latex(party.family_names)}, {_latex(party.given_names)}"
    return f"{{{_latex(party.called or party.address or '')}}}"


def _latex(text: str) -> str:
    return text.translate(_ESCAPES)


_ESCAPES = str.maketrans({letter: f"\\{letter}" for letter in "&%#_$"} | dict.fromkeys("{}\\", "") | {"~": " "})
