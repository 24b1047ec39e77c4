"""Publishing over real HTTP: the Hub's own clients and the command against a Hub on the loopback interface."""

import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import polars as pl
import pyarrow.parquet as pq
import pytest

from builders.assemble import AssembledTask, Splits
from builders.folder import DatasetFolder
from builders.hub import TRIES
from builders.manifest import SourceFacts, content_hash, rows_sha256
from builders.publish import default_tag
from builders.publish_folders import publish_folders
from builders.synthetic import NLI
from builders.writer import write_folder
from tests.hub.clients import finish, load, start_publish
from tests.hub.faults import Fault
from tests.hub.server import READ, WRITE, LoopbackHub, running_hub
from validation.report import InvalidInput

REPO = "org/demo"
N_FILES = 12
DOMAINS = ("harbour", "kitchen", "orchard")
KILLED_AT = (
    Fault("create_repo", landed=True, does="hold"),
    Fault("lfs_put", nth=5, does="hold", after=1),
    Fault("commit", does="hold"),
    Fault("commit", does="hold", landed=True),
)
"""Requests at which the Hub holds the connection, and the publisher is killed."""

pytestmark = pytest.mark.xdist_group("publish_http")


@pytest.fixture(scope="module")
def versions(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> tuple[DatasetFolder, DatasetFolder]:
    """Two versions of a small dataset folder, of which every file but the card of its statistics differs."""
    out = tmp_path_factory.mktemp("versions")
    source = SourceFacts(
        title="Generated texts", url="https://example.org", revision="1", licence="CC0", open_licence=True, citation=""
    )
    for name, first in (("0", 0), ("1", 9)):
        domains: dict[str, Splits] = {
            domain: {split: synthetic.split("nli", domain, split)[first : first + 9] for split in ("train", "test")}
            for domain in DOMAINS
        }
        ids = pl.concat([splits["test"].select("id") for splits in domains.values()]).sort("id")
        task = AssembledTask(NLI, domains, dict.fromkeys(DOMAINS, ("open",)), subsets={"all": ids})
        facts = {"title": "Demo", "seed": 0, "partial": False, "synthetic": True, "encoder": None}
        write_folder(out / name, [task], {"open": source}, **facts)  # type: ignore[arg-type]
    return DatasetFolder.open(out / "0"), DatasetFolder.open(out / "1")


@pytest.fixture(scope="module")
def _hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackHub]:
    # A small page, so that trees come in several answers.
    with running_hub(tmp_path_factory.mktemp("hub"), page=10) as hub:
        yield hub


