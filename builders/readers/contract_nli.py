"""ContractNLI's JSON: 17 hypotheses about each whole contract.

Source: Koreeda and Manning 2021, https://stanfordnlp.github.io/contract-nli/.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import polars as pl

from shiftbench.builders.readers.json_document import RELEASE, json_document
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

SCHEMA = pl.Schema({"premise": pl.String(), "hypothesis": pl.String(), "choice": pl.String(), "document": pl.String()})
"""One row per document and hypothesis, in file order, no nulls; ``choice`` is one of ``CHOICES``."""

CHOICES = ("Entailment", "NotMentioned", "Contradiction")


class _Annotation(msgspec.Struct):
    choice: str


class _AnnotationSet(msgspec.Struct):
    annotations: dict[str, _Annotation]


class _Document(msgspec.Struct):
    id: int | str
    text: str
    annotation_sets: list[_AnnotationSet]


class _Label(msgspec.Struct):
    hypothesis: str


class _Release(msgspec.Struct):
    documents: list[_Document]
    labels: dict[str, _Label]


@dataclass(frozen=True)
class ContractNli:
    """A reader of ContractNLI: one row per document and hypothesis, in one frame; see ``SCHEMA``.

    ``premise`` is the whole text of the document; the hypotheses come in the order of the release's ``labels``.

    Raises: InvalidInput if the file is not JSON (row: the line) or not in this format; or if a document (row: its
        number, from 1) does not have exactly one annotation set, lacks a hypothesis, or has an unknown hypothesis or
        choice.
    """

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the whole file."""
        release = json_document(file, _Release, "ContractNLI's JSON")
        rows = []
        for number, document in enumerate(release.documents, start=1):
            choices = _choices(document, release.labels, str(file.path), number)
            rows += [
                (document.text, label.hypothesis, choices[key], str(document.id))
                for key, label in release.labels.items()
            ]
        yield pl.DataFrame(rows, schema=SCHEMA, orient="row")


contract_nli = ContractNli()


def _choices(document: _Document, labels: dict[str, _Label], path: str, number: int) -> dict[str, str]:
    """Return the choice for each hypothesis."""
    if len(document.annotation_sets) != 1:
        what = f"document '{document.id}' must have one annotation set"
        found = f"{len(document.annotation_sets)} annotation sets"
        raise InvalidInput(Problem(what, path, found, RELEASE, row=number))
    annotations = document.annotation_sets[0].annotations
    if annotations.keys() != labels.keys():
        key = sorted(annotations.keys() ^ labels.keys())[0]
        what = f"document '{document.id}' is not annotated for exactly the hypotheses of the release"
        found = f"'{key}' only in its annotations" if key in annotations else f"'{key}' not annotated"
        raise InvalidInput(Problem(what, path, found, RELEASE, row=number))
    for key, annotation in annotations.items():
        if annotation.choice not in CHOICES:
            what = f"the choice for '{key}' in document '{document.id}' is unknown"
            cure = did_you_mean(annotation.choice, CHOICES)
            raise InvalidInput(Problem(what, path, repr(annotation.choice), cure, row=number))
    return {key: annotation.choice for key, annotation in annotations.items()}
