"""ContractNLI's JSON: a row per document and hypothesis, and what is refused. Every text here is invented."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.builders.readers.contract_nli import SCHEMA, contract_nli
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput
from tests import wording

CURE = "is this the upstream release that the build expects?"


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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", f"a.json, row 1: {wording.FILE_NOT_JSON}; found Input data was truncated; {wording.FETCH_FILE_AGAIN}"),
        ('{\n"documents": [}', f"a.json, row 2: {wording.FILE_NOT_JSON}; found JSON is malformed: invalid character"),
        ({"documents": []}, "a.json: this is not ContractNLI's JSON; found Object missing required field `labels`; "),
        (
            release({"id": 1, "annotation_sets": []}),
            "a.json: this is not ContractNLI's JSON; found Object missing required field `text` - at `$.documents[0]`",
        ),
        (release(TWICE), f"a.json, row 1: document '1' must have one annotation set; found 2 of them; {CURE}"),
        (
            release(document(1, "a", x="Entailment", y="Entailment"), document(2, "a", x="Entailment")),
            "a.json, row 2: document '2' is not annotated for exactly the hypotheses of the release; found 'y' not "
            f"annotated; {CURE}",
        ),
        (
            release(document(1, "a", x="Entailment", y="Entailment", z="Entailment")),
            "a.json, row 1: document '1' is not annotated for exactly the hypotheses of the release; found 'z' only "
            f"in its annotations; {CURE}",
        ),
        (
            release(document(1, "a", x="entailment", y="Entailment")),
            "a.json, row 1: the choice for 'x' in document '1' is unknown; found 'entailment'; "
            "did you mean 'Entailment'?",
        ),
    ],
)
def test_what_is_refused_is_named(content: object, message: str, tmp_path: Path) -> None:
    assert refusal(tmp_path / "a.json", content).startswith(message)


def test_two_readers_are_the_same_key() -> None:
    assert repr(contract_nli) == "ContractNli()"
