"""What tests of publishing share: publishing in this process, and what lies at the Hub then."""

from typing import Any

from huggingface_hub import HfApi

from builders.folder.reader import DatasetFolder
from builders.publishing.publish_folders import publish_folders
from tests.hub.server import WRITE, LoopbackHub

REPO = "org/demo"


def publish(hub: LoopbackHub, folder: DatasetFolder, token: str | bool = WRITE, **options: Any) -> list[str]:
    """Publish in this process; gives what is told."""
    told: list[str] = []
    api = HfApi(endpoint=hub.url, token=token)
    publish_folders(folder.path, options.pop("repo_id", REPO), note=told.append, api=api, **options)
    return told


def files(folder: DatasetFolder) -> dict[str, bytes]:
    return {str(path.relative_to(folder.path)): path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}


def titles(hub: LoopbackHub, branch: str = "main") -> list[str]:
    return [commit.title.rpartition(" ")[2] for commit in hub.stored.by_name[REPO].history(branch)][:-1]
