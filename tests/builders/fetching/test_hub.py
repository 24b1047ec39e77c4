"""Fetching original rows from a Hub on the loopback interface: their form, their revision, and what is told."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from huggingface_hub import HfApi
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building import build as build_module
from shiftbench.builders.building.build import build, choose_tasks
from shiftbench.builders.dr.inference import NLI
from shiftbench.builders.fetching import fetch as fetch_module
from shiftbench.builders.fetching.fetch import fetch, find_form, plan_fetch
from shiftbench.builders.fetching.hub import find_on_hub, find_writer, is_on_hub
from shiftbench.builders.fetching.records import RECORD, Fetched, hub_revision, read_records
from shiftbench.builders.specs import spec as spec_module
from shiftbench.builders.specs.sources import find_source, read_sources
from shiftbench.builders.specs.spec import FileFacts, Upstream
from shiftbench.cli import demo
from shiftbench.validation.report import InvalidInput
from tests.builders.fetching.invented import declare, download, task
from tests.heard import heard
from tests.hub.server import WRITE, LoopbackHub

pytestmark = [pytest.mark.xdist_group("publish_http"), pytest.mark.usefixtures("basic_uploads")]

REPO = "nyu-mll/multi_nli"
GENRES = ("fiction", "government", "slate", "telephone", "travel")
PAIRS = "letters/pairs.jsonl"
TRAIN, DEV = "multinli_1.0/multinli_1.0_train.jsonl", "multinli_1.0/multinli_1.0_dev_matched.jsonl"


def pairs(n: int, start: int = 0) -> pl.DataFrame:
    rows = [
        {"promptID": number, "pairID": f"{number}n", "premise": f"Clerk {number // 3} of the {genre} office.",
         "hypothesis": f"Somebody sealed {number} letters.", "genre": genre, "label": number % 3}
        for genre in GENRES
        for number in range(start, start + n)
    ]  # fmt: skip
    return pl.DataFrame(rows)


@pytest.fixture
def api(hub: LoopbackHub, tmp_path: Path) -> HfApi:
    api = HfApi(endpoint=hub.url, token=WRITE)
    api.create_repo(REPO, repo_type="dataset", private=False)
    put(api, "data/train-00000-of-00001.parquet", pairs(30), tmp_path)
    put(api, "data/validation_matched-00000-of-00001.parquet", pairs(6, start=300), tmp_path)
    return api


def put(api: HfApi, place: str, frame: pl.DataFrame, folder: Path) -> None:
    frame.write_parquet(folder / "upload.parquet")
    api.upload_file(path_or_fileobj=folder / "upload.parquet", path_in_repo=place, repo_id=REPO, repo_type="dataset")


@pytest.fixture(autouse=True)
def from_the_hub_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave of MultiNLI's downloads those of the Hub, at no commit: the invented repository has others."""

    source = find_source("multinli_1.0")
    downloads = tuple(
        each.model_copy(update={"urls": tuple(re.sub("@[0-9a-f]{40}", "", url) for url in each.urls)})
        for each in source.downloads
        if each.rows_as
    )
    invented = source.model_copy(update={"downloads": downloads})
    found = {**read_sources(), source.slug: invented}
    monkeypatch.setattr(spec_module, "find_source", found.__getitem__)


@pytest.fixture(autouse=True)
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = Upstream(files={TRAIN: FileFacts(rows=150), DEV: FileFacts(rows=40)}, rows={})
    monkeypatch.setattr(fetch_module, "upstream", lambda: facts)
    monkeypatch.setattr(build_module, "upstream", lambda: facts)


def fetch_nli(raw: Path, api: HfApi) -> tuple[Fetched, ...]:
    return fetch(plan_fetch([NLI], [raw]), raw, api=api)


