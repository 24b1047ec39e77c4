"""One release in several carriers: builds have one hash of inputs and gold, files count as right, mutations do not."""

import random
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from shiftbench.builders.building import build as build_module
from shiftbench.builders.building.build import build, choose_tasks
from shiftbench.builders.building.records import rows_agree
from shiftbench.builders.building.row_records import check_rows, file_record_lines, list_file_records, main
from shiftbench.builders.fetching.fetch import fetch, plan_fetch
from shiftbench.builders.folder.manifest import Manifest, SourceFile
from shiftbench.builders.reading.places import find_file
from shiftbench.builders.specs import spec as spec_module
from shiftbench.builders.specs.sources import find_source, read_sources
from shiftbench.builders.specs.spec import DomainRecord, FileFacts, FileSpec, Fingerprint, Upstream, upstream
from shiftbench.validation.report import InvalidInput
from tests.builders.building.carriers import (
    CARRIERS,
    MUTATIONS,
    RELEASES,
    Release,
    Row,
    hub_frame,
    invented_rows,
    mutate,
    read_rows,
    write_rows,
)
from tests.hub.server import WRITE, LoopbackHub

Files = dict[str, list[Row]]
"""Rows by the file's place under RAW."""
N_ROWS = 360


def invented(release: Release) -> Files:
    places = [place for files in release.files.values() for place in files]
    return {place: invented_rows(release, place, N_ROWS, at) for at, place in enumerate(places)}


def real(release: Release, raw: Path) -> Files:
    """Read the real slices of a release; of MultiNLI and SNLI what stands for its files here has fewer rows."""
    if release.slug == "multinli_1.0":
        genres = {"train": release.files["train"][0], "test": release.files["test"][0]}
        files = {
            place: [
                row for path in sorted(raw.glob(f"mnli_genres/*_{split}.jsonl")) for row in read_rows(release, path)
            ]
            for split, place in genres.items()
        }
        unlabelled = files[genres["test"]][0] | {"gold_label": "-", "sentence2": "Nobody could say."}
        files[genres["test"]] = [*files[genres["test"]], unlabelled]
        return files
    there = {place: raw / place.replace("/train.jsonl", "/dev.jsonl").replace("1.0_train", "1.0_dev")
             for files in release.files.values() for place in files}  # fmt: skip
    return {place: read_rows(release, path) for place, path in there.items()}


@contextmanager
def known(records: Upstream) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_module, "upstream", lambda: records)
        yield


def build_release(release: Release, raw: Path, out: Path, record: Path | None = None, **options: bool) -> Manifest:
    return build(release.benchmark, release.task, raw, out, placebo=False, record=record, **options).manifest


def measure(release: Release, files: Files, folder: Path, **options: bool) -> tuple[Manifest, Upstream]:
    """Write a release in its own form, build it and record what was measured."""
    for place, rows in files.items():
        write_rows(release, folder / "raw" / place, rows)
    # A file of a partial build is whole where the number of its rows is known.
    counts = {place: FileFacts(rows=len(rows)) for place, rows in files.items()}
    with known(Upstream(files=counts, rows={})):
        manifest = build_release(release, folder / "raw", folder / "out", folder / "record.json", **options)
    return manifest, Upstream.model_validate_json((folder / "record.json").read_text(encoding="utf-8"))


def source_files(manifest: Manifest, release: Release) -> tuple[SourceFile, ...]:
    return manifest.sources[release.slug].files


def build_carriers(
    name: str, files: Files, tmp_path: Path, carriers: Iterable[str] = CARRIERS, **options: bool
) -> Iterator[tuple[str, Manifest, Manifest]]:
    """Build a release from its own files, whose measures are recorded, and from each carrier beside these records."""
    release = RELEASES[name]
    own, records = measure(release, files, tmp_path / "own", **options)
    with known(records):
        for carrier in carriers:
            raw = tmp_path / carrier
            for place, rows in files.items():
                CARRIERS[carrier](release, place, rows, raw)
            yield carrier, own, build_release(release, raw, tmp_path / f"{carrier} out", **options)


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_the_same_in_every_carrier(name: str, tmp_path: Path) -> None:
    """Test with invented rows: no file has the recorded bytes, one of the Hub has fewer rows, and all rows agree."""
    for carrier, own, manifest in build_carriers(name, invented(RELEASES[name]), tmp_path):
        assert manifest.content_hash == own.content_hash, carrier
        assert not manifest.unverified
        assert {file.agrees for file in source_files(manifest, RELEASES[name])} == {"rows"}, carrier
        lacks = {file.path: file.lacks for file in source_files(manifest, RELEASES[name]) if file.lacks}
        expected = {}
        if carrier == "Hub" and name in ("mnli", "snli"):
            (test,) = RELEASES[name].files["test"]
            n_unlabelled = sum(row["gold_label"] == "-" for row in invented(RELEASES[name])[test])
            unlabelled = [f"{n_unlabelled} rows not used by any split"] if name == "mnli" else []
            expected = {test: ("annotators' votes", *unlabelled)}
        assert lacks == expected, carrier
        card = (tmp_path / f"{carrier} out" / "README.md").read_text(encoding="utf-8")
        assert ("annotators' votes" in card) == bool(expected)


