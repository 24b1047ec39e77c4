"""No test label that is withheld changes a byte of the public folder, or stands behind a hash without its key."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiftbench.builders import dr
from shiftbench.builders.assembling.assemble import AssembledTask, assemble
from shiftbench.builders.folder.hashes import labels_sha256, rows_sha256
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.spec import TaskSpec
from shiftbench.builders.writing import withhold
from shiftbench.builders.writing.withhold import shuffle_gold_among_duplicates
from shiftbench.builders.writing.writer import write_folder
from shiftbench.validation.vocabulary import TaskKind
from tests.builders.writing.pairs import KEY, OTHER_KEY, Pair, files, pair

SPEC = TaskSpec(
    benchmark="own", name="t", title="t", kind=TaskKind.CLASSIFICATION, inputs=("text",), labels=("a", "b", "c"),
    metric="macro_f1", train=100, validation=10, test=100, domains=(),
)  # fmt: skip
Row = tuple[str, str]
"""Text and group."""
TEST_ROWS = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("gh")), min_size=1, max_size=12)


def assembled(rows: list[Row], labels: list[str], *, as_upstream: bool) -> AssembledTask:
    def frame(rows: list[Row], labels: list[str], prefix: str) -> pl.DataFrame:
        columns = {"text": [text for text, _ in rows], "label": labels, "group": [prefix + group for _, group in rows]}
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))

    train = frame([("one", "1"), ("two", "2"), ("three", "3")], list("abc"), "train-")
    upstream = {"train": train, "test": frame(rows, labels, "")}
    spec = replace(SPEC, as_upstream=as_upstream)
    domains = (replace(dr.TASKS[0].domains[0], name="d", test_share=None, draw=None),)
    spec = replace(spec, domains=domains) if as_upstream else spec
    seed = withhold.secret_seed(0, KEY)
    return assemble(spec, {"d": upstream}, {"d": ("generated",)}, seed=seed, equal=False, withhold=True)


def written(task: AssembledTask, sources: Mapping[str, Any], out: Path) -> Pair:
    facts: dict[str, Any] = {"title": "t", "seed": 0, "partial": False, "synthetic": True, "encoder": None}
    write_folder(out, [task], sources, label_key=KEY, **facts)
    return pair(out)


def public_files(folder: DatasetFolder) -> dict[str, bytes]:
    """Return the public files, without the keyed hashes of test labels and what is computed from them."""
    found = files(folder)
    manifest = json.loads(found["shiftbench.json"])
    del manifest["content_hash"]
    for task in manifest["tasks"].values():
        for domain in task["domains"].values():
            del domain["splits"]["test"]["labels_sha256"]
    said = {name: found[name].replace(folder.content_hash.encode(), b"") for name in ("README.md", "croissant.json")}
    return found | said | {"shiftbench.json": json.dumps(manifest).encode()}


@pytest.mark.parametrize("as_upstream", [False, True])
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=TEST_ROWS, data=st.data())
def test_no_test_label_changes_a_byte(
    as_upstream: bool,
    rows: list[Row],
    data: st.DataObject,
    grid: DatasetFolder,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Test that no byte changes: for changed labels, swapped labels of equal inputs, and another order upstream."""
    labels = st.lists(st.sampled_from("abc"), min_size=len(rows), max_size=len(rows))
    root, sources = tmp_path_factory.mktemp("bytes"), grid.manifest.sources
    found = []
    for number in range(2):
        given = data.draw(st.permutations(list(zip(rows, data.draw(labels), strict=True))))
        task = assembled([row for row, _ in given], [label for _, label in given], as_upstream=as_upstream)
        public, gold = written(task, sources, root / str(number))
        gold.check()
        found.append(public_files(public))
    assert found[0] == found[1]


def test_the_order_of_ids_among_equal_inputs_is_not_that_of_labels() -> None:
    """Test that with every key the order differs, so that each id holds each label equally often."""
    task = assembled([("x", "g")] * 3 + [("y", "g")], ["a", "a", "b", "c"], as_upstream=True)
    frame = task.domains["d"]["test"]
    ids = frame.filter(text="x")["id"].to_list()
    places: Counter[str] = Counter()
    for number in range(600):
        dealt = shuffle_gold_among_duplicates(task, f"key {number}").domains["d"]["test"]
        assert dealt.drop("label").equals(frame.drop("label"))
        assert sorted(dealt["label"]) == sorted(frame["label"])
        assert dealt.filter(text="y").equals(frame.filter(text="y"))
        places[dealt.filter(text="x", label=1)["id"].item()] += 1
    assert set(places) == set(ids)
    # 200 of 600 each is expected, with a standard deviation of 11.5.
    assert all(140 < n < 260 for n in places.values())


def test_rows_of_other_groups_keep_their_labels() -> None:
    task = assembled([("x", "g"), ("x", "h")], ["a", "b"], as_upstream=True)
    dealt = [shuffle_gold_among_duplicates(task, str(key)).domains["d"]["test"] for key in range(20)]
    assert all(frame.equals(task.domains["d"]["test"]) for frame in dealt)


def test_hashes_of_labels_need_the_key() -> None:
    rows = pl.DataFrame({"id": ["x", "y"], "label": [0, 1]})
    plain, keyed, other = (labels_sha256(rows, "label", key) for key in (None, KEY, OTHER_KEY))
    assert plain == rows_sha256(rows, ["label"])
    assert len({plain, keyed, other}) == 3
    assert keyed == labels_sha256(rows.reverse(), "label", KEY)
    assert keyed != labels_sha256(rows.with_columns(label=1 - pl.col("label")), "label", KEY)
