"""What tells rows from others: the same in any order and in any parts, and another one for each changed value."""

from pathlib import Path

import polars as pl
import pytest
from xxhash import xxh3_64_hexdigest

from shiftbench.builders.reading.fingerprint import (
    N_HASHES,
    count_overlap,
    measure_rows,
    merge_fingerprints,
    row_hashes,
)
from shiftbench.builders.specs.spec import Fingerprint
from shiftbench.builders.stored_rows import StoredRows, write_part
from shiftbench.validation.vocabulary import TaskKind

_ANSWERS = [{"text": ["a", "b"], "answer_start": [0, 4]}, {"text": [], "answer_start": []}] * 15
FRAMES = {
    TaskKind.CLASSIFICATION: pl.DataFrame({"text": [f"t{n}" for n in range(30)], "label": ["no", "yes", "no"] * 10}),
    TaskKind.TAGGING: pl.DataFrame({"tokens": [[f"t{n}", "x"] for n in range(30)], "tags": [["O", "B-a"], []] * 15}),
    TaskKind.EXTRACTIVE_QA: pl.DataFrame({"question": [f"q{n}" for n in range(30)], "answers": _ANSWERS}),
    TaskKind.GENERATION: pl.DataFrame({"source_text": [f"s{n}" for n in range(30)], "target_text": ["t", None] * 15}),
}
LABELS = {
    TaskKind.CLASSIFICATION: {"no": 20, "yes": 10},
    TaskKind.TAGGING: {"B-a": 15, "O": 15},
    TaskKind.EXTRACTIVE_QA: {"answer": 15, "no answer": 15},
    TaskKind.GENERATION: {},
}


@pytest.mark.parametrize("kind", FRAMES)
def test_labels_are_counted_and_order_and_parts_do_not_matter(kind: TaskKind) -> None:
    frame = FRAMES[kind]
    found = measure_rows(frame, kind)
    assert (found.rows, found.labels, len(found.hashes)) == (30, LABELS[kind], N_HASHES)
    assert measure_rows(frame.reverse().select(frame.columns[::-1]), kind) == found
    for size in (1, 7, 29):
        assert merge_fingerprints(measure_rows(part, kind) for part in frame.iter_slices(size)) == found


@pytest.mark.parametrize("kind", FRAMES)
def test_each_change_of_a_row_is_another_fingerprint(kind: TaskKind) -> None:
    frame = FRAMES[kind]
    found = measure_rows(frame, kind)
    changed = [frame.head(29), pl.concat([frame, frame.head(1)]), pl.concat([frame.head(29), frame.head(1)])]
    changed += [
        frame.with_columns(pl.col(column).shift(1, fill_value=pl.col(column).last())) for column in frame.columns
    ]
    for other in changed:
        assert measure_rows(other, kind) != found


def test_repeats_count_in_the_total_and_once_among_the_ten() -> None:
    rows = pl.DataFrame({"text": ["a", "b", "c"], "label": ["no"] * 3})
    parts = [rows[[0, 0, 1, 2]], rows[[0, 1, 1, 2]]]
    one, other = (measure_rows(part, TaskKind.CLASSIFICATION) for part in parts)
    assert (one.rows, one.labels, one.hashes) == (other.rows, other.labels, other.hashes)
    assert len(one.hashes) == 3
    assert one.total != other.total
    assert merge_fingerprints([one, other]) == measure_rows(pl.concat(parts), TaskKind.CLASSIFICATION)


def test_a_hash_is_the_same_for_all_versions_of_the_program() -> None:
    found = measure_rows(pl.DataFrame({"text": ["so good"], "label": ["yes"]}), TaskKind.CLASSIFICATION)
    hashed = xxh3_64_hexdigest(b"yes\x1fso good")
    assert found == Fingerprint(rows=1, labels={"yes": 1}, hashes=(hashed,), total=hashed, groups=hashed)
    assert hashed == "fdec91552d0ec2d7"
    grouped = measure_rows(
        pl.DataFrame({"text": ["so good"], "label": ["yes"], "group": ["g"]}), TaskKind.CLASSIFICATION
    )
    factor = int(xxh3_64_hexdigest(b"g"), 16) | 1  # odd, so that no hash is lost by it
    assert (grouped.total, int(grouped.groups, 16)) == (hashed, int(hashed, 16) * factor % 2**64)
    tagged = pl.DataFrame({"tags": [["O", "B-a"], []], "tokens": [["x", "y"], [""]]})
    assert measure_rows(tagged, TaskKind.TAGGING).total == "7e0449f3b5aad233"
    assert measure_rows(FRAMES[TaskKind.EXTRACTIVE_QA], TaskKind.EXTRACTIVE_QA).total == "3d8048c705cb69b6"


def test_votes_do_not_matter_and_groups_are_apart() -> None:
    frame = FRAMES[TaskKind.CLASSIFICATION].with_columns(group=pl.col("text"), votes=pl.lit(["no", "yes"]))
    found = measure_rows(frame, TaskKind.CLASSIFICATION)
    assert measure_rows(frame.drop("votes"), TaskKind.CLASSIFICATION) == found
    other = measure_rows(frame.with_columns(group=pl.col("text").reverse()), TaskKind.CLASSIFICATION)
    assert (other.total, other.hashes) == (found.total, found.hashes)
    assert other.groups != found.groups


def test_lists_that_look_alike_are_told_apart() -> None:
    lists = [[], [""], ["", ""], ["a", "b"], ["a b"], ["ab"], ["a", "", "b"], None]
    same = row_hashes(pl.DataFrame({"tokens": [["a", None], ["a", ""]]}))
    assert same[0] == same[1], "a null among the elements is the empty text, and counts"
    assert same[0] != row_hashes(pl.DataFrame({"tokens": [["a"]]}))[0]
    assert len(set(row_hashes(pl.DataFrame({"tokens": lists}, schema={"tokens": pl.List(pl.String)})))) == len(lists)
    assert row_hashes(pl.DataFrame({"text": ["", None]})).tolist() == [row_hashes(pl.DataFrame({"text": [""]}))[0]] * 2


def test_rows_on_disk_and_in_memory_overlap_alike(tmp_path: Path) -> None:
    train = pl.DataFrame({"premise": ["a", "b", "b"], "hypothesis": ["x", "y", "y"], "label": ["n", "n", "y"]})
    test = pl.DataFrame({"premise": ["b", "b", "a", "c"], "hypothesis": ["y", "y", "y", "x"], "label": ["z"] * 4})
    write_part(train, tmp_path / "train.parquet")
    for rows in (train, StoredRows.at([tmp_path / "train.parquet"])):
        assert count_overlap(test, rows, ("premise", "hypothesis")) == 2
        assert count_overlap(test, rows, ("premise",)) == 3
        assert count_overlap(test.head(1), rows, ("premise",)) == 1  # rows of the first split are counted
    with pytest.raises(FileExistsError, match="stored"):
        write_part(test, tmp_path / "train.parquet")
    assert pl.read_parquet(tmp_path / "train.parquet").equals(train)
