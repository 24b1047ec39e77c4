"""Publish a dataset folder to the Hugging Face Hub: check it, then make one atomic commit and tag it.

A version is replaced completely or not at all, even if this program is interrupted. After each failure the repository
is read again: a commit that succeeded although the response was lost counts as done, and another user's commit made
meanwhile becomes the new parent.
"""

import hashlib
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shiftbench.builders.folder.hashes import content_hash, settings_hash
from shiftbench.builders.folder.manifest import DATA_FOLDERS, GOLD_FOLDER, MANIFEST, PUBLIC_FOLDER, Manifest
from shiftbench.builders.folder.publication import Publication
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import data_path, picture_path
from shiftbench.builders.hub_access import cause, is_unreachable, retry, writing_to_hub
from shiftbench.builders.publishing.public import closed_domains, published_folder, refuse_closed
from shiftbench.builders.publishing.published_texts import published_texts
from shiftbench.builders.writing.croissant import CROISSANT
from shiftbench.builders.writing.withhold import withheld_folders
from shiftbench.builders.writing.writer import README
from shiftbench.validation.report import InvalidInput, Problem

HASHING_THREADS = 4
_REF_NAME = re.compile(r"(?!.*(\.\.|//|@\{|/\.))[A-Za-z0-9_][\w./+-]*(?<![./])(?<!\.lock)", re.ASCII)


@dataclass(frozen=True)
class Target:
    """Destination of publishing: repository, branch, and the tag of this version.

    ``private``: the repository must be private, and is created as such.
    """

    repo_id: str
    revision: str
    tag: str
    private: bool = False

    def __post_init__(self) -> None:
        """Raise InvalidInput for invalid branch or tag names."""
        if not _REF_NAME.fullmatch(self.revision) or re.fullmatch(r"refs/.*|[0-9a-f]{40}", self.revision):
            cure = "give a branch, such as main or draft"
            raise InvalidInput(Problem("this is not the name of a branch", self.repo_id, f"'{self.revision}'", cure))
        if not _REF_NAME.fullmatch(self.tag):
            raise InvalidInput(Problem("this is not a valid tag", self.repo_id, f"'{self.tag}'", "write it like v1"))


@dataclass(frozen=True)
class LocalFile:
    """A file to publish; its hash is computed once, on first use."""

    path: Path

    @cached_property
    def upload_info(self) -> Any:
        """Return the file's ``UploadInfo`` for the Hub client."""
        from huggingface_hub.lfs import UploadInfo

        return UploadInfo.from_path(str(self.path))

    @property
    def size(self) -> int:
        """Return the size in bytes."""
        return int(self.upload_info.size)

    def is_at(self, remote: Any) -> bool:
        """Return whether the file has the same content as a ``RepoFile`` of a repository."""
        if remote is None or remote.size != self.size:
            return False
        if remote.lfs is not None:
            return bool(self.upload_info.sha256.hex() == remote.lfs.sha256)
        # For small files outside LFS the Hub only states git's blob id.
        return bool(_blob_id(self.path.read_bytes()) == remote.blob_id)


@dataclass(frozen=True)
class Remote:
    """State of a repository: the head commit, its files, whether the branch exists, and the tag's commit.

    ``head`` is None if there is no repository. A missing branch is created from the head of ``main``.
    """

    head: str | None
    files: Mapping[str, Any]
    has_branch: bool
    tagged: str | None


def local_files(folder: Path) -> dict[str, LocalFile]:
    """Return the files of a folder by relative path, without hidden files."""
    paths = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {
        inside.as_posix(): LocalFile(path)
        for inside, path in paths.items()
        if not any(part.startswith(".") for part in inside.parts)
    }


def read_remote(target: Target, api: Any) -> Remote:
    """Read the state of a repository.

    Raises: InvalidInput if the branch is a tag, or a repository that must be private is not.
    """
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        refs = api.list_repo_refs(target.repo_id, repo_type="dataset")
    except RepositoryNotFoundError:
        return Remote(None, {}, False, None)
    if target.private and not api.repo_info(target.repo_id, repo_type="dataset").private:
        cure = "give another repository, or make this one private; nothing was sent"
        raise InvalidInput(
            Problem("withheld labels must not be published in a public repository", target.repo_id, cure=cure)
        )
    branches = {ref.name: ref.target_commit for ref in refs.branches}
    tags = {ref.name: ref.target_commit for ref in refs.tags}
    if target.revision not in branches and target.revision in tags:
        cure = "give a branch"
        raise InvalidInput(Problem("this is a tag, not a branch", target.repo_id, f"'{target.revision}'", cure))
    head = branches.get(target.revision) or branches["main"]
    tree = api.list_repo_tree(target.repo_id, recursive=True, revision=head, repo_type="dataset")
    files = {entry.path: entry for entry in tree if hasattr(entry, "blob_id")}
    return Remote(head, files, target.revision in branches, tags.get(target.tag))


