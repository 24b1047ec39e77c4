"""The data page: which tasks it offers, and what it says of one."""

from dataclasses import replace

from builders.folder.manifest import SourceFile
from leaderboard.views.data_page import data_page
from tests.leaderboard.conftest import Filled, Visible


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
    page = data_page([filled.folder], "<script>alert(1)</script>")
    assert "There is no such task here" in page
    assert "<script>" not in page


def test_unverified_files_are_named_beside_partial(filled: Filled) -> None:
    manifest = filled.folder.manifest
    slug, source = next(iter(manifest.sources.items()))
    file = SourceFile(path="letters/train.csv", sha256="0" * 64, rows=9, recorded_rows=None, unverified=True)
    of = {**manifest.sources, slug: source.model_copy(update={"files": (file,)})}
    marked = manifest.model_copy(update={"unverified": True, "synthetic": False, "sources": of})
    page = str(data_page([replace(filled.folder, manifest=marked)], "synthetic/nli"))
    assert "Unverified build. " in page
    assert "unverified, not known to be whole: letters/train.csv" in page
    both = marked.model_copy(update={"partial": True})
    page = str(data_page([replace(filled.folder, manifest=both)], "synthetic/nli"))
    assert "Partial build. " in page
    assert "partial, unverified" in page
    assert "also unverified: see the data page" in page
    assert "nverified" not in str(data_page([filled.folder], "synthetic/nli"))