@pytest.mark.real
@pytest.mark.parametrize("name", RELEASES)
def test_real_rows_are_the_same_in_every_carrier(name: str, real_raw: Path, tmp_path: Path) -> None:
    """Test with the real slices, written again by each carrier that is no mere compression of the same bytes.

    MultiNLI's has one invented row without a label.
    """
    files, rewritten = real(RELEASES[name], real_raw), ("JSON of another form", "Hub")
    for carrier, own, manifest in build_carriers(name, files, tmp_path, rewritten, partial=True):
        hashes = [
            {
                f"{task}.{domain}.{split}": (rows.inputs_sha256, rows.labels_sha256)
                for task, facts in each.tasks.items()
                for domain, there in facts.domains.items()
                for split, rows in there.splits.items()
            }
            for each in (own, manifest)
        ]
        print(f"{name} from {carrier}: {len(hashes[0])} splits, content {manifest.content_hash[:12]}")
        assert hashes[0] == hashes[1]
        assert {file.agrees for file in source_files(manifest, RELEASES[name])} == {"rows"}, carrier
        assert manifest.content_hash == own.content_hash


def file_spec(release: Release, place: str) -> FileSpec:
    return next(
        file
        for task in choose_tasks(release.benchmark, release.task.partition(".")[0])
        for domain in task.domains
        for files in domain.files.values()
        for file in files
        if file.path == place
    )


def count_found(name: str, kind: str, files: Files, records: Upstream, raw: Path, n: int) -> int:
    """Count how many of so many random mutations of a file leave its rows no longer the recorded ones."""
    release, rng, found = RELEASES[name], random.Random(f"{name}/{kind}"), 0
    tasks = choose_tasks(release.benchmark, release.task.partition(".")[0])
    for _ in range(n):
        place = rng.choice(sorted(files))
        if kind == "rows moved to another file":
            other = rng.choice(sorted({*files} - {place}))
            mine, theirs = list(files[place]), list(files[other])
            at = rng.choice([at for at, row in enumerate(mine) if row.get("gold_label") != "-"])
            theirs.append(mine.pop(at))
            changed = {place: mine, other: theirs}
        else:
            changed = {place: mutate(kind, release, rng, files[place])}
        agree = []
        for at, rows in changed.items():
            write_rows(release, raw / at, rows, separators=(",", ":"))
            agree.append(check_rows(raw / at, file_spec(release, at), tasks, records).agrees)
        found += set(agree) == {""}
    return found


@pytest.mark.parametrize("name", RELEASES)
def test_every_mutation_is_found(name: str, tmp_path: Path) -> None:
    release, files = RELEASES[name], invented(RELEASES[name])
    _, records = measure(release, files, tmp_path)
    for place, rows in files.items():
        write_rows(release, tmp_path / "again" / place, rows, separators=(",", ":"))
        same = check_rows(tmp_path / "again" / place, file_spec(release, place), choose_tasks(None, None), records)
        assert same.agrees == "rows", "only the bytes differ"
    for kind in (*MUTATIONS, "rows moved to another file"):
        assert count_found(name, kind, files, records, tmp_path / "raw", 8) == 8, kind


