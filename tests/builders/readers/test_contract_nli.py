"""ContractNLI's JSON: a row per document and hypothesis, and what is refused. Every text here is invented."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.readers.contract_nli import SCHEMA, contract_nli
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput


def document(number: int | str, text: str, **choices: str) -> dict[str, Any]:
    annotations = {key: {"choice": choice, "spans": [1]} for key, choice in choices.items()}
    return {"id": number, "text": text, "spans": [[0, 1]], "annotation_sets": [{"annotations": annotations}]}


def release(*documents: dict[str, Any]) -> dict[str, Any]:
    labels = {key: {"short_description": key, "hypothesis": f"It is {key}."} for key in ("x", "y")}
    return {"documents": list(documents), "labels": labels}


def read(path: Path, content: object) -> pl.DataFrame:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with UpstreamFile(path) as file:
        (frame,) = contract_nli(file)
    return frame


def refusal(path: Path, content: object) -> str:
    with pytest.raises(InvalidInput) as refused:
        read(path, content)
    return str(refused.value).removeprefix(f"{path.parent}/")


def test_each_hypothesis_on_each_document_is_a_row(tmp_path: Path) -> None:
    content = release(
        document(7, "A\r\nwhole\ncontract  ", y="NotMentioned", x="Entailment"),
        document("b", "null", x="Contradiction", y="Entailment"),
    )
    frame = read(tmp_path / "a.json", "\ufeff" + json.dumps(content, indent=1))
    assert frame.schema == SCHEMA
    assert frame.rows() == [
        ("A\r\nwhole\ncontract  ", "It is x.", "Entailment", "7"),
        ("A\r\nwhole\ncontract  ", "It is y.", "NotMentioned", "7"),
        ("null", "It is x.", "Contradiction", "b"),
        ("null", "It is y.", "Entailment", "b"),
    ]
    assert (read(tmp_path / "a.json", release()).height, read(tmp_path / "a.json", release()).schema) == (0, SCHEMA)


TWICE = document(1, "a", x="Entailment", y="Entailment")
TWICE["annotation_sets"] *= 2


REFUSED = {
    "empty": "",
    "damaged": '{\n"documents": [}',
    "no labels": {"documents": []},
    "no text": release({"id": 1, "annotation_sets": []}),
    "two sets of annotations": release(TWICE),
    "a hypothesis too few": release(document(1, "a", x="Entailment", y="Entailment"), document(2, "a", x="Entailment")),
    "a hypothesis too many": release(document(1, "a", x="Entailment", y="Entailment", z="Entailment")),
    "an unknown choice": release(document(1, "a", x="entailment", y="Entailment")),
}


def test_what_is_refused_is_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    assert {name: refusal(tmp_path / "a.json", content) for name, content in REFUSED.items()} == wording


def test_two_readers_are_the_same_key() -> None:
    assert repr(contract_nli) == "ContractNli()"
