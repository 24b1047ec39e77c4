"""The data page: which tasks it offers, and what it says of one."""

from dataclasses import replace

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
