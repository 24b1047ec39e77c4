"""Publishing a dataset folder to the Hugging Face Hub: checked first, then one atomic commit and its tag.

A commit either replaces a version or does not: nobody sees half of one, wherever this program is stopped. After each
failure the repository is read again: a commit that landed although its answer got lost counts as done, and a
commit that somebody else made meanwhile is the new starting point.
"""

import hashlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from shiftbench.builders.folder.hashes import content_hash
from shiftbench.builders.folder.manifest import DATA_FOLDERS, MANIFEST
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import data_path, picture_path
from shiftbench.builders.hub_access import cause, retry, writing_to_hub
from shiftbench.builders.publishing.public import refuse_closed
from shiftbench.builders.publishing.repository import (
    HASHING_THREADS,
    LocalFile,
    Target,
    changed_files,
    local_files,
    read_remote,
)
from shiftbench.builders.writing.croissant import CROISSANT
from shiftbench.builders.writing.writer import README
from shiftbench.validation.report import InvalidInput, Problem

OWN_FOLDERS = tuple(f"{name}/" for name in (*DATA_FOLDERS, "statistics"))
"""Folders of the repository that hold nothing but what a build writes; stale files there are deleted."""


@dataclass(frozen=True)
class PublishPlan:
    """What publishing would do: files to add with their sizes in bytes, files to delete, and on which commit.

    ``parent`` is None where the repository is not there yet; ``new_branch`` says that the branch is not. ``tag`` is
    None where the tag stands at this version already.
    """

    target: Target
    title: str
    parent: str | None
    new_branch: bool
    add: dict[str, int]
    delete: tuple[str, ...]
    tag: str | None
    local: Mapping[str, LocalFile] = field(repr=False)

    @property
    def changes(self) -> bool:
        """Return whether there are files to send or to delete."""
        return bool(self.add or self.delete)

    def lines(self) -> list[str]:
        """Return what would be done, one action a line."""
        repo_id, kind = self.target.repo_id, "private repository" if self.target.private else "repository"
        return [
            *([f"create {kind} {repo_id}"] if self.parent is None else []),
            *([f"create branch {self.target.revision}"] if self.new_branch and self.target.revision != "main" else []),
            *(f"add {path} ({size:,} bytes)" for path, size in self.add.items()),
            *(f"delete {path}" for path in self.delete),
            *([f"tag {self.tag}"] if self.tag else []),
            *([] if self.changes else [f"{repo_id} already holds this content; no file to send"]),
        ]


def default_tag(folder: DatasetFolder, more: Mapping[str, str] | None = None) -> str:
    """Return the tag of a folder's version: format, content hash, and a hash of the depths and card.

    Args:
        folder: the dataset folder.
        more: texts of the files that are sent with it and describe it, by path.
    """
    own = [(folder.path / name).read_bytes() for name in (MANIFEST, README)]
    said = hashlib.sha256(b"".join([*own, *(text.encode() for text in (more or {}).values())]))
    return f"v{folder.manifest.format_version}-{folder.content_hash[:12]}-{said.hexdigest()[:6]}"


def plan_publishing(
    folder: DatasetFolder, target: Target, api: Any, more: Mapping[str, LocalFile] | None = None
) -> PublishPlan:
    """Check a folder and compare it with the repository.

    Args:
        folder: the dataset folder; InvalidInput when it fails its own check, or holds rows that may not be published
            (see ``shiftbench.builders.publishing.public``).
        target: where to; the dataset repository need not exist yet.
        api: a ``huggingface_hub.HfApi``.
        more: files that are sent with it and describe it, by their path in the repository.
    Raises: InvalidInput when the Hub cannot be asked, or the tag is already used for another version.
    """
    refuse_closed(folder)
    if folder.manifest.label_key is not None and not target.private:
        cure = "give the folder of 'public' and 'gold', and --private-gold"
        raise InvalidInput(Problem("this folder holds test labels that are withheld", str(folder.path), cure=cure))
    title = f"{folder.manifest.title}: content {folder.content_hash[:12]}"
    local = dict(sorted({**check_folder(folder), **(more or {})}.items()))
    with writing_to_hub(target.repo_id):
        return retry(lambda _: _compare(local, title, target, api))


