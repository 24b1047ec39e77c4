"""What is missing and how it comes: plans, terms, several sources at a time, and every problem at once."""

import gzip
import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.fetching import fetch as fetch_module
from shiftbench.builders.fetching.fetch import Plan, fetch, plan_fetch
from shiftbench.builders.fetching.records import read_records
from shiftbench.builders.readers.delimited import quoted_csv
from shiftbench.builders.specs.spec import FileSpec
from shiftbench.validation.report import InvalidInput, UnknownChoice
from tests.builders.fetching.invented import archive, as_tar, as_zip, declare, download, lines, task, whole_files
from tests.builders.fetching.server import FORM, Answer, Release, Served
from tests.heard import heard

BODY = lines(50_000, seed=1)
READ = quoted_csv("text", "label")


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return tmp_path / "raw"


def planned(raw: Path, *places: FileSpec | str) -> Plan:
    return plan_fetch([task(places)], [raw])


def test_a_plan_names_the_first_download_of_each_place_and_what_is_by_hand(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = declare(
        monkeypatch,
        letters=archive("http://a/x.zip", {"letters/a.csv": "a", "letters/b.csv": "b"}, "size = 70")
        + download("http://a/b.csv", place="letters/b.csv", more="size = 9")
        + download("http://a/c.csv", place="letters/c.csv"),
        posts='terms = "Do not pass it on."\n' + download("http://a/d.gz", place="posts/d.csv.gz", more="size = 5"),
        forms="",
    )
    letters, posts, forms = found.values()
    wanted = ("letters/a.csv", "letters/b.csv", "letters/c.csv", "posts/d.csv", "forms/e.csv", "forms/f.csv")
    plan = planned(raw, *wanted, FileSpec("letters/part.csv", READ, partial=True))
    assert [(request.source, request.download, request.places) for request in plan.requests] == [
        (letters, letters.downloads[0], ("letters/a.csv", "letters/b.csv")),
        (letters, letters.downloads[2], ("letters/c.csv",)),
        (posts, posts.downloads[0], ("posts/d.csv",)),
    ]
    assert [(each.source, each.places) for each in plan.by_hand] == [(forms, ("forms/e.csv", "forms/f.csv"))]
    assert plan.terms == (posts,)
    other = tmp_path / "other"
    for place in ("letters/a.csv.gz", "letters/c.csv.zip", "posts/d.zip", "forms/e.csv"):
        (other / place).parent.mkdir(parents=True, exist_ok=True)
        (other / place).touch()
    plan = plan_fetch([task(wanted)], [raw, other])
    assert [request.places for request in plan.requests] == [("letters/b.csv",)]
    assert [each.places for each in plan.by_hand] == [("forms/f.csv",)]
    (other / "letters/b.csv").mkdir()
    with pytest.raises(InvalidInput, match="folder"):
        plan_fetch([task(wanted)], [raw, other])


def test_what_is_read_beside_a_file_comes_beside_it(
    raw: Path, tmp_path: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    release.files["/large.zip"] = Served(as_zip({"large/text.txt": b"words\n", "large/label.txt": b"1\n"}))
    members = {"letters/large/text.txt": "large/text.txt", "letters/large/label.txt": "large/label.txt"}
    declare(monkeypatch, letters=archive(release.url + "/large.zip", members))
    file = FileSpec("letters/large/text.txt", READ, beside=("label.txt",))
    other = tmp_path / "other/letters/large"
    other.mkdir(parents=True)
    (other / "text.txt").write_text("words\n")
    plan = plan_fetch([task([file])], [raw, tmp_path / "other"])
    assert plan.requests[0].places == tuple(members), "both must lie in one folder"
    fetch(plan, raw)
    assert whole_files(raw) == {"letters/large/text.txt": b"words\n", "letters/large/label.txt": b"1\n"}
    assert planned(raw, file).requests == ()
    (raw / "letters/large/label.txt").unlink()
    assert planned(raw, file).requests[0].places == ("letters/large/label.txt",)


def test_an_archive_that_two_sources_name_comes_once(
    raw: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = as_zip({"letters.csv": BODY, "posts.csv": b"one"})
    release.files = {"/both.zip": Served(content)}
    url, size = f"{release.url}/both.zip", f"size = {len(content)}"
    found = declare(
        monkeypatch,
        letters=archive(url, {"letters/a.csv": "letters.csv"}, size),
        posts=archive(url, {"posts/b.csv": "posts.csv"}, size),
    )
    plan = planned(raw, "letters/a.csv", "posts/b.csv")
    assert [request.source for request in plan.requests] == list(found.values())
    bar = SimpleNamespace(update=lambda n: None)

    def show(*, total: int, **_: object) -> AbstractContextManager[SimpleNamespace]:
        bar.total = bar.first = total
        return nullcontext(bar)

    monkeypatch.setattr(fetch_module, "progress", show)
    fetch(plan, raw)
    assert (len(release.log), bar.first, bar.total) == (1, len(content), len(content))
    assert whole_files(raw) == {"letters/a.csv": BODY, "posts/b.csv": b"one"}
    assert {read_records(raw, slug)[f"{slug}/{name}.csv"].address for slug, name in zip(found, "ab", strict=True)} == {
        url
    }
    assert [path.name for path in (raw / ".fetching").iterdir()] == ["lock"]


def test_files_and_members_come_to_their_places_with_a_record(
    raw: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = gzip.compress(BODY)
    release.files = {
        "/ds/dump.csv.gz": Served(packed),
        "/data/release_1.0.zip": Served(as_zip({"release_1.0/train.csv": BODY, "release_1.0/all/1.txt": b"one"})),
        "/~ang/release.tar.gz": Served(as_tar({"release/test.csv": BODY})),
    }
    url = release.url
    declare(
        monkeypatch,
        letters=download(f"{url}/ds/dump.csv.gz", place="letters/dump.csv.gz")
        + archive(
            f"{url}/data/release_1.0.zip",
            {"letters/1.0/train.csv": "release_1.0/train.csv", "letters/1.0/all": "release_1.0/all/"},
        ),
        posts=archive(f"{url}/~ang/release.tar.gz", {"posts/test.csv": "release/test.csv"}),
    )
    files = ("letters/dump.csv", FileSpec("letters/1.0/train.csv", READ, beside=("all",)), "posts/test.csv")
    with heard() as told:
        found = fetch(planned(raw, *files), raw)
    assert whole_files(raw) == {
        "letters/dump.csv.gz": packed,
        "letters/1.0/train.csv": BODY,
        "letters/1.0/all/1.txt": b"one",
        "posts/test.csv": BODY,
    }
    records = read_records(raw, "letters") | read_records(raw, "posts")
    assert {one.place: one for one in found} == records
    train, folder = records["letters/1.0/train.csv"], records["letters/1.0/all"]
    assert (train.size, train.sha256, train.address) == (
        len(BODY), sha256(BODY).hexdigest(), f"{url}/data/release_1.0.zip"
    )  # fmt: skip
    assert (folder.size, folder.sha256, train.revision, train.rows) == (None, None, None, None)
    assert "letters/1.0/train.csv: 50,000 bytes" in told
    assert [path.name for path in (raw / ".fetching").iterdir()] == ["lock"]
    assert planned(raw, *files) == Plan((), (), ())
    assert fetch(planned(raw, *files), raw) == ()
    assert len(release.log) == 3


def test_addresses_and_downloads_are_tried_in_order(
    raw: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    release.files = {
        "/form": Served(b"", [Answer(403, FORM, {"Content-Type": "text/html"})] * 9),
        "/other.csv": Served(lines(50_000, seed=2)),
        "/good.csv": Served(BODY),
        "/x.zip": Served(as_zip({"b": b"b,of the zip\n"})),
    }
    url, total = release.url, f'sha256 = "{sha256(BODY).hexdigest()}"'
    declare(
        monkeypatch,
        letters=archive(f"{url}/dead.zip", {"letters/post.csv": "a", "letters/b.csv": "b"})
        + download(f"{url}/dead.csv", f"{url}/form", f"{url}/other.csv", f"{url}/good.csv", more=total)
        + archive(f"{url}/x.zip", {"letters/post.csv": "a", "letters/b.csv": "b"}),
    )
    with heard() as told:
        found = fetch(planned(raw, "letters/post.csv", "letters/b.csv"), raw)
    assert {one.place: one.address for one in found} == {
        "letters/post.csv": f"{url}/good.csv",
        "letters/b.csv": f"{url}/x.zip",
    }
    assert whole_files(raw) == {"letters/post.csv": BODY, "letters/b.csv": b"b,of the zip\n"}
    assert any(line.startswith(f"letters/post.csv, letters/b.csv: {url}/dead.zip: HTTP 404 ") for line in told)


def test_a_source_that_fails_stops_no_other_and_all_problems_come_at_once(
    raw: Path, release: Release, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    release.files = {
        "/form": Served(b"", [Answer(200, FORM, {"Content-Type": "text/html"})] * 9),
        "/x.zip": Served(as_zip({"other.csv": BODY})),
        "/lfs.csv": Served(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
        "/good.csv": Served(BODY),
    }
    url = release.url
    declare(
        monkeypatch,
        forms=download(f"{url}/form", place="forms/a.csv"),
        zips=archive(f"{url}/x.zip", {"zips/a.csv": "wanted.csv"})
        + download("http://127.0.0.1:9/b", place="zips/a.csv"),
        pointers=download(f"{url}/lfs.csv", place="pointers/a.csv"),
        gone=download("http://127.0.0.1:9/a", place="gone/a.csv"),
        signed='terms = "Do not pass it on."\n' + download(f"{url}/good.csv", place="signed/a.csv"),
        letters=download(f"{url}/good.csv"),
    )
    places = ("forms/a.csv", "zips/a.csv", "pointers/a.csv", "gone/a.csv", "signed/a.csv", "letters/post.csv")
    with pytest.raises(InvalidInput) as refused:
        fetch(planned(raw, *places), raw)
    said = [str(problem).replace(url, "URL") for problem in refused.value.problems]
    assert [re.sub(r" \(\[Errno.*?\)|[0-9a-f]{16}/", "", line) for line in said] == wording
    assert whole_files(raw) == {"letters/post.csv": BODY}
    assert not (raw / "signed/terms.json").exists()


def test_terms_are_accepted_by_name_kept_and_not_asked_for_again(
    raw: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    release.files["/a.csv"] = Served(BODY)
    signed = 'terms = "{}"\nlicence_url = "https://example.org/terms"\n'
    more = download(release.url + "/a.csv", place="signed/a.csv") + download(
        release.url + "/a.csv", place="signed/b.csv"
    )
    declare(monkeypatch, signed=signed.format("Do not pass it on.") + more)
    with pytest.raises(UnknownChoice, match=r"'sined'.*'signed'"):
        fetch(planned(raw, "signed/a.csv"), raw, accepted=("sined",))
    assert not raw.exists()
    fetch(planned(raw, "signed/a.csv"), raw, accepted=("signed",))
    kept = json.loads((raw / "signed/terms.json").read_text())
    assert kept["url"] == "https://example.org/terms"
    assert kept["accepted"].startswith("20")
    assert planned(raw, "signed/b.csv").terms == ()
    fetch(planned(raw, "signed/b.csv"), raw)
    (raw / "signed/b.csv").unlink()
    (source,) = declare(monkeypatch, signed=signed.format("Other terms.") + more).values()
    assert planned(raw, "signed/b.csv").terms == (source,)  # they are not what was accepted
    fetch(planned(raw, "signed/b.csv"), raw, accepted=("all",))
    assert json.loads((raw / "signed/terms.json").read_text())["terms"] == source.terms


def test_several_come_at_a_time(raw: Path, release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, most = set[int](), [0]

    def slowly() -> Iterator[None]:
        at_once.add(threading.get_ident())
        most.append(len(at_once))
        time.sleep(0.2)
        at_once.discard(threading.get_ident())
        yield

    usual = fetch_module.fetch_file
    monkeypatch.setattr(fetch_module, "fetch_file", lambda *a, **k: [*slowly(), usual(*a, **k)][1])
    release.files = {f"/{n}.csv": Served(BODY) for n in range(8)}
    declare(
        monkeypatch, letters="".join(download(f"{release.url}/{n}.csv", place=f"letters/{n}.csv") for n in range(8))
    )
    plan = planned(raw, *(f"letters/{n}.csv" for n in range(8)))
    assert [one.place for one in fetch(plan, raw)] == [f"letters/{n}.csv" for n in range(8)], "in the plan's order"
    assert max(most) == 4
    assert len(read_records(raw, "letters")) == 8


def test_space_is_asked_for_before_anything_comes(raw: Path, release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    release.files["/a.csv"] = Served(BODY)
    declare(monkeypatch, letters=download(release.url + "/a.csv", more="size = 50000"))
    plan = planned(raw, "letters/post.csv")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=49_999))
    with pytest.raises(InvalidInput, match="space"):
        fetch(plan, raw)
    assert release.log == []
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=50_000))
    fetch(plan, raw)


def test_one_fetch_at_a_time_writes_to_a_folder(raw: Path, release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    release.files["/a.csv"] = Served(BODY)
    declare(monkeypatch, letters=download(release.url + "/a.csv"))
    (raw / ".fetching").mkdir(parents=True)
    with FileLock(raw / ".fetching/lock"), pytest.raises(InvalidInput, match="another"):
        fetch(planned(raw, "letters/post.csv"), raw)
    fetch(planned(raw, "letters/post.csv"), raw)


def test_what_a_killed_run_left_goes_once_it_is_in_place_and_stays_until_then(
    raw: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    release.files = {"/x.zip": Served(as_zip({"a.csv": BODY, "b.csv": BODY})), "/c.csv": Served(BODY)}
    url = release.url
    declare(
        monkeypatch,
        letters=archive(url + "/x.zip", {"letters/a.csv": "a.csv", "letters/b.csv": "b.csv"}),
        posts=download(url + "/c.csv", place="posts/c.csv"),
    )

    class KilledError(BaseException):
        """A process ends at once: nothing is tidied up."""

    def kill_at(name: str, after: int) -> None:
        usual, calls = getattr(fetch_module, name), iter(range(10))

        def act(*given: object) -> object:
            if next(calls) == after:
                raise KilledError
            return usual(*given)

        plan = planned(raw, "letters/a.csv", "letters/b.csv")
        with monkeypatch.context() as patch:
            patch.setattr(fetch_module, name, act)
            with pytest.raises(KilledError):
                fetch(plan, raw)

    def left() -> list[str]:
        return sorted(path.name for path in (raw / ".fetching").rglob("*") if path.is_file() and path.name != "lock")

    kill_at("unpack_members", 0)
    assert left() == ["0-x.zip"], "it came, and is not unpacked"
    fetch(planned(raw, "posts/c.csv"), raw)
    fetch(planned(raw, "posts/c.csv"), raw)
    assert left() == ["0-x.zip"], "what another task asked for stays"
    kill_at("put_in_place", 1)
    fetch(planned(raw, "posts/c.csv"), raw)
    assert left() == ["0-x.zip", "b.csv"], "one of two is in its place"
    kill_at("_format_outcome", 0)
    assert whole_files(raw).keys() == {"letters/a.csv", "letters/b.csv", "posts/c.csv"}
    assert left() == ["0-x.zip"], "all are in their places"
    (raw / ".fetching/fetched.json").write_text("{")  # killed while it was written
    with FileLock(raw / ".fetching/lock"):
        assert fetch(planned(raw, "letters/a.csv"), raw) == ()
        assert left() == ["0-x.zip", "fetched.json"], "another fetch is at work"
    assert fetch(planned(raw, "letters/a.csv"), raw) == ()
    assert [path.name for path in (raw / ".fetching").iterdir()] == ["lock"]
    assert len(release.asked("/x.zip")) == 1


def test_a_disk_that_fills_up_is_named_once(
    raw: Path, release: Release, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    release.files["/a.csv"] = Served(BODY)
    url = release.url + "/a.csv"
    declare(monkeypatch, letters=download(url) + download(url, place="letters/b.csv"))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fetch_module, "fetch_file", full)
    with pytest.raises(InvalidInput) as refused:
        fetch(planned(raw, "letters/post.csv", "letters/b.csv"), raw)
    (problem,) = refused.value.problems
    assert str(problem) == wording


def test_a_fault_of_ours_is_not_a_download_that_failed(
    raw: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(monkeypatch, letters=download(release.url + "/a.csv"))
    monkeypatch.setattr(fetch_module, "fetch_file", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fetch(planned(raw, "letters/post.csv"), raw)


def test_a_source_on_another_disk_is_filled(
    raw: Path, release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release.files = {"/a.csv": Served(BODY), "/x.zip": Served(as_zip({"all/1.txt": b"one", "b.csv": BODY}))}
    url = release.url
    members = {"letters/b.csv": "b.csv", "letters/all": "all/"}
    declare(monkeypatch, letters=download(url + "/a.csv") + archive(url + "/x.zip", members))
    usual = Path.replace

    def across(path: Path, to: Path) -> Path:
        if ".fetching" in path.parts and ".fetching" not in to.parts:
            raise OSError(18, "Invalid cross-device link")
        return usual(path, to)

    monkeypatch.setattr(Path, "replace", across)
    fetch(planned(raw, "letters/post.csv", FileSpec("letters/b.csv", READ, beside=("all",))), raw)
    assert whole_files(raw) == {"letters/post.csv": BODY, "letters/b.csv": BODY, "letters/all/1.txt": b"one"}


def test_a_place_outside_of_the_folder_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("letters/../../a.csv", "../a.csv", "letters/."):
        with pytest.raises(InvalidInput, match=r"downloads\.1"):
            declare(monkeypatch, letters=download("http://a/b", place="letters/a.csv").replace("letters/a.csv", place))
        with pytest.raises(InvalidInput, match=r"downloads\.1"):
            declare(monkeypatch, letters=archive("http://a/b", {"letters/a.csv": "a"}).replace("letters/a.csv", place))
