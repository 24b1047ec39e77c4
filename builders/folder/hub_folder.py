"""Dataset folders on the Hugging Face Hub."""

import re
from pathlib import Path

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.hub_access import reaching_hub
from shiftbench.validation.report import InvalidInput, Problem

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


def names_repository(place: Path | str) -> bool:
    """Return whether a text names a Hub repository rather than a local folder.

    Args:
        place: a path, or ``ORG/NAME``, which is a repository unless there is such a local folder.
    """
    return _REPOSITORY.fullmatch(str(place)) is not None and not Path(place).is_dir()


def check_repository(name: str, where: str) -> str:
    """Check that a name has the form ``ORG/NAME`` of a Hub repository.

    Args:
        name: the name.
        where: the option it was given with, for the error message.
    Returns: the name.
    Raises: InvalidInput for another form.
    """
    if _REPOSITORY.fullmatch(name) is None:
        raise InvalidInput(Problem("this is not the name of a Hub repository", where, f"'{name}'", "write ORG/NAME"))
    return name


def open_folder(place: Path | str, revision: str = "main") -> DatasetFolder:
    """Open a local dataset folder, or download one from the Hub.

    Args:
        place: a path, or ``ORG/NAME`` on the Hub (see ``names_repository``).
        revision: branch, tag or commit on the Hub; ignored for a local folder.
    Raises: InvalidInput if there is no such folder or repository, or it is not a dataset folder.
    """
    return download_folder(str(place), revision) if names_repository(place) else DatasetFolder.open(Path(place))


def download_folder(repo_id: str, revision: str = "main") -> DatasetFolder:
    """Download a published dataset folder into the Hub cache; cached files are not downloaded again.

    Args:
        repo_id: ``ORG/NAME`` of a dataset repository.
    Raises: InvalidInput if the repository does not exist or the Hub cannot be reached.
    """
    from huggingface_hub import snapshot_download

    cure = "give a local folder, or a repository that HF_TOKEN may read"
    with reaching_hub(repo_id, cure):
        path = snapshot_download(repo_id, repo_type="dataset", revision=revision)
    return DatasetFolder.open(path)
