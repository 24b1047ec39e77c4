"""What is refused before the Hub is asked. What it is asked, and its answers, are in ``test_publish_http.py``."""

import json
import shutil
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
import yaml
from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building.own import build_own
from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.folder.publication import read_publication
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.publishing.public import public_copy
from shiftbench.builders.publishing.publish import Target, plan_publishing
from shiftbench.builders.publishing.published_texts import published_texts
from shiftbench.cli import data
from shiftbench.validation.report import InvalidInput
from tests.heard import heard
from tests.refusals import refusal

TARGET = Target("org/demo", "main", "v1")


class EmptyHub:
    """A Hub that holds nothing; its only question is what there is."""

    endpoint = "https://hub.example.org"

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
    with pytest.raises(InvalidInput, match="subsets/sa"):
        plan_publishing(copy, TARGET, hub)
    assert hub.asked == 0


def test_rows_that_may_not_be_published_are_refused(
    mixed: DatasetFolder, hub: EmptyHub, wording: SnapshotAssertion
) -> None:
    assert refusal(InvalidInput, plan_publishing, mixed, TARGET, hub) == wording
    assert hub.asked == 0


def test_the_command_publishes_the_public_copy_and_names_what_is_left_out(
    mixed: DatasetFolder, hub: EmptyHub, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    with heard() as said:
        data.publish(mixed.path, "org/demo", dry_run=True, json_=str(tmp_path / "sent.json"))
    assert said[:3] == wording
    assert "README.md" in said[3]
    public = public_copy(mixed, tmp_path / "expected")
    expected = {str(path.relative_to(public.path)): path for path in public.path.rglob("*") if path.is_file()}
    sent: dict[str, Any] = json.loads((tmp_path / "sent.json").read_text())
    assert list(sent["left_out"]) == ["nli.harbour", "sa.kettles"]
    described = data.benchmark_file(public.manifest)
    sizes = {path: file.stat().st_size for path, file in expected.items()}
    texts = described | published_texts(public, None, "org/demo", hub.endpoint)
    assert sent["add"] == sizes | {path: len(text.encode()) for path, text in texts.items()}
    assert texts["shiftbench.json"] == (public.path / "shiftbench.json").read_text()
    assert 'load_dataset("org/demo", ' in texts["README.md"]
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


CITE = "title: Tickets\nauthors: [{name: Data Ltd}]\ndate-released: 2026-11-23\n"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    lines = [f"d{n % 2},{'ab'[n // 2 % 2]},text {n}" for n in range(60)]
    (tmp_path / "tickets.csv").write_text("domain,label,text\n" + "\n".join(lines) + "\n")
    build_own("tickets", tmp_path / "tickets.csv", tmp_path / "own")
    return tmp_path / "own"


def cite(tmp_path: Path, more: str) -> Path:
    path = tmp_path / "cite.yaml"
    path.write_text(CITE + more)
    return path


@pytest.mark.parametrize("switched_off", [True, False])
def test_a_dry_run_needs_no_hub(
    switched_off: bool, synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:  # nobody answers at its port
        closed.bind(("127.0.0.1", 0))
        api = HfApi(endpoint=f"http://127.0.0.1:{closed.getsockname()[1]}")
        monkeypatch.setattr("huggingface_hub.HfApi", lambda: api)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", switched_off)
        with heard() as said:
            data.publish(synthetic.path, "org/demo", dry_run=True, json_=str(tmp_path / "sent.json"))
        assert "org/demo:" in said[0]
        assert not any(line.startswith("create ") for line in said)
        sent = json.loads((tmp_path / "sent.json").read_text())
        assert sent["compared"] is False
        assert set(sent["add"]) >= {*synthetic.manifest.files, "README.md", "croissant.json", "shiftbench.json"}
        with pytest.raises(InvalidInput, match="off" if switched_off else "reached"):
            data.publish(synthetic.path, "org/demo")


def test_ones_own_data_has_the_licence_authors_and_contact_of_its_publisher(
    own: Path, hub: EmptyHub, tmp_path: Path
) -> None:
    more = "license: CC-BY-4.0\ncontact: [{email: data@example.org}]\n"
    publication = read_publication(cite(tmp_path, more))
    texts = published_texts(DatasetFolder.open(own), publication, "org/demo", hub.endpoint)
    publication = publication.model_copy(update={"url": f"{hub.endpoint}/datasets/org/demo"})
    _, front, text = texts["README.md"].split("---\n", 2)
    assert yaml.safe_load(front)["license"] == "cc-by-4.0"
    assert yaml.safe_load(front)["pretty_name"] == "Tickets"
    (line,) = [line for line in text.splitlines() if line.startswith("| `tickets` | ")]
    assert line.endswith(" | [CC-BY-4.0](https://spdx.org/licenses/CC-BY-4.0.html) |")
    assert "data@example.org" in text
    assert publication.bibtex in text
    (tmp_path / "shiftbench.json").write_text(texts["shiftbench.json"])
    assert Manifest.read(tmp_path).publication == publication
    content = json.loads(texts["croissant.json"])
    assert content["license"] == ["https://spdx.org/licenses/CC-BY-4.0.html"]
    assert content["citeAs"] == publication.bibtex
    # What a folder says once is said again where it is published on.
    said = Manifest.read(tmp_path)
    assert said.sources["own"].spdx == "CC-BY-4.0"
    again = published_texts(DatasetFolder(own, said), None, "org/demo", hub.endpoint)
    assert again == texts


def test_a_hub_without_tls_is_no_page_and_what_is_published_opens(own: Path, tmp_path: Path) -> None:
    publication = read_publication(cite(tmp_path, "license: CC-BY-4.0\n"))
    texts = published_texts(DatasetFolder.open(own), publication, "org/demo", "http://hub.example.org:8080")
    (tmp_path / "shiftbench.json").write_text(texts["shiftbench.json"])
    assert Manifest.read(tmp_path).publication == publication
    named = publication.model_copy(update={"url": "https://example.org/tickets"})
    texts = published_texts(DatasetFolder.open(own), named, "org/demo", "http://hub.example.org:8080")
    (tmp_path / "shiftbench.json").write_text(texts["shiftbench.json"])
    assert Manifest.read(tmp_path).publication == named


def test_a_licence_is_not_stated_for_rows_of_others(synthetic: DatasetFolder, hub: EmptyHub, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"'MIT'.*'license'"):
        data.publish(synthetic.path, "org/demo", dry_run=True, cite=cite(tmp_path, "license: MIT\n"))
    assert hub.asked == 0


def test_texts_that_may_hurt_are_published_with_somebody_to_write_to(
    mixed: DatasetFolder, hub: EmptyHub, tmp_path: Path
) -> None:
    sources = {slug: each.model_copy(update={"harm": "slurs"}) for slug, each in mixed.manifest.sources.items()}
    mixed.manifest.model_copy(update={"sources": sources}).write(mixed.path)
    for more in (None, ""):
        path = None if more is None else cite(tmp_path, more)
        with pytest.raises(InvalidInput) as refused:
            data.publish(mixed.path, "org/demo", dry_run=True, cite=path)
        # The closed texts are not published.
        (problem,) = refused.value.problems
        assert "contact" in str(problem)
        assert problem.file == str(mixed.path)  # not the copy that is sent
    assert hub.asked == 0
    contact = cite(tmp_path, "contact: [{website: 'https://example.org/takedown'}]\n")
    data.publish(mixed.path, "org/demo", dry_run=True, cite=contact)
    assert hub.asked == 1
