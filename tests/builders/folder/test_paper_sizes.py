"""What differences from the paper's sizes are made of: files, steps, cuts and the authors' code, adding up."""

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.manifest import (
    Difference,
    DomainFacts,
    Manifest,
    Provenance,
    SizeFacts,
    SplitFacts,
    TaskInfo,
    TransformCount,
    UpstreamRows,
)
from shiftbench.builders.folder.paper_sizes import PaperSize, SizePart, paper_sizes
from shiftbench.validation.vocabulary import TaskKind

EMPTY = Difference(
    data_sets=("letters",),
    theirs="counts an empty sentence",
    here="it is none",
    touches="one row a split",
    rows={"letters": {"train": -1, "test": -1}},
)


def rows(path: str, n_rows: int | None, recorded: int | None) -> UpstreamRows:
    return UpstreamRows(path=path, rows=n_rows, recorded_rows=recorded)


def step(split: str, name: str, before: int, after: int) -> TransformCount:
    return TransformCount(domain="letters", split=split, name=name, before=before, after=after)


def sizes(
    splits: dict[str, int],
    paper: dict[str, int],
    upstream: dict[str, tuple[UpstreamRows, ...]],
    *steps: TransformCount,
    differences: tuple[Difference, ...] = (),
    filled: dict[str, SizeFacts] | None = None,
) -> dict[str, PaperSize]:
    """Return the sizes of a task with one data set, by split; parts that do not add up fail."""
    facts = DomainFacts(
        sources=(),
        rebuild_only=False,
        splits={
            split: SplitFacts(rows=n_rows, groups=1, inputs_sha256="", labels_sha256="")
            for split, n_rows in splits.items()
        },
        provenance=Provenance(title="Letters", text_sources=("Post",), paper_rows=paper),
        upstream=upstream,
    )
    task = TaskInfo(
        title="Letters",
        kind=TaskKind.CLASSIFICATION,
        inputs=("text",),
        labels=("a",),
        metric="accuracy",
        domains={"letters": facts},
        subsets={},
        transforms=steps,
        differences=differences,
        sizes=filled or {},
    )
    manifest = Manifest(
        builder_version="0",
        benchmark="boss",
        title="Post",
        seed=0,
        partial=True,
        synthetic=False,
        content_hash="0" * 64,
        tasks={"post": task},
        sources={},
        encoder=None,
    )
    found = {size.split: size for size in paper_sizes(manifest, "post")}
    for size in found.values():
        assert sum(part.rows for part in size.parts) == size.rows - size.paper
    return found


def test_a_file_that_was_not_there_is_named_with_its_rows(wording: SnapshotAssertion) -> None:
    """Test a file that is missing, as WNUT without its train file, where the authors' code adds an empty sentence."""
    upstream = {"train": (rows("letters/train", None, 94),), "test": (rows("letters/test", 20, 20),)}
    found = sizes({"test": 20}, {"train": 95, "test": 21}, upstream, differences=(EMPTY,))
    assert [part.rows for part in found["train"].parts] == [-94, -1]
    assert [found["train"].why, found["test"].why] == wording


def test_equal_sizes_have_no_parts() -> None:
    found = sizes({"test": 20}, {"test": 20}, {"test": (rows("letters/test", 20, 20),)})
    assert found["test"].parts == ()
    assert found["test"].why == ""


def test_a_file_with_surplus_rows_is_named_and_what_left_of_them(wording: SnapshotAssertion) -> None:
    upstream = {"train": (rows("letters/train", 120, 100),)}
    found = sizes({"train": 66}, {"train": 60}, upstream, step("train", "label_from_root", 120, 66))
    assert [part.rows for part in found["train"].parts] == [20, -14]
    assert found["train"].why == wording


def test_files_in_part_stand_for_one_that_is_absent(wording: SnapshotAssertion) -> None:
    upstream = {"train": (rows("whole", None, 100), rows("one", 12, 0), rows("two", 10, 0))}
    found = sizes({"train": 19}, {"train": 100}, upstream, step("train", "copies_leave", 22, 19))
    assert [part.rows for part in found["train"].parts] == [-100, 12, 10, -3]
    assert found["train"].why == wording


def test_files_without_a_recorded_count_are_named() -> None:
    upstream = {"train": (rows("one", 40, None), rows("two", None, None))}
    found = sizes({"train": 35}, {"train": 100}, upstream, step("train", "keep_labelled", 40, 35))
    why = "no row count is recorded for 2 files, such as one; 40 rows were read, 35 remain"
    assert found["train"].parts == (SizePart(-65, why),)


def test_copies_of_test_texts_are_no_posts(wording: SnapshotAssertion) -> None:
    """Test rows that leave train because their text is in test, as in Hate Speech, where the paper cuts by post."""
    found = sizes(
        {"train": 73, "test": 20},
        {"train": 80, "test": 20},
        {"train": (rows("letters", 110, 110),)},
        step("train", "label_from_label", 110, 100),
        step("train", "test_inputs_leave_train", 80, 73),
    )
    assert [part.rows for part in found["train"].parts] == [-7]
    assert found["train"].why == wording
    assert found["test"].parts == ()


def test_more_rows_to_cut_are_shared_as_the_paper_cuts(wording: SnapshotAssertion) -> None:
    kept = EMPTY.model_copy(update={"theirs": "keeps a part", "rows": {"letters": {"train": 100}}})
    found = sizes(
        {"train": 138, "test": 61},
        {"train": 70, "test": 30},
        {"train": (rows("letters", 200, 200),)},
        step("train", "test_inputs_leave_train", 139, 138),
        differences=(kept,),
    )
    assert [part.rows for part in found["test"].parts] == [30, 1]
    assert [part.rows for part in found["train"].parts] == [70, -1, -1]
    assert found["test"].why == wording


def test_a_draw_of_which_the_paper_gives_no_size_is_told_with_its_files(wording: SnapshotAssertion) -> None:
    found = sizes(
        {"train": 30, "test": 9},
        {"train": 60, "test": 40},
        {"train": (rows("one", 90, 90), rows("two", None, 50))},
        step("train", "sample", 90, 80),
        step("train", "test_inputs_leave_train", 71, 70),
        step("train", "train_per_label", 70, 30),
    )
    assert [found["test"].why, found["train"].why] == wording


def test_splits_filled_to_a_size_name_the_domain_that_has_the_fewest(wording: SnapshotAssertion) -> None:
    filled = {"train": SizeFacts(paper=100, rows=60, smallest="notes")}
    found = sizes({"train": 60}, {}, {}, step("train", "fill_to_size", 90, 60), filled=filled)
    assert [part.rows for part in found["train"].parts] == [-10, -30]
    assert found["train"].why == wording


@pytest.mark.parametrize("upstream", [{}, {"test": (rows("letters", 50, 50),)}])
def test_folders_that_do_not_know_say_so(upstream: dict[str, tuple[UpstreamRows, ...]]) -> None:
    """Test older builds and public folders of withheld labels, which lack the steps on test rows."""
    (part,) = sizes({"test": 40}, {"test": 41}, upstream)["test"].parts
    assert part.rows == -1
    assert ("withheld" if upstream else "older") in part.why


def test_the_reason_of_an_older_folder_is_left_out() -> None:
    content = {"title": "Letters", "text_sources": ["Post"], "differs": "nobody knows"}
    assert Provenance.model_validate(content) == Provenance(title="Letters", text_sources=("Post",))
