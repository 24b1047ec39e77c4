"""Opening a store at its place: a local folder, or a dataset repository of the Hub."""

import re
import sys
from pathlib import Path
from typing import Any

from shiftbench.builders.cache import cache_folder
from shiftbench.builders.hub_access import is_transient
from shiftbench.leaderboard.store.entries import ENTRIES, RECORDS, SCORES, WITHDRAWN
from shiftbench.leaderboard.store.hub import HubPlace
from shiftbench.leaderboard.store.store import Store
from shiftbench.validation.report import InvalidInput, Problem

_HUB = "hf://"
_REPOSITORY = re.compile(r"hf://datasets/([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)", re.ASCII)


def is_hub_place(place: str | Path) -> bool:
    """Return whether a store's place is a repository on the Hub."""
    return str(place).startswith(_HUB)


def open_store(place: str | Path, *, cache: Path | None = None, api: Any = None, must_exist: bool = False) -> Store:
    """Open a store.

    Of a repository the copy on this machine is brought up to date first. Where the Hub cannot be reached, the store is
    what that copy has, and ``Store.behind`` says why; nothing can be added then.

    Args:
        place: a local folder, which need not exist yet, or ``hf://datasets/ORG/NAME``, a repository that must.
        cache: folder for copies of repositories; default one in the user's cache folder.
        api: a ``huggingface_hub.HfApi``; default one of the address and the token in the environment.
        must_exist: refuse a local folder that does not exist yet.
    Raises: InvalidInput when the place is no store's, or cannot be reached and there is no copy.
    """
    if is_hub_place(place):
        return _open_repository(str(place), cache or cache_folder() / "stores", api)
    root = Path(place)
    if "://" in str(place) or (root.exists() and not root.is_dir()):
        raise InvalidInput(Problem("this is not a store", str(place), cure="give a folder, or hf://datasets/ORG/NAME"))
    if must_exist and not root.exists():
        raise InvalidInput(Problem("there is no such store", str(place), cure="give the folder of 'serve --store'"))
    names = {path.name for path in root.iterdir()} if root.is_dir() else set()
    if names and not names & {ENTRIES, SCORES, WITHDRAWN, RECORDS, ".lock"}:
        found = ", ".join(sorted(names)[:3])
        raise InvalidInput(Problem("this folder holds other files than a store's", str(root), found, "name another"))
    return Store(root)


def _open_repository(place: str, cache: Path, api: Any) -> Store:
    from huggingface_hub import HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars

    named = _REPOSITORY.fullmatch(place)
    if named is None:
        raise InvalidInput(
            Problem("this is not the name of a Hub repository", place, cure="give hf://datasets/ORG/NAME")
        )
    if not sys.stderr.isatty():
        disable_progress_bars()
    copy = HubPlace(named[1], cache / named[1].replace("/", "--"), api or HfApi())
    store = Store(copy.root, copy)
    try:
        store.refresh()
    except InvalidInput as error:
        if not is_transient(error) or not copy.ids():
            raise
    return store