def check_folder(folder: DatasetFolder) -> dict[str, LocalFile]:
    """Check a folder: by the checksums of its files where all are as the build wrote them, else row by row.

    The build checked what it wrote, and every file is hashed for the upload anyway.

    Returns: the files to publish, by path: those of the build, and no others that came to lie among them.
    """
    manifest = folder.manifest
    ours = {MANIFEST, README, CROISSANT, *manifest.files}
    ours |= {path(task) for task in manifest.tasks for path in (data_path, picture_path)}
    files = {path: file for path, file in local_files(folder.path).items() if path in ours}
    with ThreadPoolExecutor(HASHING_THREADS) as pool:
        hashes = dict(pool.map(lambda item: (item[0], item[1].upload_info.sha256.hex()), files.items()))
    data = {path: sha256 for path, sha256 in hashes.items() if path.partition("/")[0] in DATA_FOLDERS}
    same = data == manifest.files and folder.content_hash == content_hash(manifest.tasks, manifest.benchmark)
    if not data or not same:
        folder.check()
    return files


def publish(plan: PublishPlan, api: Any) -> str | None:
    """Publish a plan in one commit, and tag it; returns the commit's URL, None where there was no file to send.

    Args:
        plan: the plan; its files must still be there.
        api: a ``huggingface_hub.HfApi``.
    Raises: InvalidInput when the Hub refuses, or the repository moves on faster than this can follow.
    """

    def attempt(tries: int) -> str:
        # What failed may have landed all the same, and others may have come first: look again.
        current = plan if tries == 1 else _compare(plan.local, plan.title, plan.target, api)
        return _carry_out(current, api)

    with writing_to_hub(plan.target.repo_id):
        head = retry(attempt)
    return f"{api.endpoint}/datasets/{plan.target.repo_id}/commit/{head}" if plan.changes else None


def _compare(local: Mapping[str, LocalFile], title: str, target: Target, api: Any) -> PublishPlan:
    remote = read_remote(target, api)
    add = changed_files(local, remote)
    stale = tuple(sorted(path for path in remote.files if path.startswith(OWN_FOLDERS) and path not in local))
    if remote.tagged is not None and (add or stale):
        what, cure = "the tag is already used for another version", "give another --tag; nothing was sent"
        raise InvalidInput(Problem(what, target.repo_id, f"{target.tag} at {remote.tagged[:12]}", cure))
    tag = None if remote.tagged else target.tag
    return PublishPlan(target, title, remote.head, not remote.has_branch, add, stale, tag, local)


def _carry_out(plan: PublishPlan, api: Any) -> str:
    """Create the repository, branch, commit and tag that are missing; returns the commit's id."""
    target = plan.target
    where: dict[str, Any] = {"repo_id": target.repo_id, "repo_type": "dataset"}
    if plan.parent is None:
        api.create_repo(**where, private=target.private or None, exist_ok=True)
        plan = _compare(plan.local, plan.title, target, api)
        if plan.parent is None:
            cure = "give a token with access, or name another"
            raise InvalidInput(
                Problem("the repository exists, but the token has no access to it", target.repo_id, cure=cure)
            )
    if plan.new_branch:
        api.create_branch(**where, branch=target.revision, revision=plan.parent)
    head = plan.parent
    if plan.changes:
        # A commit that somebody else got in first is refused, not overwritten.
        with _refuse_content(target.repo_id):
            head = api.create_commit(
                **where,
                operations=_operations(plan),
                commit_message=plan.title,
                revision=target.revision,
                parent_commit=plan.parent,
            ).oid
    if plan.tag:
        api.create_tag(**where, tag=plan.tag, revision=head)
    return str(head)


@contextmanager
def _refuse_content(repo_id: str) -> Iterator[None]:
    """Raise InvalidInput for a card or an upload that the Hub's client does not accept."""
    try:
        yield
    except ValueError as error:
        if cause(error) is error:  # a refusal of the Hub as any other
            raise
        found = " ".join(str(error).split())[:200]
        raise InvalidInput(Problem("the Hub refused the content", repo_id, found, "build the folder again")) from error


def _operations(plan: PublishPlan) -> list[Any]:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    additions = [CommitOperationAdd(path, str(plan.local[path].path)) for path in plan.add]
    for addition in additions:
        addition.upload_info = plan.local[addition.path_in_repo].upload_info  # hashed already
    return [*additions, *(CommitOperationDelete(path) for path in plan.delete)]
