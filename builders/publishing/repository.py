"""A dataset repository on the Hub beside local files: what differs, and where a publication would go."""

import hashlib
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from shiftbench.validation.report import InvalidInput, Problem

HASHING_THREADS = 4
_REF_NAME = re.compile(r"(?!.*(\.\.|//|@\{|/\.))[A-Za-z0-9_][\w./+-]*(?<![./])(?<!\.lock)", re.ASCII)


@dataclass(frozen=True)
class Target:
    """Where a folder is published: repository, branch, and the tag of this version.

    ``private``: the repository must be private, and is made so.
    """

    repo_id: str
    revision: str
    tag: str
    private: bool = False

    def __post_init__(self) -> None:
        """Raise InvalidInput for names that no branch or tag can have."""
        if not _REF_NAME.fullmatch(self.revision) or re.fullmatch(r"refs/.*|[0-9a-f]{40}", self.revision):
            cure = "name a branch, such as main or draft"
            raise InvalidInput(Problem("this is not the name of a branch", self.repo_id, f"'{self.revision}'", cure))
        if not _REF_NAME.fullmatch(self.tag):
            raise InvalidInput(Problem("this cannot be a tag", self.repo_id, f"'{self.tag}'", "name it like v1"))


@dataclass(frozen=True)
class LocalFile:
    """A file to publish; its hash is computed once, when it is first asked for."""

    path: Path

    @cached_property
    def upload_info(self) -> Any:
        """Return what the Hub's client needs to know of the file."""
        from huggingface_hub.lfs import UploadInfo

        return UploadInfo.from_path(str(self.path))

    @property
    def size(self) -> int:
        """Return the size in bytes."""
        return int(self.upload_info.size)

    def is_at(self, remote: Any) -> bool:
        """Return whether the file has the content of one in a repository, a ``RepoFile``."""
        if remote is None or remote.size != self.size:
            return False
        if remote.lfs is not None:
            return bool(self.upload_info.sha256.hex() == remote.lfs.sha256)
        return bool(_blob_id(self.path.read_bytes()) == remote.blob_id)


@dataclass(frozen=True)
class Remote:
    """What a repository holds: the commit to build on, its files, and whether the branch and the tag are there.

    ``head`` is None where there is no repository. A branch that is not there yet begins at the head of ``main``.
    """

    head: str | None
    files: Mapping[str, Any]
    has_branch: bool
    tagged: str | None


def local_files(folder: Path) -> dict[str, LocalFile]:
    """List the files of a folder by their path in it; hidden files are left out."""
    paths = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {
        inside.as_posix(): LocalFile(path)
        for inside, path in paths.items()
        if not any(part.startswith(".") for part in inside.parts)
    }


def read_remote(target: Target, api: Any) -> Remote:
    """Read what a repository holds.

    Raises: InvalidInput where the branch is a tag, or a repository that must be private is not.
    """
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        refs = api.list_repo_refs(target.repo_id, repo_type="dataset")
    except RepositoryNotFoundError:
        return Remote(None, {}, False, None)
    if target.private and not api.repo_info(target.repo_id, repo_type="dataset").private:
        cure = "name another, or make it private; nothing was sent"
        raise InvalidInput(Problem("withheld labels may not go into a public repository", target.repo_id, cure=cure))
    branches = {ref.name: ref.target_commit for ref in refs.branches}
    tags = {ref.name: ref.target_commit for ref in refs.tags}
    if target.revision not in branches and target.revision in tags:
        cure = "name a branch; the tag of this version is --tag"
        raise InvalidInput(Problem("this is a tag, not a branch", target.repo_id, f"'{target.revision}'", cure))
    head = branches.get(target.revision) or branches["main"]
    tree = api.list_repo_tree(target.repo_id, recursive=True, revision=head, repo_type="dataset")
    files = {entry.path: entry for entry in tree if hasattr(entry, "blob_id")}
    return Remote(head, files, target.revision in branches, tags.get(target.tag))


def changed_files(local: Mapping[str, LocalFile], remote: Remote) -> dict[str, int]:
    """Return the files whose content is not in the repository, with their sizes."""
    with ThreadPoolExecutor(HASHING_THREADS) as pool:
        same = pool.map(lambda path: local[path].is_at(remote.files.get(path)), local)
        return {path: local[path].size for path, is_same in zip(local, same, strict=True) if not is_same}


def _blob_id(content: bytes) -> str:
    """Return git's name of a content, its blob id."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