def changed_files(local: Mapping[str, LocalFile], remote: Remote) -> dict[str, int]:
    """Return the sizes of files that are new or changed in comparison with the repository."""
    with ThreadPoolExecutor(HASHING_THREADS) as pool:
        same = pool.map(lambda path: local[path].is_at(remote.files.get(path)), local)
        return {path: local[path].size for path, is_same in zip(local, same, strict=True) if not is_same}


def _blob_id(content: bytes) -> str:
    """Return git's blob id of a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


OWN_FOLDERS = tuple(f"{name}/" for name in (*DATA_FOLDERS, "statistics"))
"""Folders of the repository that only contain files of a build; stale files there are deleted."""


_UNREACHED = "the Hub cannot be reached; every file is listed"


@dataclass(frozen=True)
class PublishPlan:
    """A publishing plan: files to add with their sizes in bytes, files to delete, and the parent commit.

    ``parent`` is None if the repository does not exist yet; ``new_branch``: whether the branch must be created.
    ``tag`` is None if the tag already points to this version. If the Hub could not be reached, ``compared`` is False
    and all files are added.
    """

    target: Target
    title: str
    parent: str | None
    new_branch: bool
    add: dict[str, int]
    delete: tuple[str, ...]
    tag: str | None
    local: Mapping[str, LocalFile] = field(repr=False)
    compared: bool = True

    @property
    def changes(self) -> bool:
        """Return whether there are files to add or delete."""
        return bool(self.add or self.delete)

    def lines(self) -> list[str]:
        """Return the planned actions, one per line."""
        repo_id, kind = self.target.repo_id, "private repository" if self.target.private else "repository"
        return [
            *([] if self.compared else [f"no comparison with {repo_id}: {_UNREACHED}"]),
            *([f"create {kind} {repo_id}"] if self.parent is None and self.compared else []),
            *([f"create branch {self.target.revision}"] if self.new_branch and self.target.revision != "main" else []),
            *(f"add {path} ({size:,} bytes)" for path, size in self.add.items()),
            *(f"delete {path}" for path in self.delete),
            *([f"tag {self.tag}"] if self.tag else []),
            *([] if self.changes else [f"{repo_id} already has this content; no file to send"]),
        ]


def default_tag(folder: DatasetFolder, more: Mapping[str, str] | None = None) -> str:
    """Return the tag of a folder's version: format, content hash, and a hash of the depths and card.

    Args:
        folder: the dataset folder.
        more: texts of additional descriptive files, by path.
    """
    own = [(folder.path / name).read_bytes() for name in (MANIFEST, README)]
    said = hashlib.sha256(b"".join([*own, *(text.encode() for text in (more or {}).values())]))
    return f"v{folder.manifest.format_version}-{folder.content_hash[:12]}-{said.hexdigest()[:6]}"


def plan_publishing(
    folder: DatasetFolder,
    target: Target,
    api: Any,
    more: Mapping[str, LocalFile] | None = None,
    *,
    offline: bool = False,
) -> PublishPlan:
    """Check a folder and compare it with the repository.

    Args:
        folder: the dataset folder; InvalidInput if it is invalid or contains rows that may not be published (see
            ``shiftbench.builders.publishing.public``).
        target: the destination; the repository need not exist yet.
        more: additional or replacement files, by their path in the repository.
        offline: if the Hub cannot be reached, plan without comparing.
    Raises: InvalidInput if the Hub cannot be reached, or the tag is already used for another version.
    """
    refuse_closed(folder)
    if folder.manifest.label_key is not None and not target.private:
        cure = "give the folder that contains 'public' and 'gold', and --private-gold"
        raise InvalidInput(Problem("this folder contains withheld test labels", str(folder.path), cure=cure))
    title = f"{folder.manifest.title}: {folder.manifest.version}"
    local = dict(sorted({**check_folder(folder), **(more or {})}.items()))
    try:
        with writing_to_hub(target.repo_id):
            return retry(lambda _: _compare(local, title, target, api))
    except InvalidInput as error:
        if not (offline and is_unreachable(error.__cause__)):
            raise
        sizes = {path: file.size for path, file in local.items()}
        return PublishPlan(target, title, None, False, sizes, (), target.tag, local, compared=False)


def check_folder(folder: DatasetFolder) -> dict[str, LocalFile]:
    """Check a folder by the checksums of its files or, if a file differs from the build's, row by row.

    The build has validated its output, and every file is hashed for the upload anyway.

    Returns: the files to publish, by path: only those of the build, no stray files.
    """
    manifest = folder.manifest
    ours = {MANIFEST, README, CROISSANT, *manifest.files}
    ours |= {path(task) for task in manifest.tasks for path in (data_path, picture_path)}
    files = {path: file for path, file in local_files(folder.path).items() if path in ours}
    with ThreadPoolExecutor(HASHING_THREADS) as pool:
        hashes = dict(pool.map(lambda item: (item[0], item[1].upload_info.sha256.hex()), files.items()))
    data = {path: sha256 for path, sha256 in hashes.items() if path.partition("/")[0] in DATA_FOLDERS}
    same = folder.content_hash == content_hash(manifest.tasks, manifest.benchmark)
    same_settings = manifest.settings_hash in (None, settings_hash(manifest.tasks, manifest.encoder))
    if not data or data != manifest.files or not same or not same_settings:
        folder.check()
    return files


def publish(plan: PublishPlan, api: Any) -> str | None:
    """Publish a plan in one commit, and tag it; return the commit's URL, None if nothing changed.

    Raises: InvalidInput if the Hub refuses, or other commits keep arriving first.
    """

    def attempt(tries: int) -> str:
        # A failed commit may have succeeded after all, or others may have committed: compare again.
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
        what, cure = "the tag is already used for another version", "remove the tag on the Hub; nothing was sent"
        raise InvalidInput(Problem(what, target.repo_id, f"{target.tag} at {remote.tagged[:12]}", cure))
    tag = None if remote.tagged else target.tag
    return PublishPlan(target, title, remote.head, not remote.has_branch, add, stale, tag, local)


def _carry_out(plan: PublishPlan, api: Any) -> str:
    """Create the missing repository, branch, commit and tag; return the commit's id."""
    target = plan.target
    where: dict[str, Any] = {"repo_id": target.repo_id, "repo_type": "dataset"}
    if plan.parent is None:
        api.create_repo(**where, private=target.private or None, exist_ok=True)
        plan = _compare(plan.local, plan.title, target, api)
        # The Hub hides repositories from those without access, and creating one with exist_ok then succeeds.
        if plan.parent is None:
            cure = "give a token with access, or another repository"
            raise InvalidInput(
                Problem("the repository exists, but the token has no access to it", target.repo_id, cure=cure)
            )
    if plan.new_branch:
        api.create_branch(**where, branch=target.revision, revision=plan.parent)
    head = plan.parent
    if plan.changes:
        # With parent_commit the Hub refuses our commit if someone else has committed meanwhile.
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
    """Raise InvalidInput for a card or an upload that the Hub client rejects."""
    try:
        yield
    except ValueError as error:
        if cause(error) is error:  # an HTTP error, which is also a ValueError: handled by writing_to_hub
            raise
        found = " ".join(str(error).split())[:200]
        raise InvalidInput(Problem("the Hub refused the content", repo_id, found, "build the folder again")) from error