def test_rows_come_in_the_releases_own_form_at_one_revision(
    api: HfApi, hub: LoopbackHub, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    raw = tmp_path / "raw"
    with heard() as told:
        found = fetch_nli(raw, api)
    first = hub.stored.by_name[REPO].branches["main"]
    assert [(one.place, one.rows) for one in found] == [(TRAIN, 150), (DEV, 30)]
    assert {one.revision for one in found} == {f"{REPO}@{first}"}
    assert {one.place: one for one in found} == read_records(raw, "multinli_1.0")
    assert sorted(line for line in told if line.startswith("multinli")) == wording  # files are fetched at once
    row = json.loads((raw / TRAIN).read_text(encoding="utf-8").splitlines()[1])
    assert row == {"gold_label": "neutral", "genre": "fiction", "sentence1": "Clerk 0 of the fiction office.",
                   "sentence2": "Somebody sealed 1 letters.", "pairID": "1n"}  # fmt: skip
    assert fetch_nli(raw, api) == ()  # what is there is not fetched again
    put(api, "data/validation_matched-00000-of-00001.parquet", pairs(9, start=300), tmp_path)
    (raw / DEV).unlink()
    (again,) = fetch_nli(raw, api)
    assert (again.revision, again.rows) == (f"{REPO}@{first}", 30)
    assert [path.name for path in (raw / ".fetching").iterdir()] == ["lock"]


def test_the_manifest_names_the_revision_that_was_resolved(
    api: HfApi, hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: api)
    fetch_nli(tmp_path / "raw", api)
    built = build("dr", "nli.travel", tmp_path / "raw", tmp_path / "out", partial=True)
    revision = hub.stored.by_name[REPO].branches["main"]
    assert built.manifest.sources["multinli_1.0"].revision == f"{REPO}@{revision}"
    record = json.loads((tmp_path / "raw/multinli_1.0" / RECORD).read_text())
    assert record[DEV]["revision"] == f"{REPO}@{revision}"
    assert record[DEV]["address"] == f"hub:{REPO}@{revision}/data/validation_matched-*.parquet"
    assert list(built.manifest.tasks["nli"].domains) == ["travel"]
    with pytest.raises(InvalidInput, match=r"\b30 .*\b40\b"):
        build("dr", "nli", tmp_path / "raw", tmp_path / "out", overwrite=True)


def test_a_repository_with_other_files_is_told(api: HfApi, tmp_path: Path) -> None:
    api.delete_file("data/train-00000-of-00001.parquet", REPO, repo_type="dataset")
    with pytest.raises(InvalidInput, match=r"'data/train-\*\.parquet'.* data/validation_matched"):
        fetch_nli(tmp_path / "raw", api)
    assert not (tmp_path / "raw" / TRAIN).exists()
    assert (tmp_path / "raw" / DEV).is_file()


def test_a_recorded_checksum_holds_for_the_hub_too(api: HfApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"hub:{REPO}/data/train-*.parquet"
    right = find_on_hub(address, [], api).files[0].sha256
    for recorded in ("0" * 64, right):
        declare(monkeypatch, letters=download(address, place="letters/a.parquet", more=f'sha256 = "{recorded}"'))
        plan = plan_fetch([task(["letters/a.parquet"])], [tmp_path / "raw"])
        if recorded != right:
            with pytest.raises(InvalidInput, match=r"000000000000\.\.\. is recorded"):
                fetch(plan, tmp_path / "raw", api=api)
            assert not (tmp_path / "raw/letters").exists()
        else:
            (file,) = fetch(plan, tmp_path / "raw", api=api)
            assert (file.sha256, file.rows) == (right, 150)


@pytest.mark.parametrize(
    ("recorded", "found"),
    [
        (f'sha256 = "{"0" * 64}"', "2 files, but only one recorded checksum"),
        ("size = 9", r"bytes in 2 files, 9 are recorded: another revision\?"),
    ],
)
def test_what_is_recorded_of_several_files_of_the_hub_is_compared(
    api: HfApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: str, found: str
) -> None:
    put(api, "data/train-00001-of-00002.parquet", pairs(3), tmp_path)
    address = f"hub:{REPO}/data/train-*.parquet"
    total = sum(file.size or 0 for file in find_on_hub(address, [], api).files)
    for more in (recorded, f"size = {total}"):
        declare(monkeypatch, letters=download(address, place=PAIRS, more=f'{more}\nrows_as = "multinli"'))
        plan = plan_fetch([task([PAIRS])], [tmp_path / "raw"])
        if more == recorded:
            with pytest.raises(InvalidInput, match=found):
                fetch(plan, tmp_path / "raw", api=api)
            assert not (tmp_path / "raw" / PAIRS).exists()
        else:
            assert [file.rows for file in fetch(plan, tmp_path / "raw", api=api)] == [165]


def test_files_whose_names_lead_elsewhere_are_none() -> None:
    outside = SimpleNamespace(rfilename="data/train-/../../../outside.parquet")
    info = SimpleNamespace(sha="0" * 40, siblings=[outside])
    api: Any = SimpleNamespace(dataset_info=lambda *_, **__: info)
    for pattern in ("data/train-*.parquet", "data/train-*/*/*/*/*.parquet"):
        with pytest.raises(InvalidInput, match=r"'data/train-\*"):
            find_on_hub(f"hub:{REPO}/{pattern}", [], api)


def test_a_revision_is_the_pinned_one_or_the_first_one_or_todays(api: HfApi, tmp_path: Path) -> None:
    pinned = api.dataset_info(REPO).sha
    put(api, "data/train-00000-of-00001.parquet", pairs(3), tmp_path)
    newest = api.dataset_info(REPO).sha
    address = f"hub:{REPO}/data/train-*.parquet"
    assert find_on_hub(address, [], api).revision == f"{REPO}@{newest}"
    assert find_on_hub(address, ["other/one@1", f"{REPO}@{pinned}"], api).revision == f"{REPO}@{pinned}"
    assert find_on_hub(f"hub:{REPO}@{newest}/data/train-*.parquet", [f"{REPO}@{pinned}"], api).revision.endswith(newest)
    api.create_branch(REPO, branch="refs/convert/parquet", repo_type="dataset", revision=pinned)
    found = find_on_hub(f"hub:{REPO}@refs%2Fconvert%2Fparquet/data/train-*.parquet", [], api)
    assert found.revision == f"{REPO}@{pinned}"


def test_the_record_of_version_0_2_is_read(tmp_path: Path) -> None:
    (tmp_path / "multinli_1.0").mkdir()
    former = {"repository": REPO, "revision": "1" * 40, "files": {TRAIN: {"pattern": "p", "sha256": "s", "rows": 3}}}
    (tmp_path / "multinli_1.0/from_hub.json").write_text(json.dumps(former))
    assert hub_revision([tmp_path], "multinli_1.0", [TRAIN]) == f"{REPO}@{'1' * 40}"
    assert hub_revision([tmp_path], "multinli_1.0", [DEV]) is None
    (tmp_path / "multinli_1.0/from_hub.json").write_text("{")
    with pytest.raises(InvalidInput, match="JSON"):
        hub_revision([tmp_path], "multinli_1.0", [TRAIN])


@pytest.mark.parametrize("version", ["v1.1", "v2.0"])
def test_squad_is_nested_again(version: str, tmp_path: Path) -> None:
    from shiftbench.builders.readers.squad import squad
    from shiftbench.builders.specs.upstream_file import UpstreamFile

    rows: list[dict[str, Any]] = [
        {"id": f"q{n}", "title": "A_town", "context": f"It has {n % 2} wells.", "question": "How many?",
         "answers": {"text": [f"{n % 2}"], "answer_start": [7]}}
        for n in range(4)
    ]  # fmt: skip
    if version == "v2.0":
        rows[3]["answers"] = {"text": [], "answer_start": []}
    pl.DataFrame(
        rows, schema_overrides={"answers": pl.Struct({"text": pl.List(pl.String), "answer_start": pl.List(pl.Int32)})}
    ).write_parquet(tmp_path / "a.parquet")
    find_writer(f"squad-{version[1:]}")([tmp_path / "a.parquet"], tmp_path / "a.json")
    with UpstreamFile(tmp_path / "a.json") as read:
        again = pl.concat(squad(read))
    assert sorted(again["question_id"]) == ["q0", "q1", "q2", "q3"]
    assert again.filter(question_id="q2")["answers"].to_list() == [{"text": ["0"], "answer_start": [7]}]
    assert again["context"].n_unique() == 2


def test_the_demo_takes_real_rows_where_it_can(
    api: HfApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "SHARED", (tmp_path / "shared",))
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: api)
    assert demo._shared_folders() == []
    assert demo._build_real(tmp_path / "dr", [], tmp_path / "raw", None, whole=True)
    assert "Hub" in capsys.readouterr().err
    (tmp_path / "raw").rename(tmp_path / "shared")
    shared = demo._shared_folders()
    assert shared == [tmp_path / "shared"]
    assert demo._build_real(tmp_path / "dr", shared, tmp_path / "raw", None, whole=True)
    assert str(shared[0]) in capsys.readouterr().err
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: HfApi(endpoint="http://127.0.0.1:9"))
    assert not demo._build_real(tmp_path / "dr", [], tmp_path / "none", None, whole=True)
    assert "synthetic" in capsys.readouterr().err


