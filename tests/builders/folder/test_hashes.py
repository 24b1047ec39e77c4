"""Content hashes are over rows as JSON, one list a line, in id order, and all that they are of: as they always were."""

import hashlib
import json

import polars as pl
import pytest

from shiftbench.builders.folder.hashes import content_hash, ids_sha256, labels_sha256, rows_sha256
from shiftbench.builders.folder.manifest import DomainFacts, TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder


def test_rows_are_hashed_as_json_lines() -> None:
    awkward = "".join(map(chr, range(0x20))) + '\x7f"\\/\u2028é😀'
    frame = pl.DataFrame(
        {
            "id": [f"row{number:05d}" for number in range(20_001)][::-1],
            "text": [awkward, "plain", ""] * 6_667,
            "label": [2, 0, None] * 6_667,
            "tags": [[1, 2], [], [0]] * 6_667,
            "answers": [{"text": ["a", '"'], "answer_start": [3, 0]}, {"text": [], "answer_start": []}, None] * 6_667,
        }
    )
    for columns in (["text"], ["label"], ["tags"], ["answers"], ["text", "answers"]):
        lines = (
            json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"
            for row in frame.select("id", *columns).sort("id").iter_rows()
        )
        expected = hashlib.sha256("".join(lines).encode()).hexdigest()
        assert rows_sha256(frame, columns) == rows_sha256(frame.reverse(), columns) == expected


def test_hashes_of_labels_that_are_withheld_need_the_key() -> None:
    frame = pl.DataFrame({"id": ["a", "b"], "label": [1, 0]})
    hashes = [labels_sha256(frame, "label", key) for key in (None, "one", "other")]
    assert hashes[0] == rows_sha256(frame, ["label"])
    assert len(set(hashes)) == 3


def changed(task: TaskInfo, **update: str) -> TaskInfo:
    """Return a task whose first test split has other facts."""
    (name, facts), *others = task.domains.items()
    split = facts.splits["test"].model_copy(update=update)
    splits = {**facts.splits, "test": split}
    return task.model_copy(update={"domains": {name: facts.model_copy(update={"splits": splits}), **dict(others)}})


def test_the_content_hash_is_of_each_split_with_its_place(synthetic: DatasetFolder) -> None:
    tasks, name = synthetic.manifest.tasks, synthetic.manifest.benchmark
    content = {
        task: {
            "labels": facts.labels,
            "splits": {
                f"{domain}/{split}": [each.inputs_sha256, each.labels_sha256]
                for domain, splits in facts.domains.items()
                for split, each in splits.splits.items()
            },
        }
        for task, facts in tasks.items()
    }
    canonical = json.dumps([2, name, content], sort_keys=True, separators=(",", ":"))
    assert content_hash(tasks, name) == hashlib.sha256(canonical.encode()).hexdigest() == synthetic.content_hash
    assert content_hash(tasks, "other") != synthetic.content_hash


def exchange(facts: DomainFacts) -> DomainFacts:
    """Return a domain whose train and test rows have changed places."""
    train, test = facts.splits["train"], facts.splits["test"]
    return facts.model_copy(update={"splits": {**facts.splits, "train": test, "test": train}})


@pytest.mark.parametrize("what", ["inputs", "labels", "names", "splits", "domains", "withheld"])
def test_whatever_changes_is_another_content_but_where_its_rows_lie(synthetic: DatasetFolder, what: str) -> None:
    tasks, name = synthetic.manifest.tasks, synthetic.manifest.benchmark
    task = tasks["nli"]
    first, second, *_ = task.domains
    other = {
        "inputs": changed(task, inputs_sha256="0" * 64),
        "labels": changed(task, labels_sha256="0" * 64),
        "names": task.model_copy(update={"labels": tuple(reversed(task.labels))}),
        "splits": task.model_copy(update={"domains": {**task.domains, first: exchange(task.domains[first])}}),
        "domains": task.model_copy(
            update={"domains": {**task.domains, first: task.domains[second], second: task.domains[first]}}
        ),
        "withheld": task.model_copy(
            update={
                "domains": {domain: facts for domain, facts in task.domains.items() if domain != first},
                "withheld": {first: task.domains[first]},
            }
        ),
    }[what]
    is_same = content_hash({**tasks, "nli": other}, name) == synthetic.content_hash
    assert is_same == (what == "withheld")


def test_ids_are_hashed_in_any_order() -> None:
    ids = pl.Series(["b", "a", "c"])
    assert ids_sha256(ids) == ids_sha256(ids.reverse()) == hashlib.sha256(b"a\nb\nc").hexdigest()