@pytest.fixture
def hub(_hub: LoopbackHub) -> LoopbackHub:
    """Give the Hub without repositories, objects, log and faults."""
    _hub.stored.by_name.clear()
    for stored in _hub.stored.objects.iterdir():
        stored.unlink()
    _hub.faults.plan()
    return _hub


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let no retry take time; gives how long each would have waited."""
    waited: list[float] = []
    # Of the publisher and of the Hub's client, which share this clock.
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: (waited.append(seconds), sleep(min(seconds, 0.01))))
    return waited


def publish(hub: LoopbackHub, folder: DatasetFolder, token: str | bool = WRITE, **options: Any) -> list[str]:
    """Publish in this process; gives what is told."""
    told: list[str] = []
    api = huggingface_hub.HfApi(endpoint=hub.url, token=token)
    publish_folders(folder.path, options.pop("repo_id", REPO), note=told.append, api=api, **options)
    return told


@pytest.fixture(autouse=True)
def _basic_uploads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)


def files(folder: DatasetFolder) -> dict[str, bytes]:
    return {str(path.relative_to(folder.path)): path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}


def titles(hub: LoopbackHub, branch: str = "main") -> list[str]:
    return [commit.title.rpartition(" ")[2] for commit in hub.stored.by_name[REPO].history(branch)][:-1]


def changed_row(folder: DatasetFolder, out: Path) -> DatasetFolder:
    """Give a copy in which one label of one test split is another, and the manifest knows."""
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
    opened = DatasetFolder.open(copy)
    manifest["content_hash"] = content_hash(opened.manifest.tasks, opened.manifest.benchmark)
    (copy / "shiftbench.json").write_text(json.dumps(manifest))
    return DatasetFolder.open(copy)


def test_a_new_repository_gets_everything_in_one_commit_and_a_tag(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    folder = versions[0]
    process = start_publish(hub, tmp_path, folder.path, "--repo-id", REPO, "--json", "-")
    code, out, err = finish(process)
    assert code == 0, err
    repository = hub.stored.by_name[REPO]
    assert hub.stored.files(REPO) == files(folder)
    assert titles(hub) == [folder.content_hash[:12]]
    head = repository.branches["main"]
    assert repository.tags == {default_tag(folder): head} == {f"v2-{folder.content_hash[:12]}": head}
    sent = json.loads(out)
    assert sent["commit"] == f"{hub.url}/datasets/{REPO}/commit/{head}"
    assert sent["add"] == {path: len(content) for path, content in sorted(files(folder).items())}
    assert err.splitlines()[0] == f"create repository {REPO}"
    assert err.splitlines()[-2:] == [f"tag {default_tag(folder)}", f"published: {sent['commit']}"]


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


def test_published_again_nothing_is_sent(hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder]) -> None:
    publish(hub, versions[0])
    hub.faults.plan()
    assert publish(hub, versions[0]) == [f"{REPO} already holds this content; no file to send"]
    assert set(hub.faults.kinds()) == {"refs", "tree"}


def test_a_changed_row_is_one_commit_of_the_changed_files(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    publish(hub, versions[0])
    changed = changed_row(versions[0], tmp_path / "changed")
    differ = {path for path, content in files(changed).items() if files(versions[0])[path] != content}
    hub.faults.plan()
    told = publish(hub, changed)
    row_file = "data/nli/kitchen/test-00000-of-00001.parquet"
    assert differ == {row_file, "shiftbench.json"}
    assert told[:2] == [f"add {path} ({len(files(changed)[path]):,} bytes)" for path in sorted(differ)]
    assert hub.faults.kinds()["lfs_put"] == hub.faults.kinds()["commit"] == 1
    assert hub.stored.files(REPO) == files(changed)
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
    assert hub.stored.files(REPO) == files(versions[0]) | {"figures/logo.png": b"old"}
    assert len(repository.history()) == 3


def test_a_domain_whose_licence_turned_out_closed_leaves_the_repository(hub: LoopbackHub, mixed: DatasetFolder) -> None:
    repository = hub.stored.create(REPO, private=False)
    whole = {path: hub.stored.store(content, lfs=False) for path, content in files(mixed).items()}
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
    (smaller / "statistics/nli.png").rename(smaller / "statistics/renamed.png")
    told = publish(hub, DatasetFolder.open(smaller), revision="draft/one")
    assert told[0] == "create branch draft/one"
    assert hub.stored.files(REPO, "draft/one") == files(DatasetFolder.open(smaller))
    assert hub.stored.files(REPO, "main") == files(versions[0])
    # The same content on one more branch is the same commit: no file is sent.
    publish(hub, versions[0], revision="stable")
    branches = hub.stored.by_name[REPO].branches
    assert branches["stable"] == branches["main"]


def test_a_dry_run_tells_what_would_be_sent_and_sends_nothing(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    code, _, err = finish(
        start_publish(hub, tmp_path, versions[0].path, "--repo-id", REPO, "--tag", "v1", "--dry-run", token=None)
    )
    sizes = [f"add {path} ({len(content):,} bytes)" for path, content in sorted(files(versions[0]).items())]
    assert (code, err.splitlines()) == (0, [f"create repository {REPO}", *sizes, "tag v1"])
    assert {entry.method for entry in hub.faults.log} == {"GET"}
    publish(hub, versions[0])
    hub.faults.plan()
    told = publish(hub, versions[1], token=False, dry_run=True, revision="draft")
    assert {entry.method for entry in hub.faults.log} == {"GET"}
    hub.faults.plan()
    assert publish(hub, versions[1], revision="draft")[: len(told)] == told


@pytest.mark.parametrize("fault", KILLED_AT, ids=lambda fault: f"{fault.kind}-{'landed' if fault.landed else 'not'}")
def test_killed_at_any_point_it_leaves_one_version_and_goes_on(
    fault: Fault, hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    old, new = versions
    if fault.kind == "create_repo":
        old = None  # type: ignore[assignment]
    else:
        publish(hub, old)
    hub.faults.plan(fault)
    process = start_publish(hub, tmp_path, new.path, "--repo-id", REPO)
    assert hub.faults.held.wait(30)
    os.kill(process.pid, signal.SIGKILL)
    finish(process)
    hub.faults.release()
    there = hub.stored.files(REPO)
    assert there in ([files(old)] if old else [{}]) + [files(new)]
    assert (there == files(new)) == (fault.kind == "commit" and fault.landed)
    uploaded = hub.faults.kinds()["lfs_put"]
    hub.faults.plan()
    publish(hub, new)
    assert hub.stored.files(REPO) == files(new)
    assert hub.stored.by_name[REPO].tags[default_tag(new)] == hub.stored.by_name[REPO].branches["main"]
    assert len(titles(hub)) == (2 if old else 1)
    if fault.kind == "commit":
        assert uploaded > 0
        assert hub.faults.kinds()["lfs_put"] == 0


def test_two_publishers_at_once_both_end(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    hub.stored.create(REPO, private=False)
    # The first to commit waits for as long as the other needs to overtake it.
    hub.faults.plan(Fault("commit", does="hold", then="go on"))
    homes = [tmp_path / str(number) for number in (0, 1)]
    for home in homes:
        home.mkdir()
    processes = [
        start_publish(hub, home, each.path, "--repo-id", REPO) for home, each in zip(homes, versions, strict=True)
    ]
    assert hub.faults.held.wait(30)
    overtaken = time.monotonic() + 30
    while not titles(hub) and time.monotonic() < overtaken:
        time.sleep(0.05)
    hub.faults.release()
    results = [finish(process) for process in processes]
    assert [code for code, _, _ in results] == [0, 0], results
    assert sorted(titles(hub)) == sorted(each.content_hash[:12] for each in versions)
    last = next(each for each in versions if each.content_hash[:12] == titles(hub)[0])
    assert hub.stored.files(REPO) == files(last)
    assert set(hub.stored.by_name[REPO].tags) == {default_tag(each) for each in versions}
    assert sum("the Hub refused for now; trying again" in err for _, _, err in results) == 1


@pytest.mark.parametrize(
    ("fault", "commits"),
    [
        (Fault("refs", status=503), 1),
        (Fault("refs", does="cut"), 1),
        (Fault("tree", status=500), 1),
        (Fault("tree", does="slow"), 1),
        (Fault("create_repo", status=500), 1),
        (Fault("create_repo", status=500, landed=True), 1),
        (Fault("preupload", status=500), 1),
        (Fault("lfs_batch", status=500), 1),
        (Fault("lfs_put", nth=3, status=500), 1),
        (Fault("lfs_put", nth=3, does="cut", after=1), 1),
        (Fault("lfs_put", nth=3, does="cut", landed=True), 1),
        (Fault("commit", status=409), 1),
        (Fault("commit", status=412), 1),
        (Fault("commit", status=500), 1),
        (Fault("commit", status=500, landed=True), 1),
        (Fault("commit", does="cut"), 1),
        (Fault("commit", does="cut", landed=True), 1),
        (Fault("tag", status=500), 1),
        (Fault("tag", status=500, landed=True), 1),
    ],
    ids=lambda value: f"{value.kind}-{value.does}-{value.status}-{value.landed}" if isinstance(value, Fault) else "",
)
def test_what_fails_once_is_done_in_the_end(
    fault: Fault,
    commits: int,
    hub: LoopbackHub,
    versions: tuple[DatasetFolder, DatasetFolder],
    waits: list[float],
) -> None:
    hub.faults.plan(fault)
    told = publish(hub, versions[0])
    assert told[-1].startswith("published: ")
    repository = hub.stored.by_name[REPO]
    assert len(titles(hub)) == commits
    assert hub.stored.files(REPO) == files(versions[0])
    assert repository.tags == {default_tag(versions[0]): repository.branches["main"]}
    assert hub.faults.counts["commit"] == (1 if fault.kind != "commit" or fault.landed else 2)


def test_it_waits_as_long_as_the_hub_asks(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], waits: list[float]
) -> None:
    busy = {"Retry-After": "7"}
    hub.faults.plan(Fault("refs", status=429, headers=busy), Fault("commit", status=429, headers=busy))
    told = publish(hub, versions[0])
    assert waits.count(7.0) == 2
    assert "the Hub refused for now; trying again in 7.0 s" in told
    hub.faults.plan(Fault("refs", status=429, headers={"Retry-After": "4000"}))
    with pytest.raises(InvalidInput, match="the Hub asks to wait 4,000 seconds"):
        publish(hub, versions[0])


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault("commit", status=500, times=99), "org/demo: the Hub did not take it; found Server error '500"),
        (Fault("commit", status=412, times=99), "org/demo: others keep publishing there; found Client error '412"),
        (Fault("commit", does="cut", times=99), "org/demo: the Hub did not take it; found Server disconnected"),
        (Fault("refs", status=503, times=99), "org/demo: the Hub did not take it; found Server error '503"),
        (Fault("lfs_put", status=403, times=99), "org/demo: the token may not write there; found 403 Forbidden"),
        (Fault("validate_yaml", status=400), "org/demo: the Hub did not take the content; found Invalid metadata"),
    ],
    ids=lambda value: f"{value.kind}-{value.does}-{value.status}" if isinstance(value, Fault) else "",
)
def test_what_fails_for_good_is_one_line(
    fault: Fault,
    says: str,
    hub: LoopbackHub,
    versions: tuple[DatasetFolder, DatasetFolder],
    waits: list[float],
) -> None:
    hub.stored.create(REPO, private=False)
    hub.faults.plan(fault)
    with pytest.raises(InvalidInput) as refused:
        publish(hub, versions[0])
    assert str(refused.value).startswith(says)
    assert len(str(refused.value).splitlines()) == 1
    assert titles(hub) == []
    assert hub.faults.counts[fault.kind] <= TRIES * N_FILES


def test_a_broken_upload_goes_on_by_whole_file(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], waits: list[float]
) -> None:
    hub.stored.create(REPO, private=False)
    hub.faults.plan(Fault("lfs_put", nth=7, does="status", status=403, times=1))
    with pytest.raises(InvalidInput):
        publish(hub, versions[0])
    stored = len(list(hub.stored.objects.iterdir()))
    assert stored > 3
    hub.faults.plan()
    publish(hub, versions[0])
    lfs = [path for path in files(versions[0]) if path.endswith((".parquet", ".png"))]
    assert 0 < hub.faults.kinds()["lfs_put"] < len(lfs)
    assert hub.stored.files(REPO) == files(versions[0])


def test_without_write_access_the_command_says_so_in_one_line(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    hub.stored.create(REPO, private=False)
    code, _, err = finish(start_publish(hub, tmp_path, versions[0].path, "--repo-id", REPO, token=READ))
    errors = [line for line in err.splitlines() if not line.startswith(("add ", "tag "))]
    assert (code, len(errors)) == (1, 1), err
    assert errors[0].startswith(f"error: {REPO}: the token may not write there; found 403 Forbidden: ")
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
    what = "the token may not write there" if token == READ else "the Hub does not know who is asking"
    said = str(refused.value)
    assert said.startswith(f"{REPO}: {what}; found ")
    assert said.endswith("; give a token with write access: HF_TOKEN, or 'hf auth login'")
    assert len(said.splitlines()) == 1
    assert not exists or titles(hub) == []


def test_without_a_network_it_says_so_in_one_line(
    versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    api = huggingface_hub.HfApi(endpoint=f"http://127.0.0.1:{port}")
    with pytest.raises(InvalidInput) as refused:
        publish_folders(versions[0].path, REPO, api=api)
    assert str(refused.value).startswith(f"{REPO}: the Hub cannot be reached; found ")


def test_tags_and_branches_that_cannot_be(hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder]) -> None:
    publish(hub, versions[0], tag="v1")
    publish(hub, versions[0], tag="v1")
    publish(hub, versions[0], tag="v1.0")
    head = hub.stored.by_name[REPO].branches["main"]
    assert hub.stored.by_name[REPO].tags == {"v1": head, "v1.0": head}
    hub.faults.plan()
    for options, says in (
        ({"tag": "v1"}, f"{REPO}: the tag stands at another version; found v1 at {head[:12]}; give another --tag"),
        ({"revision": "v1"}, f"{REPO}: this is a tag, no branch; found 'v1'"),
        ({"revision": head}, f"{REPO}: this is no branch; found '{head}'"),
        ({"revision": "refs/pr/1"}, f"{REPO}: this is no branch; found 'refs/pr/1'"),
        ({"revision": "a..b"}, f"{REPO}: this is no branch; found 'a..b'"),
        ({"tag": "two words"}, f"{REPO}: this cannot be a tag; found 'two words'"),
        ({"repo_id": "one/two/three"}, "one/two/three: the Hub takes no such name"),
    ):
        with pytest.raises(InvalidInput) as refused:
            publish(hub, versions[1], **options)
        assert str(refused.value).startswith(says)
    assert {entry.method for entry in hub.faults.log} <= {"GET"}


def test_gold_goes_to_a_private_repository_or_nowhere(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    both, gold = tmp_path / "both", f"{REPO}-gold"
    for name, version in zip(("public", "gold"), versions, strict=True):
        shutil.copytree(version.path, both / name)
    pair = DatasetFolder(both, versions[0].manifest)
    told = publish(hub, pair)
    assert f"leave out {both / 'gold'}: gold is published only to a repository given by --private-gold" in told
    assert hub.stored.by_name.keys() == {REPO}
    hub.stored.create(gold, private=False)
    for options, says in (
        ({"private_gold": gold}, f"{gold}: gold may not go into a public repository"),
        ({"private_gold": REPO.upper()}, f"{REPO.upper()}: gold may not go where everybody reads"),
    ):
        with pytest.raises(InvalidInput) as refused:
            publish(hub, pair, **options)
        assert str(refused.value).startswith(says)
    assert hub.stored.files(gold) == {}
    del hub.stored.by_name[gold]
    assert f"create private repository {gold}" in publish(hub, pair, private_gold=gold)
    assert hub.stored.by_name[gold].private
    assert hub.stored.files(gold) == files(versions[1])
    hub.faults.plan()
    publish(hub, pair, private_gold=gold)
    assert {entry.method for entry in hub.faults.log} == {"GET"}


def test_gold_is_not_taken_for_a_dataset_to_publish(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], tmp_path: Path
) -> None:
    for name, version in zip(("public", "gold"), versions, strict=True):
        shutil.copytree(version.path, tmp_path / name)
    with pytest.raises(InvalidInput, match="this is the gold of a build that withholds labels"):
        publish(hub, DatasetFolder.open(tmp_path / "gold"))
    with pytest.raises(InvalidInput, match="this folder holds no gold of its own"):
        publish(hub, versions[0], private_gold="org/gold")
    assert hub.faults.log == []
