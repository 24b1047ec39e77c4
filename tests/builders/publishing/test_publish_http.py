"""Publishing over real HTTP: the Hub's own clients and the command against a Hub on the loopback interface."""

import json
import shutil
import socket
from pathlib import Path

import huggingface_hub
import polars as pl
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.hashes import content_hash, rows_sha256
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.publishing.publish import default_tag, publish_folders
from shiftbench.validation.report import InvalidInput
from tests.changed_folders import open_changed
from tests.hub.clients import finish, load, start_publish
from tests.hub.published import REPO, files, publish, tag_of, titles
from tests.hub.server import READ, LoopbackHub
from tests.refusals import refusal

pytestmark = [pytest.mark.xdist_group("publish_http"), pytest.mark.usefixtures("basic_uploads")]


def changed_row(folder: DatasetFolder, out: Path) -> DatasetFolder:
    """Return a copy in which one label of one test split is another, and the manifest agrees."""
    copy = Path(shutil.copytree(folder.path, out))
    path = next((copy / "data/nli/kitchen").glob("test-*"))
    schema = pl.read_parquet(path).schema
    table = pq.read_table(path)
    rows = pl.from_arrow(table)
    assert isinstance(rows, pl.DataFrame)
    label = pl.when(pl.int_range(pl.len()) == 3).then((pl.col("label") + 1) % 3).otherwise("label")
    pq.write_table(rows.with_columns(label.cast(schema["label"])).to_arrow().cast(table.schema), path)
    manifest = json.loads((copy / "shiftbench.json").read_text())
    facts = manifest["tasks"]["nli"]["domains"]["kitchen"]["splits"]["test"]
    facts["labels_sha256"] = rows_sha256(pl.read_parquet(path), ["label"])
    (copy / "shiftbench.json").write_text(json.dumps(manifest))
    opened = open_changed(copy)
    changed = opened.manifest.model_copy(
        update={"content_hash": content_hash(opened.manifest.tasks, opened.manifest.benchmark)}
    )
    (copy / "shiftbench.json").write_text(changed.model_dump_json())
    return DatasetFolder.open(copy)


