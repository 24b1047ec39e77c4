"""What the loopback Hub stores: objects by their sha256, and repositories of immutable commits, branches and tags."""

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GITATTRIBUTES = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n*.png filter=lfs diff=lfs merge=lfs -text\n"
_LARGE = 10_000_000
"""Files above this size are LFS files on the Hub, whatever their name."""


class Refused(Exception):  # noqa: N818 - an answer of the Hub, as its clients know it
    """An answer that is not 200: status, the Hub's error code, and what it says."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


@dataclass(frozen=True)
class File:
    """A file of a commit; its content lies among the objects."""

    sha256: str
    size: int
    blob_id: str
    lfs: bool

    @property
    def oid(self) -> str:
        """Return what clients compare: the sha256 of LFS files, the git blob id of others."""
        return self.sha256 if self.lfs else self.blob_id

    def listed(self, path: str) -> dict[str, Any]:
        """Return the file as listings have it."""
        lfs = {"lfs": {"oid": self.sha256, "size": self.size, "pointerSize": 134}} if self.lfs else {}
        return {"type": "file", "path": path, "size": self.size, "oid": self.blob_id, **lfs}


Tree = Mapping[str, File]


@dataclass(frozen=True)
class Commit:
    """One version of a repository. Nothing changes it."""

    oid: str
    parent: str | None
    title: str
    files: Tree


@dataclass
class Repository:
    """A dataset repository."""

    name: str
    private: bool
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def commit(self, revision: str) -> Commit:
        """Find a commit by branch, tag or id."""
        oid = self.branches.get(revision) or self.tags.get(revision) or revision
        if oid not in self.commits:
            raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return self.commits[oid]

    def add(self, branch: str, title: str, files: Tree) -> Commit:
        """Add a commit to a branch."""
        parent = self.branches.get(branch)
        content = json.dumps([self.name, parent, title, sorted((path, file.oid) for path, file in files.items())])
        commit = Commit(hashlib.sha1(content.encode()).hexdigest(), parent, title, dict(files))
        self.commits[commit.oid] = commit
        self.branches[branch] = commit.oid
        return commit

    def history(self, branch: str = "main") -> list[Commit]:
        """List a branch's commits, the newest first."""
        found, oid = [], self.branches.get(branch)
        while oid is not None:
            found.append(self.commits[oid])
            oid = found[-1].parent
        return found


class Repositories:
    """All that the Hub stores, under one folder."""

    def __init__(self, folder: Path) -> None:
        self.objects = folder / "objects"
        self.objects.mkdir(parents=True, exist_ok=True)
        self.by_name: dict[str, Repository] = {}
        self.lock = threading.RLock()

    def create(self, name: str, private: bool) -> Repository:
        """Create a repository, with the first commit that the Hub makes in every one."""
        if name in self.by_name:
            raise Refused(409, "You already created this dataset repo")
        made = Repository(name, private)
        made.add("main", "initial commit", {".gitattributes": self.store(GITATTRIBUTES, lfs=False)})
        self.by_name[name] = made
        return made

    def store(self, content: bytes, *, lfs: bool) -> File:
        """Keep some bytes."""
        sha256 = hashlib.sha256(content).hexdigest()
        path = self.objects / sha256
        if not path.exists():
            path.write_bytes(content)
        blob_id = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        return File(sha256, len(content), blob_id, lfs)

    def pointer(self, sha256: str, size: int) -> File:
        """Return an uploaded LFS object as a file."""
        path = self.objects / sha256
        if not path.exists() or path.stat().st_size != size:
            raise Refused(400, f"LFS object {sha256} was not uploaded")
        text = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n" % (sha256.encode(), size)
        return File(sha256, size, hashlib.sha1(b"blob %d\0" % len(text) + text).hexdigest(), lfs=True)

    def read(self, name: str, path: str, revision: str = "main") -> bytes:
        """Read a file of a repository."""
        return (self.objects / self.by_name[name].commit(revision).files[path].sha256).read_bytes()

    def files(self, name: str, revision: str = "main") -> dict[str, bytes]:
        """Read all files of a version, but the one that the Hub itself puts there."""
        paths = self.by_name[name].commit(revision).files
        return {path: self.read(name, path, revision) for path in paths if path != ".gitattributes"}


def is_lfs(path: str, size: int) -> bool:
    """Return whether the Hub keeps a file as an LFS object."""
    return path.endswith((".parquet", ".png")) or size > _LARGE


def listing(files: Tree, under: str, *, recursive: bool) -> list[dict[str, Any]]:
    """List what lies in a folder: files and folders, by path."""
    prefix = f"{under}/" if under else ""
    inside = {path: file for path, file in files.items() if path.startswith(prefix)}
    if not inside and under:
        raise Refused(404, f"{under} does not exist", "EntryNotFound")
    listed = {path: file.listed(path) for path, file in inside.items() if recursive or "/" not in path[len(prefix) :]}
    for folder in _folders(inside, prefix, recursive=recursive):
        listed[folder] = {
            "type": "directory",
            "path": folder,
            "size": 0,
            "oid": hashlib.sha1(folder.encode()).hexdigest(),
        }
    return [listed[path] for path in sorted(listed)]


def _folders(paths: Iterable[str], prefix: str, *, recursive: bool) -> set[str]:
    found = set()
    for path in paths:
        parts = path[len(prefix) :].split("/")[:-1]
        found |= {
            prefix + "/".join(parts[:depth])
            for depth in range(1, len(parts) + 1 if recursive else min(2, len(parts) + 1))
        }
    return found


def changed(files: Tree, operations: Iterable[Mapping[str, Any]], stored: Repositories) -> dict[str, File]:
    """Return the files after a commit's operations, as the client sends them; the lines of its body but the header."""
    import base64

    after = dict(files)
    for operation in operations:
        value = operation["value"]
        path = value["path"]
        match operation["key"]:
            case "file":
                after[path] = stored.store(base64.b64decode(value["content"]), lfs=False)
            case "lfsFile":
                after[path] = stored.pointer(value["oid"], value["size"])
            case "deletedFile":
                if path not in after:
                    raise Refused(404, "A file with this name doesn't exist", "EntryNotFound")
                del after[path]
            case "deletedFolder":
                after = {name: file for name, file in after.items() if not name.startswith(f"{path.rstrip('/')}/")}
            case other:
                raise Refused(400, f"unknown operation {other}")
    return after
