"""Publishing: one commit of what changed, nothing where nothing did, damage refused first. The Hub is a fake."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

from builders import commands
from builders.folder import DatasetFolder
from builders.public import public_copy
from builders.publish import Plan, plan, publish
from validation.report import InvalidInput

REPO = "org/demo"


def refused(kind: type[HfHubHTTPError], status: int, message: str = "refused") -> HfHubHTTPError:
    request = httpx2.Request("GET", "https://example.org")
    return kind(message, response=httpx2.Response(status, request=request))


class FakeHub:
    """A dataset repository in a folder; every call that changes it is listed."""

    def __init__(self, root: Path, branches: Sequence[str] | None = ("main",)) -> None:
        self.root, self.branches = root, branches
        self.calls: list[str] = []
        self.commits: list[dict[str, Any]] = []
        self.fail: Exception | None = None

    def repo_info(self, repo_id: str, repo_type: str, revision: str) -> SimpleNamespace:
        assert (repo_id, repo_type) == (REPO, "dataset")
        if self.branches is None:
            raise refused(RepositoryNotFoundError, 404)
        if revision not in self.branches:
            raise refused(RevisionNotFoundError, 404)
        return SimpleNamespace(sha=f"head{len(self.commits)}")

    def list_repo_files(self, repo_id: str, repo_type: str, revision: str) -> list[str]:
        return [str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()]

    def hf_hub_download(self, repo_id: str, path: str, repo_type: str, revision: str) -> str:
        return str(self.root / path)

    def create_repo(self, repo_id: str, repo_type: str, exist_ok: bool) -> None:
        self.calls.append("create_repo")

    def create_branch(self, repo_id: str, repo_type: str, branch: str, exist_ok: bool) -> None:
        self.calls.append(f"create_branch {branch}")

    def create_commit(self, repo_id: str, operations: Sequence[Any], **options: Any) -> SimpleNamespace:
        if self.fail:
            raise self.fail
        self.calls.append("create_commit")
        self.commits.append(options)
        for operation in operations:
            path = self.root / operation.path_in_repo
            if isinstance(operation, CommitOperationAdd):
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(operation.path_or_fileobj, path)
            else:
                assert isinstance(operation, CommitOperationDelete)
                path.unlink()
        return SimpleNamespace(commit_url="https://example.org/commit")


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def hub(tmp_path: Path) -> FakeHub:
    (tmp_path / "hub").mkdir()
    return FakeHub(tmp_path / "hub")


def test_a_new_repository_gets_everything_in_one_commit(synthetic: DatasetFolder, hub: FakeHub) -> None:
    hub.branches = None
    made = plan(synthetic, REPO, "main", hub)
    assert made.parent is None
    assert made.add == {path: len(content) for path, content in files(synthetic.path).items()}
    assert hub.calls == []
    assert publish(synthetic, made, hub) == "https://example.org/commit"
    assert hub.calls == ["create_repo", "create_commit"]
    assert files(hub.root) == files(synthetic.path)
    message = f"Synthetic demo (generated texts): content {synthetic.content_hash[:12]}"
    assert hub.commits == [
        {"commit_message": message, "repo_type": "dataset", "revision": "main", "parent_commit": None}
    ]


def test_nothing_is_sent_when_nothing_changed(synthetic: DatasetFolder, hub: FakeHub) -> None:
    publish(synthetic, plan(synthetic, REPO, "main", hub), hub)
    hub.calls.clear()
    again = plan(synthetic, REPO, "main", hub)
    assert not again.changes
    assert publish(synthetic, again, hub) is None
    assert hub.calls == []


@pytest.mark.parametrize("name", ["README.md", "croissant.json", "shiftbench.json"])
def test_what_is_said_of_the_data_is_sent_when_it_changed(name: str, synthetic: DatasetFolder, hub: FakeHub) -> None:
    publish(synthetic, plan(synthetic, REPO, "main", hub), hub)
    (hub.root / name).write_text("old words")
    assert plan(synthetic, REPO, "main", hub).changes
    (hub.root / name).unlink()
    assert plan(synthetic, REPO, "main", hub).changes


def test_stale_files_of_ours_leave_and_others_stay(synthetic: DatasetFolder, hub: FakeHub) -> None:
    for path in ("data/nli/old/test-00000-of-00001.parquet", "figures/logo.png", ".gitattributes"):
        (hub.root / path).parent.mkdir(parents=True, exist_ok=True)
        (hub.root / path).write_text("old")
    made = plan(synthetic, REPO, "main", hub)
    assert made.delete == ("data/nli/old/test-00000-of-00001.parquet",)
    publish(synthetic, made, hub)
    assert hub.commits[0]["parent_commit"] == "head0"
    assert files(hub.root).keys() - files(synthetic.path).keys() == {"figures/logo.png", ".gitattributes"}


def test_a_new_branch_is_made(synthetic: DatasetFolder, hub: FakeHub) -> None:
    publish(synthetic, plan(synthetic, REPO, "draft", hub), hub)
    assert hub.calls == ["create_repo", "create_branch draft", "create_commit"]
    assert hub.commits[0]["revision"] == "draft"


def test_a_damaged_folder_is_not_published(synthetic: DatasetFolder, hub: FakeHub, tmp_path: Path) -> None:
    copy = DatasetFolder.open(shutil.copytree(synthetic.path, tmp_path / "copy"))
    (copy.path / "subsets/sa/all.parquet").unlink()
    with pytest.raises(InvalidInput, match="a file of the dataset folder is missing"):
        plan(copy, REPO, "main", hub)


def test_a_refusal_of_the_hub_is_one_line(synthetic: DatasetFolder, hub: FakeHub) -> None:
    made = plan(synthetic, REPO, "main", hub)
    hub.fail = refused(HfHubHTTPError, 412, "a commit has happened since")
    with pytest.raises(InvalidInput) as error:
        publish(synthetic, made, hub)
    assert str(error.value) == (
        "org/demo: the Hugging Face Hub did not give it; found a commit has happened since; check network, token and "
        "repository name, then run the command again; nothing was half sent"
    )
    assert files(hub.root) == {}


def test_rows_that_may_not_be_published_are_refused(mixed: DatasetFolder, hub: FakeHub) -> None:
    for send in (lambda: plan(mixed, REPO, "main", hub), lambda: publish(mixed, Plan(REPO, "main", None, {}, ()), hub)):
        with pytest.raises(InvalidInput) as refused:
            send()
        assert str(refused.value).splitlines() == [
            f"{mixed.path}: {domain} may not be published: the licence of Closed texts does not allow publishing its "
            "rows; publish the folder's public copy"
            for domain in ("nli.harbour", "sa.kettles")
        ]
    assert hub.calls == []


@pytest.mark.parametrize("dry_run", [True, False])
def test_the_command_publishes_the_public_copy_and_names_what_is_left_out(
    dry_run: bool,
    mixed: DatasetFolder,
    hub: FakeHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: hub)
    commands.publish(mixed.path, REPO, "main", dry_run, str(tmp_path / "sent.json"))
    said = capsys.readouterr().err
    why = "the licence of Closed texts does not allow publishing its rows"
    assert said.startswith(f"leave out nli.harbour: {why}\nleave out sa.kettles: {why}\nadd README.md (")
    expected = files(public_copy(mixed, tmp_path / "expected").path)
    assert files(hub.root) == ({} if dry_run else expected)
    sent = json.loads((tmp_path / "sent.json").read_text())
    assert sent["left_out"] == {"nli.harbour": why, "sa.kettles": why}
    assert sent["add"] == {path: len(content) for path, content in sorted(expected.items())}
    assert "harbour" not in "".join(sent["add"])


def test_a_domain_whose_licence_turned_out_closed_leaves_the_repository(
    mixed: DatasetFolder, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(mixed.path, hub.root, dirs_exist_ok=True)
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: hub)
    commands.publish(mixed.path, REPO)
    assert not [path for path in files(hub.root) if "harbour" in path or "kettles" in path]
    hub.calls.clear()
    commands.publish(mixed.path, REPO)
    assert hub.calls == []
