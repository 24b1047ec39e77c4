"""Publishing a dataset folder to the Hugging Face Hub: checked first, then one atomic commit."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders.croissant import CROISSANT
from builders.folder import DatasetFolder
from builders.hub import reaching_hub
from builders.manifest import MANIFEST
from builders.public import refuse_closed
from builders.writer import README

OWN_FOLDERS = ("data/", "depth/", "subsets/")
"""Folders of the repository that hold nothing but what a build writes; stale files there are deleted."""

_FACTS = (MANIFEST, README, CROISSANT)
"""What a folder says of itself; where these are the same, all else is."""
_HUB_CURE = "check network, token and repository name, then run the command again; nothing was half sent"


@dataclass(frozen=True)
class Plan:
    """What a publication would send: files to add with their sizes in bytes, files to delete, and on which commit."""

    repo_id: str
    revision: str
    parent: str | None
    add: dict[str, int]
    delete: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """Whether there is anything to send."""
        return bool(self.add or self.delete)


def plan(folder: DatasetFolder, repo_id: str, revision: str, api: Any) -> Plan:
    """Check a folder and compare it with the repository.

    Args:
        folder: the dataset folder; InvalidInput when it fails its own check, or holds rows that may not be published
            (see ``builders.public``).
        repo_id: ``ORG/NAME`` of a dataset repository, which need not exist yet.
        revision: branch.
        api: a ``huggingface_hub.HfApi``.
    """
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    refuse_closed(folder)
    folder.check()
    local = {
        str(path.relative_to(folder.path)): path.stat().st_size
        for path in sorted(folder.path.rglob("*"))
        if path.is_file()
    }
    with reaching_hub(repo_id, _HUB_CURE):
        try:
            head = api.repo_info(repo_id, repo_type="dataset", revision=revision).sha
        except (RepositoryNotFoundError, RevisionNotFoundError):
            return Plan(repo_id, revision, None, local, ())
        remote = set(api.list_repo_files(repo_id, repo_type="dataset", revision=head))
        if _same_facts(folder.path, repo_id, head, remote, api):
            return Plan(repo_id, revision, head, {}, ())
    stale = sorted(path for path in remote if path.startswith(OWN_FOLDERS) and path not in local)
    return Plan(repo_id, revision, head, local, tuple(stale))


def publish(folder: DatasetFolder, made: Plan, api: Any) -> str | None:
    """Carry out a plan in one commit; returns its URL, None when there was nothing to send.

    Raises: InvalidInput when the Hub refuses, as it does when the repository has moved on since the plan was made.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    refuse_closed(folder)
    if not made.changes:
        return None
    operations: list[CommitOperationAdd | CommitOperationDelete] = [
        *(CommitOperationAdd(path, str(folder.path / path)) for path in made.add),
        *(CommitOperationDelete(path) for path in made.delete),
    ]
    with reaching_hub(made.repo_id, _HUB_CURE):
        if made.parent is None:
            api.create_repo(made.repo_id, repo_type="dataset", exist_ok=True)
            if made.revision != "main":
                api.create_branch(made.repo_id, repo_type="dataset", branch=made.revision, exist_ok=True)
        # With a parent, a commit that somebody else got in first is refused, not overwritten.
        commit = api.create_commit(
            made.repo_id,
            operations,
            commit_message=f"{folder.manifest.title}: content {folder.content_hash[:12]}",
            repo_type="dataset",
            revision=made.revision,
            parent_commit=made.parent,
        )
    return str(commit.commit_url)


def _same_facts(path: Path, repo_id: str, head: str, remote: set[str], api: Any) -> bool:
    """Whether the repository says of itself what the folder does: the manifest has the hashes of all rows."""
    if not remote.issuperset(_FACTS):
        return False
    published = [Path(api.hf_hub_download(repo_id, name, repo_type="dataset", revision=head)) for name in _FACTS]
    return all(file.read_bytes() == (path / name).read_bytes() for file, name in zip(published, _FACTS, strict=True))
