"""Dataset folders that lie on the Hugging Face Hub."""

import re
from pathlib import Path

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.hub_access import reaching_hub
from shiftbench.validation.report import InvalidInput, Problem

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


def names_repository(place: Path | str) -> bool:
    """Return whether a place is ``ORG/NAME`` on the Hub: it has that form, and no folder here has the name."""
    return _REPOSITORY.fullmatch(str(place)) is not None and not Path(place).is_dir()


def check_repository(name: str, where: str) -> str:
    """Return the name of a Hub repository; InvalidInput names the option ``where`` where it cannot be one."""
    if _REPOSITORY.fullmatch(name) is None:
        raise InvalidInput(Problem("this is not the name of a Hub repository", where, f"'{name}'", "name it ORG/NAME"))
    return name


def download_folder(repo_id: str, revision: str = "main") -> DatasetFolder:
    """Download a published dataset folder into the Hub's cache; files that are there are not fetched again.

    Args:
        repo_id: ``ORG/NAME`` of a dataset repository.
    Raises: InvalidInput when the Hub does not have it, or this machine cannot reach the Hub.
    """
    from huggingface_hub import snapshot_download

    cure = "give a folder that is on this machine, or a repository that HF_TOKEN may read"
    with reaching_hub(repo_id, cure):
        path = snapshot_download(repo_id, repo_type="dataset", revision=revision)
    return DatasetFolder.open(path)
