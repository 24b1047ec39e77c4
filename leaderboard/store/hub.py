"""A store in a dataset repository on the Hub, with a local copy of frequently read files.

Every addition is one commit with the last seen commit as its parent (``parent_commit``), so a concurrent writer is
rejected, updates its copy, and checks quotas again. After a failure the repository is also checked, so that a commit
whose response was lost is not repeated. The copy may be deleted at any time; predictions are downloaded on demand.
"""

import hashlib
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from shiftbench.builders.hub_access import retry, writing_to_hub
from shiftbench.leaderboard.store.entries import (
    CARD,
    ENTRIES,
    ENTRY_ID,
    FORECASTS,
    RECORD,
    RECORDS,
    SCORES,
    VERSION,
    WITHDRAWN,
    Changes,
    card_path,
    scores_path,
    table_path,
    tombstone_path,
)
from shiftbench.leaderboard.store.local import Listed, Listing, LocalFolder
from shiftbench.leaderboard.store.log import HEAD, LOG, LOG_FILE, is_in_log
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.validation.report import InvalidInput, Problem

T = TypeVar("T")

OVERTAKEN_TRIES = 30
"""Maximum number of attempts at a commit if others commit first."""
PATIENCE, COMMIT_PATIENCE = 60.0, 300.0
"""Timeouts of requests in seconds; the Hub's client would wait forever."""
_THREADS, _BATCH, _COMMITTED = 8, 64, 500
"""Concurrent downloads, files per local write, and files per commit of scores."""
_OURS = {ENTRIES, WITHDRAWN, SCORES, RECORDS, LOG, "README.md", "LICENSE", ".gitattributes"}
_CURE = "send it again; duplicates are not stored twice"