def test_a_new_repository_gets_everything_in_one_commit_and_a_tag(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    folder = versions[0]
    process = start_publish(hub, tmp_path, folder.path, "--repo-id", REPO, "--json", "-")
    code, out, err = finish(process)
    assert code == 0, err
    repository = hub.stored.by_name[REPO]
    assert hub.stored.files(REPO) == files(folder, hub)
    assert "eval.yaml" in hub.stored.files(REPO)
    assert titles(hub) == [folder.content_hash[:12]]
    head = repository.branches["main"]
    assert repository.tags == {tag_of(folder, hub): head}
    assert tag_of(folder, hub).startswith(f"v2-{folder.content_hash[:12]}-")
    assert tag_of(folder, hub) != default_tag(folder)  # another eval.yaml is another version
    sent = json.loads(out)
    assert sent["commit"] == f"{hub.url}/datasets/{REPO}/commit/{head}"
    assert sent["add"] == {path: len(content) for path, content in files(folder, hub).items()}
    assert err.splitlines()[0].endswith(f" {REPO}")
    assert err.splitlines()[-1].endswith(sent["commit"])


def test_a_domain_loads_by_name_and_only_its_files_are_read(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    folder = versions[0]
    publish(hub, folder, tag="v1")
    expected = {
        split: folder.split("nli", "kitchen", split).to_dicts()
        for split in folder.task("nli").domains["kitchen"].splits
    }
    for how, revision in (("load", "main"), ("stream", "v1")):
        hub.faults.plan()
        (tmp_path / how).mkdir()
        assert load(hub, tmp_path / how, REPO, "nli.kitchen", how, revision) == expected
        read = {
            entry.path.partition("/data/")[2]
            for entry in hub.faults.log
            if "/data/" in entry.path and entry.kind == "resolve"
        }
        assert read == {f"nli/kitchen/{split}-00000-of-00001.parquet" for split in expected}


def test_published_again_nothing_is_sent(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], wording: SnapshotAssertion
) -> None:
    publish(hub, versions[0])
    hub.faults.plan()
    assert publish(hub, versions[0]) == wording
    assert set(hub.faults.kinds()) == {"refs", "tree"}


def test_a_changed_row_is_one_commit_of_the_changed_files(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    publish(hub, versions[0])
    changed = changed_row(versions[0], tmp_path / "changed")
    differ = {path for path, content in files(changed, hub).items() if files(versions[0], hub)[path] != content}
    hub.faults.plan()
    told = publish(hub, changed)
    row_file = "data/nli/kitchen/test-00000-of-00001.parquet"
    assert differ == {row_file, "README.md", "croissant.json", "shiftbench.json"}  # which name the content
    assert told[:4] == [f"add {path} ({len(files(changed, hub)[path]):,} bytes)" for path in sorted(differ)]
    assert hub.faults.kinds()["lfs_put"] == hub.faults.kinds()["commit"] == 1
    assert hub.stored.files(REPO) == files(changed, hub)
    assert titles(hub) == [changed.content_hash[:12], versions[0].content_hash[:12]]


def test_stale_files_leave_with_the_same_commit_and_foreign_ones_stay(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder]
) -> None:
    repository = hub.stored.create(REPO, private=False)
    old = hub.stored.store(b"old", lfs=False)
    stale = {
        "data/nli/old/test-00000-of-00002.parquet",
        "data/nli/old/test-00001-of-00002.parquet",
        "statistics/old.png",
    }
    repository.add("main", "by hand", dict.fromkeys([*stale, "figures/logo.png"], old))
    told = publish(hub, versions[0])
    assert [line for line in told if line.startswith("delete")] == [f"delete {path}" for path in sorted(stale)]
    assert hub.stored.files(REPO) == files(versions[0], hub) | {"figures/logo.png": b"old"}
    assert len(repository.history()) == 3


def test_a_domain_whose_licence_turned_out_closed_leaves_the_repository(hub: LoopbackHub, mixed: DatasetFolder) -> None:
    repository = hub.stored.create(REPO, private=False)
    whole = {path: hub.stored.store(content, lfs=False) for path, content in files(mixed, hub).items()}
    repository.add("main", "by hand", whole)
    told = publish(hub, mixed)
    closed = [path for path in whole if "harbour" in path or "kettles" in path]
    assert closed
    assert not set(closed) & hub.stored.files(REPO).keys()
    assert {f"delete {path}" for path in closed} <= set(told)
    hub.faults.plan()
    publish(hub, mixed)
    assert {entry.method for entry in hub.faults.log} == {"GET"}


def test_a_new_branch_inherits_nothing_stale(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    publish(hub, versions[0])
    smaller = shutil.copytree(versions[1].path, tmp_path / "smaller")
    (smaller / "statistics/nli.png").unlink()
    told = publish(hub, DatasetFolder.open(smaller), revision="draft/one")
    assert told[0].endswith(" draft/one")
    assert hub.stored.files(REPO, "draft/one") == files(DatasetFolder.open(smaller), hub)
    assert hub.stored.files(REPO, "main") == files(versions[0], hub)
    # The same content on one more branch is the same commit: no file is sent.
    publish(hub, versions[0], revision="stable")
    branches = hub.stored.by_name[REPO].branches
    assert branches["stable"] == branches["main"]


def test_a_dry_run_tells_what_would_be_sent_and_sends_nothing(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    code, _, err = finish(
        start_publish(hub, tmp_path, versions[0].path, "--repo-id", REPO, "--tag", "v1", "--dry-run", token=None)
    )
    sizes = [f"{path} ({len(content):,} bytes)" for path, content in sorted(files(versions[0], hub).items())]
    hidden, repository, *added, tag = err.splitlines()
    assert (code, [line.partition(" ")[2] for line in added]) == (0, sizes)
    assert [hidden, repository, tag] == wording
    assert {entry.method for entry in hub.faults.log} == {"GET"}
    publish(hub, versions[0])
    hub.faults.plan()
    told = publish(hub, versions[1], token=False, dry_run=True, revision="draft")
    assert {entry.method for entry in hub.faults.log} == {"GET"}
    hub.faults.plan()
    assert publish(hub, versions[1], revision="draft")[: len(told)] == told


def test_without_write_access_the_command_says_so_in_one_line(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    hub.stored.create(REPO, private=False)
    code, _, err = finish(start_publish(hub, tmp_path, versions[0].path, "--repo-id", REPO, token=READ))
    errors = [line for line in err.splitlines() if not line.startswith(("add ", "tag "))]
    assert (code, len(errors)) == (1, 1), err
    assert errors[0].startswith(f"error: {REPO}: ")
    assert titles(hub) == []


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("token", [READ, False, "hf_wrong"])
def test_without_write_access_nothing_is_written(
    token: str | bool, exists: bool, hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder]
) -> None:
    if exists:
        hub.stored.create(REPO, private=False)
    with pytest.raises(InvalidInput) as refused:
        publish(hub, versions[0], token=token)
    said = str(refused.value)
    assert ("valid" in said) == (token != READ)
    assert "HF_TOKEN" in said
    assert len(said.splitlines()) == 1
    assert not exists or titles(hub) == []


def test_without_a_network_it_says_so_in_one_line(
    versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    api = huggingface_hub.HfApi(endpoint=f"http://127.0.0.1:{port}")
    with pytest.raises(InvalidInput, match=f"^{REPO}: .*reached"):
        publish_folders(versions[0].path, REPO, api=api)


def test_tags_and_branches_that_cannot_be(hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder]) -> None:
    publish(hub, versions[0], tag="v1")
    publish(hub, versions[0], tag="v1")
    publish(hub, versions[0], tag="v1.0")
    head = hub.stored.by_name[REPO].branches["main"]
    assert hub.stored.by_name[REPO].tags == {"v1": head, "v1.0": head}
    hub.faults.plan()
    for options, says in (
        (
            {"tag": "v1"},
            f"{REPO}: the tag is already used for another version; found v1 at {head[:12]}; remove the tag on the Hub",
        ),
        ({"revision": "v1"}, f"{REPO}: this is a tag, not a branch; found 'v1'"),
        ({"revision": head}, f"{REPO}: this is not the name of a branch; found '{head}'"),
        ({"revision": "refs/pr/1"}, f"{REPO}: this is not the name of a branch; found 'refs/pr/1'"),
        ({"revision": "a..b"}, f"{REPO}: this is not the name of a branch; found 'a..b'"),
        ({"tag": "two words"}, f"{REPO}: this is not a valid tag; found 'two words'"),
        ({"repo_id": "one/two/three"}, "one/two/three: this cannot be the name of a Hub repository"),
    ):
        with pytest.raises(InvalidInput) as refused:
            publish(hub, versions[1], **options)
        assert str(refused.value).startswith(says)
    assert {entry.method for entry in hub.faults.log} <= {"GET"}


def test_gold_goes_to_a_private_repository_or_nowhere(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    both, gold = tmp_path / "both", f"{REPO}-gold"
    build_synthetic(both, n_train=30, n_test=10, withhold_labels=True)
    pair = DatasetFolder(both, versions[0].manifest)
    told = publish(hub, pair)
    said = [line for line in told if str(both / "gold") in line]
    assert hub.stored.by_name.keys() == {REPO}
    hub.stored.create(gold, private=False)
    said += [refusal(InvalidInput, publish, hub, pair, private_gold=each) for each in (gold, REPO.upper())]
    assert said == wording
    assert hub.stored.files(gold) == {}
    del hub.stored.by_name[gold]
    assert any(line.endswith(f" {gold}") for line in publish(hub, pair, private_gold=gold))
    assert hub.stored.by_name[gold].private
    assert hub.stored.files(gold) == files(DatasetFolder.open(both / "gold"), hub, gold)
    hub.faults.plan()
    publish(hub, pair, private_gold=gold)
    assert {entry.method for entry in hub.faults.log} == {"GET"}


def test_gold_is_not_taken_for_a_dataset_to_publish(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    both = tmp_path / "both"
    build_synthetic(both, n_train=30, n_test=10, withhold_labels=True)
    said = [refusal(InvalidInput, publish, hub, DatasetFolder.open(both / "gold"))]
    moved = DatasetFolder.open(shutil.copytree(both / "gold", tmp_path / "moved"))
    said.append(refusal(InvalidInput, publish, hub, moved))
    said.append(refusal(InvalidInput, publish, hub, versions[0], private_gold="org/gold"))
    pair = DatasetFolder(both, versions[0].manifest)
    shutil.rmtree(both / "public")
    shutil.copytree(versions[0].path, both / "public")
    assert [*said, refusal(InvalidInput, publish, hub, pair, private_gold="org/gold")] == wording
    assert hub.faults.log == []


def test_rows_that_came_to_lie_in_a_public_copy_are_found(
    hub: LoopbackHub, mixed: DatasetFolder, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(mixed.path, tmp_path / "copy"))
    path = next((copy / "data/sa").rglob("test-*.parquet"))
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(InvalidInput, match="data/sa"):
        publish(hub, DatasetFolder.open(copy))
    assert hub.faults.log == []


def test_files_that_are_none_of_the_builds_stay(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(versions[0].path, tmp_path / "copy"))
    for name in ("gold.csv", "nested/data/x.parquet", "data/sa/notes.txt"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text("mine")
    publish(hub, DatasetFolder.open(copy))
    assert hub.stored.files(REPO) == files(versions[0], hub)