def _operations(plan: PublishPlan) -> list[Any]:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    additions = [CommitOperationAdd(path, str(plan.local[path].path)) for path in plan.add]
    for addition in additions:
        addition.upload_info = plan.local[addition.path_in_repo].upload_info  # hashed already
    return [*additions, *(CommitOperationDelete(path) for path in plan.delete)]


log = logging.getLogger(__name__)

Describe = Callable[[Manifest], Mapping[str, str]]
"""Manifest -> additional descriptive files, by path in the repository."""


def publish_folders(
    folder: Path,
    repo_id: str,
    revision: str = "main",
    *,
    tag: str | None = None,
    private_gold: str | None = None,
    dry_run: bool = False,
    publication: Publication | None = None,
    describe: Describe = lambda _: {},
    api: Any = None,
) -> dict[str, Any]:
    """Publish a dataset folder, or the two folders of a build with withheld labels.

    Both are checked and compared before anything is sent.

    Args:
        folder: the dataset folder, or the folder containing the two.
        repo_id: repository of the dataset folder, or of the public one of the two.
        revision: branch, in both repositories.
        tag: tag of this version; derived from the content by default.
        private_gold: repository of the gold folder; None does not publish it.
        dry_run: compare if the Hub can be reached, but send nothing.
        publication: the publisher's metadata, for card, Croissant and BibTeX; must include a contact if texts may be
            harmful.
        describe: returns additional files for each dataset.
        api: a ``huggingface_hub.HfApi``; by default with the URL and token from the environment.
    Returns: the changes made or planned, as JSON data.
    Raises: InvalidInput if a check fails or the Hub refuses.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    api = api or HfApi()
    public, gold = _parts(folder, repo_id, private_gold)
    with ExitStack() as stack:

        def plan_part(path: Path, repo_id: str, *, private: bool) -> tuple[dict[str, str], PublishPlan]:
            left_out, part = _public_part(stack, path)
            texts = published_texts(part, publication, repo_id, api.endpoint, path)
            texts |= describe(part.manifest)
            target = Target(repo_id, revision, tag or default_tag(part, texts), private)
            plan = plan_publishing(part, target, api, _write_texts(stack, texts), offline=dry_run)
            for line in plan.lines():
                log.info("%s", line)
            return left_out, plan

        left_out, plan = plan_part(public, repo_id, private=False)
        gold_plan = None
        if gold is not None and private_gold is not None:
            _, gold_plan = plan_part(gold, private_gold, private=True)
        elif gold is not None:
            log.info("skipping %s: gold is published only to the repository given by --private-gold", gold)
        commit, commit_gold = (_send_plan(each, api, dry_run=dry_run) for each in (plan, gold_plan))
    content = {**_as_json(plan, commit), "left_out": left_out}
    return content | ({"gold": _as_json(gold_plan, commit_gold)} if gold_plan else {})


def _parts(folder: Path, repo_id: str, private_gold: str | None) -> tuple[Path, Path | None]:
    """Return the folder to publish, and the gold folder if there is one."""
    pair = withheld_folders(folder)
    if pair is not None:
        if private_gold is not None and private_gold.casefold() == repo_id.casefold():
            cure = "give two repositories"
            raise InvalidInput(
                Problem("withheld labels must not be published in the public repository", private_gold, cure=cure)
            )
        _refuse_other_pair(*pair)
        return pair
    if private_gold is not None:
        cure = "build with --withhold-labels and give the folder that contains both, or omit --private-gold"
        found = f"no '{PUBLIC_FOLDER}' and '{GOLD_FOLDER}' in it"
        raise InvalidInput(Problem("this folder contains no withheld labels to publish", str(folder), found, cure))
    whole = folder.resolve()
    if whole.name == GOLD_FOLDER and (whole.parent / PUBLIC_FOLDER / MANIFEST).is_file():
        cure = f"publish {whole.parent} with --private-gold"
        raise InvalidInput(Problem("this folder contains withheld test labels", str(folder), cure=cure))
    return folder, None


def _refuse_other_pair(public: Path, gold: Path) -> None:
    """Raise InvalidInput if two folders are not from one build, or the public one has labels."""
    manifests = [DatasetFolder.open(path).manifest for path in (public, gold)]
    cure = "build both again with --withhold-labels"
    if not manifests[0].withholds_labels or manifests[1].label_key is None:
        raise InvalidInput(Problem("the public folder has test labels", str(public), cure=cure))
    if manifests[0].version != manifests[1].version:
        found = " and ".join(str(manifest.version) for manifest in manifests)
        raise InvalidInput(Problem("'public' and 'gold' are from different builds", str(public), found, cure))


def _public_part(stack: ExitStack, path: Path) -> tuple[dict[str, str], DatasetFolder]:
    """Return the excluded domains with reasons, and the publishable folder, valid until the stack is closed."""
    opened = DatasetFolder.open(path)
    left_out = closed_domains(opened.manifest)
    if left_out:
        check_folder(opened)  # the public copy does not check what it copies
    for domain, why in left_out.items():
        log.info("skipping %s: %s", domain, why)
    return left_out, stack.enter_context(published_folder(opened))


def _write_texts(stack: ExitStack, texts: Mapping[str, str]) -> dict[str, LocalFile]:
    """Write texts into a folder that is deleted when the stack is closed."""
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="shiftbench-publish-")))
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return local_files(folder)


def _send_plan(plan: PublishPlan | None, api: Any, *, dry_run: bool) -> str | None:
    if plan is None or dry_run:
        return None
    url = publish(plan, api)
    if url is not None:
        log.info("published: %s", url)
    return url


def _as_json(plan: PublishPlan, commit: str | None) -> dict[str, Any]:
    target = plan.target
    facts = {"repo_id": target.repo_id, "revision": target.revision, "tag": target.tag, "commit": commit}
    return {**facts, "compared": plan.compared, "add": plan.add, "delete": list(plan.delete)}