class HubRepository(LocalFolder):
    """A dataset repository and its copy in a local folder, from which files are read."""

    def __init__(self, repo_id: str, copy: Path, api: Any) -> None:
        super().__init__(copy)
        self._repo_id, self._api = repo_id, api
        self._head: str | None = None
        self._copied: dict[str, dict[str, str]] = {}  # by folder: names and content ids of files that may change
        self._must_be_private = False
        self._sending = threading.RLock()
        self._sending_processes = FileLock(copy / ".sending.lock", timeout=2 * COMMIT_PATIENCE)

    def add(self, make: Callable[[], Changes | None]) -> bool:
        """Make changes in one commit; return whether this call made them.

        ``make`` returns the changes. It is called again on each retry, because another commit may have come first.
        """
        sent: list[Changes] = []

        def attempt(_: int) -> bool:
            with self._updating():
                head = self._update_copy()
                files = make()
                if files is None:
                    return self._has_landed(sent)
                sent.append(files)
                made = self._commit(files, head)
                self.write_local(files)
                self._head = made  # only after the copy has the commit, otherwise it would never be downloaded
                return True

        try:
            with writing_to_hub(self._repo_id, _CURE):
                return retry(attempt, overtaken_tries=OVERTAKEN_TRIES)
        except InvalidInput:
            if sent and self._landed_after_all(sent):
                return True
            raise

    def fetch(self, path: str) -> Path:
        """Return a file's path in the copy; a missing file is downloaded first."""
        if not (self.root / path).is_file():
            with writing_to_hub(self._repo_id, "try again later"):
                content = self._content(path, self._head or "main")
            if content is None:
                raise InvalidInput(Problem("the store has no such file", self._repo_id, path, "submit it again"))
            self.write_local({path: content})
        return self.root / path

    def refresh(self) -> None:
        """Update the copy to the repository's newest commit."""

        def attempt(_: int) -> str:
            with self._updating():
                return self._update_copy()

        with writing_to_hub(self._repo_id, "try again later"):
            retry(attempt)

    def listing(self, choose: Callable[[Mapping[str, Listed]], Collection[str]]) -> Listing:
        """List all files of the repository's newest commit, which never changes."""
        from huggingface_hub.hf_api import RepoFile

        def tree(_: int) -> Listing:
            info = self._ask(lambda: self._api.repo_info(self._repo_id, repo_type="dataset", expand=["sha", "private"]))
            where = {"recursive": True, "revision": info.sha, "repo_type": "dataset"}
            items = self._ask(lambda: list(self._api.list_repo_tree(self._repo_id, **where)))
            files = {each.path: Listed(each.size, each.blob_id) for each in items if isinstance(each, RepoFile)}
            return Listing(files, {}, str(info.sha), bool(info.private))

        with writing_to_hub(self._repo_id, "try again later"):
            return retry(tree)

    def listed_content(self, path: str, listing: Listing) -> bytes | None:
        """Read a listed file from the repository, at the listing's commit."""
        with writing_to_hub(self._repo_id, "try again later"):
            return retry(lambda _: self._content(path, listing.revision or "main"))

    def check_writable(self) -> None:
        """Check that the token may write to the repository."""
        with writing_to_hub(self._repo_id, "try again later"):
            retry(lambda _: self._ask(lambda: self._api.auth_check(self._repo_id, repo_type="dataset", write=True)))

    def require_private(self) -> None:
        """Check that the repository is private, now and at every later update."""
        self._must_be_private = True
        super().require_private()
        self.refresh()

    def present(self, paths: Iterable[str]) -> set[str]:
        """Return which of the paths exist in the repository or the copy."""
        paths = set(paths)
        with writing_to_hub(self._repo_id, "try again later"):
            there = retry(lambda _: self._there(paths, self._head or "main"))
        return super().present(paths) | there

    def squash(self) -> None:
        """Squash the repository's history to the current state, so that former revisions can no longer be read."""
        cure = "squash its history on the Hub: older revisions contain the erased data"
        with writing_to_hub(self._repo_id, cure), self._updating():
            self._update_copy()
            self._ask(lambda: self._api.super_squash_history(self._repo_id, repo_type="dataset"), COMMIT_PATIENCE)

    def versions(self) -> set[str]:
        """Return the metric versions for which the repository or the copy has scores."""
        with writing_to_hub(self._repo_id, "try again later"):
            names = retry(lambda _: self._listing(SCORES, self._head or "main"))
        return super().versions() | {name for name in names if VERSION.fullmatch(name)}

    def fetch_scores(self, version: str) -> None:
        """Download the nested scores of another metric version."""
        with writing_to_hub(self._repo_id, "try again later"), self._updating():
            self._fetch_scores(version, self._head or "main", (".json",), self.ids() - self.withdrawn())

    def share(self, made: Collection[str]) -> None:
        """Upload scores of this metric version: recomputed ones, and those missing from the repository."""
        folder = f"{SCORES}/{METRIC_VERSION}"
        self.refresh()
        with writing_to_hub(self._repo_id, "try again later"):
            there = retry(lambda _: self._listing(folder, self._head or "main"))
        ids = self.ids() - self.withdrawn()
        lacking = {name for name in set(self.names(folder)) - there if name.partition(".")[0] in ids}
        paths = sorted({*made, *(f"{folder}/{name}" for name in lacking)})
        for start in range(0, len(paths), _COMMITTED):
            some = paths[start : start + _COMMITTED]
            self.add(lambda some=some: {path: (self.root / path).read_bytes() for path in some})  # type: ignore[misc]

    @contextmanager
    def _updating(self) -> Iterator[None]:
        """Serialise updates and commits on this machine, as concurrent ones would only conflict."""
        if self.has_vanished():
            self.forget_root()
            self._head, self._copied = None, {}  # so that everything is downloaded again
        self.make_folder()
        try:
            with self._sending, self._sending_processes:
                yield
        except Timeout as error:
            raise InvalidInput(
                Problem("other machines are writing to this store", str(self.root), cure=_CURE)
            ) from error

    def _update_copy(self) -> str:
        """Update the copy to the repository's newest commit, and return that commit."""
        asked = {"repo_type": "dataset", "expand": ["sha", "private"]}
        info = self._ask(lambda: self._api.repo_info(self._repo_id, **asked))
        if self._must_be_private and not info.private:
            what, cure = (
                "this store of withheld labels is public",
                "make it private in its settings on the Hub",
            )
            raise InvalidInput(Problem(what, self._repo_id, "a public repository", cure))
        head = str(info.sha)
        if head == self._head:
            return head
        if self._head is None and (foreign := sorted(self._listing(None, head) - _OURS)):
            found, cure = ", ".join(foreign[:3]), "give a separate repository"
            raise InvalidInput(
                Problem("this repository contains other files than those of a store", self._repo_id, found[:200], cure)
            )
        there = {name for name in self._listing(ENTRIES, head) if ENTRY_ID.fullmatch(name)}
        gone = {name.removesuffix(".json") for name in self._listing(WITHDRAWN, head)}
        gone = {name for name in gone if ENTRY_ID.fullmatch(name)}
        if self._head is not None and not there and (lost := self.ids() - gone):
            what, cure = "all entries have disappeared from the repository", "restart the server if this is intended"
            raise InvalidInput(Problem(what, self._repo_id, f"0 of {len(lost):,}", cure))
        self.drop([f"{ENTRIES}/{identity}" for identity in self.ids() - there])
        self.drop([tombstone_path(identity) for identity in self.withdrawn() - gone])
        self._fetch_all((tombstone_path(identity) for identity in gone - self.withdrawn()), head)
        self._copy_folder(RECORDS, head)
        self._copy_folder(LOG, head)
        new = there - self.ids()
        if self._head is None:
            self._fetch_scores(METRIC_VERSION, head, (".json", ".parquet", FORECASTS), there - gone)
        else:  # entries are committed with their scores, so listing the large folder is not needed
            derived = (path(identity) for identity in new - gone for path in (scores_path, table_path))
            self._fetch_all(derived, head)
        self._fetch_all((card_path(identity) for identity in new), head)
        self._head = head
        return head

    def _copy_folder(self, folder: str, head: str) -> None:
        """Synchronise a folder of the copy with a commit; its files may change, since persons are erased."""
        named = RECORD if folder == RECORDS else LOG_FILE
        files = {name: item for name, item in self._items(folder, head).items() if hasattr(item, "blob_id")}
        there = {name: _content_id(item) for name, item in files.items() if named.fullmatch(name)}
        known = self._copied.get(folder)
        if known is None:
            known = {name: each for name, each in there.items() if self._holds(f"{folder}/{name}", each)}
        here = set(self.names(folder))
        self.drop([f"{folder}/{name}" for name in here - there.keys()])
        changed = sorted(name for name, each in there.items() if known.get(name) != each or name not in here)
        self._fetch_all((f"{folder}/{name}" for name in changed), head)
        self._copied[folder] = there

    def _holds(self, path: str, content_id: str) -> bool:
        file = self.root / path
        return file.is_file() and content_id in _content_ids(file.read_bytes())

    def _fetch_scores(self, version: str, head: str, kinds: tuple[str, ...], ids: set[str]) -> None:
        """Download the missing scores of some entries."""
        folder = f"{SCORES}/{version}"
        missing = self._listing(folder, head) - set(self.names(folder))
        wanted = (f"{identity}{kind}" for identity in ids for kind in kinds)
        self._fetch_all((f"{folder}/{name}" for name in wanted if name in missing), head)

    def _fetch_all(self, paths: Iterable[str], head: str) -> None:
        """Download files of a commit into the copy; missing files (such as an absent card) are skipped."""

        def get(path: str) -> bytes | None:
            return retry(lambda _: self._content(path, head))

        with ThreadPoolExecutor(_THREADS) as pool:
            wanted = sorted(paths)
            for start in range(0, len(wanted), _BATCH):
                some = wanted[start : start + _BATCH]
                contents = zip(some, pool.map(get, some), strict=True)
                self.write_local({path: content for path, content in contents if content is not None})

    def _content(self, path: str, revision: str) -> bytes | None:
        """Return a file's content; None if it does not exist."""
        from huggingface_hub import get_session, hf_hub_url
        from huggingface_hub.errors import EntryNotFoundError
        from huggingface_hub.utils._headers import build_hf_headers
        from huggingface_hub.utils._http import hf_raise_for_status

        where = {"repo_type": "dataset", "revision": revision, "endpoint": self._api.endpoint}
        url, headers = hf_hub_url(self._repo_id, path, **where), build_hf_headers(token=self._api.token)
        try:
            response = self._ask(lambda: get_session().get(url, headers=headers))
            hf_raise_for_status(response)
        except EntryNotFoundError:
            return None
        return bytes(response.content)

    def _listing(self, folder: str | None, head: str) -> set[str]:
        """List the names in a folder of a commit; empty if the folder does not exist."""
        return set(self._items(folder, head))

    def _items(self, folder: str | None, head: str) -> dict[str, Any]:
        """Return the Hub's facts about files and folders in a folder of a commit, by name."""
        from huggingface_hub.errors import EntryNotFoundError

        def tree() -> list[Any]:
            return list(self._api.list_repo_tree(self._repo_id, folder, revision=head, repo_type="dataset"))

        try:
            return {PurePosixPath(item.path).name: item for item in self._ask(tree)}
        except EntryNotFoundError:
            return {}

    def _there(self, paths: Iterable[str], head: str) -> set[str]:
        """Return which of the paths exist in a commit."""
        by_folder: dict[str, set[str]] = {}
        for path in paths:
            by_folder.setdefault(str(PurePosixPath(path).parent), set()).add(PurePosixPath(path).name)
        listed = {folder: names & self._listing(folder, head) for folder, names in by_folder.items()}
        return {f"{folder}/{name}" for folder, names in listed.items() for name in names}

    def _commit(self, files: Changes, parent: str) -> str:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        title = _title(files)
        removed = self._there((path for path, content in files.items() if content is None), parent)
        operations: list[Any] = [CommitOperationAdd(path, each) for path, each in files.items() if each is not None]
        # An entry is a folder, which the Hub needs to know.
        folders = {path for path in removed if PurePosixPath(path).parent.name == ENTRIES}
        operations += [CommitOperationDelete(f"{path}/" if path in folders else path) for path in sorted(removed)]

        def commit() -> Any:
            where = {"repo_id": self._repo_id, "repo_type": "dataset", "parent_commit": parent}
            return self._api.create_commit(operations=operations, commit_message=title, **where)

        return str(self._ask(commit, COMMIT_PATIENCE).oid)

    def _has_landed(self, sent: Sequence[Changes]) -> bool:
        """Return whether the copy contains what was sent earlier, when its response was lost."""

        def is_here(path: str, content: bytes | None) -> bool:
            if content is None:
                return False
            if path == HEAD:  # compare only the event of this head; others may have been added after it
                return is_in_log(self.root, content)
            file = self.root / path
            return file.is_file() and file.read_bytes() == content

        def marks(files: Changes) -> list[str]:
            return [path for path in files if path.endswith(f"/{CARD}") or path == HEAD]

        return any(is_here(path, files[path]) for files in sent for path in marks(files))

    def _landed_after_all(self, sent: Sequence[Changes]) -> bool:
        """Return whether a failed commit is in the repository after all; False also if the Hub cannot be reached."""
        try:
            self.refresh()
        except InvalidInput:
            return False
        return self._has_landed(sent)

    def _ask(self, request: Callable[[], T], patience: float | None = None) -> T:
        """Send a request, and wait at most ``patience`` seconds for its response; default ``PATIENCE``."""
        import httpx2

        answers: list[T] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                answers.append(request())
            except BaseException as error:
                errors.append(error)

        # A daemon thread, so that a hanging request does not keep the program from exiting.
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        patience = patience or PATIENCE
        thread.join(patience)
        if errors:
            raise errors[0]
        if not answers:
            raise httpx2.ReadTimeout(f"no response within {patience:,.0f} seconds")
        return answers[0]


def _content_id(item: Any) -> str:
    """Return a content id of a file on the Hub: its SHA-256 for large files, else git's blob id."""
    return str(item.lfs.sha256 if getattr(item, "lfs", None) else item.blob_id)


def _content_ids(content: bytes) -> tuple[str, str]:
    """Compute both ids by which the Hub may identify a content: SHA-256 and git's blob id."""
    return hashlib.sha256(content).hexdigest(), hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


_TITLES = {ENTRIES: "Entry", WITHDRAWN: "Withdraw", RECORDS: "Record"}


def _title(files: Changes) -> str:
    """Return a commit's title: the added entry or record, or the withdrawn entry; else the kind of change."""
    if None in files.values():
        return "Erase"
    for path in files:
        folder, name = PurePosixPath(path).parts[:2]
        if folder in _TITLES:
            return f"{_TITLES[folder]} {name.removesuffix('.json')}"
    return "Log" if HEAD in files else "Scores"
