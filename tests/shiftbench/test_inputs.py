"""What the functions take: wrong types are told what would be right, and strings work wherever paths do."""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import shiftbench as sb
from shiftbench.builders.folder.configs import subset_path
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.inputs import find_subset
from shiftbench.leaderboard.store import Store
from shiftbench.validation.report import InvalidInput
from tests.changed_folders import open_changed
from tests.leaderboard.conftest import Filled
from tests.refusals import refusal

WRONG: list[Any] = [7, None, ["a.parquet"], object()]


def test_a_wrong_type_is_told_what_would_be_right(filled: Filled, wording: SnapshotAssertion) -> None:
    good, folder, said = filled.files["good"], filled.folder, []
    for wrong in WRONG:
        messages = [
            refusal(TypeError, sb.score, wrong, folder),
            refusal(TypeError, sb.validate, wrong, folder),
            refusal(TypeError, sb.compare, {"a": good, "b": wrong}, folder),
            refusal(TypeError, sb.compare, wrong, folder),
            refusal(TypeError, sb.score, good, wrong),
            refusal(TypeError, sb.open_dataset, wrong),
            refusal(TypeError, sb.submit, good, wrong, "store"),
            refusal(TypeError, sb.submit, good, filled.card("good"), wrong),
        ]
        if not isinstance(wrong, list):  # a list is one of paths
            messages.append(refusal(TypeError, sb.build_own, wrong))
        said.append([message.replace(f"found {type(wrong).__name__};", "found TYPE;") for message in messages])
    assert said[0] == wording
    assert all(messages == said[0][: len(messages)] for messages in said)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"source": ["a"], "id": ["b", "c"], "prediction": ["d", "e"]}, "predictions: this is not a table"),
        ({"source": ["a"], "id": ["b"], "prediction": ["d"], "answer": ["e"]}, "column 'answer': unknown column"),
        ({"source": ["a", "b"], "id": ["b", "c"], "prediction": ["d", 7]}, "each with values of one type"),
        (pd.DataFrame({"source": ["a", 7], "id": ["b", "c"], "prediction": ["d", "e"]}), "values of one type"),
        ({"source": [None], "id": ["b"], "prediction": ["d"]}, "predictions, column 'source', row 1: a value is"),
        ({"source": ["a"], "id": ["b"], "prediction": [object()]}, "objects in column 'prediction'"),
    ],
    ids=["lengths", "unknown", "mixed", "mixed-pandas", "null", "objects"],
)
def test_a_bad_table_is_refused_by_its_argument(table: Any, words: str, synthetic: DatasetFolder) -> None:
    with pytest.raises(InvalidInput) as refused:
        sb.validate(table, synthetic)
    assert words in str(refused.value)
    assert "/" not in str(refused.value).split(":")[0], "no path of a file that is gone"


def test_strings_work_wherever_paths_do(filled: Filled, tmp_path: Path) -> None:
    good, data = str(filled.files["good"]), str(filled.folder.path)
    expected = sb.score_file(filled.files["good"], filled.folder)
    assert sb.score_file(good, data, reference=good).tasks[0].in_domain == expected.tasks[0].in_domain
    assert sb.score(good, data).scores == expected
    assert DatasetFolder.open(data).content_hash == filled.folder.content_hash
    store = str(tmp_path / "store")
    answer = sb.submit(good, filled.card("good").as_dict(), store, data=data)
    assert Store(store).ids() == [answer["entry"]]
    again = sb.submit(Path(good), filled.card("good"), Path(store), data=[filled.folder])
    assert (again["entry"], again["new"]) == (answer["entry"], False)


def test_a_dict_may_be_a_card(filled: Filled, wording: SnapshotAssertion) -> None:
    card = {"name": "x", "paradgm": "other"}
    assert refusal(InvalidInput, sb.validate, filled.files["good"], filled.folder, card=card) == wording


@pytest.fixture(scope="module")
def few_folder(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """A folder whose subset ``fewshot`` has a third of the test texts of its domains, but all of one domain's."""
    out = tmp_path_factory.mktemp("few") / "data"
    shutil.copytree(synthetic.path, out)
    whole = synthetic.test("nli", "fewshot")["domain"][0]
    tests = synthetic.test("nli", "fewshot")
    few = pl.concat([tests.filter(domain=whole), tests.filter(pl.col("domain") != whole)[::3]]).select("id").sort("id")
    few.write_parquet(out / subset_path("nli", "fewshot"))
    return open_changed(out)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_the_subset_is_found_from_the_ids(few_folder: DatasetFolder, ending: str, tmp_path: Path) -> None:
    few = few_folder.test("nli", "fewshot")
    of_all, of_sa = few_folder.test("nli"), few_folder.test("sa")
    first = few["domain"][0]
    covered = {
        "fewshot": few["id"],
        "fewshot of one domain": few.filter(pl.col("domain") != first)["id"],
        "all": of_all["id"],
        "all but the first": of_all["id"][1:],
        "all of two tasks": pl.concat([few["id"], of_sa["id"]]),
        "all of a whole domain": few.filter(domain=first)["id"],
        "all, as of other data": pl.Series(["other/nli/a/test/0"]),
        "all, as of unknown ids at the end": pl.concat([few["id"], pl.Series(["other/nli/a/test/0"])]),
    }
    file = tmp_path / f"p.{ending}"
    for wanted, ids in covered.items():
        frame = pl.DataFrame({"id": ids}).with_columns(source=pl.lit("none"), prediction=pl.lit("x"))
        {"parquet": frame.write_parquet, "csv": frame.write_csv, "jsonl": frame.write_ndjson}[ending](file)
        assert find_subset(file, few_folder) == wanted.split()[0].rstrip(","), wanted


def test_a_folder_without_named_subsets_costs_no_reading(tmp_path: Path) -> None:
    rows = {"domain": ["a", "b"] * 40, "label": ["x", "x", "y", "y"] * 20, "text": [f"text {n}" for n in range(80)]}
    folder = sb.build_own(rows, out=tmp_path / "data")
    assert find_subset(tmp_path / "none", folder) == "all"


def test_python_scores_what_the_file_covers(few_folder: DatasetFolder) -> None:
    few, label = few_folder.test("nli", "fewshot"), few_folder.task("nli").labels[0]
    first = few["domain"][0]
    rows = {"source": first, "id": few["id"], "prediction": [label] * len(few)}
    assert sb.score(rows, few_folder).scores.subset == "fewshot"
    assert sb.validate(rows, few_folder)["n"].sum() == len(few)
    with pytest.raises(InvalidInput, match="'fewshot'"):
        sb.score(rows, few_folder, "all")
