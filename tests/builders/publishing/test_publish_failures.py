"""Publishing over real HTTP where something goes wrong: killed, overtaken, refused, cut off."""

import os
import signal
import time
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.hub_access import TRIES
from shiftbench.validation.report import InvalidInput
from tests.hub.clients import finish, start_publish
from tests.hub.faults import Fault
from tests.hub.published import REPO, files, publish, tag_of, titles
from tests.hub.server import LoopbackHub
from tests.refusals import refusal

N_FILES = 12
KILLED_AT = (
    Fault("create_repo", landed=True, does="hold"),
    Fault("lfs_put", nth=5, does="hold", after=1),
    Fault("commit", does="hold"),
    Fault("commit", does="hold", landed=True),
)
"""Requests at which the Hub holds the connection, and the publisher is killed."""

pytestmark = [pytest.mark.xdist_group("publish_http"), pytest.mark.usefixtures("basic_uploads")]


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
    assert there in ([files(old, hub)] if old else [{}]) + [files(new, hub)]
    assert (there == files(new, hub)) == (fault.kind == "commit" and fault.landed)
    uploaded = hub.faults.kinds()["lfs_put"]
    hub.faults.plan()
    publish(hub, new)
    assert hub.stored.files(REPO) == files(new, hub)
    assert hub.stored.by_name[REPO].tags[tag_of(new, hub)] == hub.stored.by_name[REPO].branches["main"]
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
    assert hub.stored.files(REPO) == files(last, hub)
    assert set(hub.stored.by_name[REPO].tags) == {tag_of(each, hub) for each in versions}
    assert sum("busy" in err for _, _, err in results) == 1


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
    assert hub.stored.files(REPO) == files(versions[0], hub)
    assert repository.tags == {tag_of(versions[0], hub): repository.branches["main"]}
    assert hub.faults.counts["commit"] == (1 if fault.kind != "commit" or fault.landed else 2)


def test_it_waits_as_long_as_the_hub_asks(
    hub: LoopbackHub, versions: tuple[DatasetFolder, DatasetFolder], waits: list[float]
) -> None:
    busy = {"Retry-After": "7"}
    hub.faults.plan(Fault("refs", status=429, headers=busy), Fault("commit", status=429, headers=busy))
    told = publish(hub, versions[0])
    assert waits.count(7.0) == 2
    assert any(" 7.0 s" in line for line in told)
    hub.faults.plan(Fault("refs", status=429, headers={"Retry-After": "4000"}))
    with pytest.raises(InvalidInput, match="4,000"):
        publish(hub, versions[0])


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (Fault("commit", status=500, times=99), "'500"),
        (Fault("commit", status=412, times=99), "'412"),
        (Fault("commit", does="cut", times=99), "disconnected"),
        (Fault("refs", status=503, times=99), "'503"),
        (Fault("lfs_put", status=403, times=99), "403"),
        (Fault("validate_yaml", status=400), "metadata"),
    ],
    ids=lambda value: f"{value.kind}-{value.does}-{value.status}" if isinstance(value, Fault) else "",
)
def test_what_fails_for_good_is_one_line(
    fault: Fault,
    found: str,
    hub: LoopbackHub,
    versions: tuple[DatasetFolder, DatasetFolder],
    waits: list[float],
    wording: SnapshotAssertion,
) -> None:
    hub.stored.create(REPO, private=False)
    hub.faults.plan(fault)
    message = refusal(InvalidInput, publish, hub, versions[0])
    assert found in message
    # What was found is in the words of the Hub's client.
    assert message.partition("; found ")[0] == wording
    assert len(message.splitlines()) == 1
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
    lfs = [path for path in files(versions[0], hub) if path.endswith((".parquet", ".png"))]
    assert 0 < hub.faults.kinds()["lfs_put"] < len(lfs)
    assert hub.stored.files(REPO) == files(versions[0], hub)
