"""Rows on disk are those of a frame, whatever the parts: read, sorted, joined, and finished into the same folder."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shiftbench.builders import stored_rows
from shiftbench.builders.assembling.assemble import AssembledTask, assemble
from shiftbench.builders.assembling.placebo import placebo_task
from shiftbench.builders.folder.manifest import SourceFacts
from shiftbench.builders.specs.spec import DomainSpec, TaskSpec
from shiftbench.builders.stored_rows import (
    RowWriter,
    Sorter,
    StoredRows,
    concat_rows,
    frame_bytes,
    in_memory,
    slices_of,
)
from shiftbench.builders.writing import writer
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.schemas import ANSWERS
from shiftbench.validation.vocabulary import TaskKind

SOURCE = SourceFacts(title="Invented", url="", revision="1", licence="CC0", open_licence=True, citation="")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_rows, "PART_BYTES", 6_000)
    monkeypatch.setattr(writer, "SHARD_BYTES", 8_000)
    monkeypatch.setattr(writer, "GROUP_BYTES", 1_000)


def questions(n_rows: int, seed: int) -> pl.DataFrame:
    """Return questions about contexts; several share a context, some are repeated whole or but for the answer."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_rows):
        number = int(rng.integers(n_rows))
        context = " ".join(f"wörd{(number // 3) * word % 97}" for word in range(12 + number % 40))
        start = context.find(" ") + 1 if rng.random() < 0.5 else 0
        answers = (
            {"text": [context[start:]], "answer_start": [start]} if number % 5 else {"text": [], "answer_start": []}
        )
        rows.append(("", context, f"Which one is {number}?", answers, f"g{number // 3}"))
    schema = {"title": pl.String, "context": pl.String, "question": pl.String, "answers": ANSWERS, "group": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def stored(frame: pl.DataFrame, folder: Path) -> StoredRows:
    rows = RowWriter(folder)
    rows.add(frame)
    found = rows.rows()
    assert isinstance(found, StoredRows)
    return found


def test_stored_rows_are_those_of_the_frame(tmp_path: Path) -> None:
    frame = questions(60, 0)
    rows = stored(frame, tmp_path / "rows")
    assert len(rows.paths) > 2
    assert (len(rows), rows.schema) == (60, frame.schema)
    assert_frame_equal(in_memory(rows), frame)
    assert_frame_equal(rows.select("group", "answers"), frame.select("group", "answers"))
    assert rows["question"].equals(frame["question"])
    slices = list(slices_of(rows, 700))
    assert max(map(len, slices)) < 60 / 4
    assert_frame_equal(pl.concat(slices), frame)
    for start, end in ((0, 0), (0, 1), (7, 41), (59, 60)):
        assert_frame_equal(pl.concat([frame.clear(), *slices_of(rows, start=start, end=end)]), frame[start:end])
    again = StoredRows.at(rows.paths)
    assert_frame_equal(in_memory(concat_rows([again, rows])), pl.concat([frame, frame]))
    assert len(stored(frame.clear(), tmp_path / "none")) == 0


@pytest.mark.parametrize("n_rows", [0, 1, 300])
def test_rows_are_sorted_on_disk(n_rows: int, tmp_path: Path) -> None:
    frame = questions(n_rows, 1)
    sorter = Sorter.of(tmp_path / "sorted", frame["question"], frame_bytes(frame))
    for part in slices_of(frame, 300):
        sorter.add(part)
    parts = list(sorter.frames())
    assert len(parts) > 5 or n_rows < 300
    assert [text for part in parts for text in part["question"]] == sorted(frame["question"])
    assert not list((tmp_path / "sorted").iterdir())


def assembled(domains: dict[str, dict[str, pl.DataFrame]], store: Path | None) -> list[AssembledTask]:
    spec = TaskSpec(
        benchmark="boss",
        name="eqa",
        title="invented",
        kind=TaskKind.EXTRACTIVE_QA,
        inputs=("title", "context", "question"),
        labels=(),
        metric="token_f1",
        domains=tuple(DomainSpec(name, {}, ()) for name in domains),
        as_upstream=True,
    )
    rows = {
        name: {
            split: stored(frame, store / "read" / name / split) if store else frame for split, frame in splits.items()
        }
        for name, splits in domains.items()
    }
    task = assemble(spec, rows, dict.fromkeys(domains, ("made",)), seed=0, equal=True, store=store)
    placebo = placebo_task(task, 0, store=store)
    assert placebo is not None
    return [task, placebo]


def test_a_folder_is_the_same_whether_rows_were_held_or_passed_by(tmp_path: Path) -> None:
    domains = {
        "a": {"train": questions(90, 2), "test": questions(40, 3)},
        "b": {"test": questions(40, 4)},
        "c": {"train": questions(30, 5)},
    }
    folders = []
    for store in (None, tmp_path / "store"):
        tasks = assembled(domains, store)
        is_stored = [
            isinstance(rows, StoredRows) for task in tasks for of in task.domains.values() for rows in of.values()
        ]
        assert set(is_stored) == {store is not None}
        facts = {"title": "Invented", "seed": 0, "partial": False, "synthetic": True, "encoder": None}
        out = tmp_path / f"out-{store is None}"
        writer.write_folder(out, tasks, {"made": SOURCE}, store=store, **facts)  # type: ignore[arg-type]
        files = sorted(path for path in out.rglob("*") if path.is_file())
        folders.append({str(path.relative_to(out)): path.read_bytes() for path in files})
    assert len([path for path in folders[0] if path.startswith("data/eqa/a/train-")]) > 2
    assert folders[0] == folders[1]


def test_a_bad_row_is_named_by_its_place_in_the_split(tmp_path: Path) -> None:
    frame = questions(120, 6)
    bad = frame.with_columns(context=pl.when(pl.int_range(pl.len()) == 77).then(pl.lit(" ")).otherwise("context"))
    found = []
    for store in (None, tmp_path / "store"):
        with pytest.raises(InvalidInput) as refused:
            assembled({"a": {"test": bad, "train": frame}}, store)
        found.append([(problem.what, problem.file, problem.row) for problem in refused.value.problems])
    assert found[0] == found[1]
    assert "boss/eqa.a test" in [place for _, place, _ in found[0]]
