"""What is refused before the Hub is asked. What it is asked, and its answers, are in ``test_publish_http.py``."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from huggingface_hub.errors import RepositoryNotFoundError

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.publishing.public import public_copy
from shiftbench.builders.publishing.publish import Target, plan_publishing
from shiftbench.cli import data
from shiftbench.validation.report import InvalidInput
from tests.heard import heard

TARGET = Target("org/demo", "main", "v1")


class EmptyHub:
    """A Hub that holds nothing; its only question is what there is."""

    def __init__(self) -> None:
        self.asked = 0

    def list_repo_refs(self, repo_id: str, repo_type: str) -> SimpleNamespace:
        self.asked += 1
        response = httpx2.Response(404, request=httpx2.Request("GET", "https://example.org"))
        raise RepositoryNotFoundError("nothing here", response=response)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> EmptyHub:
    made = EmptyHub()
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: made)
    return made


def test_a_damaged_folder_is_not_published(synthetic: DatasetFolder, hub: EmptyHub, tmp_path: Path) -> None:
    copy = DatasetFolder.open(shutil.copytree(synthetic.path, tmp_path / "copy"))
    (copy.path / "subsets/sa/all.parquet").unlink()
    with pytest.raises(InvalidInput, match="a file of the dataset folder is missing"):
        plan_publishing(copy, TARGET, hub)
    assert hub.asked == 0


def test_rows_that_may_not_be_published_are_refused(mixed: DatasetFolder, hub: EmptyHub) -> None:
    with pytest.raises(InvalidInput) as refused:
        plan_publishing(mixed, TARGET, hub)
    assert str(refused.value).splitlines() == [
        f"{mixed.path}: {domain} may not be published: the licence of Closed texts does not allow publishing its "
        "rows; publish the folder's public copy"
        for domain in ("nli.harbour", "sa.kettles")
    ]
    assert hub.asked == 0


def test_the_command_publishes_the_public_copy_and_names_what_is_left_out(
    mixed: DatasetFolder, hub: EmptyHub, tmp_path: Path
) -> None:
    with heard() as said:
        data.publish(mixed.path, "org/demo", dry_run=True, json_=str(tmp_path / "sent.json"))
    why = "the licence of Closed texts does not allow publishing its rows"
    assert said[:2] == [f"leave out nli.harbour: {why}", f"leave out sa.kettles: {why}"]
    assert said[2] == "create repository org/demo"
    assert said[3].startswith("add README.md (")
    public = public_copy(mixed, tmp_path / "expected")
    expected = {str(path.relative_to(public.path)): path for path in public.path.rglob("*") if path.is_file()}
    sent: dict[str, Any] = json.loads((tmp_path / "sent.json").read_text())
    assert sent["left_out"] == {"nli.harbour": why, "sa.kettles": why}
    described = data.benchmark_file(public.manifest)
    sizes = {path: file.stat().st_size for path, file in expected.items()}
    assert sent["add"] == sizes | {path: len(text.encode()) for path, text in described.items()}
    assert list(described) == ["eval.yaml"]
    assert "harbour" not in "".join(sent["add"])


def test_hidden_files_are_nobodys_data(synthetic: DatasetFolder, hub: EmptyHub, tmp_path: Path) -> None:
    copy = DatasetFolder.open(shutil.copytree(synthetic.path, tmp_path / "copy"))
    whole = plan_publishing(copy, TARGET, hub).add
    for path in (".DS_Store", "data/.cache/part"):
        (copy.path / path).parent.mkdir(exist_ok=True)
        (copy.path / path).write_text("x")
    assert plan_publishing(copy, TARGET, hub).add == whole


def test_rows_are_checked_where_files_are_not_as_the_build_wrote_them(
    synthetic: DatasetFolder, hub: EmptyHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Path] = []
    monkeypatch.setattr(DatasetFolder, "check", lambda folder: checked.append(folder.path))
    copy = Path(shutil.copytree(synthetic.path, tmp_path / "copy"))
    plan_publishing(DatasetFolder.open(copy), TARGET, hub)
    assert checked == []
    path = next((copy / "data/sa").rglob("test-*.parquet"))
    path.write_bytes(path.read_bytes() + b" ")
    plan_publishing(DatasetFolder.unchecked(copy), TARGET, hub)
    assert checked == [copy]
