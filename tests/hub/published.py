"""What tests of publishing share: publishing in this process, and what lies at the Hub then."""

from typing import Any

from huggingface_hub import HfApi

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.publishing.publish import default_tag, publish_folders
from shiftbench.builders.publishing.published_texts import published_texts
from shiftbench.cli.data import benchmark_file
from tests.heard import heard
from tests.hub.server import WRITE, LoopbackHub

REPO = "org/demo"


def publish(hub: LoopbackHub, folder: DatasetFolder, token: str | bool = WRITE, **options: Any) -> list[str]:
    """Publish in this process; returns the lines that it logged."""
    api = HfApi(endpoint=hub.url, token=token)
    how: dict[str, Any] = {"describe": benchmark_file, "api": api, **options}
    with heard() as told:
        publish_folders(folder.path, how.pop("repo_id", REPO), **how)
    return told


def files(folder: DatasetFolder, hub: LoopbackHub, repo_id: str = REPO) -> dict[str, bytes]:
    """Return the files that a folder has at the Hub: its own, and what publishing writes."""
    own = {str(path.relative_to(folder.path)): path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    return own | {path: text.encode() for path, text in texts(folder, hub, repo_id).items()}


def texts(folder: DatasetFolder, hub: LoopbackHub, repo_id: str = REPO) -> dict[str, str]:
    return published_texts(folder, None, repo_id, hub.url) | benchmark_file(folder.manifest)


def tag_of(folder: DatasetFolder, hub: LoopbackHub) -> str:
    return default_tag(folder, texts(folder, hub))


def titles(hub: LoopbackHub, branch: str = "main") -> list[str]:
    return [commit.title.rpartition(": content ")[2][:12] for commit in hub.stored.by_name[REPO].history(branch)][:-1]
