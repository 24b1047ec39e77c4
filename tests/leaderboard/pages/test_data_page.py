"""The data page: which tasks it offers, and what it says of one."""

from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.manifest import Manifest, SourceFile
from shiftbench.leaderboard.pages.data_page import data_page
from shiftbench.scoring.scores.examples import sample_rows
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.conftest import Filled, Visible
from tests.leaderboard.shapes import build_dealt_folder


def test_a_version_is_offered_once_and_another_one_by_its_hash(filled: Filled) -> None:
    manifest = filled.folder.manifest
    gold = replace(filled.folder, manifest=manifest.model_copy(update={"label_key": "0" * 64}))
    other = replace(filled.folder, manifest=manifest.model_copy(update={"content_hash": "1" * 64}))
    tasks = [f"/data?task={manifest.benchmark}/{task}" for task in manifest.tasks]
    links = [link for link in Visible(data_page([filled.folder, gold], "")).links if link.startswith("/data")]
    assert links == tasks
    links = [link for link in Visible(data_page([filled.folder, other], "")).links if link.startswith("/data")]
    assert links == [*tasks, *(f"{task}@11111111" for task in tasks)]


def test_every_domain_has_a_row_with_its_sizes(filled: Filled) -> None:
    shown = Visible(data_page([filled.folder], "synthetic/nli"))
    for domain, facts in filled.folder.task("nli").domains.items():
        assert domain in shown.text
        assert f"{facts.splits['test'].rows:,}" in shown.text


def test_a_task_that_is_not_there_is_said_so_and_its_name_is_no_markup(filled: Filled) -> None:
    with pytest.raises(InvalidInput, match="'<script>"):
        data_page([filled.folder], "<script>alert(1)</script>")


def test_unverified_files_are_named_beside_partial(filled: Filled, wording: SnapshotAssertion) -> None:
    manifest = filled.folder.manifest
    slug, source = next(iter(manifest.sources.items()))
    file = SourceFile(path="letters/train.csv", sha256="0" * 64, rows=9, recorded_rows=None, unverified=True)
    of = {**manifest.sources, slug: source.model_copy(update={"files": (file,)})}
    marked = manifest.model_copy(update={"unverified": True, "synthetic": False, "sources": of})
    both = marked.model_copy(update={"partial": True})

    def lines(changed: Manifest) -> list[str]:
        return Visible(data_page([replace(filled.folder, manifest=changed)], "synthetic/nli")).lines.splitlines()

    plain = lines(manifest)
    assert [[line for line in lines(each) if line not in plain] for each in (marked, both)] == wording


def test_rows_are_shown_where_licences_allow_it(tmp_path: Path) -> None:
    open_ = build_dealt_folder(tmp_path / "open", ["books", "films"])
    page = Visible(data_page([open_], "dealt/moods"))
    for domain in ("books", "films"):
        for row in open_.split("moods", domain, "train").head(3).iter_rows(named=True):
            assert row["text"] in page.text
            assert row["id"] in page.text
    assert 'load_dataset(DATA, "moods.books")' in page.text
    closed = build_dealt_folder(tmp_path / "closed", ["books", "films"], open_licence=False)
    page = Visible(data_page([closed], "dealt/moods"))
    assert closed.split("moods", "books", "train")["text"][0] not in page.text
    assert "books: the licence" in page.text


def test_withheld_labels_are_not_in_sample_rows(tmp_path: Path) -> None:
    folder = build_dealt_folder(tmp_path / "data", ["books", "films"])
    assert all(row.gold for row in sample_rows(folder, "moods", "books"))
    manifest = folder.manifest
    facts = manifest.tasks["moods"].domains["books"]
    only_test = facts.model_copy(update={"splits": {"test": facts.splits["test"]}})
    tasks = {"moods": manifest.tasks["moods"].model_copy(update={"domains": {"books": only_test}})}
    withheld = replace(folder, manifest=manifest.model_copy(update={"label_key": "0" * 64, "tasks": tasks}))
    assert [row.gold for row in sample_rows(withheld, "moods", "books")] == ["", "", ""]