def test_another_text_is_refused_and_the_other_carriers_stay_right(tmp_path: Path) -> None:
    release, files = RELEASES["snli"], invented(RELEASES["snli"])
    _, records = measure(release, files, tmp_path / "own")
    (place,) = release.files["train"]
    changed = mutate("a character of a text", release, random.Random(0), files[place])
    for at, rows in files.items():
        write_rows(release, tmp_path / "raw" / at, changed if at == place else rows, separators=(",", ":"))
    with known(records), pytest.raises(InvalidInput, match="checksum") as refused:
        build_release(release, tmp_path / "raw", tmp_path / "out")
    assert {problem.file for problem in refused.value.problems} == {str(tmp_path / "raw" / place)}


@pytest.fixture
def hub_of_multinli(hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Put MultiNLI on the loopback Hub as the Hub has it: without unlabelled rows and votes."""
    api = HfApi(endpoint=hub.url, token=WRITE)
    api.create_repo("nyu-mll/multi_nli", repo_type="dataset", private=False)
    files = invented(RELEASES["mnli"])
    for (place, rows), name in zip(files.items(), ("train", "validation_matched"), strict=True):
        hub_frame(RELEASES["mnli"], rows).write_parquet(tmp_path / "upload.parquet")
        api.upload_file(
            path_or_fileobj=tmp_path / "upload.parquet",
            path_in_repo=f"data/{name}-00000-of-00001.parquet",
            repo_id="nyu-mll/multi_nli",
            repo_type="dataset",
        )
        assert place in RELEASES["mnli"].files["train" if name == "train" else "test"]
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: api)
    source = find_source("multinli_1.0")  # of its downloads those of the Hub, at no commit: this Hub has others
    at_no_commit = tuple(
        each.model_copy(update={"urls": tuple(re.sub("@[0-9a-f]{40}", "", url) for url in each.urls)})
        for each in source.downloads
        if each.rows_as
    )
    found = {**read_sources(), source.slug: source.model_copy(update={"downloads": at_no_commit})}
    monkeypatch.setattr(spec_module, "find_source", found.__getitem__)
    return files


@pytest.mark.xdist_group("publish_http")
@pytest.mark.usefixtures("basic_uploads")
@pytest.mark.parametrize("known_by", ["rows", "number of rows"])
def test_multinli_is_whole_without_its_unlabelled_rows(known_by: str, hub_of_multinli: Files, tmp_path: Path) -> None:
    """Test a Hub that has fewer rows than are recorded of the release, with and without measured rows."""
    release = RELEASES["mnli"]
    own, records = measure(release, hub_of_multinli, tmp_path / "own")
    (test,) = release.files["test"]
    assert records.files[test].rows == N_ROWS
    if known_by == "number of rows":
        counts = {place: FileFacts(rows=facts.rows) for place, facts in records.files.items()}
        records = Upstream(files=counts, rows=records.rows)
    with known(records):
        tasks = choose_tasks(release.benchmark, release.task)
        fetch(plan_fetch(tasks, [tmp_path / "hub"]), tmp_path / "hub")
        manifest = build_release(release, tmp_path / "hub", tmp_path / "out")
        assert manifest.content_hash == own.content_hash
        assert {file.agrees for file in source_files(manifest, release)} == {known_by}
        assert not manifest.unverified
        (lacking,) = [file for file in source_files(manifest, release) if file.lacks]
        assert lacking.lacks == (
            "annotators' votes",
            f"{lacking.recorded_rows - lacking.rows} rows not used by any split",
        )
        write_rows(release, tmp_path / "hub" / test, read_rows(release, tmp_path / "hub" / test)[:-1])
        with pytest.raises(InvalidInput, match="rows"):
            build_release(release, tmp_path / "hub", tmp_path / "again")


def test_files_written_from_other_rows_are_not_compared_by_their_bytes(tmp_path: Path) -> None:
    """Test SQuAD as the Hub has it, of which a checksum and a number of rows are recorded and no rows were measured."""
    release, files = RELEASES["squad_v1"], invented(RELEASES["squad_v1"])
    _, measured = measure(release, files, tmp_path / "own")
    records = Upstream(files=measured.files, rows=measured.rows)
    place = release.files["train"][0]
    CARRIERS["Hub"](release, place, files[place], tmp_path)
    spec, tasks = file_spec(release, place), choose_tasks("boss", "eqa")
    assert check_rows(tmp_path / place, spec, tasks, records).agrees == ""
    assert check_rows(tmp_path / place, spec, tasks, records).unverified
    found = check_rows(tmp_path / place, spec, tasks, records, rewritten=True)
    assert (found.agrees, found.unverified) == ("number of rows", False)
    uncounted = Upstream(files={place: FileFacts(sha256="0" * 64)}, rows={})
    assert check_rows(tmp_path / place, spec, tasks, uncounted, rewritten=True).unverified


@pytest.mark.real
def test_whole_real_files_agree_with_their_records(real_whole: Path) -> None:
    """Test that what is recorded of rows is what the files at hand have, whatever their bytes."""
    specs = choose_tasks(None, None)
    checked = []
    for spec in {
        file: None for task in specs for domain in task.domains for files in domain.files.values() for file in files
    }:
        path = find_file([real_whole], spec.path)
        facts = upstream().files.get(spec.path)
        if path is None or facts is None or facts.sha256 is None:
            continue
        without_bytes = upstream().model_copy(update={"files": {spec.path: FileFacts(rows=facts.rows)}})
        checked.append((spec.path, check_rows(path, spec, specs, without_bytes).agrees))
    assert {agrees for _, agrees in checked} == {"rows"}, checked
    assert len(checked) >= 25


def test_rows_agree_where_all_that_is_taken_is_as_recorded() -> None:
    place, train, test = "sst/trees.txt", ("boss/sa.sst", "train"), ("boss/sa.sst", "test")
    one, other = Fingerprint(rows=2, total="1" * 16), Fingerprint(rows=3, total="2" * 16)
    record = DomainRecord(splits={"train": {place: one}, "test": {place: other}})
    records = Upstream(files={}, rows={}, domains={train[0]: record})
    assert rows_agree(place, {train: one, test: other}, records)
    assert rows_agree(place, {test: other}, records)
    differing: list[dict[tuple[str, str], Fingerprint]] = [
        {train: one, test: one},
        {train: other, test: one},
        {train: one.model_copy(update={"rows": 3})},
        {train: one.model_copy(update={"total": "3" * 16})},
        {train: one, ("boss/sa.sst", "validation"): one},
        {train: one, ("boss/sa.amazon", "train"): one},
    ]
    assert [rows_agree(place, taken, records) for taken in differing] == [False] * 6


def test_the_table_of_records_counts_what_was_measured() -> None:
    files = list(list_file_records(choose_tasks(None, None), upstream()))
    *_, counts, here = file_record_lines(files)
    found = {file.path: file for file in files}
    assert found["sst/trees/train.txt"][1:4] == (True, True, "measured")
    assert found["multinli_1.0/multinli_1.0_train.jsonl"][1:4] == (False, True, "papers")
    assert found["tldr17/corpus-webis-tldr-17.json"][1:4] == (True, True, "papers")
    assert found["das/large/baby/text.txt"][1:4] == (False, False, "no record")
    n_measured = sum(file.kind == "measured" for file in files)
    assert f" {n_measured} " in str(counts)
    assert " 0 files" in str(here)


@pytest.mark.real
def test_the_rows_of_files_at_hand_are_measured_whatever_their_bytes(
    real_whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = "sst/trees/test.txt"
    trees = (real_whole / place).read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / place).parent.mkdir(parents=True)
    for lines, code, agree in ((trees[::-1], 0, 1), ([*trees[:-1], trees[0]], 1, 0)):
        (tmp_path / place).write_text("".join(lines), encoding="utf-8")
        assert main([tmp_path]) == code
        assert re.findall(r"\d+", capsys.readouterr().out.splitlines()[-1]) == ["1", "1", str(agree)]


def test_every_task_on_multinli_knows_how_many_rows_have_a_label() -> None:
    """Test that a copy without the other rows is whole for each of them."""
    labelled: dict[str, dict[str, int]] = {}
    for task in choose_tasks(None, None):
        for domain in task.domains:
            for split, files in domain.files.items():
                name = f"{task.id}.{domain.name}"
                if any(file.path.startswith("multinli_1.0/") for file in files):
                    labelled.setdefault(split, {})[name] = upstream().rows[name][split]
    for split, n_labelled in (("train", 392_702), ("test", 9_815)):
        by_genre = {name.rpartition(".")[2]: n for name, n in labelled[split].items()}
        assert by_genre.pop("mnli") == n_labelled
        assert sum(by_genre.values()) == n_labelled
        assert all(by_genre.get(name.rpartition(".")[2], n_labelled) == n for name, n in labelled[split].items())