def test_what_sources_say_of_the_hub_can_be_read() -> None:
    downloads = [each for source in read_sources().values() for each in source.downloads]
    asked = SimpleNamespace(sha="0" * 40, siblings=[])
    api: Any = SimpleNamespace(dataset_info=lambda *_, **__: asked)
    addresses = [url for each in downloads for url in each.urls if is_on_hub(url)]
    assert len(addresses) >= 19
    for address in addresses:
        with pytest.raises(InvalidInput, match="file"):
            find_on_hub(address, [], api)
    for rows_as in {each.rows_as for each in downloads} - {None}:
        assert callable(find_writer(str(rows_as)))
    with pytest.raises(InvalidInput, match=r"'snil'.*'snli'"):
        find_writer("snil")
    with pytest.raises(InvalidInput, match="URL"):
        find_on_hub("hub:snli/train.jsonl", [], api)


def test_every_download_brings_what_a_spec_reads() -> None:
    """A place that nobody reads is a slip of the pen, or a download that costs time for nothing."""
    specs = choose_tasks(None, None)
    files = [file for spec in specs for domain in spec.domains for split in domain.files.values() for file in split]
    wanted = {file.source.slug: set[str]() for file in files}
    for file in files:
        wanted[file.source.slug] |= {file.path, *(str(Path(file.path).with_name(name)) for name in file.beside)}
    for source in read_sources().values():
        for each in source.downloads:
            brought = {find_form(each, place) for place in wanted[source.slug]}
            assert set(each.places) <= brought, source.slug
